/* What META records are about: for the index. */
#include "format/meta.h"

#include <string.h>

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
