/* Chooses the META chunks that a part of a trace needs, by their descriptions in the index. */
#include "model/load.h"

#include <stdlib.h>

#define KIND(type) (1u << ((type) - 1))
/* Records that belong to batches and runs, or of which the first and the last are enough. Any
 * other record may be referred to from anywhere. */
#define KINDS_OF_PARTS                                                                             \
    (KIND(TT_META_BATCH) | KIND(TT_META_BATCH_END) | KIND(TT_META_RUN) | KIND(TT_META_RUN_END) |   \
     KIND(TT_META_CLOCK) | KIND(TT_META_RING) | KIND(TT_META_COUNTS) | KIND(TT_META_DECODE) |      \
     KIND(TT_META_LOSS) | KIND(TT_META_TOKEN_TEXT) | KIND(TT_META_INDICES) | KIND(TT_META_USAGE) | \
     KIND(TT_META_RESIDENCY) | KIND(TT_META_MODEL_CHECK) | KIND(TT_META_DETAIL_LOSS) |             \
     KIND(TT_META_THROTTLED))

typedef struct chooser {
    const tt_trace *trace;
    bool *wanted;                /* by chunk */
    uint64_t tick_min, tick_max; /* of the part */
    tt_meta_clock first, last;   /* the trace's first and last CLOCK */
} chooser;

static const tt_index_meta *meta_of(const chooser *c, size_t i)
{
    return c->trace->chunks[i].type == TT_CHUNK_META ? &c->trace->chunks[i].meta : NULL;
}

/* Whether the index is sufficient: each META chunk is described, no other chunk describes runs, and
 * (for a part by time) each run that began has ended. Sets the trace's start and end. */
static bool is_described(chooser *c, bool by_time)
{
    uint64_t runs = 0, ends = 0;
    bool any = false;
    if (!c->trace->complete) return false;
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        uint16_t type = c->trace->chunks[i].type;
        if (!m && type != TT_CHUNK_OPS && type != TT_CHUNK_DETAIL && type != TT_CHUNK_PAGE)
            return false;
        if (m && m->kinds == 0) return false;
        if (!m || m->tick_max == 0) continue;
        runs += m->n_runs;
        ends += m->n_run_ends;
        if (!any || m->tick_min < c->tick_min) c->tick_min = m->tick_min;
        if (!any || m->tick_max > c->tick_max) c->tick_max = m->tick_max;
        any = true;
    }
    return any && (!by_time || runs == ends);
}

/* Finds the first or last CLOCK of a chunk. */
static bool find_clock(const chooser *c, size_t chunk, bool last, tt_meta_clock *clock)
{
    tt_unpacker u;
    tt_chunk_header h;
    tt_span payload, record;
    uint8_t type;
    bool found = false;
    tt_unpacker_init(&u);
    if (tt_trace_chunk(c->trace, chunk, SIZE_MAX, &u, &h, &payload, NULL) == TT_OK) {
        tt_cursor at = tt_cursor_of(payload.data, payload.size);
        while ((last || !found) && tt_meta_next(&at, &type, &record)) {
            tt_cursor r = tt_cursor_of(record.data, record.size);
            if (type == TT_META_CLOCK) found = tt_meta_get_clock(&r, clock);
        }
    }
    tt_unpacker_free(&u);
    return found;
}

/* Finds the chunks with the first and the last CLOCK; false when there is none. */
static bool clock_chunks(const chooser *c, size_t *first, size_t *last)
{
    *first = *last = SIZE_MAX;
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (!m || !(m->kinds & KIND(TT_META_CLOCK))) continue;
        if (*first == SIZE_MAX) *first = i;
        *last = i;
    }
    return *first != SIZE_MAX;
}

static bool read_clocks(chooser *c)
{
    size_t first, last;
    return clock_chunks(c, &first, &last) && find_clock(c, first, false, &c->first) &&
           find_clock(c, last, true, &c->last) && c->last.ticks > c->first.ticks &&
           c->last.mono_ns > c->first.mono_ns;
}

/* Marks the chunks of the batches. A batch's number is its id - 1. */
static void want_tokens(chooser *c, const tt_part *part)
{
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (!m || m->batch_min == 0) continue;
        c->wanted[i] =
            m->batch_min - 1 <= part->batch_last && m->batch_max - 1 >= part->batch_first;
    }
}

/* The ticks of a time since the trace's first batch, rounded outwards so that nothing is missed. */
static uint64_t ticks_of(const chooser *c, double ns, bool up)
{
    double ns_per_tick =
        (double)(c->last.mono_ns - c->first.mono_ns) / (double)(c->last.ticks - c->first.ticks);
    double ticks = ns / ns_per_tick + (up ? 1e3 : -1e3);
    if (ticks <= 0) return c->tick_min;
    return ticks < (double)(c->tick_max - c->tick_min) ? c->tick_min + (uint64_t)ticks
                                                       : c->tick_max;
}

/* The end of the second chunk that describes runs after `from`. */
static uint64_t first_until(const chooser *c, uint64_t from)
{
    uint64_t until[2] = {c->tick_max, c->tick_max};
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (!m || m->n_runs == 0 || m->tick_max <= from) continue;
        if (m->tick_max < until[0]) {
            until[1] = until[0];
            until[0] = m->tick_max;
        } else if (m->tick_max < until[1]) {
            until[1] = m->tick_max;
        }
    }
    return until[1];
}

/* Marks the chunks of an interval. Runs open then begin before its end and end after its start:
 * descriptions before its end have the newest of them, those after its start the oldest. In the
 * interval itself there may be only ops of one run. */
static void want_times(chooser *c, uint64_t from, uint64_t to)
{
    uint32_t oldest = UINT32_MAX, newest = 0;
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (!m || m->tick_max == 0) continue;
        if (m->tick_max >= from && m->run_min && m->run_min < oldest) oldest = m->run_min;
        if (m->tick_min <= to && m->run_max > newest) newest = m->run_max;
        if (m->tick_max >= from && m->tick_min <= to) c->wanted[i] = true;
    }
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (m && m->run_min && m->run_min <= newest && m->run_max >= oldest) c->wanted[i] = true;
    }
}

/* Marks the chunks that also describe the batches (or runs) of the wanted chunks. */
static void want_rest(chooser *c, bool runs)
{
    uint32_t low = UINT32_MAX, high = 0;
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = c->wanted[i] ? meta_of(c, i) : NULL;
        uint32_t min = !m ? 0 : runs ? m->run_min : m->batch_min;
        if (min == 0) continue;
        uint32_t max = runs ? m->run_max : m->batch_max;
        if (min < low) low = min;
        if (max > high) high = max;
    }
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        uint32_t min = !m ? 0 : runs ? m->run_min : m->batch_min;
        if (min && min <= high && (runs ? m->run_max : m->batch_max) >= low) c->wanted[i] = true;
    }
}

static bool choose_times(tt_loader *l, chooser *c)
{
    const tt_part *part = l->part;
    uint64_t from = c->tick_min, to = UINT64_MAX;
    if ((part->has_from || part->has_to) && !read_clocks(c)) return false;
    if (part->has_from) from = ticks_of(c, part->from_ns, false);
    if (part->has_to) to = ticks_of(c, part->to_ns, true);
    uint64_t until = part->first_only ? first_until(c, from) : c->tick_max;
    if (until < to && until < c->tick_max) l->m->until_ticks = to = until;
    want_times(c, from, to);
    want_rest(c, false);
    return true;
}

static bool choose(tt_loader *l, chooser *c)
{
    size_t first, last;
    const tt_part *part = l->part;
    if (!is_described(c, !part->has_tokens) || !clock_chunks(c, &first, &last)) return false;
    l->m->until_ticks = UINT64_MAX;
    if (!part->has_tokens) {
        if (!choose_times(l, c)) return false;
    } else {
        want_tokens(c, part);
        want_rest(c, false);
        want_rest(c, true);
    }
    /* Last, because only the clocks of these chunks matter. */
    c->wanted[first] = c->wanted[last] = true;
    return true;
}

tt_status tt_part_choose(tt_loader *l, bool **skip, tt_error *err)
{
    chooser c = {.trace = &l->m->trace};
    *skip = NULL;
    c.wanted = calloc(c.trace->n_chunks + 1, sizeof *c.wanted);
    if (!c.wanted) return tt_error_memory(err, "the list of chunks");
    if (!choose(l, &c)) {
        l->m->until_ticks = 0;
        free(c.wanted);
        return TT_OK;
    }
    l->m->partial = true;
    l->first_ticks = c.tick_min;
    for (size_t i = 0; i < c.trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(&c, i);
        c.wanted[i] = m && !c.wanted[i] && !(m->kinds & ~KINDS_OF_PARTS); /* now: skip it */
    }
    *skip = c.wanted;
    return TT_OK;
}
