#include "analyze/timeline/timeline_parts.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

int64_t *tt_strip_edges(const tt_timeline *t, double from_ns, double bucket_ns, uint32_t n)
{
    int64_t *edges = malloc(((size_t)n + 1) * sizeof *edges);
    for (uint32_t i = 0; edges && i <= n; i++)
        edges[i] = tt_timeline_tick_of(t, from_ns + i * bucket_ns);
    return edges;
}

uint32_t tt_strip_bucket(const tt_strip *s, int64_t at)
{
    uint32_t low = s->current;
    if (at >= s->edges[low] && at < s->edges[low + 1]) return low;
    if (low + 2 <= s->n && at >= s->edges[low + 1] && at < s->edges[low + 2]) return low + 1;
    /* the first edge behind it */
    tt_lower_bound(low, s->n, s->edges[low] <= at);
    return low == 0 ? 0 : low - 1;
}

void tt_strip_end(tt_strip *s)
{
    tt_strip_cell *c = &s->cells[s->current];
    if (s->kinds_used == 0) return;
    /* What only waited or began here still names the bucket, when nothing worked. */
    uint8_t best = s->first_kind;
    for (uint32_t i = 0; i < s->kinds_used; i++) {
        if (s->kind_ticks[i] == 0) continue;
        if (s->kind_ticks[i] > s->kind_ticks[best]) best = (uint8_t)i;
        c->category[s->kinds[i].category] += (float)s->kind_ticks[i];
    }
    /* A bucket that was left and is met again (ops that overlap) keeps its kind, unless most of
     * it came now. */
    if (c->kind == TT_STRIP_NO_KIND || s->kind_ticks[best] > c->busy / 2) c->kind = best;
    memset(s->kind_ticks, 0, s->kinds_used * sizeof *s->kind_ticks);
    s->kinds_used = 0;
}

static tt_strip_cell *enter(tt_strip *s, uint32_t bucket)
{
    if (bucket != s->current) {
        tt_strip_end(s);
        s->current = bucket;
    }
    return &s->cells[bucket];
}

static void note_kind(tt_strip *s, uint8_t kind, uint64_t ticks)
{
    if (s->kinds_used == 0) s->first_kind = kind;
    s->kind_ticks[kind] += ticks;
    if (kind >= s->kinds_used) s->kinds_used = kind + 1u;
}

static bool add_stretch(tt_strip *s, uint8_t kind, int64_t from, int64_t to, bool wait)
{
    if (from < s->edges[0]) from = s->edges[0];
    if (to > s->edges[s->n]) to = s->edges[s->n];
    if (from >= to) return true;
    for (uint32_t b = tt_strip_bucket(s, from); b < s->n && from < to; b++) {
        int64_t end = to < s->edges[b + 1] ? to : s->edges[b + 1];
        if (end <= from) continue; /* buckets narrower than a tick */
        if (s->steps_left == 0) return false;
        s->steps_left--;
        tt_strip_cell *c = enter(s, b);
        uint64_t ticks = (uint64_t)(end - from);
        *(wait ? &c->wait : &c->busy) += ticks;
        note_kind(s, kind, wait ? 0 : ticks);
        from = end;
    }
    return true;
}

bool tt_strip_add(tt_strip *s, uint8_t kind, const tt_lap *lap)
{
    if (lap->start >= s->edges[0] && lap->start < s->edges[s->n]) {
        uint32_t b = tt_strip_bucket(s, lap->start);
        tt_strip_cell *c = enter(s, b);
        c->count++;
        note_kind(s, kind, 0);
        s->steps_left++;
        if (lap->release <= s->edges[b + 1]) { /* nearly always */
            c->busy += (uint64_t)(lap->arrive - lap->start);
            c->wait += (uint64_t)(lap->release - lap->arrive);
            note_kind(s, kind, (uint64_t)(lap->arrive - lap->start));
            return true;
        }
    }
    return add_stretch(s, kind, lap->start, lap->arrive, false) &&
           add_stretch(s, kind, lap->arrive, lap->release, true);
}
