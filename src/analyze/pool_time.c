#include "analyze/pool_time.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

/* --- reads --- */

TT_ORDER_BY(by_begin, tt_pool_span, begin_ns, end_ns, read)

/* Uses the first slot that is free at the time. */
static void give_slots(tt_pool_time *t)
{
    double free_at[TT_POOL_SLOTS_MAX];
    for (uint32_t i = 0; i < t->n_reads; i++) {
        tt_pool_span *s = &t->reads[i];
        uint32_t slot = 0;
        while (slot < t->slots && free_at[slot] > s->begin_ns)
            slot++;
        if (slot == TT_POOL_SLOTS_MAX) slot--;
        if (slot == t->slots) free_at[t->slots++] = s->end_ns;
        free_at[slot] = fmax(free_at[slot], s->end_ns);
        s->slot = (uint8_t)slot;
    }
}

static void sort_reads(tt_pool_time *t)
{
    double latest = -INFINITY;
    const tt_model *m = t->m;
    for (uint32_t i = 0; i < m->n_pool_reads; i++) {
        const tt_pool_read *r = &m->pool_reads[i];
        const double begin = tt_model_ns(m, r->begin_ticks);
        t->reads[t->n_reads++] = (tt_pool_span){
            .begin_ns = begin, .end_ns = fmax(begin, tt_model_ns(m, r->end_ticks)), .read = i};
    }
    qsort(t->reads, t->n_reads, sizeof *t->reads, by_begin);
    for (uint32_t i = 0; i < t->n_reads; i++) {
        tt_pool_span *s = &t->reads[i];
        if (s->end_ns > latest) t->reading_ns += s->end_ns - fmax(latest, s->begin_ns);
        latest = fmax(latest, s->end_ns);
        s->latest_ns = latest;
    }
    give_slots(t);
}

void tt_pool_time_reads(const tt_pool_time *t, double from_ns, double to_ns, uint32_t *first,
                        uint32_t *end)
{
    uint32_t at;
    tt_lower_bound(at, t->n_reads, t->reads[at].latest_ns < from_ns);
    *first = at;
    tt_lower_bound(at, t->n_reads, t->reads[at].begin_ns < to_ns);
    *end = at > *first ? at : *first;
}

/* --- pauses --- */

/* The later end decides: what ends earlier did not hold the thread. */
static int by_begin_then_end(const void *a, const void *b)
{
    const tt_pool_pause *x = a, *y = b;
    const int order = tt_order(x->begin_ns, y->begin_ns);
    return order ? order : tt_order(y->end_ns, x->end_ns);
}

static void find_pauses(tt_pool_time *t)
{
    const tt_model *m = t->m;
    uint32_t n = 0, kept = 0;
    for (uint32_t i = 0; i < m->n_pool_reads; i++) {
        const tt_pool_read *r = &m->pool_reads[i];
        const tt_pool_pause p = {tt_model_ns(m, r->end_ticks - r->waited_ticks),
                                 tt_model_ns(m, r->end_ticks), i};
        if (r->waiters && p.end_ns > p.begin_ns) t->pauses[n++] = p;
    }
    qsort(t->pauses, n, sizeof *t->pauses, by_begin_then_end);
    for (uint32_t i = 0; i < n; i++) {
        tt_pool_pause *last = kept ? &t->pauses[kept - 1] : NULL, p = t->pauses[i];
        if (last && p.end_ns <= last->end_ns) continue;
        if (last && p.begin_ns < last->end_ns) last->end_ns = p.begin_ns;
        if (last && last->end_ns <= last->begin_ns) kept--;
        t->pauses[kept++] = p;
    }
    t->n_pauses = kept;
}

/* --- its size --- */

TT_ORDER_BY(by_time, tt_pool_moment, ns)

static void sort_moments(tt_pool_time *t)
{
    const tt_model *m = t->m;
    double first = INFINITY;
    /* For unreported reads the start is unknown. */
    if (m->n_pool_states && !m->pool_states[0].at.lost)
        for (uint32_t i = 0; i < m->n_pool_reads; i++)
            first = fmin(first, tt_model_ns(m, m->pool_reads[i].requested_ticks));
    if (isfinite(first))
        t->moments[t->n_moments++] = (tt_pool_moment){first, 0, m->pool_states[0].at.budget_bytes};
    for (uint32_t i = 0; i < m->n_pool_states; i++) {
        const tt_meta_pool *at = &m->pool_states[i].at;
        t->moments[t->n_moments++] =
            (tt_pool_moment){tt_model_ns(m, at->ticks), at->present_bytes, at->budget_bytes};
    }
    qsort(t->moments, t->n_moments, sizeof *t->moments, by_time);
}

/* --- bins --- */

/* Amounts spread over bins: added directly at both ends, and in between as changes of the rate,
 * which are summed at the end. */
typedef struct spreading {
    double from_ns, width_ns;
    uint32_t n;
    double *parts, *rates; /* by bin */
} spreading;

/* Spreads the amount evenly from start to end. */
static void spread(const spreading *s, double begin, double end, double amount)
{
    const double last_ns = s->from_ns + s->width_ns * s->n;
    const double a = fmax(begin, s->from_ns), b = fmin(end, last_ns);
    if (!(a <= b) || begin >= last_ns) return;
    const double per_ns = end > begin ? amount / (end - begin) : 0;
    const uint32_t first = (uint32_t)fmin(s->n - 1, (a - s->from_ns) / s->width_ns);
    const uint32_t last = (uint32_t)fmin(s->n - 1, (b - s->from_ns) / s->width_ns);
    if (first == last) {
        s->parts[first] += end > begin ? per_ns * (b - a) : amount;
        return;
    }
    s->parts[first] += per_ns * (s->from_ns + s->width_ns * (first + 1) - a);
    s->parts[last] += per_ns * (b - (s->from_ns + s->width_ns * last));
    s->rates[first + 1] += per_ns * s->width_ns;
    s->rates[last] -= per_ns * s->width_ns;
}

/* Adds the sums to a member of the bins. */
static void gather(spreading *s, tt_pool_bin *bins, double *(*member)(tt_pool_bin *, unsigned),
                   unsigned cause)
{
    double rate = 0, most = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        rate += s->rates[i];
        most = fmax(most, rate);
        /* Differences of large numbers: treats a rounding residue as 0. */
        *member(&bins[i], cause) = s->parts[i] + (rate > 1e-9 * most ? rate : 0);
        s->parts[i] = s->rates[i] = 0;
    }
}

static double *read_bytes(tt_pool_bin *bin, unsigned cause)
{
    return &bin->read_bytes[cause];
}

static double *pause_ns(tt_pool_bin *bin, unsigned cause)
{
    return &bin->pause_ns[cause];
}

static void fill_reads(const tt_pool_time *t, spreading *s, double to_ns, tt_pool_bin *bins)
{
    uint32_t first, end, pause;
    tt_pool_time_reads(t, s->from_ns, to_ns, &first, &end);
    tt_lower_bound(pause, t->n_pauses, t->pauses[pause].end_ns < s->from_ns);
    for (unsigned cause = 0; cause < TT_READ_CAUSES; cause++) {
        for (uint32_t i = first; i < end; i++) {
            const tt_pool_read *r = &t->m->pool_reads[t->reads[i].read];
            if (r->cause == cause && t->reads[i].end_ns >= s->from_ns)
                spread(s, t->reads[i].begin_ns, t->reads[i].end_ns, (double)r->size_bytes);
        }
        gather(s, bins, read_bytes, cause);
        for (uint32_t i = pause; i < t->n_pauses && t->pauses[i].begin_ns < to_ns; i++) {
            const tt_pool_pause *p = &t->pauses[i];
            if (t->m->pool_reads[p->read].cause == cause)
                spread(s, p->begin_ns, p->end_ns, p->end_ns - p->begin_ns);
        }
        gather(s, bins, pause_ns, cause);
    }
}

/* Interpolates between two times; NAN: outside. */
static double present_at(const tt_pool_time *t, uint32_t next, double ns)
{
    if (next == t->n_moments) return NAN;
    const tt_pool_moment *b = &t->moments[next], *a = next ? b - 1 : b;
    if (ns >= b->ns) return (double)b->present_bytes;
    if (next == 0) return NAN;
    const double share = (ns - a->ns) / (b->ns - a->ns);
    return (double)a->present_bytes + share * ((double)b->present_bytes - (double)a->present_bytes);
}

static void fill_present(const tt_pool_time *t, const spreading *s, tt_pool_bin *bins)
{
    uint32_t next;
    tt_lower_bound(next, t->n_moments, t->moments[next].ns < s->from_ns);
    for (uint32_t i = 0; i < s->n; i++) {
        const double from = s->from_ns + s->width_ns * i, to = from + s->width_ns;
        tt_pool_bin *bin = &bins[i];
        bin->present_bytes = present_at(t, next, from);
        bin->budget_bytes = NAN;
        for (; next < t->n_moments && t->moments[next].ns < to; next++) {
            bin->present_bytes = fmax(bin->present_bytes, (double)t->moments[next].present_bytes);
            bin->budget_bytes = (double)t->moments[next].budget_bytes;
        }
        const double end = present_at(t, next, to);
        bin->present_bytes = fmax(bin->present_bytes, end);
        if (!isnan(end)) bin->budget_bytes = (double)t->moments[next].budget_bytes;
    }
}

tt_status tt_pool_time_bins(const tt_pool_time *t, double from_ns, double to_ns, uint32_t n,
                            tt_pool_bin *bins, tt_error *err)
{
    spreading s = {.from_ns = from_ns, .width_ns = (to_ns - from_ns) / n, .n = n};
    s.parts = calloc((size_t)n * 2, sizeof *s.parts);
    if (!s.parts) return tt_error_memory(err, "the bins");
    s.rates = s.parts + n;
    fill_reads(t, &s, to_ns, bins);
    fill_present(t, &s, bins);
    free(s.parts);
    return TT_OK;
}

tt_status tt_pool_time_find(tt_pool_time *t, const tt_model *m, tt_error *err)
{
    *t = (tt_pool_time){.m = m};
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    t->reads = calloc((size_t)m->n_pool_reads + 1, sizeof *t->reads);
    t->pauses = calloc((size_t)m->n_pool_reads + 1, sizeof *t->pauses);
    t->moments = calloc((size_t)m->n_pool_states + 2, sizeof *t->moments);
    if (!t->reads || !t->pauses || !t->moments) return tt_error_memory(err, "what boost read");
    sort_reads(t);
    find_pauses(t);
    sort_moments(t);
    return TT_OK;
}

void tt_pool_time_free(tt_pool_time *t)
{
    free(t->reads);
    free(t->pauses);
    free(t->moments);
    *t = (tt_pool_time){0};
}
