#include "answer/routing.h"

#include <math.h>
#include <stdlib.h>

static void bytes_or_null(tt_json *j, const char *key, double experts, uint64_t expert_bytes)
{
    tt_json_kv_double(j, key, expert_bytes ? experts * (double)expert_bytes : NAN);
}

static void expert_ranges(tt_json *j, const tt_routing_view *v, const tt_router_layer *layer,
                          uint32_t expert)
{
    tt_json_key(j, "ranges");
    tt_json_array(j);
    for (uint32_t i = 0; i < layer->n_slices; i++) {
        const tt_router_slice *s = &layer->slices[i];
        const tt_weight *w = &v->m->weights[s->weight];
        tt_json_object(j);
        tt_json_kv_string(j, "tensor", w->name);
        tt_json_kv_string(j, "model", v->m->files[w->file].path);
        tt_json_kv_u64(j, "file_offset_bytes", w->offset_bytes + expert * s->expert_bytes);
        tt_json_kv_u64(j, "size_bytes", s->expert_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void experts(tt_json *j, const tt_routing_choice *o, const tt_routing_view *v,
                    const tt_router_layer *layer, uint64_t choices)
{
    uint32_t n;
    const tt_expert_use *uses = tt_router_uses(layer->router, &n);
    tt_json_key(j, "experts");
    tt_json_array(j);
    for (uint32_t i = 0; i < n; i++) {
        const tt_expert_use *u = &uses[i];
        tt_json_object(j);
        tt_json_kv_u64(j, "expert_id", i);
        tt_json_kv_u64(j, "count", u->count);
        tt_json_kv_double(j, "share", choices ? (double)u->count / (double)choices : NAN);
        tt_json_kv_double(j, "mean_weight",
                          u->weighted ? u->weight_sum / (double)u->weighted : NAN);
        if (o->ranges) expert_ranges(j, v, layer, i);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void windows(tt_json *j, const tt_router_sum *s, uint64_t expert_bytes)
{
    tt_json_key(j, "working_sets");
    tt_json_array(j);
    for (size_t i = 0; i < TT_ROUTER_WINDOWS; i++) {
        tt_json_object(j);
        tt_json_kv_u64(j, "tokens", tt_router_windows[i]);
        tt_json_kv_double(j, "mean_experts", s->working_set[i]);
        bytes_or_null(j, "mean_bytes", s->working_set[i], expert_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

void tt_routing_layer_json(tt_json *j, const tt_routing_view *v, const tt_router_layer *layer,
                           const tt_router_sum *s)
{
    const uint32_t tops[] = {1, 2, 4, s->chosen_most};
    tt_json_key(j, "layer_id");
    if (layer->layer_id < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, layer->layer_id);
    tt_json_kv_string(j, "model", layer->file == TT_NONE ? NULL : v->m->files[layer->file].path);
    tt_json_kv_u64(j, "n_experts", s->experts);
    tt_json_kv_u64(j, "n_picked", s->chosen_most);
    tt_json_kv_u64(j, "tokens", s->tokens);
    tt_json_kv_u64(j, "choices", s->choices);
    tt_json_kv_u64(j, "unused_experts", s->unused);
    tt_json_kv_double(j, "entropy_bits", s->choices ? s->entropy_bits : NAN);
    tt_json_kv_double(j, "evenness", s->evenness);
    tt_json_key(j, "top_shares");
    tt_json_array(j);
    for (size_t i = 0; i < TT_ROUTER_TOP; i++) {
        tt_json_object(j);
        tt_json_kv_u64(j, "experts", tops[i]);
        tt_json_kv_double(j, "share", s->choices ? s->top_share[i] : NAN);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_kv_u64(j, "neighbours", s->neighbours);
    tt_json_kv_double(j, "stickiness", s->stickiness);
    tt_json_kv_double(j, "chance", s->chance);
    tt_json_kv_u64(j, "tokens_without_place", layer->unplaced);
    tt_json_key(j, "expert_bytes");
    if (layer->expert_bytes)
        tt_json_u64(j, layer->expert_bytes);
    else
        tt_json_null(j);
    windows(j, s, layer->expert_bytes);
    tt_json_kv_double(j, "mean_experts_per_batch", s->batch_set);
    bytes_or_null(j, "mean_bytes_per_batch", s->batch_set, layer->expert_bytes);
}

static void layer_object(tt_json *j, const tt_routing_choice *o, const tt_routing_view *v,
                         const tt_router_layer *layer, const tt_router_sum *s)
{
    tt_json_object(j);
    tt_routing_layer_json(j, v, layer, s);
    experts(j, o, v, layer, s->choices);
    tt_json_object_end(j);
}

void tt_routing_json(tt_json *j, const tt_routing_view *v, const tt_routing_choice *o)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_bool(j, "sequences_observed", !tt_routers_sequences_assumed(v->routers));
    tt_json_key(j, "layers");
    tt_json_array(j);
    uint64_t shown = 0;
    for (size_t i = 0; i < v->n_layers; i++) {
        if (o->has_layer && o->layer != v->layers[i].layer_id) continue;
        if (o->limit && shown++ == o->limit) break;
        layer_object(j, o, v, &v->layers[i], &v->sums[i]);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}

bool tt_routing_sum_up(tt_routing_view *v)
{
    v->layers = tt_routers_layers(v->routers, &v->n_layers);
    v->texts = tt_routers_texts(v->routers, &v->n_texts, &v->texts_left_out);
    v->sums = calloc(v->n_layers + 1, sizeof *v->sums);
    for (size_t i = 0; v->sums && i < v->n_layers; i++)
        tt_router_sum_up(v->layers[i].router, &v->sums[i]);
    return v->sums != NULL;
}
