#include "analyze/counters.h"

#include "analyze/buffers.h"
#include "analyze/residency.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define NS_PER_S 1e9

/* An amount counted between two times, spread evenly. */
typedef struct interval {
    double from_ns, to_ns;
    double amount;
} interval;

typedef struct step {
    double at_ns;
    double value; /* from then on */
} step;

struct tt_counters {
    interval *intervals[TT_COUNTERS];
    size_t n_intervals[TT_COUNTERS];
    step *steps[TT_COUNTERS]; /* for counters that are levels */
    size_t n_steps[TT_COUNTERS];
    double end_ns; /* of the known levels */
};

const char *tt_counter_name(tt_counter counter)
{
    static const char *const names[TT_COUNTERS] = {
        "allocated_bytes", "file_bytes",         "resident_bytes",     "tokens_per_s",
        "cpu_threads",     "minor_faults_per_s", "major_faults_per_s", "read_bytes_per_s"};
    return names[counter];
}

static bool is_level(tt_counter counter)
{
    return counter <= TT_COUNTER_RESIDENT_BYTES;
}

bool tt_counters_has(const tt_counters *c, tt_counter counter)
{
    return is_level(counter) ? c->n_steps[counter] > 0 : c->n_intervals[counter] > 0;
}

void tt_counters_free(tt_counters *c)
{
    if (!c) return;
    for (int i = 0; i < TT_COUNTERS; i++) {
        free(c->intervals[i]);
        free(c->steps[i]);
    }
    free(c);
}

static void put(tt_counters *c, tt_counter counter, double from_ns, double to_ns, double amount)
{
    if (to_ns > from_ns)
        c->intervals[counter][c->n_intervals[counter]++] = (interval){from_ns, to_ns, amount};
}

static void list_tokens(tt_counters *c, const tt_model *m)
{
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        if (b->ended)
            put(c, TT_COUNTER_TOKENS_PER_S, tt_model_ns(m, b->begin_ticks),
                tt_model_ns(m, b->end_ticks), tt_model_got(b));
    }
}

/* Totals only grow: if not, the interval is unknown. */
static void put_growth(tt_counters *c, tt_counter counter, const double at[2], uint64_t before,
                       uint64_t after)
{
    if (after >= before) put(c, counter, at[0], at[1], (double)(after - before));
}

static int by_ticks(const void *a, const void *b)
{
    const tt_meta_usage *const *x = a, *const *y = b;
    return (*x)->ticks < (*y)->ticks ? -1 : (*x)->ticks > (*y)->ticks;
}

static bool list_usages(tt_counters *c, const tt_model *m)
{
    const tt_meta_usage **order = malloc(((size_t)m->n_usages + 1) * sizeof *order);
    if (!order) return false;
    for (uint32_t i = 0; i < m->n_usages; i++)
        order[i] = &m->usages[i];
    if (m->n_usages) qsort(order, m->n_usages, sizeof *order, by_ticks);
    for (uint32_t i = 1; i < m->n_usages; i++) {
        const tt_meta_usage *a = order[i - 1], *b = order[i];
        const double at[2] = {tt_model_ns(m, a->ticks), tt_model_ns(m, b->ticks)};
        const uint8_t both = a->flags & b->flags;
        if (both & TT_USAGE_FAULTS) {
            put_growth(c, TT_COUNTER_CPU_THREADS, at, a->user_ns + a->system_ns,
                       b->user_ns + b->system_ns);
            put_growth(c, TT_COUNTER_MINOR_FAULTS_PER_S, at, a->minor, b->minor);
            put_growth(c, TT_COUNTER_MAJOR_FAULTS_PER_S, at, a->major, b->major);
        }
        if (both & TT_USAGE_IO)
            put_growth(c, TT_COUNTER_READ_BYTES_PER_S, at, a->read_bytes, b->read_bytes);
    }
    free(order);
    return true;
}

static tt_status list_buffers(tt_counters *c, const tt_model *m, tt_error *err)
{
    static const tt_backing backings[] = {TT_BACKING_ALLOCATED, TT_BACKING_FILE};
    tt_buffers *b;
    tt_status status = tt_buffers_analyze(m, &b, err);
    if (status != TT_OK) return status;
    for (int k = 0; k < 2; k++) {
        step *list = c->steps[k] = calloc((size_t)b->n_events + 1, sizeof *list);
        for (uint32_t i = 0; list && i < b->n_events; i++)
            list[i] =
                (step){tt_model_ns(m, b->events[i].ticks), (double)b->events[i].bytes[backings[k]]};
        c->n_steps[k] = b->n_events;
    }
    bool ok = c->steps[0] && c->steps[1];
    if (ok && b->n_events) c->end_ns = fmax(c->end_ns, c->steps[0][b->n_events - 1].at_ns);
    tt_buffers_free(b);
    return ok ? TT_OK : tt_error_memory(err, "counters");
}

/* The samples of each file, of which the last ones make the level. */
typedef struct residents {
    tt_counters *c;
    const tt_model *m;
    double *of_file;
    double all;
} residents;

static void add_sample(void *context, const tt_residency_sample *s, const tt_ranges *now)
{
    residents *r = context;
    step *list = r->c->steps[TT_COUNTER_RESIDENT_BYTES];
    (void)now;
    r->all += (double)s->resident_bytes - r->of_file[s->file];
    r->of_file[s->file] = (double)s->resident_bytes;
    list[r->c->n_steps[TT_COUNTER_RESIDENT_BYTES]++] =
        (step){tt_model_ns(r->m, s->end_ticks), r->all};
}

static int by_time(const void *a, const void *b)
{
    const step *x = a, *y = b;
    return tt_order(x->at_ns, y->at_ns);
}

static tt_status list_residency(tt_counters *c, const tt_model *m, tt_error *err)
{
    const tt_counter counter = TT_COUNTER_RESIDENT_BYTES;
    residents r = {.c = c, .m = m, .of_file = calloc((size_t)m->n_files + 1, sizeof(double))};
    c->steps[counter] = calloc((size_t)m->n_residencies + 1, sizeof(step));
    tt_status status = r.of_file && c->steps[counter]
                           ? tt_residency_walk(m, add_sample, &r, NULL, err)
                           : tt_error_memory(err, "counters");
    free(r.of_file);
    step *list = c->steps[counter];
    if (status == TT_OK && c->n_steps[counter])
        qsort(list, c->n_steps[counter], sizeof *list, by_time);
    return status;
}

static void find_end(tt_counters *c, const tt_model *m)
{
    c->end_ns = -INFINITY;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        c->end_ns = fmax(c->end_ns, tt_model_ns(m, b->ended ? b->end_ticks : b->begin_ticks));
    }
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        c->end_ns = fmax(c->end_ns, tt_model_ns(m, r->ended ? r->end_ticks : r->begin_ticks));
    }
}

tt_status tt_counters_new(const tt_model *m, tt_counters **out, tt_error *err)
{
    *out = NULL;
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    tt_counters *c = calloc(1, sizeof *c);
    bool ok = c != NULL;
    for (int i = TT_COUNTER_TOKENS_PER_S; ok && i < TT_COUNTERS; i++) {
        size_t n = i == TT_COUNTER_TOKENS_PER_S ? m->n_batches : m->n_usages;
        c->intervals[i] = calloc(n + 1, sizeof *c->intervals[i]);
        ok = c->intervals[i] != NULL;
    }
    if (ok) {
        list_tokens(c, m);
        find_end(c, m);
        ok = list_usages(c, m);
    }
    status = ok ? list_buffers(c, m, err) : tt_error_memory(err, "counters");
    if (status == TT_OK) status = list_residency(c, m, err);
    if (status == TT_OK)
        *out = c;
    else
        tt_counters_free(c);
    return status;
}

/* --- in buckets --- */

typedef struct spread {
    double from_ns, width_ns;
    uint32_t n;
    double *amount, *covered; /* for buckets partly in an interval */
    double *rate, *whole;     /* differences between consecutive buckets, for those completely in */
} spread;

/* Adds to an interval's first and last bucket directly, and to those in between as a difference:
 * the work is independent of their number. */
static void add_interval(spread *s, const interval *x)
{
    const double end = s->from_ns + s->n * s->width_ns, rate = x->amount / (x->to_ns - x->from_ns);
    const double from = fmax(x->from_ns, s->from_ns), to = fmin(x->to_ns, end);
    if (!(from < to)) return;
    uint32_t first = (uint32_t)fmin((from - s->from_ns) / s->width_ns, s->n - 1);
    uint32_t last = (uint32_t)fmin((to - s->from_ns) / s->width_ns, s->n - 1);
    const uint32_t parts[2] = {first, last};
    for (int i = 0; i < (first == last ? 1 : 2); i++) {
        double low = s->from_ns + parts[i] * s->width_ns, high = low + s->width_ns;
        double inside = fmax(0, fmin(to, high) - fmax(from, low));
        s->amount[parts[i]] += rate * inside;
        s->covered[parts[i]] += inside;
    }
    if (last <= first + 1) return;
    s->rate[first + 1] += rate;
    s->rate[last] -= rate;
    s->whole[first + 1] += 1;
    s->whole[last] -= 1;
}

static bool get_rates(const tt_counters *c, tt_counter counter, double from_ns, double to_ns,
                      uint32_t n, double *values)
{
    double *memory = calloc((size_t)n * 4 + 4, sizeof *memory);
    if (!memory) return false;
    spread s = {.from_ns = from_ns,
                .width_ns = (to_ns - from_ns) / n,
                .n = n,
                .amount = memory,
                .covered = memory + n + 1,
                .rate = memory + 2 * ((size_t)n + 1),
                .whole = memory + 3 * ((size_t)n + 1)};
    double first = INFINITY, last = -INFINITY, rate = 0, whole = 0;
    for (size_t i = 0; i < c->n_intervals[counter]; i++) {
        const interval *x = &c->intervals[counter][i];
        add_interval(&s, x);
        first = fmin(first, x->from_ns);
        last = fmax(last, x->to_ns);
    }
    const double per = counter == TT_COUNTER_CPU_THREADS ? 1 : NS_PER_S;
    for (uint32_t b = 0; b < n; b++) {
        rate += s.rate[b];
        whole += s.whole[b];
        double amount = s.amount[b] + (whole > 0.5 ? rate * s.width_ns : 0);
        double covered = s.covered[b] + whole * s.width_ns;
        if (counter == TT_COUNTER_TOKENS_PER_S) {
            /* Batches of several contexts overlap, and between batches there are no tokens. */
            double low = from_ns + b * s.width_ns;
            covered = fmin(low + s.width_ns, last) - fmax(low, first);
        }
        values[b] = covered > 0 ? fmax(0, amount / covered * per) : NAN;
    }
    free(memory);
    return true;
}

static void get_levels(const tt_counters *c, tt_counter counter, double from_ns, double to_ns,
                       uint32_t n, double *values)
{
    const step *steps = c->steps[counter];
    const size_t n_steps = c->n_steps[counter];
    const double width = (to_ns - from_ns) / n;
    double level = NAN; /* before the first buffer was seen */
    size_t at = 0;
    for (uint32_t b = 0; b < n; b++) {
        const double begin = from_ns + b * width, end = begin + width;
        for (; at < n_steps && steps[at].at_ns <= begin; at++)
            level = steps[at].value;
        double most = level;
        for (; at < n_steps && steps[at].at_ns < end; at++) {
            level = steps[at].value;
            if (!(most >= level)) most = level;
        }
        values[b] = begin > c->end_ns ? NAN : most;
    }
}

bool tt_counters_get(const tt_counters *c, tt_counter counter, double from_ns, double to_ns,
                     uint32_t n, double *values)
{
    if (!is_level(counter)) return get_rates(c, counter, from_ns, to_ns, n, values);
    get_levels(c, counter, from_ns, to_ns, n, values);
    return true;
}
