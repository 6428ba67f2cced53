/* The arguments of an op's slice: the same names and values as `tensortrace log --json`. */
#include "export/perfetto/perfetto.h"

#include <inttypes.h>
#include <string.h>

/* Packets of a Perfetto trace and the arguments of their events. */

static const char *const names[ARGS] = {
    [ARG_NONE] = "",
    [ARG_BATCH_ID] = "batch_id",
    [ARG_PHASE] = "phase",
    [ARG_GRAPH_RUN] = "graph_run",
    [ARG_THREAD_ID] = "thread_id",
    [ARG_GRAPH_ID] = "graph_id",
    [ARG_NODE] = "node",
    [ARG_NODES] = "nodes",
    [ARG_OP] = "op",
    [ARG_NAME] = "name",
    [ARG_LAYER_ID] = "layer_id",
    [ARG_CATEGORY] = "category",
    [ARG_COMPONENT] = "component",
    [ARG_WEIGHT_BYTES] = "weight_bytes",
    [ARG_WEIGHT_BYTES_AT_MOST] = "weight_bytes_at_most",
    [ARG_SOURCES] = "sources",
    [ARG_DESTINATION] = "destination",
    [ARG_VIEW_OF] = "view_of",
    [ARG_TYPE] = "type",
    [ARG_SHAPE] = "shape",
    [ARG_SIZE_BYTES] = "size_bytes",
    [ARG_ORIGIN] = "origin",
    [ARG_MODEL_FILE] = "model_file",
    [ARG_FILE_OFFSET_BYTES] = "file_offset_bytes",
    [ARG_BUFFER_ID] = "buffer_id",
    [ARG_BUFFER_OFFSET_BYTES] = "buffer_offset_bytes",
    [ARG_READ_BYTES] = "read_bytes",
    [ARG_READ_BYTES_AT_MOST] = "read_bytes_at_most",
    [ARG_ROWS] = "rows",
    [ARG_EXPERTS] = "experts",
    [ARG_EXPERT_ID] = "expert_id",
    [ARG_FIRST] = "first",
    [ARG_COUNT] = "count",
    [ARG_UNFINISHED] = "unfinished",
    [ARG_MINOR_FAULTS] = "minor_faults",
    [ARG_MAJOR_FAULTS] = "major_faults",
    [ARG_CPU_NS] = "cpu_ns",
    [ARG_DEVICE_READ_BYTES] = "device_read_bytes",
    [ARG_THREADS] = "threads",
    [ARG_OBSERVED] = "observed",
    [ARG_OS_THREAD_ID] = "os_thread_id",
    [ARG_STATUS] = "status",
    [ARG_TEXT] = "text",
    [ARG_POSITION] = "position",
    [ARG_SEQUENCES] = "sequences",
    [ARG_CONTEXT_ID] = "context_id",
    [ARG_TOKENS] = "tokens",
    [ARG_N_TOKENS] = "n_tokens",
};

_Static_assert(ARGS < 128, "an argument's id takes one byte");

const char *tt_perfetto_arg_name(tt_perfetto_arg arg)
{
    return names[arg];
}

size_t tt_perfetto_put_begin(tt_bytes *b, uint32_t field, tt_perfetto_arg name)
{
    size_t at = tt_proto_begin(b, field);
    if (name != ARG_NONE) tt_proto_uint(b, PB_ANNOTATION_NAME_IID, name);
    return at;
}

void tt_perfetto_put_uint(tt_bytes *b, uint32_t field, tt_perfetto_arg name, uint64_t v)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    tt_proto_uint(b, PB_UINT_VALUE, v);
    tt_proto_end(b, at);
}

void tt_perfetto_put_int(tt_bytes *b, uint32_t field, tt_perfetto_arg name, int64_t v)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    tt_proto_int(b, PB_INT_VALUE, v);
    tt_proto_end(b, at);
}

void tt_perfetto_put_true(tt_bytes *b, uint32_t field, tt_perfetto_arg name)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    tt_proto_uint(b, PB_BOOL_VALUE, 1);
    tt_proto_end(b, at);
}

void tt_perfetto_put_text(tt_bytes *b, uint32_t field, tt_perfetto_arg name,
                          const tt_perfetto_names *interned, const char *text)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    uint64_t iid = interned ? tt_perfetto_name_iid(interned, text) : 0;
    if (iid)
        tt_proto_uint(b, PB_STRING_VALUE_IID, iid);
    else
        tt_proto_text(b, PB_STRING_VALUE, text);
    tt_proto_end(b, at);
}

void tt_perfetto_put_text_n(tt_bytes *b, uint32_t field, tt_perfetto_arg name, const char *text,
                            size_t n)
{
    size_t at = tt_perfetto_put_begin(b, field, name);
    tt_proto_text_n(b, PB_STRING_VALUE, text, n);
    tt_proto_end(b, at);
}

/* --- packets --- */

size_t tt_perfetto_packet(tt_bytes *b)
{
    size_t at = tt_proto_begin(b, PB_TRACE_PACKET);
    tt_proto_uint(b, PB_SEQUENCE_ID, 1);
    tt_proto_uint(b, PB_SEQUENCE_FLAGS, PB_NEEDS_STATE);
    return at;
}

tt_perfetto_event tt_perfetto_event_begin(tt_bytes *b, uint64_t time_ns, uint32_t type,
                                          uint64_t track)
{
    tt_perfetto_event e = {.packet = tt_perfetto_packet(b)};
    tt_proto_uint(b, PB_TIMESTAMP, time_ns);
    e.event = tt_proto_begin(b, PB_TRACK_EVENT);
    tt_proto_uint(b, PB_TYPE, type);
    tt_proto_uint(b, PB_TRACK_UUID, track);
    return e;
}

void tt_perfetto_event_end(tt_bytes *b, tt_perfetto_event e)
{
    tt_proto_end(b, e.event);
    tt_proto_end(b, e.packet);
}

void tt_perfetto_counter(tt_bytes *b, uint64_t time_ns, uint64_t track, int64_t value)
{
    tt_perfetto_event e = tt_perfetto_event_begin(b, time_ns, PB_COUNTER, track);
    tt_proto_int(b, PB_COUNTER_VALUE, value);
    tt_perfetto_event_end(b, e);
}

void tt_perfetto_counter_real(tt_bytes *b, uint64_t time_ns, uint64_t track, double value)
{
    tt_perfetto_event e = tt_perfetto_event_begin(b, time_ns, PB_COUNTER, track);
    tt_proto_double(b, PB_DOUBLE_COUNTER_VALUE, value);
    tt_perfetto_event_end(b, e);
}

void tt_perfetto_track_put(tt_bytes *b, const tt_perfetto_track *t)
{
    enum { /* TrackDescriptor */
           UUID = 1,
           NAME = 2,
           PARENT_UUID = 5,
           COUNTER = 8,
           CHILD_ORDERING = 11,
           SIBLING_ORDER_RANK = 12,
           DESCRIPTION = 14,
           SIBLING_MERGE_BEHAVIOR = 15
    };
    enum { UNIT = 3, UNIT_NAME = 6, UNIT_SIZE_BYTES = 3 }; /* CounterDescriptor */
    enum { EXPLICIT = 3 };                                 /* ChildTracksOrdering */
    enum { MERGE_NONE = 2 };                               /* SiblingMergeBehavior */
    size_t packet = tt_perfetto_packet(b), track = tt_proto_begin(b, PB_TRACK_DESCRIPTOR);
    tt_proto_uint(b, UUID, t->uuid);
    tt_proto_uint(b, PARENT_UUID, t->parent);
    tt_proto_text(b, NAME, t->name);
    if (t->about) tt_proto_text(b, DESCRIPTION, t->about);
    if (t->unit) {
        size_t counter = tt_proto_begin(b, COUNTER);
        if (strcmp(t->unit, "bytes") == 0)
            tt_proto_uint(b, UNIT, UNIT_SIZE_BYTES);
        else
            tt_proto_text(b, UNIT_NAME, t->unit);
        tt_proto_end(b, counter);
    }
    if (t->ordered) tt_proto_uint(b, CHILD_ORDERING, EXPLICIT);
    tt_proto_int(b, SIBLING_ORDER_RANK, t->rank);
    /* Otherwise tracks of the same name are merged. */
    tt_proto_uint(b, SIBLING_MERGE_BEHAVIOR, MERGE_NONE);
    tt_proto_end(b, track);
    tt_proto_end(b, packet);
}

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

/* Where the bytes of a tensor are; placed: what is read or written begins there. */
static void put_place(const tt_perfetto *p, const tt_graph *g, uint32_t tensor, bool placed,
                      tt_bytes *b)
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
        tt_perfetto_put_text(b, PB_DICT_ENTRIES, ARG_MODEL_FILE, &p->names, m->files[w->file].path);
        if (placed)
            tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_FILE_OFFSET_BYTES,
                                 w->offset_bytes + t->root_offset_bytes);
    }
    if (buffer == TT_NONE) return;
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_BUFFER_ID, m->buffers[buffer].id);
    if (placed)
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
        tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_N_TOKENS, a->uses);
    } else if (t->nb[1]) {
        tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_FIRST, at / t->nb[1]);
        tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_COUNT,
                             a->size_bytes / t->nb[1] + (a->size_bytes % t->nb[1] != 0));
    }
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_FILE_OFFSET_BYTES, a->offset_bytes);
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_READ_BYTES, a->size_bytes);
    tt_proto_end(b, dict);
}

/* Which rows or experts were selected from a source, if observed. */
static void put_picks(const tt_perfetto *p, const tt_op *op, const tt_op_source *s,
                      const tt_access *list, size_t n, tt_bytes *b)
{
    bool any = false;
    size_t array = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i].tensor != s->tensor || !tt_access_is_placed(&list[i])) continue;
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
    bool placed = !tt_op_source_is_unplaced(op->graph, s);
    for (size_t i = 0; i < n; i++)
        placed |= list[i].tensor == s->tensor && tt_access_is_placed(&list[i]);
    put_place(p, op->graph, s->tensor, placed, b);
    tt_perfetto_put_uint(b, PB_DICT_ENTRIES, ARG_READ_BYTES, s->read_bytes);
    if (s->at_most) tt_perfetto_put_true(b, PB_DICT_ENTRIES, ARG_READ_BYTES_AT_MOST);
    if (s->picks && s->weight != TT_NONE) put_picks(p, op, s, list, n, b);
    tt_proto_end(b, dict);
}

/* The op's name is a text of its own only if several nodes are fused. */
static const char *op_text(const tt_op *op)
{
    const tt_tensor *t = &op->graph->tensors[op->node];
    if (strcmp(op->op, t->op_name) == 0) return t->op_name;
    return strcmp(op->op, t->op_desc) == 0 ? t->op_desc : op->op;
}

static void put_layer(const tt_op *op, tt_bytes *b)
{
    if (op->place.layer_id >= 0)
        tt_perfetto_put_int(b, PB_DEBUG_ANNOTATIONS, ARG_LAYER_ID,
                            tt_layer_number(op->place.layer_id));
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
    put_place(p, op->graph, op->nodes[op->n_nodes - 1], true, b);
    tt_proto_end(b, dict);
}

void tt_perfetto_wait_body(const tt_perfetto *p, const tt_op *op, tt_bytes *b)
{
    tt_proto_uint(b, PB_CATEGORY_IIDS, TT_PERFETTO_WAIT);
    tt_proto_uint(b, PB_NAME_IID, (uint64_t)p->names.texts.n + 1); /* "wait" */
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_NODE, op->node);
    tt_perfetto_put_text(b, PB_DEBUG_ANNOTATIONS, ARG_OP, &p->names, op_text(op));
    tt_perfetto_put_text(b, PB_DEBUG_ANNOTATIONS, ARG_NAME, &p->names, op->name);
    put_layer(op, b);
}
