#include "record/retained.h"

#include "base/array.h"
#include "base/checksum.h"
#include "format/meta.h"

#include <stdlib.h>
#include <string.h>

#define RETAINED_MAX_BYTES ((size_t)512 << 20)

void tt_retained_init(tt_retained *l)
{
    memset(l, 0, sizeof *l);
    tt_bytes_init(&l->data, RETAINED_MAX_BYTES);
}

void tt_retained_free(tt_retained *l)
{
    tt_bytes_free(&l->data);
    free(l->records);
    memset(l, 0, sizeof *l);
}

static void keep(tt_retained *l, uint8_t type, uint64_t key, tt_span payload)
{
    tt_bytes view = {.data = (uint8_t *)(uintptr_t)payload.data, .size = payload.size};
    if (!tt_array_one_more(l->records, l->n, l->capacity)) {
        l->failed = true;
        return;
    }
    size_t at = l->data.size;
    tt_meta_put_record(&l->data, type, &view);
    l->failed |= l->data.failed;
    l->records[l->n++] = (tt_retained_record){at, l->data.size - at, key, type};
}

/* The payload of a kept record. */
static tt_cursor payload_of(const tt_retained *l, const tt_retained_record *r)
{
    tt_cursor c = tt_cursor_of(l->data.data + r->at, r->size);
    uint8_t type;
    tt_span payload = {NULL, 0};
    (void)tt_meta_next(&c, &type, &payload);
    return tt_cursor_of(payload.data, payload.size);
}

static void drop(tt_retained *l, uint8_t type, uint64_t first, uint64_t last)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->records[i].type == type && l->records[i].key >= first && l->records[i].key <= last)
            l->records[i].size = 0;
}

/* --- one kind each --- */

/* Keeps each key by itself: later values replace earlier ones. */
static void add_environment(tt_retained *l, tt_cursor c)
{
    uint32_t n;
    if (!tt_meta_get_count(&c, &n, 2)) return;
    for (uint32_t i = 0; i < n; i++) {
        tt_meta_pair pair;
        if (!tt_meta_get_pair(&c, &pair)) return;
        tt_bytes one;
        tt_bytes_init(&one, TT_META_RECORD_MAX);
        tt_meta_put_pairs(&one, &pair, 1);
        uint64_t key = tt_checksum(pair.key.data, pair.key.size);
        drop(l, TT_META_ENVIRONMENT, key, key);
        if (!one.failed) keep(l, TT_META_ENVIRONMENT, key, (tt_span){one.data, one.size});
        tt_bytes_free(&one);
    }
}

/* Keeps the first record of a buffer, which says what was seen of its allocation, and the last,
 * which says the rest. */
static void add_buffer(tt_retained *l, tt_cursor c, tt_span payload)
{
    tt_meta_buffer b;
    size_t seen = 0;
    if (!tt_meta_get_buffer(&c, &b)) return;
    for (size_t i = 0; i < l->n; i++) {
        tt_retained_record *r = &l->records[i];
        if (r->type == TT_META_BUFFER && r->key == b.id && r->size && seen++ > 0) r->size = 0;
    }
    keep(l, TT_META_BUFFER, b.id, payload);
}

static bool graph_uses(const tt_retained *l, const tt_retained_record *r, uint64_t buffer)
{
    tt_meta_graph g;
    tt_cursor c = payload_of(l, r);
    if (!tt_meta_get_graph(&c, &g)) return false;
    for (uint32_t i = 0; i < g.n_tensors; i++) {
        tt_meta_tensor t;
        if (!tt_meta_get_tensor(&c, &t)) return false;
        if (t.buffer == buffer) return true;
    }
    return false;
}

/* Drops the buffer and its graphs. Ids of buffers are never used again, so no graph in it will
 * be computed any more. */
static void add_buffer_free(tt_retained *l, tt_cursor c)
{
    tt_meta_buffer_free f;
    if (!tt_meta_get_buffer_free(&c, &f)) return;
    drop(l, TT_META_BUFFER, f.id, f.id);
    for (size_t i = 0; i < l->n; i++) {
        tt_retained_record *r = &l->records[i];
        if (r->type == TT_META_GRAPH && r->size && graph_uses(l, r, f.id)) r->size = 0;
    }
}

static void add_ring(tt_retained *l, tt_cursor c, tt_span payload)
{
    tt_meta_ring r;
    if (!tt_meta_get_ring(&c, &r)) return;
    drop(l, TT_META_RING, r.ring, r.ring);
    keep(l, TT_META_RING, r.ring, payload);
}

/* What was in RAM while a model was loaded is of the whole trace. */
static void add_residency(tt_retained *l, tt_cursor c, tt_span payload)
{
    tt_meta_residency r;
    if (tt_meta_get_residency(&c, &r) && r.batch == 0 && r.moment >= TT_AT_MAP_BEGIN)
        keep(l, TT_META_RESIDENCY, 0, payload);
}

static bool has_clock(const tt_retained *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->records[i].type == TT_META_CLOCK) return true;
    return false;
}

static void add(tt_retained *l, uint8_t type, tt_span payload)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    switch (type) {
    case TT_META_ENVIRONMENT:
        add_environment(l, c);
        break;
    case TT_META_STRING:
    case TT_META_MODEL:
    case TT_META_EXTENTS:
    case TT_META_LOAD_STEP:
    case TT_META_TOKEN_TEXT:
        keep(l, type, 0, payload);
        break;
    case TT_META_BUFFER:
        add_buffer(l, c, payload);
        break;
    case TT_META_BUFFER_FREE:
        add_buffer_free(l, c);
        break;
    case TT_META_MAPPING: /* one that grew is told again, and the last one holds */
        keep(l, type, 0, payload);
        break;
    case TT_META_RESIDENCY:
        add_residency(l, c, payload);
        break;
    case TT_META_GRAPH:
        keep(l, type, tt_cursor_varint(&c), payload);
        break;
    case TT_META_GRAPHS_END:
        drop(l, TT_META_GRAPH, 0, tt_cursor_varint(&c));
        break;
    case TT_META_RING:
        add_ring(l, c, payload);
        break;
    case TT_META_CLOCK:
        /* Keeps the first one: together with the last it gives the most exact tick rate. */
        if (!has_clock(l)) keep(l, type, 0, payload);
        break;
    default:
        break; /* passes: about a moment that is gone */
    }
}

void tt_retained_add(tt_retained *l, tt_span meta)
{
    tt_cursor c = tt_cursor_of(meta.data, meta.size);
    uint8_t type;
    tt_span payload;
    while (tt_meta_next(&c, &type, &payload))
        add(l, type, payload);
}

void tt_retained_put(const tt_retained *l, tt_bytes *out, uint32_t *n)
{
    *n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const tt_retained_record *r = &l->records[i];
        if (!r->size) continue;
        tt_bytes_put(out, l->data.data + r->at, r->size);
        ++*n;
    }
}
