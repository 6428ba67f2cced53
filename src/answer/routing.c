#include "answer/routing.h"

void tt_routing_json(tt_json *j, const tt_routing_view *v, const tt_listing *layers)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_bool(j, "sequences_observed", !tt_routers_sequences_assumed(v->routers));
    tt_json_key(j, "layers");
    tt_listing_json(j, layers);
    tt_json_object_end(j);
}

bool tt_routing_sum_up(tt_routing_view *v)
{
    v->layers = tt_routers_layers(v->routers, &v->n_layers);
    v->texts = tt_routers_texts(v->routers, &v->n_texts, &v->texts_left_out);
    return tt_routing_rows_make(v->routers, &v->rows);
}
