#include "answer/routing.h"

#include <math.h>
#include <string.h>

typedef struct column {
    const char *name;
    void (*put)(tt_json *j, const tt_model *m, const tt_expert_use *u);
} column;

static void put_count(tt_json *j, const tt_model *m, const tt_expert_use *u)
{
    (void)m;
    tt_json_u64(j, u->count);
}

static void put_batches(tt_json *j, const tt_model *m, const tt_expert_use *u)
{
    (void)m;
    tt_json_u64(j, u->batches);
}

static void put_weight(tt_json *j, const tt_model *m, const tt_expert_use *u)
{
    (void)m;
    tt_json_double(j, u->weighted ? u->weight_sum / (double)u->weighted : NAN);
}

/* Identifies the batch by its index in tt_model.batches; TT_NONE outside of batches. */
static void put_last(tt_json *j, const tt_model *m, const tt_expert_use *u)
{
    if (u->batches && u->last_batch < m->n_batches)
        tt_json_u64(j, tt_model_batch_number(m, (uint32_t)u->last_batch));
    else
        tt_json_null(j);
}

static const column columns[] = {{"count", put_count},
                                 {"batches", put_batches},
                                 {"mean_weight", put_weight},
                                 {"last_batch_id", put_last}};

static void put_reads(tt_json *j, const tt_router_layer *layer, const tt_expert_reads *reads)
{
    tt_json_key(j, "disk_read_bytes");
    if (!reads || !reads->observed) {
        tt_json_null(j);
        return;
    }
    tt_json_array(j);
    for (uint32_t i = 0; i < layer->n_experts; i++)
        tt_json_u64(j, reads->bytes[layer->first_count + i]);
    tt_json_array_end(j);
}

static void put_slices(tt_json *j, const tt_model *m, const tt_router_layer *layer)
{
    tt_json_key(j, "slices");
    tt_json_array(j);
    for (uint32_t i = 0; i < layer->n_slices; i++) {
        const tt_weight *w = &m->weights[layer->slices[i].weight];
        tt_json_object(j);
        tt_json_kv_string(j, "tensor", w->name);
        tt_json_kv_u64(j, "file_id", w->file);
        tt_json_kv_u64(j, "file_offset_bytes", w->offset_bytes);
        tt_json_kv_u64(j, "expert_bytes", layer->slices[i].expert_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_layer(tt_json *j, const tt_routing_view *v, size_t at, const tt_expert_reads *reads)
{
    const tt_routing_context x = {.m = v->m};
    const tt_rowset rows = tt_routing_layer_rowset(&x, TT_ROUTING_NO_EXPERTS, &v->rows);
    const tt_router_layer *layer = &v->layers[at];
    uint32_t n;
    const tt_expert_use *uses = tt_router_uses(layer->router, &n);
    tt_json_object(j);
    tt_rowset_json(j, &rows, &v->rows.rows[at]);
    put_slices(j, v->m, layer);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        tt_json_key(j, columns[c].name);
        tt_json_array(j);
        for (uint32_t i = 0; i < n; i++)
            columns[c].put(j, v->m, &uses[i]);
        tt_json_array_end(j);
    }
    put_reads(j, layer, reads);
    tt_json_object_end(j);
}

/* Why there are no choices, according to the trace; null: there is no reason to give. */
static const char *why_none(const tt_model *m)
{
    const char *reason = tt_model_environment(m, "capture_experts");
    return reason && strncmp(reason, "not observed", strlen("not observed")) == 0 ? reason : NULL;
}

void tt_experts_json(tt_json *j, const tt_routing_view *v, const tt_expert_reads *reads)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_u64(j, "expert_matmuls", tt_routers_expert_nodes(v->m));
    tt_json_kv_string(j, "not_observed", v->n_layers ? NULL : why_none(v->m));
    tt_json_kv_bool(j, "sequences_observed", !tt_routers_sequences_assumed(v->routers));
    tt_json_key(j, "layers");
    tt_json_array(j);
    for (size_t i = 0; i < v->n_layers; i++)
        put_layer(j, v, i, reads);
    tt_json_array_end(j);
    tt_json_object_end(j);
}

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
