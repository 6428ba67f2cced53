#include "format/meta.h"

/* --- kinds of fields: how each is written to `out` and read from `c`; r is the record --- */

static int32_t get_zigzag32(tt_cursor *c)
{
    int64_t wide = tt_cursor_zigzag(c);
    if (wide < INT32_MIN || wide > INT32_MAX) c->failed = true;
    return (int32_t)wide;
}

/* A number up to `most`; a larger one is malformed. */
static uint32_t get_up_to(tt_cursor *c, uint32_t most)
{
    uint32_t v = tt_cursor_varint32(c);
    if (v > most) c->failed = true;
    return c->failed ? 0 : v;
}

static void put_varints(tt_bytes *out, const uint64_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        tt_bytes_varint(out, list[i]);
}

static void put_devices(tt_bytes *out, const tt_meta_usage *u)
{
    if (!(u->flags & TT_USAGE_DEVICES)) return;
    tt_bytes_varint(out, u->n_devices);
    for (uint32_t i = 0; i < u->n_devices; i++)
        tt_meta_put_device(out, &u->devices[i]);
}

static void get_devices(tt_cursor *c, tt_meta_usage *u)
{
    if (!(u->flags & TT_USAGE_DEVICES)) return;
    u->n_devices = get_up_to(c, TT_USAGE_DEVICES_MAX);
    for (uint32_t i = 0; i < u->n_devices; i++)
        (void)tt_meta_get_device(c, &u->devices[i]);
}

#define PUT_u8(name) tt_bytes_u8(out, r->name);
#define GET_u8(name) r->name = tt_cursor_u8(c);
#define PUT_u64(name) tt_bytes_u64(out, r->name);
#define GET_u64(name) r->name = tt_cursor_u64(c);
#define PUT_str(name) tt_bytes_str(out, (const char *)r->name.data, r->name.size);
#define GET_str(name) r->name = tt_cursor_str(c);
#define PUT_varint32(name) tt_bytes_varint(out, r->name);
#define GET_varint32(name) r->name = tt_cursor_varint32(c);
#define PUT_varint64(name) tt_bytes_varint(out, r->name);
#define GET_varint64(name) r->name = tt_cursor_varint(c);
#define PUT_zigzag32(name) tt_bytes_zigzag(out, r->name);
#define GET_zigzag32(name) r->name = get_zigzag32(c);
#define PUT_zigzag64(name) tt_bytes_zigzag(out, r->name);
#define GET_zigzag64(name) r->name = tt_cursor_zigzag(c);

#define PUT_count1 PUT_varint32
#define GET_count1(name) (void)tt_meta_get_count(c, &r->name, 1);
#define PUT_count4 PUT_varint32
#define GET_count4(name) (void)tt_meta_get_count(c, &r->name, 4);
#define PUT_count3 PUT_varint32
#define GET_count3(name) (void)tt_meta_get_count(c, &r->name, 3);
#define PUT_tensors PUT_varint32
/* A tensor takes at least nineteen bytes. */
#define GET_tensors(name)                                                                          \
    if (!tt_meta_get_count(c, &r->name, 19) || r->n_nodes > r->name) c->failed = true;

#define PUT_dims(name) put_varints(out, r->name, r->n_dims);
#define GET_dims(name)                                                                             \
    if (r->n_dims > TT_DIMS) c->failed = true;                                                     \
    for (uint32_t i = 0; i < TT_DIMS; i++)                                                         \
        r->name[i] = !c->failed && i < r->n_dims ? tt_cursor_varint(c) : 1;
#define PUT_four(name) put_varints(out, r->name, TT_DIMS);
#define GET_four(name)                                                                             \
    for (uint32_t i = 0; i < TT_DIMS; i++)                                                         \
        r->name[i] = tt_cursor_varint(c);
#define PUT_sources(name)                                                                          \
    for (uint32_t i = 0; i < r->n_src; i++)                                                        \
        tt_bytes_varint(out, r->name[i]);
#define GET_sources(name)                                                                          \
    if (r->n_src > TT_SRC_MAX) c->failed = true;                                                   \
    for (uint32_t i = 0; !c->failed && i < r->n_src; i++)                                          \
        r->name[i] = tt_cursor_varint32(c);

#define PUT_file32(name)                                                                           \
    if (r->flags & TT_BUFFER_FILE) PUT_varint32(name)
#define GET_file32(name)                                                                           \
    if (r->flags & TT_BUFFER_FILE) GET_varint32(name)
#define PUT_file64(name)                                                                           \
    if (r->flags & TT_BUFFER_FILE) PUT_varint64(name)
#define GET_file64(name)                                                                           \
    if (r->flags & TT_BUFFER_FILE) GET_varint64(name)
#define PUT_late32 PUT_varint32
#define GET_late32(name)                                                                           \
    if (tt_cursor_left(c) > 0) GET_varint32(name)
#define PUT_view64(name)                                                                           \
    if (r->view_src) PUT_varint64(name)
#define GET_view64(name)                                                                           \
    if (r->view_src) GET_varint64(name)
#define PUT_place(name)                                                                            \
    if (r->buffer) PUT_varint64(name) else PUT_u64(name)
#define GET_place(name) r->name = r->buffer ? tt_cursor_varint(c) : tt_cursor_u64(c);
#define PUT_mixed(name)                                                                            \
    if (r->phase == TT_PHASE_MIXED) PUT_varint32(name)
#define GET_mixed(name)                                                                            \
    if (r->phase == TT_PHASE_MIXED) r->name = get_up_to(c, r->n_tokens);

#define PUT_faults(name)                                                                           \
    if (r->flags & TT_USAGE_FAULTS) PUT_varint64(name)
#define GET_faults(name)                                                                           \
    if (r->flags & TT_USAGE_FAULTS) GET_varint64(name)
#define PUT_io(name)                                                                               \
    if (r->flags & TT_USAGE_IO) PUT_varint64(name)
#define GET_io(name)                                                                               \
    if (r->flags & TT_USAGE_IO) GET_varint64(name)
#define PUT_devices(name) put_devices(out, r);
#define GET_devices(name) get_devices(c, r);

#define PUT(kind, name) PUT_##kind(name)
#define GET(kind, name) GET_##kind(name)

#define DEFINE(record, fields, where)                                                              \
    void tt_meta_put_##record(tt_bytes *out, const tt_meta_##record *r)                            \
    {                                                                                              \
        fields(PUT)                                                                                \
    }                                                                                              \
    bool tt_meta_get_##record(tt_cursor *c, tt_meta_##record *r)                                   \
    {                                                                                              \
        memset(r, 0, sizeof *r);                                                                   \
        fields(GET) return !c->failed;                                                             \
    }
TT_META_RECORDS(DEFINE)

/* --- batches --- */

static void put_sequences(tt_bytes *out, const tt_batch_sequences *s, uint32_t n_tokens)
{
    for (uint32_t i = 0; i < n_tokens; i++) {
        tt_bytes_varint(out, s->first[i + 1] - s->first[i]);
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
            tt_bytes_zigzag(out, s->ids[k]);
    }
}

void tt_meta_put_batch(tt_bytes *out, const tt_meta_batch *r, const int32_t *tokens,
                       const int32_t *positions, const tt_batch_sequences *sequences)
{
    TT_META_BATCH_FIELDS(PUT)
    for (uint32_t i = 0; (r->flags & TT_BATCH_TOKENS) && i < r->n_tokens; i++)
        tt_bytes_zigzag(out, tokens[i]);
    for (uint32_t i = 0; (r->flags & TT_BATCH_POSITIONS) && i < r->n_tokens; i++)
        tt_bytes_zigzag(out, (int64_t)positions[i] - (i ? positions[i - 1] : 0));
    if (r->flags & TT_BATCH_SEQUENCES) put_sequences(out, sequences, r->n_tokens);
    TT_META_BATCH_TAIL_FIELDS(PUT)
}

bool tt_meta_get_batch(tt_cursor *c, tt_meta_batch *r)
{
    memset(r, 0, sizeof *r);
    TT_META_BATCH_FIELDS(GET)
    return !c->failed;
}

bool tt_meta_get_batch_end(tt_cursor *c, tt_meta_batch *r)
{
    TT_META_BATCH_TAIL_FIELDS(GET)
    return !c->failed;
}

/* --- whole records --- */

void tt_meta_put_record(tt_bytes *out, uint8_t type, const tt_bytes *payload)
{
    tt_bytes_u8(out, type);
    tt_bytes_str(out, (const char *)payload->data, payload->size);
    if (payload->failed) out->failed = true;
}

bool tt_meta_next(tt_cursor *c, uint8_t *type, tt_span *payload)
{
    if (c->failed || c->at == c->size) return false;
    *type = tt_cursor_u8(c);
    *payload = tt_cursor_str(c);
    return !c->failed;
}

bool tt_meta_get_count(tt_cursor *c, uint32_t *count, uint32_t min_bytes)
{
    *count = tt_cursor_varint32(c);
    if (*count > tt_cursor_left(c) / min_bytes) c->failed = true;
    return !c->failed;
}

/* ENVIRONMENT. */
void tt_meta_put_pairs(tt_bytes *out, const tt_meta_pair *pairs, uint32_t n)
{
    tt_bytes_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        tt_meta_put_pair(out, &pairs[i]);
}

bool tt_meta_find_environment(tt_span meta, const char *key, char *out, size_t size)
{
    tt_cursor c = tt_cursor_of(meta.data, meta.size);
    uint8_t type;
    tt_span payload;
    while (tt_meta_next(&c, &type, &payload)) {
        if (type != TT_META_ENVIRONMENT) continue;
        tt_cursor record = tt_cursor_of(payload.data, payload.size);
        uint32_t n;
        for (bool ok = tt_meta_get_count(&record, &n, 2); ok && n > 0; n--) {
            tt_meta_pair p;
            if (!tt_meta_get_pair(&record, &p)) break;
            if (p.key.size != strlen(key) || memcmp(p.key.data, key, p.key.size) != 0) continue;
            size_t length = p.value.size < size - 1 ? p.value.size : size - 1;
            memcpy(out, p.value.data, length);
            out[length] = '\0';
            return true;
        }
    }
    return false;
}

/* --- summaries of records, for the index --- */

static void widen(uint32_t *low, uint32_t *high, uint32_t id)
{
    if (id == 0) return;
    if (*low == 0 || id < *low) *low = id;
    if (id > *high) *high = id;
}

static void widen_ticks(tt_index_meta *a, uint64_t ticks)
{
    if (a->tick_max == 0 || ticks < a->tick_min) a->tick_min = ticks;
    if (ticks > a->tick_max) a->tick_max = ticks;
}

static bool add_end(tt_index_meta *a, uint8_t type, tt_cursor *c)
{
    tt_meta_end e;
    if (!tt_meta_get_end(c, &e)) return false;
    if (type == TT_META_BATCH_END) {
        widen(&a->batch_min, &a->batch_max, e.id);
    } else {
        widen(&a->run_min, &a->run_max, e.id);
        a->n_run_ends++;
    }
    widen_ticks(a, e.ticks);
    return true;
}

static bool add_run(tt_index_meta *a, tt_cursor *c)
{
    tt_meta_run r;
    if (!tt_meta_get_run(c, &r)) return false;
    a->n_runs++;
    widen(&a->run_min, &a->run_max, r.id);
    widen(&a->batch_min, &a->batch_max, r.batch);
    widen_ticks(a, r.ticks);
    return true;
}

static bool add_batch(tt_index_meta *a, tt_cursor *c)
{
    tt_meta_batch b;
    if (!tt_meta_get_batch(c, &b)) return false;
    a->n_batches++;
    widen(&a->batch_min, &a->batch_max, b.id);
    widen_ticks(a, b.ticks);
    return true;
}

static bool add_record(tt_index_meta *a, uint8_t type, tt_cursor *c)
{
    tt_meta_indices x;
    switch (type) {
    case TT_META_BATCH:
        return add_batch(a, c);
    case TT_META_BATCH_END:
    case TT_META_RUN_END:
        return add_end(a, type, c);
    case TT_META_RUN:
        return add_run(a, c);
    case TT_META_INDICES:
        if (!tt_meta_get_indices(c, &x)) return false;
        widen(&a->run_min, &a->run_max, x.run);
        return true;
    case TT_META_USAGE:
    case TT_META_THROTTLED:
        widen(&a->batch_min, &a->batch_max, tt_cursor_varint32(c));
        return !c->failed;
    case TT_META_RESIDENCY:
        (void)tt_cursor_varint32(c);
        widen(&a->batch_min, &a->batch_max, tt_cursor_varint32(c));
        return !c->failed;
    default:
        return true;
    }
}

void tt_meta_describe(tt_span meta, tt_index_meta *about, uint32_t *n)
{
    tt_cursor c = tt_cursor_of(meta.data, meta.size);
    uint8_t type;
    tt_span payload;
    bool ok = true;
    memset(about, 0, sizeof *about);
    *n = 0;
    for (; tt_meta_next(&c, &type, &payload); ++*n) {
        tt_cursor record = tt_cursor_of(payload.data, payload.size);
        if (ok && type) about->kinds |= 1u << ((type < 32 ? type : 32) - 1);
        ok = ok && add_record(about, type, &record);
    }
    if (!ok || c.failed) memset(about, 0, sizeof *about);
}
