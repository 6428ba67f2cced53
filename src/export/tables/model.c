/* The tables `tensors`, `buffers` and `buffer_events`. */
#include "export/tables/tables.h"

#define ITEMS_EACH (TT_ROWS_MAX / 2)

/* Begins the rows of a part of n items, and makes room for one row each. */
static tt_status begin(tt_rows *rows, const tt_export_table *table, const tt_model *m, uint32_t n,
                       uint32_t part, uint32_t *first, uint32_t *end, tt_error *err)
{
    tt_tables_own *own;
    tt_status status = tt_tables_begin(rows, table, m, &own, err);
    *first = part < tt_parts_of(n, ITEMS_EACH) ? part * ITEMS_EACH : n;
    *end = n - *first < ITEMS_EACH ? n : *first + ITEMS_EACH;
    return status == TT_OK ? tt_rows_reserve(rows, *end - *first, err) : status;
}

static tt_status finish(tt_rows *rows, tt_error *err)
{
    tt_tables_run_id(rows, 0, rows->n);
    return tt_tables_end(rows, err);
}

static const char *text_or_null(const char *text)
{
    return text && text[0] ? text : NULL;
}

/* --- tensors --- */

enum {
    TENSORS_RUN_ID,
    TENSORS_TENSOR,
    TENSORS_NAME,
    TENSORS_FILE,
    TENSORS_FILE_OFFSET,
    TENSORS_SIZE,
    TENSORS_TYPE,
    TENSORS_DIMS,
    TENSORS_NE0,
    TENSORS_NE1,
    TENSORS_NE2,
    TENSORS_NE3,
    TENSORS_LAYER,
    TENSORS_STACK,
    TENSORS_CATEGORY,
    TENSORS_COMPONENT,
    TENSORS_COLUMNS
};

static const tt_column tensors_columns[TENSORS_COLUMNS] = {
    [TENSORS_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [TENSORS_TENSOR] =
        TT_EXPORT_COLUMN("tensor_id", TT_CELL_U32, false, "counted from 0, in this trace only"),
    [TENSORS_NAME] = TT_EXPORT_COLUMN("name", TT_CELL_NAME, false, "as in the model file"),
    [TENSORS_FILE] = TT_EXPORT_COLUMN("model_file", TT_CELL_NAME, false, "path of the model file"),
    [TENSORS_FILE_OFFSET] = TT_EXPORT_COLUMN("file_offset_bytes", TT_CELL_U64, false,
                                             "offset of its first byte in the file"),
    [TENSORS_SIZE] = TT_EXPORT_COLUMN("size_bytes", TT_CELL_U64, false, "size in the file"),
    [TENSORS_TYPE] = TT_EXPORT_COLUMN("type", TT_CELL_NAME, false, "ggml's name of its type"),
    [TENSORS_DIMS] =
        TT_EXPORT_COLUMN("n_dims", TT_CELL_U32, true, "dimensions; null: not observed"),
    [TENSORS_NE0] =
        TT_EXPORT_COLUMN("ne0", TT_CELL_U64, true, "shape, the contiguous dimension first"),
    [TENSORS_NE1] = TT_EXPORT_COLUMN("ne1", TT_CELL_U64, true, "second dimension"),
    [TENSORS_NE2] = TT_EXPORT_COLUMN("ne2", TT_CELL_U64, true, "third dimension"),
    [TENSORS_NE3] = TT_EXPORT_COLUMN("ne3", TT_CELL_U64, true, "fourth dimension"),
    [TENSORS_LAYER] =
        TT_EXPORT_COLUMN("layer_id", TT_CELL_I32, true, "layer; null: belongs to none"),
    [TENSORS_STACK] = TT_TABLES_STACK,
    [TENSORS_CATEGORY] = TT_EXPORT_COLUMN(
        "category", TT_CELL_NAME, false,
        "input, attention, ffn, norm, output, ssm, rwkv, conv, projector or other"),
    [TENSORS_COMPONENT] =
        TT_EXPORT_COLUMN("component", TT_CELL_NAME, false, "part of the layer, as attn_q"),
};

static uint32_t tensors_parts(const tt_model *m, const tt_filter *filter)
{
    (void)filter;
    return tt_parts_of(m->n_weights, ITEMS_EACH);
}

static tt_status fill_tensors(const tt_model *m, const tt_filter *filter, uint32_t part,
                              tt_rows *rows, tt_error *err)
{
    uint32_t i, end;
    tt_status status = begin(rows, &tt_table_tensors, m, m->n_weights, part, &i, &end, err);
    (void)filter;
    if (status != TT_OK) return status;
    for (; i < end; i++, rows->n++) {
        const tt_weight *w = &m->weights[i];
        tt_rows_integer(rows, TENSORS_TENSOR, i);
        tt_rows_name(rows, TENSORS_NAME, w->name);
        tt_rows_name(rows, TENSORS_FILE, m->files[w->file].path);
        tt_rows_integer(rows, TENSORS_FILE_OFFSET, w->offset_bytes);
        tt_rows_integer(rows, TENSORS_SIZE, w->size_bytes);
        tt_rows_name(rows, TENSORS_TYPE, w->type_name);
        tt_tables_put_known(rows, TENSORS_DIMS, w->n_dims > 0, w->n_dims);
        for (uint32_t d = 0; d < TT_DIMS; d++)
            tt_tables_put_known(rows, TENSORS_NE0 + d, w->n_dims > 0, w->ne[d]);
        tt_tables_put_layer(rows, TENSORS_LAYER, TENSORS_STACK, w->place.layer_id);
        tt_rows_name(rows, TENSORS_CATEGORY, w->place.category);
        tt_rows_name(rows, TENSORS_COMPONENT, w->place.component);
    }
    return finish(rows, err);
}

const tt_export_table tt_table_tensors = {
    .name = "tensors",
    .about = "A row for each tensor of the model files: the weights, where they lie in the file",
    .columns = tensors_columns,
    .n_columns = TENSORS_COLUMNS,
    .parts = tensors_parts,
    .fill = fill_tensors,
};

/* --- buffers --- */

enum {
    BUFFERS_RUN_ID,
    BUFFERS_BUFFER,
    BUFFERS_NAME,
    BUFFERS_KIND,
    BUFFERS_USAGE,
    BUFFERS_BACKING,
    BUFFERS_HOST,
    BUFFERS_ALLOCATOR,
    BUFFERS_SIZE,
    BUFFERS_USED,
    BUFFERS_TENSORS,
    BUFFERS_LAYERS,
    BUFFERS_LAYER_FIRST,
    BUFFERS_LAYER_LAST,
    BUFFERS_STACK,
    BUFFERS_CONTEXT,
    BUFFERS_ALLOC_SEEN,
    BUFFERS_ALLOCATED,
    BUFFERS_FREED,
    BUFFERS_LIFETIME,
    BUFFERS_AT_LEAST,
    BUFFERS_FILE,
    BUFFERS_FILE_OFFSET,
    BUFFERS_COLUMNS
};

static const tt_column buffers_columns[BUFFERS_COLUMNS] = {
    [BUFFERS_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [BUFFERS_BUFFER] = TT_EXPORT_COLUMN("buffer_id", TT_CELL_U64, false, "its number in the trace"),
    [BUFFERS_NAME] = TT_EXPORT_COLUMN("name", TT_CELL_NAME, false, "the engine's name for it"),
    [BUFFERS_KIND] =
        TT_EXPORT_COLUMN("kind", TT_CELL_NAME, false,
                         "weights, kv_cache, compute, output or other, derived from what is in it"),
    [BUFFERS_USAGE] = TT_EXPORT_COLUMN("usage", TT_CELL_NAME, false,
                                       "purpose that the engine declares: any, weights, compute"),
    [BUFFERS_BACKING] = TT_EXPORT_COLUMN("backing", TT_CELL_NAME, false,
                                         "allocated memory, a mapping of a file, or unknown"),
    [BUFFERS_HOST] = TT_EXPORT_COLUMN("host", TT_CELL_BOOL, false, "the processor can read it"),
    [BUFFERS_ALLOCATOR] =
        TT_EXPORT_COLUMN("allocator", TT_CELL_NAME, true, "library that asked for it"),
    [BUFFERS_SIZE] =
        TT_EXPORT_COLUMN("size_bytes", TT_CELL_U64, false, "size that the engine requested"),
    [BUFFERS_USED] =
        TT_EXPORT_COLUMN("used_bytes", TT_CELL_U64, false, "bytes that any tensor covered"),
    [BUFFERS_TENSORS] =
        TT_EXPORT_COLUMN("tensors", TT_CELL_U64, false, "number of different tensors in it"),
    [BUFFERS_LAYERS] =
        TT_EXPORT_COLUMN("layers", TT_CELL_U32, false, "layers of the weights and caches in it"),
    [BUFFERS_LAYER_FIRST] = TT_EXPORT_COLUMN("layer_first", TT_CELL_I32, true,
                                             "first layer of these; null: of several stacks"),
    [BUFFERS_LAYER_LAST] = TT_EXPORT_COLUMN("layer_last", TT_CELL_I32, true, "last layer of these"),
    [BUFFERS_STACK] =
        TT_EXPORT_COLUMN("stack", TT_CELL_NAME, true, "their stack, if it is one and has a name"),
    [BUFFERS_CONTEXT] =
        TT_EXPORT_COLUMN("context_id", TT_CELL_U32, true,
                         "the engine's context whose computations use it; null: none, or several"),
    [BUFFERS_ALLOC_SEEN] =
        TT_EXPORT_COLUMN("allocation_seen", TT_CELL_BOOL, false,
                         "false: it was allocated earlier, and was first seen when it was used"),
    [BUFFERS_ALLOCATED] = TT_EXPORT_COLUMN("allocated_relative_ns", TT_CELL_I64, true,
                                           "time of allocation, since the trace's first batch"),
    [BUFFERS_FREED] = TT_EXPORT_COLUMN(
        "freed_relative_ns", TT_CELL_I64, true,
        "time of release, since the trace's first batch; null: it was not freed while traced"),
    [BUFFERS_LIFETIME] =
        TT_EXPORT_COLUMN("lifetime_ns", TT_CELL_U64, true, "time between allocation and release"),
    [BUFFERS_AT_LEAST] =
        TT_EXPORT_COLUMN("lifetime_at_least", TT_CELL_BOOL, false,
                         "lifetime_ns is a lower bound: its allocation was not seen"),
    [BUFFERS_FILE] = TT_EXPORT_COLUMN("model_file", TT_CELL_NAME, true,
                                      "the mapped file, or that of the model whose computations "
                                      "use it; null: not known, or several"),
    [BUFFERS_FILE_OFFSET] = TT_EXPORT_COLUMN("file_offset_bytes", TT_CELL_U64, true,
                                             "offset in the mapped file at which it begins"),
};

static uint32_t buffers_parts(const tt_model *m, const tt_filter *filter)
{
    (void)filter;
    return tt_parts_of(m->n_buffers, ITEMS_EACH);
}

static void put_life(tt_rows *rows, const tt_model *m, const tt_buffer *b)
{
    bool seen = b->flags & TT_BUFFER_ALLOC_SEEN;
    bool lived = b->free_ticks && b->free_ticks >= b->alloc_ticks && m->clock.known;
    tt_rows_integer(rows, BUFFERS_ALLOC_SEEN, seen);
    tt_tables_put_relative(rows, BUFFERS_ALLOCATED, m, b->alloc_ticks);
    if (b->free_ticks)
        tt_tables_put_relative(rows, BUFFERS_FREED, m, b->free_ticks);
    else
        tt_rows_null(rows, BUFFERS_FREED);
    tt_tables_put_known(rows, BUFFERS_LIFETIME, lived,
                        lived ? tt_tables_span_ns(m, b->free_ticks - b->alloc_ticks) : 0);
    tt_rows_integer(rows, BUFFERS_AT_LEAST, !seen);
}

static void put_use(tt_rows *rows, const tt_buffer_life *u)
{
    const bool one = tt_buffer_of_one_stack(u);
    const int32_t *last = one ? &u->layers[u->n_layers - 1] : NULL;
    tt_rows_integer(rows, BUFFERS_USED, u->used_bytes);
    tt_rows_integer(rows, BUFFERS_TENSORS, u->n_tensors);
    tt_rows_integer(rows, BUFFERS_LAYERS, u->n_layers);
    tt_tables_put_known(rows, BUFFERS_LAYER_FIRST, one,
                        one ? (uint64_t)tt_layer_number(u->layers[0]) : 0);
    tt_tables_put_known(rows, BUFFERS_LAYER_LAST, one, one ? (uint64_t)tt_layer_number(*last) : 0);
    tt_rows_name(rows, BUFFERS_STACK, one ? tt_layer_stack_name(*last) : NULL);
    tt_tables_put_known(rows, BUFFERS_CONTEXT, u->context.known && !u->context.several,
                        u->context.id);
}

static tt_status fill_buffers(const tt_model *m, const tt_filter *filter, uint32_t part,
                              tt_rows *rows, tt_error *err)
{
    uint32_t i, end;
    tt_status status = begin(rows, &tt_table_buffers, m, m->n_buffers, part, &i, &end, err);
    (void)filter;
    if (status == TT_OK) status = tt_tables_buffers(rows->own, err);
    if (status != TT_OK) return status;
    for (; i < end; i++, rows->n++) {
        const tt_buffer *b = &m->buffers[i];
        const bool mapped = b->flags & TT_BUFFER_FILE;
        tt_rows_integer(rows, BUFFERS_BUFFER, b->id);
        tt_rows_name(rows, BUFFERS_NAME, b->name);
        tt_rows_name(rows, BUFFERS_KIND, tt_buffer_kind_name(b->kind));
        tt_rows_name(rows, BUFFERS_USAGE, tt_buffer_usage_name(b->usage));
        tt_rows_name(rows, BUFFERS_BACKING, tt_backing_name(tt_buffer_backing(b)));
        tt_rows_integer(rows, BUFFERS_HOST, (b->flags & TT_BUFFER_HOST) != 0);
        tt_rows_name(rows, BUFFERS_ALLOCATOR, text_or_null(b->allocator));
        tt_rows_integer(rows, BUFFERS_SIZE, b->size_bytes);
        put_use(rows, &rows->own->buffers->uses[i]);
        put_life(rows, m, b);
        tt_rows_name(rows, BUFFERS_FILE, tt_buffer_model(rows->own->buffers, m, i));
        tt_tables_put_known(rows, BUFFERS_FILE_OFFSET, mapped, b->file_offset_bytes);
    }
    return finish(rows, err);
}

const tt_export_table tt_table_buffers = {
    .name = "buffers",
    .about = "A row for each buffer of the engine",
    .columns = buffers_columns,
    .n_columns = BUFFERS_COLUMNS,
    .parts = buffers_parts,
    .fill = fill_buffers,
};

/* --- buffer_events --- */

enum {
    EVENTS_RUN_ID,
    EVENTS_INDEX,
    EVENTS_TIME,
    EVENTS_RELATIVE,
    EVENTS_EVENT,
    EVENTS_BUFFER,
    EVENTS_SIZE,
    EVENTS_ACTIVE,
    EVENTS_ALLOCATED,
    EVENTS_MAPPED,
    EVENTS_UNKNOWN,
    EVENTS_COLUMNS
};

static const tt_column events_columns[EVENTS_COLUMNS] = {
    [EVENTS_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [EVENTS_INDEX] =
        TT_EXPORT_COLUMN("event_index", TT_CELL_U32, false, "counted from 0, in order of time"),
    [EVENTS_TIME] = TT_EXPORT_COLUMN("time", TT_CELL_TIME, true, "time of the event, UTC"),
    [EVENTS_RELATIVE] =
        TT_EXPORT_COLUMN("time_relative_ns", TT_CELL_I64, true,
                         "the same since the trace's first batch; negative: before it"),
    [EVENTS_EVENT] = TT_EXPORT_COLUMN("event", TT_CELL_NAME, false,
                                      "alloc, free, or first_use: its allocation was not seen"),
    [EVENTS_BUFFER] = TT_EXPORT_COLUMN("buffer_id", TT_CELL_U64, false, "the buffer"),
    [EVENTS_SIZE] = TT_EXPORT_COLUMN("size_bytes", TT_CELL_U64, false, "its size"),
    [EVENTS_ACTIVE] =
        TT_EXPORT_COLUMN("active_buffers", TT_CELL_U32, false, "number of buffers after the event"),
    [EVENTS_ALLOCATED] =
        TT_EXPORT_COLUMN("allocated_bytes", TT_CELL_U64, false, "bytes of all allocated buffers"),
    [EVENTS_MAPPED] =
        TT_EXPORT_COLUMN("mapped_bytes", TT_CELL_U64, false, "bytes of all buffers that map files"),
    [EVENTS_UNKNOWN] = TT_EXPORT_COLUMN("unknown_bytes", TT_CELL_U64, false,
                                        "bytes of all buffers for which this was not observed"),
};

/* A buffer is allocated at most once and freed at most once. */
static uint32_t events_parts(const tt_model *m, const tt_filter *filter)
{
    (void)filter;
    return tt_parts_of((uint64_t)m->n_buffers * 2, ITEMS_EACH);
}

static void put_event(tt_rows *rows, const tt_model *m, const tt_buffer_event *e)
{
    const tt_buffer *b = &m->buffers[e->buffer];
    tt_tables_put_utc(rows, EVENTS_TIME, m, e->ticks);
    tt_tables_put_relative(rows, EVENTS_RELATIVE, m, e->ticks);
    tt_rows_name(rows, EVENTS_EVENT,
                 e->is_free                        ? "free"
                 : b->flags & TT_BUFFER_ALLOC_SEEN ? "alloc"
                                                   : "first_use");
    tt_rows_integer(rows, EVENTS_BUFFER, b->id);
    tt_rows_integer(rows, EVENTS_SIZE, b->size_bytes);
    tt_rows_integer(rows, EVENTS_ACTIVE, e->n_active);
    tt_rows_integer(rows, EVENTS_ALLOCATED, e->bytes[TT_BACKING_ALLOCATED]);
    tt_rows_integer(rows, EVENTS_MAPPED, e->bytes[TT_BACKING_FILE]);
    tt_rows_integer(rows, EVENTS_UNKNOWN, e->bytes[TT_BACKING_UNKNOWN]);
}

static tt_status fill_events(const tt_model *m, const tt_filter *filter, uint32_t part,
                             tt_rows *rows, tt_error *err)
{
    tt_tables_own *own;
    uint32_t i, end;
    (void)filter;
    tt_status status = tt_tables_begin(rows, &tt_table_buffer_events, m, &own, err);
    if (status == TT_OK) status = tt_tables_buffers(own, err);
    if (status == TT_OK)
        status =
            begin(rows, &tt_table_buffer_events, m, own->buffers->n_events, part, &i, &end, err);
    if (status != TT_OK) return status;
    for (; i < end; i++, rows->n++) {
        tt_rows_integer(rows, EVENTS_INDEX, i);
        put_event(rows, m, &own->buffers->events[i]);
    }
    return finish(rows, err);
}

const tt_export_table tt_table_buffer_events = {
    .name = "buffer_events",
    .about = "A row for each time that a buffer came or went, with what there was after it",
    .columns = events_columns,
    .n_columns = EVENTS_COLUMNS,
    .parts = events_parts,
    .fill = fill_events,
};
