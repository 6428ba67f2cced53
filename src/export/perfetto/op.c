/* What a slice says of its op: the same names and values as `tensortrace log --json`. */
#include "export/perfetto/perfetto.h"

#include <inttypes.h>
#include <string.h>

static void put_shape(tt_bytes *b, const tt_tensor *t)
{
    char text[96];
    size_t used = 0;
    uint32_t n = TT_DIMS;
    while (n > 1 && t->ne[n - 1] == 1)
        n--;
    for (uint32_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, i ? " x " : "",
                                 t->ne[i]);
    tt_perfetto_put_text(b, PB_DICT_ENTRIES, ARG_SHAPE, NULL, text);
}

/* Where the bytes of a tensor are. */
static void put_place(const tt_perfetto *p, const tt_graph *g, uint32_t tensor, tt_bytes *b)
{
    const tt_model *m = p->m;
    const tt_tensor *t = &g->tensors[tensor], *root = &g->tensors[t->root];
    uint32_t buffer = t->buffer != TT_NONE ? t->buffer : root->buffer;
    if (root != t) tt_perfetto_put_text(b, PB_DICT_ENTRIES, ARG_VIEW_OF, &p->names, root->name);
    tt_perfetto_put_text(b, PB_DICT_ENTRIES, ARG_TYPE, &p->names, t->type_name);
    put_shape(b, t);
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_SIZE_BYTES, t->size_bytes);
    tt_perfetto_put_text(b, PB_DICT_ENTRIES, ARG_ORIGIN, &p->names, tt_origin_name(t->origin));
    if (t->weight != TT_NONE) {
        const tt_weight *w = &m->weights[t->weight];
        tt_perfetto_put_text(b, PB_DICT_ENTRIES, ARG_FILE, &p->names, m->files[w->file].path);
        tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_FILE_OFFSET_BYTES,
                             w->offset_bytes + t->root_offset_bytes);
    }
    if (buffer == TT_NONE) return;
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_BUFFER_ID, m->buffers[buffer].id);
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_BUFFER_OFFSET_BYTES,
                         t->buffer != TT_NONE ? t->location
                                              : root->location + t->root_offset_bytes);
}

static void put_pick(const tt_perfetto *p, const tt_tensor *t, const tt_access *a, tt_bytes *b)
{
    uint64_t at = a->offset_bytes - p->m->weights[a->weight].offset_bytes - t->root_offset_bytes;
    size_t dict = tt_perfetto_put_begin(b, PB_ARRAY_VALUES, ARG_NONE);
    if (a->expert != TT_EXPERT_NONE) {
        tt_perfetto_put_int(b, PB_DICT_ENTRIES, ARG_EXPERT_ID, a->expert);
        tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_TOKENS, a->uses);
    } else if (t->nb[1]) {
        tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_FIRST, at / t->nb[1]);
        tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_COUNT,
                             a->size_bytes / t->nb[1] + (a->size_bytes % t->nb[1] != 0));
    }
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_FILE_OFFSET_BYTES, a->offset_bytes);
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_READ_BYTES, a->size_bytes);
    tt_proto_end(b, dict);
}

/* Which rows or experts were picked from a source, where that was observed. */
static void put_picks(const tt_perfetto *p, const tt_op *op, const tt_op_source *s,
                      const tt_access *list, size_t n, tt_bytes *b)
{
    bool any = false;
    size_t array = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i].tensor != s->tensor || list[i].at_most) continue;
        if (!any)
            array = tt_perfetto_put_begin(
                b, PB_DICT_ENTRIES, list[i].expert != TT_EXPERT_NONE ? ARG_EXPERTS : ARG_ROWS);
        any = true;
        put_pick(p, &op->graph->tensors[s->tensor], &list[i], b);
    }
    if (any) tt_proto_end(b, array);
}

static void put_source(const tt_perfetto *p, const tt_op *op, const tt_op_source *s,
                       const tt_access *list, size_t n, tt_bytes *b)
{
    size_t dict = tt_perfetto_put_begin(b, PB_ARRAY_VALUES, ARG_NONE);
    tt_perfetto_put_text(b, PB_DICT_ENTRIES, ARG_NAME, &p->names,
                         op->graph->tensors[s->tensor].name);
    put_place(p, op->graph, s->tensor, b);
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_READ_BYTES, s->read_bytes);
    if (s->at_most) tt_perfetto_put_true(b, PB_DICT_ENTRIES, ARG_READ_BYTES_AT_MOST);
    if (s->picks && s->weight != TT_NONE) put_picks(p, op, s, list, n, b);
    tt_proto_end(b, dict);
}

/* The op's name is a text of its own only where several nodes are fused. */
static const char *op_text(const tt_op *op)
{
    const tt_tensor *t = &op->graph->tensors[op->node];
    if (strcmp(op->op, t->op_name) == 0) return t->op_name;
    return strcmp(op->op, t->op_desc) == 0 ? t->op_desc : op->op;
}

static void put_layer(const tt_op *op, tt_bytes *b)
{
    if (op->place.layer_id >= 0)
        tt_perfetto_put_int(b, PB_DEBUG_ANNOTATIONS, ARG_LAYER_ID, op->place.layer_id);
}

void tt_perfetto_op_body(const tt_perfetto *p, const tt_op *op, const tt_access *list, size_t n,
                         tt_bytes *b)
{
    const char *name = op->name[0] ? op->name : op_text(op);
    uint64_t iid = tt_perfetto_name_iid(&p->names, name);
    tt_proto_uint(b, PB_CATEGORY_IIDS, TT_PERFETTO_OP);
    if (iid && p->names.is_event[iid - 1])
        tt_proto_uint(b, PB_NAME_IID, iid);
    else
        tt_proto_text(b, PB_NAME, name);
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_GRAPH_ID, op->graph->id);
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_NODE, op->node);
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_NODES, op->n_nodes);
    tt_perfetto_put_text(b, PB_DEBUG_ANNOTATIONS, ARG_OP, &p->names, op_text(op));
    put_layer(op, b);
    tt_perfetto_put_text(b, PB_DEBUG_ANNOTATIONS, ARG_CATEGORY, &p->names, op->place.category);
    tt_perfetto_put_text(b, PB_DEBUG_ANNOTATIONS, ARG_COMPONENT, &p->names, op->place.component);
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_WEIGHT_BYTES, op->weight_bytes);
    if (op->at_most) tt_perfetto_put_true(b, PB_DEBUG_ANNOTATIONS, ARG_WEIGHT_BYTES_AT_MOST);
    if (op->n_sources) {
        size_t array = tt_perfetto_put_begin(b, PB_DEBUG_ANNOTATIONS, ARG_SOURCES);
        for (uint32_t i = 0; i < op->n_sources; i++)
            put_source(p, op, &op->sources[i], list, n, b);
        tt_proto_end(b, array);
    }
    size_t dict = tt_perfetto_put_begin(b, PB_DEBUG_ANNOTATIONS, ARG_DESTINATION);
    put_place(p, op->graph, op->nodes[op->n_nodes - 1], b);
    tt_proto_end(b, dict);
}

void tt_perfetto_wait_body(const tt_perfetto *p, const tt_op *op, tt_bytes *b)
{
    tt_proto_uint(b, PB_CATEGORY_IIDS, TT_PERFETTO_WAIT);
    tt_proto_uint(b, PB_NAME_IID, (uint64_t)p->names.n + 1); /* "wait" */
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_NODE, op->node);
    tt_perfetto_put_text(b, PB_DEBUG_ANNOTATIONS, ARG_OP, &p->names, op_text(op));
    tt_perfetto_put_text(b, PB_DEBUG_ANNOTATIONS, ARG_NAME, &p->names, op->name);
    put_layer(op, b);
}
