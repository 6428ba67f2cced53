#include "answer/buffers.h"

#include "answer/whole_ns.h"

#include <math.h>
#include <stdlib.h>

static void times(tt_json *j, const tt_model *m, const tt_buffers_point *points, uint32_t n)
{
    tt_json_key(j, "time_relative_ns");
    tt_json_array(j);
    for (uint32_t i = 0; i < n; i++)
        tt_answer_whole_ns(j, m->clock.known, tt_model_ns(m, points[i].ticks));
    tt_json_array_end(j);
}

static bool any(const tt_buffers_point *points, uint32_t n, unsigned backing, unsigned kind)
{
    for (uint32_t i = 0; i < n; i++)
        if (points[i].bytes[backing][kind]) return true;
    return false;
}

void tt_buffers_curve_json(tt_json *j, const tt_model *m, const tt_buffers *buffers,
                           const tt_buffers_point *points, uint32_t n)
{
    tt_json_object(j);
    times(j, m, points, n);
    tt_json_key(j, "series");
    tt_json_array(j);
    for (unsigned b = 0; b < TT_BACKINGS; b++) {
        for (unsigned k = 0; k < TT_BUFFER_KINDS; k++) {
            if (!any(points, n, b, k)) continue;
            tt_json_object(j);
            tt_json_kv_string(j, "kind", tt_buffer_kind_name((tt_buffer_kind)k));
            tt_json_kv_string(j, "backing", tt_backing_name((tt_backing)b));
            tt_json_key(j, "size_bytes");
            tt_json_array(j);
            for (uint32_t i = 0; i < n; i++)
                tt_json_u64(j, points[i].bytes[b][k]);
            tt_json_array_end(j);
            tt_json_object_end(j);
        }
    }
    tt_json_array_end(j);
    tt_json_kv_u64(j, "events_total", buffers->n_events);
    tt_json_object_end(j);
}

typedef struct about {
    const tt_model *m;
    const tt_buffers *buffers;
    const tt_kv *kv;
    uint64_t rows; /* 0: all */
} about;

static void kv_string_or_null(tt_json *j, const char *key, const char *text)
{
    tt_json_kv_string(j, key, text && text[0] ? text : NULL);
}

/* Since the first batch; null without a clock. */
static void relative_ns(tt_json *j, const char *key, const tt_model *m, uint64_t ticks)
{
    tt_json_key(j, key);
    tt_answer_whole_ns(j, m->clock.known, tt_model_ns(m, ticks));
}

static void kv_buffer(tt_json *j, const tt_model *m, uint32_t buffer)
{
    tt_json_key(j, "buffer_id");
    if (buffer == TT_NONE)
        tt_json_null(j);
    else
        tt_json_u64(j, m->buffers[buffer].id);
}

static void put_times(tt_json *j, const tt_model *m, const tt_buffer *b)
{
    bool lived = b->free_ticks >= b->alloc_ticks && m->clock.known;
    tt_json_kv_bool(j, "allocation_seen", b->flags & TT_BUFFER_ALLOC_SEEN);
    relative_ns(j, "allocated_relative_ns", m, b->alloc_ticks);
    if (b->free_ticks)
        relative_ns(j, "freed_relative_ns", m, b->free_ticks);
    else
        tt_json_kv_string(j, "freed_relative_ns", NULL);
    tt_json_key(j, "lifetime_ns");
    tt_answer_whole_ns(j, lived, tt_model_span_ns(m, b->free_ticks - b->alloc_ticks));
    tt_json_kv_bool(j, "lifetime_at_least", !(b->flags & TT_BUFFER_ALLOC_SEEN));
}

static void put_buffer(tt_json *j, const about *r, uint32_t i)
{
    const tt_buffer *b = &r->m->buffers[i];
    const tt_buffer_life *u = &r->buffers->uses[i];
    tt_json_object(j);
    if (r->rows) tt_json_kv_u64(j, "buffer_index", i);
    tt_json_kv_u64(j, "buffer_id", b->id);
    tt_json_kv_string(j, "name", b->name);
    tt_json_kv_string(j, "kind", tt_buffer_kind_name(b->kind));
    tt_json_kv_string(j, "usage", tt_buffer_usage_name(b->usage));
    tt_json_kv_string(j, "backing", tt_backing_name(tt_buffer_backing(b)));
    tt_json_kv_bool(j, "host", b->flags & TT_BUFFER_HOST);
    kv_string_or_null(j, "allocator", b->allocator);
    tt_json_kv_u64(j, "size_bytes", b->size_bytes);
    tt_json_kv_u64(j, "used_bytes", u->used_bytes);
    tt_json_kv_u64(j, "tensors", u->n_tensors);
    tt_json_key(j, "layer_ids");
    tt_json_array(j);
    for (uint32_t k = 0; k < u->n_layers; k++)
        tt_json_i64(j, u->layers[k]);
    tt_json_array_end(j);
    put_times(j, r->m, b);
    if (b->flags & TT_BUFFER_FILE) {
        tt_json_kv_string(j, "file", b->path);
        tt_json_kv_u64(j, "file_offset_bytes", b->file_offset_bytes);
    }
    tt_json_object_end(j);
}

static void put_event(tt_json *j, const about *r, const tt_buffer_event *e)
{
    const tt_buffer *b = &r->m->buffers[e->buffer];
    tt_json_object(j);
    relative_ns(j, "time_relative_ns", r->m, e->ticks);
    tt_json_kv_string(j, "event",
                      e->is_free                        ? "free"
                      : b->flags & TT_BUFFER_ALLOC_SEEN ? "alloc"
                                                        : "first_use");
    tt_json_kv_u64(j, "buffer_id", b->id);
    tt_json_kv_u64(j, "size_bytes", b->size_bytes);
    tt_json_kv_u64(j, "active_buffers", e->n_active);
    tt_json_kv_u64(j, "allocated_bytes", e->bytes[TT_BACKING_ALLOCATED]);
    tt_json_kv_u64(j, "mapped_bytes", e->bytes[TT_BACKING_FILE]);
    tt_json_kv_u64(j, "unknown_bytes", e->bytes[TT_BACKING_UNKNOWN]);
    tt_json_object_end(j);
}

static void put_peak(tt_json *j, const about *r, tt_backing backing)
{
    const tt_buffers *b = r->buffers;
    uint32_t at = b->peak[backing];
    uint64_t bytes[TT_BUFFER_KINDS];
    tt_json_key(j, tt_backing_name(backing));
    if (at == TT_NONE) {
        tt_json_null(j);
        return;
    }
    tt_buffers_by_kind(b, r->m, at, backing, bytes);
    tt_json_object(j);
    relative_ns(j, "time_relative_ns", r->m, b->events[at].ticks);
    tt_json_kv_u64(j, "size_bytes", b->events[at].bytes[backing]);
    tt_json_key(j, "by_kind");
    tt_json_object(j);
    for (unsigned k = 0; k < TT_BUFFER_KINDS; k++)
        if (bytes[k]) tt_json_kv_u64(j, tt_buffer_kind_name((tt_buffer_kind)k), bytes[k]);
    tt_json_object_end(j);
    tt_json_key(j, "buffer_ids");
    tt_json_array(j);
    for (uint32_t i = 0; i < r->m->n_buffers; i++)
        if (tt_buffer_backing(&r->m->buffers[i]) == backing && tt_buffers_active(b, i, at))
            tt_json_u64(j, r->m->buffers[i].id);
    tt_json_array_end(j);
    tt_json_object_end(j);
}

/* null when no write was followed. */
static void kv_count(tt_json *j, const char *key, bool known, uint64_t n)
{
    tt_json_key(j, key);
    if (known)
        tt_json_u64(j, n);
    else
        tt_json_null(j);
}

static void put_tensor(tt_json *j, const tt_kv *kv, const tt_kv_tensor *t)
{
    char role[2] = {t->role, '\0'};
    tt_json_object(j);
    tt_json_kv_i64(j, "layer_id", t->layer_id);
    tt_json_kv_string(j, "name", t->name);
    tt_json_kv_string(j, "role", role);
    tt_json_kv_string(j, "type", t->type_name);
    tt_json_kv_u64(j, "buffer_offset_bytes", t->offset_bytes);
    tt_json_kv_u64(j, "size_bytes", t->size_bytes);
    kv_count(j, "cells", t->cells > 0, t->cells);
    kv_count(j, "cells_written", t->observed, t->written);
    kv_count(j, "written_bytes", t->observed, tt_kv_written_bytes(kv, t));
    tt_json_kv_bool(j, "written_at_least", t->at_least);
    tt_json_object_end(j);
}

/* Of n steps, as many as are wanted, the first and the last among them. */
static bool is_kept(const about *r, uint64_t i, uint64_t n)
{
    if (!r->rows || n <= r->rows || i == n - 1) return true;
    return i * (r->rows - 1) / n != (i + 1) * (r->rows - 1) / n || i == 0;
}

static void put_cache(tt_json *j, const about *r, const tt_kv_cache *c)
{
    tt_json_object(j);
    kv_buffer(j, r->m, c->buffer);
    tt_json_kv_u64(j, "size_bytes", c->size_bytes);
    kv_count(j, "cells", c->cells > 0, c->cells);
    kv_count(j, "cells_written", c->observed, c->written);
    kv_count(j, "written_bytes", c->observed, c->written_bytes);
    tt_json_kv_bool(j, "written_at_least", c->at_least);
    tt_json_key(j, "tensors");
    tt_json_array(j);
    for (uint32_t i = c->first; i < c->first + c->n_tensors; i++)
        put_tensor(j, r->kv, &r->kv->tensors[i]);
    tt_json_array_end(j);
    tt_json_key(j, "tokens");
    tt_json_array(j);
    for (uint32_t i = 0; i < c->n_steps && c->observed; i++) {
        if (!is_kept(r, i, c->n_steps)) continue;
        tt_json_object(j);
        tt_json_kv_u64(j, "batch_id", tt_model_batch_number(r->m, c->steps[i].batch));
        tt_json_kv_u64(j, "cells_written", c->steps[i].cells_written);
        tt_json_kv_u64(j, "written_bytes", c->steps[i].written_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}

static int largest(const void *a, const void *b, void *context)
{
    const tt_model *m = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t p = m->buffers[x].size_bytes, q = m->buffers[y].size_bytes;
    return p != q ? (p > q ? -1 : 1) : x < y ? -1 : x > y;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* All, or the largest ones, in the order of the trace. */
static void put_buffers(tt_json *j, const about *r)
{
    const uint32_t n = r->m->n_buffers;
    uint32_t *order = r->rows && n > r->rows ? calloc(n, sizeof *order) : NULL;
    const uint32_t shown = order ? (uint32_t)r->rows : n;
    for (uint32_t i = 0; order && i < n; i++)
        order[i] = i;
    if (order) {
        qsort_r(order, n, sizeof *order, largest, (void *)r->m);
        qsort(order, shown, sizeof *order, ascending);
    }
    tt_json_key(j, "buffers");
    tt_json_array(j);
    for (uint32_t i = 0; i < shown; i++)
        put_buffer(j, r, order ? order[i] : i);
    tt_json_array_end(j);
    free(order);
}

static void put_events(tt_json *j, const about *r)
{
    const tt_buffers *b = r->buffers;
    tt_json_key(j, "events");
    tt_json_array(j);
    for (uint32_t i = 0; i < b->n_events && (!r->rows || i < r->rows); i++)
        put_event(j, r, &b->events[i]);
    tt_json_array_end(j);
}

void tt_buffers_json(tt_json *j, const char *path, const tt_model *m, const tt_buffers *buffers,
                     const tt_kv *kv, const tt_buffers_limits *limits)
{
    const about all = {m, buffers, kv, limits->rows}, *r = &all;
    tt_json_object(j);
    tt_json_kv_string(j, "file", path);
    put_buffers(j, r);
    put_events(j, r);
    tt_json_key(j, "peak");
    tt_json_object(j);
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        put_peak(j, r, (tt_backing)k);
    tt_json_object_end(j);
    tt_json_key(j, "kv_caches");
    tt_json_array(j);
    for (uint32_t i = 0; i < r->kv->n_caches; i++)
        put_cache(j, r, &r->kv->caches[i]);
    tt_json_array_end(j);
    if (limits->rows) {
        tt_json_kv_u64(j, "buffers_total", m->n_buffers);
        tt_json_kv_u64(j, "events_total", buffers->n_events);
    }
    tt_json_object_end(j);
}
