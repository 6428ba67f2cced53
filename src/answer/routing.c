#include "answer/routing.h"

#include <math.h>
#include <string.h>

/* The columns' context. */
typedef struct experts {
    const tt_routing_view *v;
    const tt_expert_reads *reads; /* NULL: not requested */
} experts;

static const experts *of(const void *context)
{
    return context;
}

/* --- the experts of a layer, in columns --- */

TT_COLUMN_VALUE(get_weight, tt_expert_use, u, f64,
                u->weighted ? u->weight_sum / (double)u->weighted : NAN)
TT_COLUMN_KNOWN(has_last, tt_expert_use, u,
                u->batches && u->last_batch < of(context)->v->m->n_batches)
TT_COLUMN_VALUE(get_last, tt_expert_use, u, u64,
                tt_model_batch_number(of(context)->v->m, (uint32_t)u->last_batch))

static const tt_column use_columns[] = {
    TT_FIELD("count", "times it was chosen", TT_MEMBER(tt_expert_use, count)),
    TT_FIELD("batches", "that chose it", TT_MEMBER(tt_expert_use, batches)),
    TT_FIELD("mean_weight", "of its choices", .type = TT_CELL_F64, .get = get_weight),
    TT_FIELD("last_batch_id", "that chose it", .type = TT_CELL_U64, .known = has_last,
             .get = get_last),
};
static const tt_schema use_schema = TT_SCHEMA("uses", "an expert", use_columns);

static const tt_column bytes_columns[] = {TT_FIELD("bytes", "of an expert", .type = TT_CELL_U64)};
static const tt_schema bytes_schema = TT_SCHEMA("bytes", "by expert", bytes_columns);

TT_COLUMN_KNOWN(has_reads, tt_router_layer, l,
                l &&of(context)->reads &&of(context)->reads->observed)
TT_COLUMN_ROWS(reads, tt_router_layer, l, of(context)->reads->bytes + l->first_count, l->n_experts)

static const tt_weight *weight_of(const void *context, const tt_router_slice *s)
{
    return &of(context)->v->m->weights[s->weight];
}

TT_COLUMN_GET(get_tensor, tt_router_slice, s, tt_cell_text(cell, weight_of(context, s)->name);)
TT_COLUMN_VALUE(get_file, tt_router_slice, s, u64, weight_of(context, s)->file)
TT_COLUMN_VALUE(get_offset, tt_router_slice, s, u64, weight_of(context, s)->offset_bytes)

static const tt_column slice_columns[] = {
    TT_FIELD("tensor", "with the weights of experts", .type = TT_CELL_NAME, .get = get_tensor),
    TT_FIELD("model_file_id", "its model file", .type = TT_CELL_U32, .get = get_file),
    TT_FIELD("file_offset_bytes", "where it begins", .type = TT_CELL_U64, .get = get_offset),
    TT_FIELD("expert_bytes", "of one expert", TT_MEMBER(tt_router_slice, expert_bytes)),
};
static const tt_schema slice_schema = TT_SCHEMA("slices", "a tensor of experts", slice_columns);

TT_COLUMN_ROWS(slices, tt_router_layer, l, l->slices, l->n_slices)

static const tt_column slices_columns[] = {
    TT_FIELD("slices", "its tensors", .type = TT_CELL_ROWS, .inner = &slice_schema, .rows = slices),
};
static const tt_schema slices_schema = TT_SCHEMA("layer", "its tensors", slices_columns);

static const tt_column reads_columns[] = {
    TT_FIELD("disk_read_bytes", "by expert; null: not observed", .type = TT_CELL_LIST,
             .inner = &bytes_schema, .known = has_reads, .rows = reads),
};
static const tt_schema reads_schema = TT_SCHEMA("layer", "its reads from disk", reads_columns);

/* The layer's own columns, its tensors, and its experts. */
static void put_layer(tt_json *j, const experts *x, size_t at)
{
    const tt_routing_context routing = {.m = x->v->m};
    const tt_router_layer *layer = &x->v->layers[at];
    uint32_t n;
    const tt_expert_use *list = tt_router_uses(layer->router, &n);
    const tt_rowset rows = tt_routing_layer_rowset(&routing, TT_ROUTING_NO_EXPERTS, &x->v->rows),
                    tensors = TT_ROWSET(&slices_schema, 0, x, layer, 1),
                    uses = TT_ROWSET(&use_schema, 0, x, list, n),
                    disk = TT_ROWSET(&reads_schema, 0, x, layer, 1);
    tt_json_object(j);
    tt_rowset_json(j, &rows, &x->v->rows.rows[at]);
    tt_rowset_json(j, &tensors, layer);
    tt_rowset_json_columns(j, NULL, &uses);
    tt_rowset_json(j, &disk, layer);
    tt_json_object_end(j);
}

/* --- all of it --- */

/* Why there are no choices, according to the trace; null: there is no reason to give. */
static const char *why_none(const tt_model *m)
{
    const char *reason = tt_model_environment(m, "capture_experts");
    return reason && strncmp(reason, "not observed", strlen("not observed")) == 0 ? reason : NULL;
}

TT_COLUMN_JSON(json_layers, tt_routing_view, v, {
    tt_json_array(j);
    for (size_t i = 0; i < v->n_layers; i++)
        put_layer(j, context, i);
    tt_json_array_end(j);
})
TT_COLUMN_VALUE(get_matmuls, tt_routing_view, v, u64, tt_routers_expert_nodes(v->m))
TT_COLUMN_GET(get_why, tt_routing_view, v, tt_cell_text(cell, v->n_layers ? NULL : why_none(v->m));)
TT_COLUMN_VALUE(get_sequences, tt_routing_view, v, boolean,
                !tt_routers_sequences_assumed(v->routers))

/* The context is the listing. */
static void listed(const void *context, const void *row, tt_rowset *out)
{
    const tt_listing *layers = context;
    (void)row;
    *out = *layers->set;
    out->listing = layers;
}

enum { LISTED = 1, EXPERTS = 2 };

static const tt_column columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(tt_routing_view, path)),
    TT_FIELD("expert_matmuls", "nodes that multiply by experts", .type = TT_CELL_U64,
             .get = get_matmuls, .kinds = EXPERTS),
    TT_FIELD("not_observed", "why there are no choices", .type = TT_CELL_NAME, .get = get_why,
             .kinds = EXPERTS),
    TT_FIELD("sequences_observed", "which token is of which sequence is known",
             .type = TT_CELL_BOOL, .get = get_sequences),
    TT_FIELD("layers", "with routers", .type = TT_CELL_ROWS, .rows = listed, .kinds = LISTED),
    TT_FIELD("layers", "with routers", .type = TT_CELL_ROWS, .json = json_layers, .kinds = EXPERTS),
};
static const tt_schema schema = TT_SCHEMA("routing", "which experts were chosen", columns);

static void put(tt_json *j, const tt_routing_view *v, uint8_t kind, const void *context)
{
    const tt_rowset set = TT_ROWSET(&schema, kind, context, v, 1);
    tt_json_object(j);
    tt_rowset_json(j, &set, v);
    tt_json_object_end(j);
}

void tt_experts_json(tt_json *j, const tt_routing_view *v, const tt_expert_reads *reads)
{
    put(j, v, EXPERTS, &(experts){v, reads});
}

void tt_routing_json(tt_json *j, const tt_routing_view *v, const tt_listing *layers)
{
    put(j, v, LISTED, layers);
}

bool tt_routing_sum_up(tt_routing_view *v)
{
    v->layers = tt_routers_layers(v->routers, &v->n_layers);
    v->texts = tt_routers_texts(v->routers, &v->n_texts, &v->texts_left_out);
    return tt_routing_rows_make(v->routers, &v->rows);
}
