/* The columns of buffers and KV caches, for every output. */
#include "analyze/buffers.h"

#include "base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const tt_model *model_of(const void *context)
{
    return ((const tt_buffers_context *)context)->m;
}

static void set_moment(const void *context, tt_cell *cell, bool known, uint64_t ticks)
{
    const tt_model *m = model_of(context);
    tt_cell_ns(cell, known && m->clock.known, tt_model_ns(m, ticks));
}

static void set_buffer(const void *context, tt_cell *cell, uint32_t buffer)
{
    cell->known = buffer != TT_NONE;
    if (cell->known) cell->u64 = model_of(context)->buffers[buffer].id;
}

/* --- buffers --- */

static const tt_buffer_life *life(const void *context, const void *row)
{
    const tt_buffers_context *x = context;
    return &x->buffers->uses[(const tt_buffer *)row - x->m->buffers];
}

static tt_certainty begin_bound(const void *context, const void *row)
{
    (void)context;
    return ((const tt_buffer *)row)->flags & TT_BUFFER_ALLOC_SEEN ? TT_EXACT : TT_AT_MOST;
}

static tt_certainty life_bound(const void *context, const void *row)
{
    return begin_bound(context, row) == TT_EXACT ? TT_EXACT : TT_AT_LEAST;
}

TT_COLUMN_KNOWN(is_file, tt_buffer, b, b->flags &TT_BUFFER_FILE)
TT_COLUMN_VALUE(get_index, tt_buffer, b, u64, (uint64_t)(b - model_of(context)->buffers))
TT_COLUMN_GET(get_kind, tt_buffer, b, tt_cell_text(cell, tt_buffer_kind_name(b->kind));)
TT_COLUMN_GET(get_usage, tt_buffer, b, tt_cell_text(cell, tt_buffer_usage_name(b->usage));)
TT_COLUMN_GET(get_backing, tt_buffer, b, tt_cell_text(cell, tt_backing_name(tt_buffer_backing(b)));)
TT_COLUMN_VALUE(get_host, tt_buffer, b, boolean, b->flags &TT_BUFFER_HOST)
TT_COLUMN_GET(get_allocator, tt_buffer, b,
              tt_cell_text(cell, b->allocator && b->allocator[0] ? b->allocator : NULL);)
TT_COLUMN_VALUE(get_used, tt_buffer, b, u64, life(context, b)->used_bytes)
TT_COLUMN_VALUE(get_tensors, tt_buffer, b, u64, life(context, b)->n_tensors)
TT_COLUMN_VALUE(get_seen, tt_buffer, b, boolean, b->flags &TT_BUFFER_ALLOC_SEEN)
TT_COLUMN_VALUE(get_unseen, tt_buffer, b, boolean, !(b->flags & TT_BUFFER_ALLOC_SEEN))
TT_COLUMN_GET(get_allocated, tt_buffer, b, set_moment(context, cell, true, b->alloc_ticks);)
TT_COLUMN_GET(get_freed, tt_buffer, b, set_moment(context, cell, b->free_ticks > 0, b->free_ticks);)
TT_COLUMN_GET(get_lifetime, tt_buffer, b, const tt_model *m = model_of(context);
              tt_cell_ns(cell, m->clock.known && b->free_ticks && b->free_ticks >= b->alloc_ticks,
                         tt_model_span_ns(m, b->free_ticks - b->alloc_ticks));)

/* No graph has a tensor in it: its use was not observed. */
bool tt_buffers_is_used(const void *context, const void *row)
{
    return life(context, row)->n_tensors > 0;
}

static const tt_column shown_columns[] = {
    TT_COLUMN("used_bytes", NULL, BYTES, "", .type = TT_CELL_U64, .known = tt_buffers_is_used,
              .get = get_used),
    TT_COLUMN("tensors", NULL, COUNT, "", .type = TT_CELL_U64, .known = tt_buffers_is_used,
              .get = get_tensors),
};

TT_COLUMN_SHOW(show_used, tt_buffer, b, tt_cell_show(&shown_columns[0], context, b, out, room);)
TT_COLUMN_SHOW(show_tensors, tt_buffer, b, tt_cell_show(&shown_columns[1], context, b, out, room);)

/* "0-21", "0-3, 8" */
static void get_layers(const void *context, const void *row, tt_cell *cell)
{
    const tt_buffer_life *u = life(context, row);
    const size_t room = sizeof cell->room;
    size_t used = 0;
    cell->room[0] = '\0';
    for (uint32_t i = 0, last; i < u->n_layers; i = last + 1) {
        char text[64];
        const char *stack = tt_layer_stack_name(u->layers[i]);
        for (last = i; last + 1 < u->n_layers && u->layers[last + 1] == u->layers[last] + 1;)
            last++;
        const int n =
            snprintf(text, sizeof text, last == i ? "%s%s%s%" PRId32 : "%s%s%s%" PRId32 "-%" PRId32,
                     i ? ", " : "", stack ? stack : "", stack ? " " : "",
                     tt_layer_number(u->layers[i]), tt_layer_number(u->layers[last]));
        if (n < 0 || used + (size_t)n + sizeof ", .." > room) {
            (void)snprintf(cell->room + used, room - used, ", ..");
            break;
        }
        memcpy(cell->room + used, text, (size_t)n + 1);
        used += (size_t)n;
    }
    tt_cell_text(cell, cell->room);
}

TT_COLUMN_JSON(put_layers, tt_buffer, b, const tt_buffer_life *u = life(context, b);
               tt_json_array(j); for (uint32_t i = 0; i < u->n_layers; i++)
                   tt_json_i64(j, tt_layer_number(u->layers[i]));
               tt_json_array_end(j);)

/* Of each of its layers. */
TT_COLUMN_JSON(put_stacks, tt_buffer, b, const tt_buffer_life *u = life(context, b);
               tt_json_array(j); for (uint32_t i = 0; i < u->n_layers; i++)
                   tt_json_string(j, tt_layer_stack_name(u->layers[i]));
               tt_json_array_end(j);)

static bool has_keys(const void *context, const void *row)
{
    const tt_buffer_life *u = life(context, row);
    return u->n_layers > 0 && u->layers[u->n_layers - 1] >= TT_LAYER_NUMBERS;
}
TT_COLUMN_JSON(put_keys, tt_buffer, b, const tt_buffer_life *u = life(context, b); tt_json_array(j);
               for (uint32_t i = 0; i < u->n_layers; i++) tt_json_i64(j, u->layers[i]);
               tt_json_array_end(j);)

static const char *file_of(const void *context, const tt_buffer *b)
{
    const tt_buffers_context *x = context;
    return tt_buffer_model(x->buffers, x->m, (uint32_t)(b - x->m->buffers));
}

static bool is_context(const void *context, const void *row)
{
    const tt_buffer_user *u = &life(context, row)->context;
    return u->known && !u->several;
}

/* Nothing where all are of one model, or of one context. */
static bool several_contexts(const tt_model *m)
{
    for (uint32_t i = 1; i < m->n_batches; i++)
        if (m->batches[i].context != m->batches[0].context) return true;
    return false;
}

TT_COLUMN_GET(get_file, tt_buffer, b, tt_cell_text(cell, file_of(context, b));)
TT_COLUMN_SHOW(show_file, tt_buffer, b, const char *path = file_of(context, b);
               if (model_of(context)->n_models > 1 && path)
                   tt_cell_text_copy(out, room, tt_base_name(path));)
TT_COLUMN_GET(get_context, tt_buffer, b, cell->known = is_context(context, b);
              cell->u64 = life(context, b)->context.id;)
TT_COLUMN_SHOW(show_context, tt_buffer, b,
               if (is_context(context, b) && several_contexts(model_of(context)))(void)
                   snprintf(out, room, "%" PRIu32, life(context, b)->context.id);)

static void get_place(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    const tt_buffer *b = row;
    if (b->flags & TT_BUFFER_FILE)
        tt_cell_format(cell, "%s + %" PRIu64, b->path, b->file_offset_bytes);
    else if (b->flags & TT_BUFFER_PLACE_UNKNOWN)
        tt_cell_text(cell, "not observed");
    else
        tt_cell_format(cell, "allocated%s%s", b->allocator[0] ? " by " : "", b->allocator);
}

static const tt_column buffer_columns[] = {
    TT_COLUMN("buffer_index", NULL, ID, "index of the buffer in the trace", .type = TT_CELL_U64,
              .get = get_index),
    TT_COLUMN("buffer_id", "ID", ID, "its number in the trace", TT_MEMBER(tt_buffer, id)),
    TT_COLUMN("name", "NAME", NONE, "the engine's name for it", .show = TT_SHOW_CUT | TT_SHOW_KEY,
              TT_MEMBER(tt_buffer, name)),
    TT_COLUMN("kind", "KIND", NONE, "its contents: weights, kv_cache, compute, output, other",
              .type = TT_CELL_NAME, .get = get_kind),
    TT_COLUMN("usage", "USAGE", NONE, "the purpose that the engine declares: weights, compute, any",
              .type = TT_CELL_NAME, .show = TT_SHOW_WIDE, .get = get_usage),
    TT_COLUMN("backing", NULL, NONE, "allocated, file (a mapping) or unknown", .type = TT_CELL_NAME,
              .get = get_backing),
    TT_COLUMN("host", NULL, NONE, "the processor can read it", .type = TT_CELL_BOOL,
              .get = get_host),
    TT_COLUMN("allocator", NULL, NONE, "the library that allocated it", .type = TT_CELL_NAME,
              .nullable = true, .get = get_allocator),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "size that the engine requested",
              TT_MEMBER(tt_buffer, size_bytes)),
    TT_COLUMN("used_bytes", "USED", BYTES, "bytes that tensors of any graph covered at any time",
              .type = TT_CELL_U64, .get = get_used, .text = show_used),
    TT_COLUMN("tensors", "TENSORS", COUNT, "number of different tensors in it", .type = TT_CELL_U64,
              .show = TT_SHOW_WIDE, .get = get_tensors, .text = show_tensors),
    TT_COLUMN("layer_ids", "LAYERS", NONE, "layers of the weights and caches in it",
              .type = TT_CELL_NAME, .show = TT_SHOW_CUT | TT_SHOW_WIDE, .get = get_layers,
              .json = put_layers),
    TT_COLUMN("stacks", NULL, NONE,
              "of each of these layers, the stack, if it has a name; absent: of none",
              .type = TT_CELL_LIST, .show = TT_SHOW_OMIT, .known = has_keys, .json = put_stacks),
    TT_COLUMN("layer_keys", NULL, NONE,
              "of each of these layers, a number that tells it from those of other stacks and "
              "models; absent: it is layer_ids",
              .type = TT_CELL_LIST, .show = TT_SHOW_OMIT, .known = has_keys, .json = put_keys),
    TT_COLUMN("context_id", "CONTEXT", ID,
              "the engine's context whose computations use it; null: none, or several",
              .type = TT_CELL_U32, .nullable = true, .show = TT_SHOW_KNOWN, .get = get_context,
              .text = show_context),
    TT_COLUMN("allocation_seen", NULL, NONE, "false: it was allocated before it was first seen",
              .type = TT_CELL_BOOL, .get = get_seen),
    TT_COLUMN("allocated_relative_ns", "FROM", MOMENT,
              "when it was allocated or first seen, from the begin of the first batch",
              .type = TT_CELL_I64, .nullable = true, .bound = begin_bound, .get = get_allocated),
    TT_COLUMN("freed_relative_ns", "TO", MOMENT, "when it was freed; null: not while traced",
              .type = TT_CELL_I64, .nullable = true, .get = get_freed),
    TT_COLUMN("lifetime_ns", "LIFETIME", NS, "time between allocation and release",
              .type = TT_CELL_I64, .nullable = true, .show = TT_SHOW_WIDE, .bound = life_bound,
              .get = get_lifetime),
    TT_COLUMN("lifetime_at_least", NULL, NONE,
              "the lifetime is a lower bound: it was allocated before it was first seen",
              .type = TT_CELL_BOOL, .get = get_unseen),
    TT_COLUMN("location", "LOCATION", NONE, "the file and the offset in it, or who allocated it",
              .type = TT_CELL_NAME, .show = TT_SHOW_TEXT | TT_SHOW_CUT | TT_SHOW_KEY | TT_SHOW_WIDE,
              .get = get_place),
    TT_COLUMN(
        "model_file", "MODEL", NONE,
        "the mapped file, or that of the model whose computations use it; null: not known, or "
        "several",
        .type = TT_CELL_NAME, .nullable = true, .show = TT_SHOW_KNOWN | TT_SHOW_CUT,
        .get = get_file, .text = show_file),
    TT_COLUMN("file_offset_bytes", NULL, BYTES, "offset in the file at which the buffer begins",
              .nullable = true, .known = is_file, TT_MEMBER(tt_buffer, file_offset_bytes)),
};

const tt_schema tt_buffer_schema = {"buffers", "the engine's buffers", buffer_columns,
                                    COUNT(buffer_columns)};

/* --- allocations and frees --- */

static const tt_buffer *buffer_of(const void *context, const tt_buffer_event *e)
{
    return &model_of(context)->buffers[e->buffer];
}

static const char *event_name(const void *context, const tt_buffer_event *e, const char *first_use)
{
    if (e->is_free) return "free";
    return buffer_of(context, e)->flags & TT_BUFFER_ALLOC_SEEN ? "alloc" : first_use;
}

TT_COLUMN_GET(get_time, tt_buffer_event, e, set_moment(context, cell, true, e->ticks);)
TT_COLUMN_GET(get_event, tt_buffer_event, e,
              tt_cell_text(cell, event_name(context, e, "first_use"));)
TT_COLUMN_SHOW(show_event, tt_buffer_event, e,
               (void)snprintf(out, room, "%s", event_name(context, e, "first use"));)
TT_COLUMN_VALUE(get_event_buffer, tt_buffer_event, e, u64, buffer_of(context, e)->id)
TT_COLUMN_GET(get_event_name, tt_buffer_event, e, tt_cell_text(cell, buffer_of(context, e)->name);)
TT_COLUMN_GET(get_event_kind, tt_buffer_event, e,
              tt_cell_text(cell, tt_buffer_kind_name(buffer_of(context, e)->kind));)
TT_COLUMN_VALUE(get_event_size, tt_buffer_event, e, u64, buffer_of(context, e)->size_bytes)

static const tt_column event_columns[] = {
    TT_COLUMN("time_relative_ns", "TIME", MOMENT, "from the begin of the first batch",
              .type = TT_CELL_I64, .nullable = true, .get = get_time),
    TT_COLUMN("event", "EVENT", NONE, "alloc, first_use (the allocation was not seen) or free",
              .type = TT_CELL_NAME, .get = get_event, .text = show_event),
    TT_COLUMN("buffer_id", "ID", ID, "the buffer's number in the trace", .type = TT_CELL_U64,
              .get = get_event_buffer),
    TT_COLUMN("name", "NAME", NONE, "the engine's name for it", .type = TT_CELL_NAME,
              .show = TT_SHOW_TEXT | TT_SHOW_CUT | TT_SHOW_WIDE, .get = get_event_name),
    TT_COLUMN("kind", "KIND", NONE, "its contents", .type = TT_CELL_NAME, .show = TT_SHOW_TEXT,
              .get = get_event_kind),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "size of the buffer", .type = TT_CELL_U64,
              .get = get_event_size),
    TT_COLUMN("active_buffers", "BUFFERS", COUNT, "number of buffers after the event",
              TT_MEMBER(tt_buffer_event, n_active)),
    TT_COLUMN("allocated_bytes", "ALLOCATED", BYTES, "bytes of all allocated buffers",
              TT_MEMBER(tt_buffer_event, bytes[TT_BACKING_ALLOCATED])),
    TT_COLUMN("mapped_bytes", "MAPPED", BYTES, "bytes of all buffers that map a file",
              TT_MEMBER(tt_buffer_event, bytes[TT_BACKING_FILE])),
    TT_COLUMN("unknown_bytes", NULL, BYTES, "bytes of all buffers for which this was not observed",
              TT_MEMBER(tt_buffer_event, bytes[TT_BACKING_UNKNOWN])),
};

const tt_schema tt_buffer_event_schema = {"events", "allocations and frees in order", event_columns,
                                          COUNT(event_columns)};

/* --- the peaks: rows of tt_buffers.peak --- */

static tt_backing backing_of(const tt_buffers_context *x, const uint32_t *peak)
{
    return (tt_backing)(peak - x->buffers->peak);
}

static const tt_buffer_event *peak_of(const void *context, const uint32_t *peak)
{
    return &((const tt_buffers_context *)context)->buffers->events[*peak];
}

TT_COLUMN_GET(get_peak_time, uint32_t, p,
              set_moment(context, cell, true, peak_of(context, p)->ticks);)
TT_COLUMN_VALUE(get_peak_size, uint32_t, p, u64, peak_of(context, p)->bytes[backing_of(context, p)])

static void put_kinds(tt_json *j, const void *context, const void *row)
{
    const tt_buffers_context *x = context;
    uint64_t bytes[TT_BUFFER_KINDS];
    tt_buffers_by_kind(x->buffers, x->m, *(const uint32_t *)row, backing_of(x, row), bytes);
    tt_json_object(j);
    for (unsigned k = 0; k < TT_BUFFER_KINDS; k++)
        if (bytes[k]) tt_json_kv_u64(j, tt_buffer_kind_name((tt_buffer_kind)k), bytes[k]);
    tt_json_object_end(j);
}

static void put_peak_buffers(tt_json *j, const void *context, const void *row)
{
    const tt_buffers_context *x = context;
    const uint32_t at = *(const uint32_t *)row;
    tt_json_array(j);
    for (uint32_t i = 0; i < x->m->n_buffers; i++)
        if (tt_buffer_backing(&x->m->buffers[i]) == backing_of(x, row) &&
            tt_buffers_active(x->buffers, i, at))
            tt_json_u64(j, x->m->buffers[i].id);
    tt_json_array_end(j);
}

static const tt_column peak_columns[] = {
    TT_COLUMN("time_relative_ns", NULL, MOMENT, "when it was reached", .type = TT_CELL_I64,
              .nullable = true, .get = get_peak_time),
    TT_COLUMN("size_bytes", NULL, BYTES, "of all buffers then", .type = TT_CELL_U64,
              .get = get_peak_size),
    TT_COLUMN("by_kind", NULL, NONE, "of each kind", .type = TT_CELL_OBJECT, .json = put_kinds),
    TT_COLUMN("buffer_ids", NULL, NONE, "that there were then", .type = TT_CELL_ROWS,
              .json = put_peak_buffers),
};

const tt_schema tt_buffer_peak_schema = {"peak", "the most there was", peak_columns,
                                         COUNT(peak_columns)};

/* --- KV caches --- */

/* Some writes, or all, are to unknown cells. */
#define WRITTEN(type_, what)                                                                       \
    TT_COLUMN_KNOWN(what##_has_cells, type_, c, c->cells > 0)                                      \
    TT_COLUMN_KNOWN(what##_observed, type_, c, c->observed)                                        \
    static tt_certainty what##_bound(const void *context, const void *row)                         \
    {                                                                                              \
        (void)context;                                                                             \
        return ((const type_ *)row)->at_least ? TT_AT_LEAST : TT_EXACT;                            \
    }                                                                                              \
    TT_COLUMN_GET(get_##what##_buffer, type_, c, set_buffer(context, cell, c->buffer);)

WRITTEN(tt_kv_tensor, tensor)
WRITTEN(tt_kv_cache, cache)

#define CELLS_COLUMNS(type_, what, ...)                                                            \
    TT_COLUMN("cells", "CELLS", COUNT, "positions of sequences that it has room for",              \
              .nullable = true, .show = TT_SHOW_DASH, .known = what##_has_cells,                   \
              TT_MEMBER(type_, cells)),                                                            \
        TT_COLUMN("cells_written", "WRITTEN", COUNT, "of these, ever written", .nullable = true,   \
                  .show = TT_SHOW_DASH, .known = what##_observed, .bound = what##_bound,           \
                  TT_MEMBER(type_, written)),                                                      \
        TT_COLUMN("written_bytes", NULL, BYTES, "bytes of these cells", .nullable = true,          \
                  .known = what##_observed, __VA_ARGS__),                                          \
        TT_COLUMN("written_at_least", NULL, NONE, "some writes were not followed",                 \
                  TT_MEMBER(type_, at_least))

TT_COLUMN_GET(get_role, tt_kv_tensor, t, tt_cell_format(cell, "%c", t->role);)
TT_COLUMN_GET(get_tensor_model, tt_kv_tensor, t,
              tt_cell_text(cell, tt_model_path(model_of(context), tt_layer_model(t->layer_id)));)
TT_COLUMN_SHOW(show_tensor_model, tt_kv_tensor, t,
               tt_cell_text_copy(out, room,
                                 tt_model_label(model_of(context), tt_layer_model(t->layer_id)));)
TT_COLUMN_VALUE(get_tensor_bytes, tt_kv_tensor, t, u64,
                tt_kv_written_bytes(((const tt_buffers_context *)context)->kv, t))

static const tt_column tensor_columns[] = {
    TT_COLUMN("buffer_id", "BUFFER", ID, "that it is in", .type = TT_CELL_U64, .nullable = true,
              .show = TT_SHOW_TEXT | TT_SHOW_DASH, .get = get_tensor_buffer),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer", TT_LAYER, TT_LAYER_AT(tt_kv_tensor, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_kv_tensor, layer_id)),
    TT_COLUMN("model_file", "MODEL", NONE, "path of its model", .type = TT_CELL_NAME,
              .nullable = true, .show = TT_SHOW_KNOWN | TT_SHOW_CUT, .get = get_tensor_model,
              .text = show_tensor_model),
    TT_COLUMN("name", "TENSOR", NONE, "its name", .show = TT_SHOW_CUT | TT_SHOW_KEY,
              TT_MEMBER(tt_kv_tensor, name)),
    TT_COLUMN("role", NULL, NONE, "k or v; another letter: a recurrent state", .type = TT_CELL_NAME,
              .get = get_role),
    TT_COLUMN("type", "TYPE", NONE, "of its numbers", TT_MEMBER(tt_kv_tensor, type_name)),
    TT_COLUMN("buffer_offset_bytes", "OFFSET", NONE, "where it begins in the buffer",
              TT_MEMBER(tt_kv_tensor, offset_bytes)),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "of it", TT_MEMBER(tt_kv_tensor, size_bytes)),
    CELLS_COLUMNS(tt_kv_tensor, tensor, .type = TT_CELL_U64, .get = get_tensor_bytes),
};

const tt_schema tt_kv_tensor_schema = {"tensors", "a layer's part of a KV cache", tensor_columns,
                                       COUNT(tensor_columns)};

static const tt_kv_cache *cache_of(const void *context, const tt_kv_step *s)
{
    return &((const tt_buffers_context *)context)->kv->caches[s->cache];
}

TT_COLUMN_GET(get_step_buffer, tt_kv_step, s,
              set_buffer(context, cell, cache_of(context, s)->buffer);)
TT_COLUMN_VALUE(get_token, tt_kv_step, s, u64, tt_model_batch_number(model_of(context), s->batch))
TT_COLUMN_GET(get_phase, tt_kv_step, s,
              tt_cell_text(cell, tt_phase_name(model_of(context)->batches[s->batch].phase));)
TT_COLUMN_VALUE(get_share, tt_kv_step, s, f64,
                (double)s->cells_written / (double)cache_of(context, s)->cells)

/* For rows that are not nested in their cache's. */
#define ALONE 1u
#define INSIDE 2u

static const tt_column step_columns[] = {
    TT_COLUMN("buffer_id", "BUFFER", ID, "buffer that holds the cache", .type = TT_CELL_U64,
              .nullable = true, .show = TT_SHOW_DASH, .kinds = ALONE, .get = get_step_buffer),
    TT_COLUMN("batch_id", "BATCH", ID, "the batch; figures are after it", .type = TT_CELL_U32,
              .get = get_token),
    TT_COLUMN("phase", "PHASE", NONE, "phase of the batch", .type = TT_CELL_NAME, .kinds = ALONE,
              .get = get_phase),
    TT_COLUMN("cells_written", "WRITTEN", COUNT, "cells of the cache written so far",
              TT_MEMBER(tt_kv_step, cells_written)),
    TT_COLUMN("share", "SHARE", SHARE, "share of the cache's cells that are written",
              .type = TT_CELL_F64, .nullable = true, .kinds = ALONE, .get = get_share),
    TT_COLUMN("written_bytes", "BYTES", BYTES, "bytes of these cells",
              TT_MEMBER(tt_kv_step, written_bytes)),
};

const tt_schema tt_kv_step_schema = {"kv", "how a KV cache fills, batch by batch", step_columns,
                                     COUNT(step_columns)};

tt_rowset tt_kv_step_rowset(const tt_buffers_context *x)
{
    return TT_ROWSET(&tt_kv_step_schema, ALONE, x, x->kv->steps, x->kv->n_steps);
}

TT_COLUMN_ROWS(cache_tensors, tt_kv_cache, c,
               ((const tt_buffers_context *)context)->kv->tensors + c->first, c->n_tensors)

/* Whether to keep item i of n: as many as wanted, including the first and the last. */
static bool is_kept(uint64_t most, uint64_t i, uint64_t n)
{
    if (!most || n <= most || i == n - 1) return true;
    return i * (most - 1) / n != (i + 1) * (most - 1) / n || i == 0;
}

static void put_steps(tt_json *j, const void *context, const void *row)
{
    const tt_buffers_context *x = context;
    const tt_kv_cache *c = row;
    const tt_rowset set = TT_ROWSET(&tt_kv_step_schema, INSIDE, x, c->steps, c->n_steps);
    tt_json_array(j);
    for (uint32_t i = 0; i < c->n_steps; i++) {
        if (!is_kept(x->steps_most, i, c->n_steps)) continue;
        tt_json_object(j);
        tt_rowset_json(j, &set, &c->steps[i]);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static const tt_column cache_columns[] = {
    TT_COLUMN("buffer_id", NULL, ID, "that it is in", .type = TT_CELL_U64, .nullable = true,
              .get = get_cache_buffer),
    TT_COLUMN("size_bytes", NULL, BYTES, "of its tensors", TT_MEMBER(tt_kv_cache, size_bytes)),
    CELLS_COLUMNS(tt_kv_cache, cache, TT_MEMBER(tt_kv_cache, written_bytes)),
    TT_COLUMN("tensors", NULL, NONE, "each layer's part", .type = TT_CELL_ROWS,
              .inner = &tt_kv_tensor_schema, .rows = cache_tensors),
    TT_COLUMN("batches", NULL, NONE, "how it fills, batch by batch", .type = TT_CELL_ROWS,
              .inner = &tt_kv_step_schema, .json = put_steps),
};

const tt_schema tt_kv_cache_schema = {"kv_caches", "the KV cache in a buffer", cache_columns,
                                      COUNT(cache_columns)};
