#include "analyze/diff/diff.h"

#include "analyze/join.h"
#include "analyze/quantiles.h"
#include "base/order.h"
#include "gguf/memory_map.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The profiles of one phase, made by several threads. */
typedef struct team {
    tt_diff *d;
    tt_diff_phase *p;
    atomic_size_t next;
    pthread_mutex_t lock;
    uint64_t *done; /* by file */
    uint64_t total;
    tt_status status; /* the first failure, by file */
    size_t failed;
    tt_error err;
} team;

typedef struct reader {
    team *team;
    size_t file;
} reader;

static const unsigned phases[TT_DIFF_PHASES] = {TT_PHASE_GENERATE, TT_PHASE_PROMPT, TT_PHASE_MIXED,
                                                TT_PHASE_UNKNOWN};

static void progress(void *context, uint64_t done, uint64_t total)
{
    reader *r = context;
    team *t = r->team;
    uint64_t sum = 0;
    (void)total;
    pthread_mutex_lock(&t->lock);
    t->done[r->file] = done;
    for (size_t f = 0; f < t->d->n_files; f++)
        sum += t->done[f];
    t->d->options.progress(t->d->options.context, sum, t->total);
    pthread_mutex_unlock(&t->lock);
}

static bool waits_inside_known(const tt_diff *d)
{
    bool known = true;
    for (size_t f = 0; f < d->n_files; f++)
        known &= d->files[f]->waits_inside_known;
    return known;
}

static void read_file(team *t, size_t f)
{
    tt_error err;
    reader r = {t, f};
    const tt_diff *d = t->d;
    const tt_profile_plan plan = {.m = d->files[f],
                                  .units = &t->p->units[f],
                                  .list = t->p->pairs.units[f],
                                  .n = t->p->pairs.n,
                                  .stride = t->p->stride,
                                  .waits_inside = waits_inside_known(d),
                                  .structure_only = d->options.structure_only,
                                  .progress = d->options.progress ? progress : NULL,
                                  .context = &r,
                                  .over = d->options.over};
    tt_status status = tt_profile_make(&plan, &t->p->profiles[f], &err);
    if (status == TT_OK) return;
    pthread_mutex_lock(&t->lock);
    if (t->status == TT_OK || f < t->failed) {
        t->status = status;
        t->failed = f;
        t->err = err;
    }
    pthread_mutex_unlock(&t->lock);
}

static void *work(void *context)
{
    team *t = context;
    for (size_t f; (f = atomic_fetch_add(&t->next, 1)) < t->d->n_files;)
        read_file(t, f);
    return NULL;
}

/* Each model is used by one thread only. */
static tt_status read_files(tt_diff *d, tt_diff_phase *p, tt_error *err)
{
    pthread_t threads[TT_DIFF_FILES_MAX];
    size_t n = 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    team t = {.d = d, .p = p, .lock = PTHREAD_MUTEX_INITIALIZER, .total = p->pairs.n * d->n_files};
    t.done = calloc(d->n_files, sizeof *t.done);
    if (!t.done) return tt_error_memory(err, "the comparison");
    /* This thread works too; without more threads it does everything. */
    while (n + 1 < d->n_files && (long)n + 1 < processors &&
           pthread_create(&threads[n], NULL, work, &t) == 0)
        n++;
    (void)work(&t);
    while (n > 0)
        (void)pthread_join(threads[--n], NULL);
    free(t.done);
    pthread_mutex_destroy(&t.lock);
    if (t.status != TT_OK && err) *err = t.err;
    return t.status;
}

static tt_status pair_units(tt_diff *d, tt_diff_phase *p, tt_error *err)
{
    tt_status status = TT_OK;
    p->units = calloc(d->n_files, sizeof *p->units);
    p->profiles = calloc(d->n_files, sizeof(tt_profile *));
    if (!p->units || !p->profiles) return tt_error_memory(err, "the comparison");
    for (size_t f = 0; f < d->n_files && status == TT_OK; f++)
        status = tt_units_list(d->files[f], p->phase, &p->units[f], err);
    if (status == TT_OK) status = tt_units_pair(p->units, d->n_files, d->n_a, &p->pairs, err);
    return status;
}

static tt_status compare_phase(tt_diff *d, tt_diff_phase *p, tt_error *err)
{
    uint32_t executed = 0;
    tt_arena_init(&p->texts, TT_MODEL_MEMORY_MAX);
    tt_status status = pair_units(d, p, err);
    if (status != TT_OK || p->pairs.n == 0) return status;
    for (size_t f = 0; f < d->n_files; f++) {
        uint32_t own =
            tt_profile_executed(d->files[f], &p->units[f], p->pairs.units[f], p->pairs.n);
        executed = own > executed ? own : executed;
    }
    p->stride = tt_profile_stride(p->pairs.n, executed);
    p->n_samples = (uint32_t)((p->pairs.n + p->stride - 1) / p->stride);
    status = read_files(d, p, err);
    for (size_t f = 0; f < d->n_files && status == TT_OK; f++) {
        d->records += p->profiles[f]->records;
        d->orphan += p->profiles[f]->orphan;
    }
    if (status == TT_OK) status = tt_diff_align_phase(p, d->n_a, err);
    if (status == TT_OK && !d->options.structure_only) {
        status = tt_diff_sum_phase(p, d, err);
        if (status == TT_OK) status = tt_diff_evaluate_phase(p, d, err);
    }
    return status;
}

tt_status tt_diff_make(const tt_model *const *files, size_t n_files, size_t n_a,
                       const tt_diff_options *options, tt_diff **out, tt_error *err)
{
    tt_status status = TT_OK;
    *out = NULL;
    if (n_a == 0 || n_a >= n_files || n_files > TT_DIFF_FILES_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "a comparison is of 2 to %u runs, some on each side",
                            TT_DIFF_FILES_MAX);
    tt_diff *d = calloc(1, sizeof *d);
    if (!d) return tt_error_memory(err, "the comparison");
    d->files = files;
    d->n_files = n_files;
    d->n_a = n_a;
    d->options = *options;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        d->phases[i].phase = phases[i];
    for (size_t i = 0; i < TT_DIFF_PHASES && status == TT_OK; i++)
        status = compare_phase(d, &d->phases[i], err);
    if (status == TT_OK) status = tt_diff_look_around(d, err);
    if (status == TT_OK)
        *out = d;
    else
        tt_diff_free(d);
    return status;
}

static void free_phase(tt_diff_phase *p, size_t n_files)
{
    for (size_t f = 0; f < n_files; f++) {
        if (p->units) tt_units_free(&p->units[f]);
        if (p->profiles) tt_profile_free(p->profiles[f]);
    }
    for (size_t i = 0; i < TT_DIFF_FAMILIES; i++)
        free(p->rows[i]);
    free(p->units);
    free(p->profiles);
    free(p->layers);
    free(p->structure.list);
    free(p->structure.row_of_slot_a);
    tt_unit_pairs_free(&p->pairs);
    tt_arena_free(&p->texts);
}

void tt_diff_free(tt_diff *d)
{
    if (!d) return;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        free_phase(&d->phases[i], d->n_files);
    tt_diff_around_free(&d->around);
    free(d);
}

const tt_diff_phase *tt_diff_main(const tt_diff *d)
{
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        if (d->phases[i].pairs.n > 0) return &d->phases[i];
    return NULL;
}

uint64_t tt_diff_common(const tt_diff *d)
{
    uint64_t n = 0;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        n += d->phases[i].structure.common;
    return n;
}

bool tt_diff_comparable(const tt_diff *d)
{
    uint64_t a = 0, b = 0;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++) {
        a += d->phases[i].structure.nodes_a;
        b += d->phases[i].structure.nodes_b;
    }
    return a > 0 && b > 0;
}

uint64_t tt_diff_changes(const tt_diff *d)
{
    uint64_t n = 0;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++) {
        const tt_diff_structure *s = &d->phases[i].structure;
        n += s->added + s->removed + s->changed;
    }
    return n;
}

bool tt_diff_times_differ(const tt_diff *d)
{
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        if (d->phases[i].verdict >= TT_DIFF_SLOWER) return true;
    return false;
}

const char *tt_diff_verdict_name(tt_diff_verdict verdict)
{
    static const char *const names[] = {"untested", "undecided", "same",
                                        "slower",   "faster",    "shifted"};
    return (size_t)verdict < sizeof names / sizeof *names ? names[verdict] : "untested";
}

/* Sums of measurements of matching ops, by several dimensions. */

/* Slots of a file by their group. */
typedef struct members {
    uint32_t *slots;
    uint32_t *first; /* by group, then the end */
} members;

/* Own work a batch, of one op or several. */
typedef struct share {
    double a_ns, b_ns;
    double a_least_ns, a_p90_ns, b_least_ns, b_p90_ns;
    double count;   /* executions */
    double squares; /* of the ops' times, A's times B's */
} share;

typedef struct summer {
    tt_diff_phase *p;
    const tt_diff *d;
    uint32_t **row_of_slot;       /* by file, by slot; TT_NONE: left out */
    members *members;             /* by file */
    double *times, *waits, *offs; /* by file and sample: of one group */
    double *work;                 /* room for that, plus one */
    /* On a busy machine, by row of ops: */
    share *shares;
    uint32_t *kind_of; /* its row by kind */
} summer;

static bool is_b(const summer *s, size_t file)
{
    return file >= s->d->n_a;
}

/* --- which slots are in which row --- */

/* Repeats are mapped to the ops of their side's first run; others are left out. */
static tt_status map_slots(summer *s, tt_error *err)
{
    for (size_t f = 0; f < s->d->n_files; f++) {
        const tt_profile *own = s->p->profiles[f];
        const tt_profile *first = s->p->profiles[is_b(s, f) ? s->d->n_a : 0];
        const uint32_t *rows =
            is_b(s, f) ? s->p->structure.row_of_slot_b : s->p->structure.row_of_slot_a;
        s->row_of_slot[f] = reallocarray(NULL, (size_t)own->n_slots + 1, sizeof **s->row_of_slot);
        if (!s->row_of_slot[f]) return tt_error_memory(err, "summing up the comparison");
        for (uint32_t i = 0; i < own->n_slots; i++) {
            uint32_t at = tt_idmap_get(&first->slot_of_key, own->slots[i].key);
            s->row_of_slot[f][i] = at == TT_NONE ? TT_NONE : rows[at];
            s->p->left_out += at == TT_NONE;
        }
    }
    return TT_OK;
}

static bool group_slots(summer *s, size_t f, const uint32_t *group_of_row, size_t n_groups,
                        bool everything)
{
    const tt_profile *own = s->p->profiles[f];
    members *m = &s->members[f];
    free(m->slots);
    free(m->first);
    m->slots = reallocarray(NULL, (size_t)own->n_slots + 1, sizeof *m->slots);
    m->first = calloc(n_groups + 2, sizeof *m->first);
    if (!m->slots || !m->first) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < own->n_slots; i++) {
            uint32_t row = s->row_of_slot[f][i];
            if (row == TT_NONE && !everything) continue;
            uint32_t group = everything ? 0 : group_of_row ? group_of_row[row] : row;
            if (pass == 0)
                m->first[group + 1]++;
            else
                m->slots[m->first[group]++] = i;
        }
        /* After the second pass each start has moved to the next one's. */
        if (pass == 0)
            for (size_t g = 0; g < n_groups; g++)
                m->first[g + 1] += m->first[g];
        else
            memmove(m->first + 1, m->first, n_groups * sizeof *m->first);
    }
    m->first[0] = 0;
    return true;
}

/* --- one group --- */

static void add_samples(double *sum, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i]))
            sum[i] = isnan(sum[i]) ? (double)values[i] : sum[i] + (double)values[i];
}

static void gather(summer *s, size_t group)
{
    const size_t n = s->p->n_samples;
    for (size_t i = 0; i < s->d->n_files * n; i++)
        s->times[i] = s->waits[i] = s->offs[i] = NAN;
    for (size_t f = 0; f < s->d->n_files; f++) {
        const members *m = &s->members[f];
        for (uint32_t i = m->first[group]; i < m->first[group + 1]; i++) {
            const tt_profile_slot *slot = &s->p->profiles[f]->slots[m->slots[i]];
            add_samples(s->times + f * n, slot->times_ns, n);
            add_samples(s->waits + f * n, slot->waits_ns, n);
            add_samples(s->offs + f * n, slot->off_ns, n);
        }
    }
}

static size_t pool(summer *s, const double *values, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from * s->p->n_samples; i < to * s->p->n_samples; i++)
        if (!isnan(values[i])) s->work[n++] = values[i];
    tt_sort_doubles(s->work, n);
    return n;
}

static void sum_side(summer *s, size_t group, size_t from, size_t to, tt_diff_side *side)
{
    double bytes = 0, ns = 0, units = 0;
    bool waits_known = true;
    *side = (tt_diff_side){.n_samples = pool(s, s->times, from, to)};
    for (size_t f = from; f < to; f++) {
        const tt_profile *own = s->p->profiles[f];
        const members *m = &s->members[f];
        units += (double)own->n_units;
        waits_known &= own->m->waits_known;
        for (uint32_t i = m->first[group]; i < m->first[group + 1]; i++) {
            const tt_profile_slot *slot = &own->slots[m->slots[i]];
            side->present |= slot->count > 0;
            side->count += slot->count;
            side->at_most |= slot->at_most;
            bytes += (double)slot->weight_bytes;
            ns += (double)slot->ticks * own->m->clock.ns_per_tick;
        }
    }
    if (units <= 0 || side->n_samples == 0) return;
    side->mean_ns = ns / units;
    side->weight_bytes = bytes / units;
    /* Times that are compared with those of `stats` and `report`: computed like these. */
    side->time_ns = side->median_ns = tt_quantiles_sorted(s->work, side->n_samples, 0.5);
    side->p25_ns = tt_quantiles_sorted(s->work, side->n_samples, 0.25);
    side->p75_ns = tt_quantiles_sorted(s->work, side->n_samples, 0.75);
    size_t n = pool(s, s->waits, from, to);
    side->wait_median_ns = !waits_known ? NAN : n ? tt_quantiles_sorted(s->work, n, 0.5) : 0;
    for (size_t i = from * s->p->n_samples; s->p->undisturbed && i < to * s->p->n_samples; i++)
        s->waits[i] = s->times[i] - s->offs[i]; /* the waits are done with */
    n = pool(s, s->p->undisturbed ? s->waits : s->times, from, to);
    side->least_ns = tt_quantiles_sorted(s->work, n, 0);
    side->p90_ns = tt_quantiles_sorted(s->work, n, 0.9);
}

/* The clock's tick is the smallest observable time. */
static double log_time(const summer *s, size_t file, double ns)
{
    double least = s->p->profiles[file]->m->clock.ns_per_tick;
    return log(ns > least ? ns : least);
}

typedef enum which { WHOLE_TIME, UNDISTURBED_TIME, SHARE_OFF_CPU } which;

/* Fills s->work by file and sample, without those that a file lacks; returns how many are left. */
static size_t take_logs(summer *s, which what)
{
    const size_t n = s->p->n_samples, n_files = s->d->n_files;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        bool all = true;
        for (size_t f = 0; f < n_files; f++)
            all &= !isnan(s->times[f * n + i]);
        for (size_t f = 0; f < n_files && all; f++) {
            const double ns = s->times[f * n + i], off = s->offs[f * n + i];
            const double own = what == WHOLE_TIME ? ns : ns - off;
            s->work[f * n + k] = log_time(s, f, own);
            if (what == SHARE_OFF_CPU) s->work[f * n + k] = log_time(s, f, ns) - s->work[f * n + k];
        }
        k += all;
    }
    return k;
}

/* Of the k samples in s->work, which are permuted; each side's level by itself. */
static void find_shift(summer *s, size_t k, tt_shift *shift, double *level_a, double *level_b)
{
    const size_t n_files = s->d->n_files, n_a = s->d->n_a, n_b = n_files - n_a;
    double low[TT_DIFF_FILES_MAX][TT_SHIFT_BLOCKS_MAX], level[TT_DIFF_FILES_MAX];
    size_t blocks = 0;
    *level_a = *level_b = 0;
    for (size_t f = 0; f < n_files && k > 0; f++) {
        blocks = tt_shift_blocks(s->work + f * s->p->n_samples, k, low[f]);
        level[f] = tt_shift_centre(low[f], blocks);
        *(f < n_a ? level_a : level_b) += level[f] / (double)(f < n_a ? n_a : n_b);
    }
    if (blocks == 0) {
        *shift = (tt_shift){.estimate = NAN};
    } else if (n_files == 2) {
        tt_shift_of_tokens(shift, low[0], low[n_a], blocks, k);
        tt_shift_allow(shift, s->p->unseen);
    } else if (s->p->busy) {
        tt_shift_of_busy_runs(shift, level, n_a, level + n_a, n_b, s->d->options.level);
    } else {
        tt_shift_of_runs(shift, level, n_a, level + n_a, n_b);
    }
}

/* Whether all of B's samples are equal to A's. */
static bool is_identical(const summer *s, size_t k)
{
    const size_t n = s->p->n_samples;
    bool equal = s->d->n_files == 2 && k > 0;
    for (size_t i = 0; i < n && equal; i++)
        equal = isnan(s->times[i]) || isnan(s->times[n + i]) ||
                log_time(s, 0, s->times[i]) == log_time(s, 1, s->times[n + i]);
    return equal;
}

/* By the row's shift. p_adjusted and p_matters are not corrected yet. token_ns: of both sides; 0:
 * this row is the token. */
static void judge_row(const summer *s, tt_diff_row *row, double token_ns)
{
    double low, high;
    const double estimate = row->shift.estimate;
    row->change = expm1(estimate);
    tt_shift_interval(&row->shift, s->d->options.level, &low, &high);
    row->low = expm1(low);
    row->high = expm1(high);
    row->p = row->p_adjusted = tt_shift_p(&row->shift, 0);
    /* The shift at which B's time less A's, c e^(s/2) - c e^(-s/2), is the threshold's share of a
     * token: the same in both directions. */
    const double centre = sqrt(row->a.time_ns * row->b.time_ns);
    const double part = s->d->options.threshold * (token_ns > 0 ? token_ns / centre : 1);
    row->edge = 2 * asinh(part / 2);
    const bool beyond = fabs(estimate) > row->edge;
    row->p_matters = !row->shift.tested ? NAN
                     : !beyond          ? 1
                                        : tt_shift_p(&row->shift, copysign(row->edge, estimate));
}

static void test_row(summer *s, tt_diff_row *row, double token_ns)
{
    double a, b;
    const size_t k = take_logs(s, s->p->undisturbed ? UNDISTURBED_TIME : WHOLE_TIME);
    row->identical = is_identical(s, k);
    find_shift(s, k, &row->shift, &a, &b);
    if (k == 0) return;
    row->a.time_ns = exp(a);
    row->b.time_ns = exp(b);
    judge_row(s, row, token_ns);
}

/* How much of their time the ops' threads were off CPU, and what that may have done to the rest. */
static double off_share(const tt_diff_phase *p, size_t from, size_t to)
{
    double off = 0, all = 0;
    for (size_t f = from; f < to; f++) {
        const tt_profile *own = p->profiles[f];
        if (!own->m->off_cpu_known) return NAN;
        off += own->off_ticks * own->m->clock.ns_per_tick;
        for (uint32_t i = 0; i < own->n_slots; i++)
            if (i != TT_PROFILE_BETWEEN)
                all += (double)own->slots[i].ticks * own->m->clock.ns_per_tick;
    }
    return all > 0 ? off / all : 0;
}

/* How much longer the usual batch of a block takes than its fast ones: the median of the blocks.
 * x: room for the samples. */
static double unsteadiness(const tt_diff_phase *p, size_t file, double *x)
{
    double low[TT_SHIFT_BLOCKS_MAX];
    size_t n = 0;
    for (size_t k = 0; k < p->pairs.n; k += p->stride) {
        const double ns = p->units[file].list[p->pairs.units[file][k]].time_ns;
        if (ns > 0) x[n++] = log(ns);
    }
    if (n < TT_SHIFT_SAMPLES_MIN) return 0;
    const size_t blocks = tt_shift_blocks(x, n, low);
    for (size_t i = 0; i < blocks; i++) {
        const size_t begin = i * n / blocks, end = (i + 1) * n / blocks;
        low[i] = tt_sorted_quantile(x + begin, end - begin, 0.5) - low[i];
    }
    tt_sort_doubles(low, blocks);
    return tt_sorted_quantile(low, blocks, 0.5);
}

static void see_disturbance(tt_diff_phase *p, const tt_diff *d, double *room)
{
    double shortest_ns = INFINITY;
    p->off_share_a = off_share(p, 0, d->n_a);
    p->off_share_b = off_share(p, d->n_a, d->n_files);
    for (size_t f = 0; f < d->n_files; f++) {
        double ns = 0;
        for (size_t k = 0; k < p->pairs.n; k++)
            ns += fmax(p->units[f].list[p->pairs.units[f][k]].time_ns, 0);
        shortest_ns = fmin(shortest_ns, ns);
        p->unsteady = fmax(p->unsteady, unsteadiness(p, f, room));
    }
    p->busy = fmax(p->off_share_a, p->off_share_b) >= TT_OFF_CPU_MUCH ||
              (p->unsteady >= TT_DIFF_UNSTEADY && !isnan(p->off_share_a) && !isnan(p->off_share_b));
    if (!p->busy || d->n_files > 2) return;
    p->unseen =
        2 * TT_DIFF_SPEEDS * TT_DIFF_SPEEDS * fmin(1, TT_DIFF_SPEED_SECONDS * 1e9 / shortest_ns);
}

/* Time off CPU is left out of the times unless it differs, too, and by more than matters: another
 * program may have had the processor, anywhere. Of the group of everything. */
static void choose_times(summer *s)
{
    tt_shift shift;
    double a, b;
    const double edge = 2 * asinh(s->d->options.threshold / 2);
    s->p->undisturbed = !isnan(s->p->off_share_a) && !isnan(s->p->off_share_b);
    if (!s->p->undisturbed) return;
    gather(s, 0);
    find_shift(s, take_logs(s, SHARE_OFF_CPU), &shift, &a, &b);
    if (!shift.tested || fabs(shift.estimate) <= edge) return;
    s->p->undisturbed = tt_shift_p(&shift, copysign(edge, shift.estimate)) >= s->d->options.level;
}

static void sum_row(summer *s, size_t group, tt_diff_row *row, double token_ns)
{
    gather(s, group);
    sum_side(s, group, 0, s->d->n_a, &row->a);
    sum_side(s, group, s->d->n_a, s->d->n_files, &row->b);
    row->delta_wait_ns = row->b.wait_median_ns - row->a.wait_median_ns;
    row->change = row->low = row->high = row->p = row->p_adjusted = row->p_matters = NAN;
    row->expected_ns = NAN;
    if (row->a.n_samples && row->b.n_samples) test_row(s, row, token_ns);
    row->delta_ns = row->b.time_ns - row->a.time_ns;
}

/* --- rows compared with others --- */

/* The fast batches' own work in a slot, as a run has it: the mean of the side's runs' logs; and
 * likewise the least, and nine of ten batches'. */
static double own_work(summer *s, uint32_t row, size_t from, size_t to, double *least_ns,
                       double *p90_ns)
{
    const size_t n = s->p->n_samples;
    double sum = 0, least = 0, p90 = 0;
    for (size_t f = from; f < to; f++) {
        const members *m = &s->members[f];
        memset(s->work, 0, n * sizeof *s->work);
        for (uint32_t i = m->first[row]; i < m->first[row + 1]; i++)
            for (size_t k = 0; k < n; k++)
                s->work[k] += (double)s->p->profiles[f]->slots[m->slots[i]].work_ns[k];
        tt_sort_doubles(s->work, n);
        least += log(fmax(s->work[0], 1));
        sum += log(fmax(tt_sorted_quantile(s->work, n, TT_SHIFT_UNDISTURBED), 1));
        p90 += log(fmax(tt_quantiles_sorted(s->work, n, 0.9), 1));
    }
    *least_ns = exp(least / (double)(to - from));
    *p90_ns = exp(p90 / (double)(to - from));
    return exp(sum / (double)(to - from));
}

/* Of each row of ops. Needs its groups (group_slots). */
static tt_status share_work(summer *s, tt_error *err)
{
    const size_t n = s->p->n_rows[TT_DIFF_OPS], n_a = s->d->n_a, n_files = s->d->n_files;
    s->shares = calloc(n + 1, sizeof *s->shares);
    s->kind_of = calloc(n + 1, sizeof *s->kind_of);
    if (!s->shares || !s->kind_of) return tt_error_memory(err, "summing up the comparison");
    for (uint32_t r = 0; r < n; r++) {
        const tt_diff_row *row = &s->p->rows[TT_DIFF_OPS][r];
        if (!*row->key) continue; /* between ops */
        uint64_t count = 0;
        for (size_t f = 0; f < n_files; f++)
            for (uint32_t i = s->members[f].first[r]; i < s->members[f].first[r + 1]; i++)
                count += s->p->profiles[f]->slots[s->members[f].slots[i]].count;
        share *own = &s->shares[r];
        own->count = (double)count / (double)(s->p->pairs.n * n_files);
        if (row->op_a) own->a_ns = own_work(s, r, 0, n_a, &own->a_least_ns, &own->a_p90_ns);
        if (row->op_b) own->b_ns = own_work(s, r, n_a, n_files, &own->b_least_ns, &own->b_p90_ns);
        own->squares = own->a_ns * own->b_ns;
    }
    return TT_OK;
}

static void add_share(share *sum, const share *more, double sign)
{
    sum->a_ns += sign * more->a_ns;
    sum->b_ns += sign * more->b_ns;
    sum->a_least_ns += sign * more->a_least_ns;
    sum->a_p90_ns += sign * more->a_p90_ns;
    sum->b_least_ns += sign * more->b_least_ns;
    sum->b_p90_ns += sign * more->b_p90_ns;
    sum->count += sign * more->count;
    sum->squares += sign * more->squares;
}

/* A row of ops, by its group and its kind; by its change, where that is known. */
typedef struct member {
    uint32_t group, kind, row;
    double change, weight; /* log(b / a), sqrt(a b) */
    double before;         /* of the list's weights, up to this one */
} member;

/* Also equal changes have one order, in which each member is in a list or not yet. */
static int by_change(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->change != y->change) return x->change < y->change ? -1 : 1;
    return x->row != y->row ? x->row < y->row ? -1 : 1 : 0;
}

static int by_group(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return by_change(x, y);
}

/* All ops by their change, for each kind (as a group) or of all kinds. */
static member *rank_ops(const summer *s, bool by_kind)
{
    const size_t n = s->p->n_rows[TT_DIFF_OPS];
    member *list = reallocarray(NULL, n + 1, sizeof *list);
    double before = 0;
    for (uint32_t r = 0; r < n && list; r++) {
        const share *own = &s->shares[r];
        const bool both = own->a_ns > 0 && own->b_ns > 0;
        list[r] = (member){.group = by_kind ? s->kind_of[r] : 0,
                           .row = r,
                           .change = both ? log(own->b_ns / own->a_ns) : 0,
                           .weight = both ? sqrt(own->squares) : 0};
    }
    if (list) qsort(list, n, sizeof *list, by_group);
    for (size_t i = 0; i < n && list; i++)
        list[i].before = before += list[i].weight;
    return list;
}

/* The weights up to i, without those of the n members of `without`, in order of change. */
static double weight_to(const member *list, size_t first, size_t i, const member *without, size_t n)
{
    double weight = list[i].before - (first ? list[first - 1].before : 0);
    for (size_t k = 0; k < n && by_change(&without[k], &list[i]) <= 0; k++)
        weight -= without[k].weight;
    return weight;
}

/* The weighted median change of a ranked group, without some of its ops: it does not move if others
 * of them changed a lot. */
static double median_change(const member *list, size_t n_list, uint32_t group,
                            const member *without, size_t n)
{
    size_t first, end, low, high;
    tt_lower_bound(first, n_list, list[first].group < group);
    tt_lower_bound(end, n_list, list[end].group <= group);
    const double half = weight_to(list, first, end - 1, without, n) / 2;
    const double rounding = half * 1e-9;
    low = high = 0;
    tt_lower_bound(low, end - first,
                   weight_to(list, first, first + low, without, n) < half - rounding);
    tt_lower_bound(high, end - first,
                   weight_to(list, first, first + high, without, n) <= half + rounding);
    if (first + high >= end) high = low;
    return (list[first + low].change + list[first + high].change) / 2;
}

/* How far equal ops may be from the change of these others: see TT_DIFF_ALIKE_VARY. */
static double vary_from(const share *others, double vary)
{
    return hypot(vary, TT_DIFF_OP_VARIES_NS * others->count / sqrt(others->a_ns * others->b_ns));
}

/* What rows are compared with. */
typedef struct reference {
    share all, *kinds;          /* sums: of a batch, by kind */
    member *alike, *rest, *own; /* ranked by kind, of all kinds; room for a group */
    size_t n;
} reference;

/* Own work instead of elapsed time: unknown of a row without ops. */
static void set_work(tt_diff_side *side, double ns, double least_ns, double p90_ns)
{
    if (!side->present) return;
    side->time_ns = ns > 0 ? ns : NAN;
    side->least_ns = ns > 0 ? least_ns : NAN;
    side->p90_ns = ns > 0 ? p90_ns : NAN;
}

/* The row of one group, of the n members of `list`, which are `own` together. */
static void test_against_others(summer *s, tt_diff_row *row, const member *list, size_t n,
                                const share *own, const reference *x, double token_ns)
{
    const share *all = &x->all;
    share rest = *all;
    double usual = 0, variance = 0;
    add_share(&rest, own, -1);
    row->shift = (tt_shift){.n = s->p->n_samples, .estimate = NAN};
    row->p = row->p_adjusted = row->p_matters = row->low = row->high = row->change = NAN;
    set_work(&row->a, own->a_ns, own->a_least_ns, own->a_p90_ns);
    set_work(&row->b, own->b_ns, own->b_least_ns, own->b_p90_ns);
    row->delta_ns = row->b.time_ns - row->a.time_ns;
    const double some = 1e-6 * fmax(all->a_ns, all->b_ns); /* what subtraction leaves is less */
    if (!(own->a_ns > 0 && own->b_ns > 0 && rest.a_ns > some && rest.b_ns > some)) return;
    memcpy(x->own, list, n * sizeof *list);
    qsort(x->own, n, sizeof *x->own, by_change);
    const double others = median_change(x->rest, x->n, 0, x->own, n);
    for (size_t i = 0, end; i < n; i = end) {
        share kind = {0}, alike = x->kinds[list[i].kind];
        double sd, change;
        for (end = i; end < n && list[end].kind == list[i].kind; end++)
            add_share(&kind, &s->shares[list[end].row], 1);
        add_share(&alike, &kind, -1);
        const double weight = (kind.a_ns / own->a_ns + kind.b_ns / own->b_ns) / 2;
        if (alike.a_ns > 0 && alike.b_ns > 0 && alike.a_ns + alike.b_ns >= kind.a_ns + kind.b_ns) {
            change = median_change(x->alike, x->n, list[i].kind, list + i, end - i);
            sd = vary_from(&alike, TT_DIFF_ALIKE_VARY);
        } else {
            change = others;
            sd = vary_from(&rest, TT_DIFF_OTHERS_VARY);
        }
        usual += weight * change;
        variance += weight * weight * sd * sd;
    }
    const double runs = 2 / (1 / (double)s->d->n_a + 1 / (double)(s->d->n_files - s->d->n_a));
    const double product = own->a_ns * own->b_ns;
    const double brief = TT_DIFF_OP_VARIES_NS * own->count / sqrt(product);
    variance += brief * brief + TT_DIFF_OP_VARIES * TT_DIFF_OP_VARIES * own->squares / product;
    row->expected_ns = own->a_ns * exp(usual);
    row->shift = (tt_shift){.n = s->p->n_samples,
                            .blocks = s->d->n_files,
                            .tested = s->p->n_samples >= TT_DIFF_ALIKE_SAMPLES &&
                                      fmax(own->a_ns / all->a_ns, own->b_ns / all->b_ns) >=
                                          TT_DIFF_ALIKE_SHARE,
                            .estimate = log(own->b_ns / row->expected_ns),
                            .se = sqrt(variance / runs),
                            .df = TT_SHIFT_DF_MOST};
    judge_row(s, row, token_ns);
}

static tt_status test_family_against_others(summer *s, tt_diff_family family,
                                            const uint32_t *group_of_row, tt_error *err)
{
    const size_t n = s->p->n_rows[TT_DIFF_OPS];
    const tt_diff_row *total = s->p->rows[TT_DIFF_TOTAL];
    const double token_ns = sqrt(total->a.time_ns * total->b.time_ns);
    reference x = {.kinds = calloc(s->p->n_rows[TT_DIFF_KINDS] + 1, sizeof *x.kinds),
                   .alike = rank_ops(s, true),
                   .rest = rank_ops(s, false),
                   .own = reallocarray(NULL, n + 1, sizeof *x.own),
                   .n = n};
    member *list = reallocarray(NULL, n + 1, sizeof *list);
    const bool ok = x.kinds && x.alike && x.rest && x.own && list;
    for (uint32_t i = 0; i < n && ok; i++) {
        const uint32_t r = x.rest[i].row;
        list[i] = x.rest[i];
        list[i].group = group_of_row ? group_of_row[r] : r;
        list[i].kind = s->kind_of[r];
        add_share(&x.kinds[s->kind_of[r]], &s->shares[r], 1);
        add_share(&x.all, &s->shares[r], 1);
    }
    if (ok) qsort(list, n, sizeof *list, by_group);
    for (size_t i = 0, end; i < n && ok; i = end) {
        share own = {0};
        for (end = i; end < n && list[end].group == list[i].group; end++)
            add_share(&own, &s->shares[list[end].row], 1);
        test_against_others(s, &s->p->rows[family][list[i].group], list + i, end - i, &own, &x,
                            token_ns);
    }
    free(x.kinds);
    free(x.alike);
    free(x.rest);
    free(x.own);
    free(list);
    return ok ? TT_OK : tt_error_memory(err, "summing up the comparison");
}

double tt_diff_own_delta(const tt_diff_row *row)
{
    return isnan(row->expected_ns) ? row->delta_ns : row->b.time_ns - row->expected_ns;
}

/* --- families --- */

static tt_status sum_family(summer *s, tt_diff_family family, const uint32_t *group_of_row,
                            tt_error *err)
{
    const size_t n = s->p->n_rows[family];
    tt_diff_row *rows = s->p->rows[family];
    const tt_diff_row *total = s->p->rows[TT_DIFF_TOTAL];
    for (size_t f = 0; f < s->d->n_files; f++)
        if (!group_slots(s, f, group_of_row, n, family == TT_DIFF_TOTAL))
            return tt_error_memory(err, "summing up the comparison");
    if (family == TT_DIFF_TOTAL) choose_times(s);
    for (size_t g = 0; g < n; g++)
        sum_row(s, g, &rows[g],
                family == TT_DIFF_TOTAL ? 0 : sqrt(total->a.time_ns * total->b.time_ns));
    return TT_OK;
}

bool tt_diff_against_others(const tt_diff_phase *p)
{
    return p->busy && p->undisturbed;
}

/* A copy of the text, or "" if out of memory. */
static const char *keep(summer *s, const char *text)
{
    const char *copy = tt_arena_text(&s->p->texts, text, strlen(text));
    return copy ? copy : "";
}

/* The ops of one side of a row, in the order of execution; *lead is the most characteristic one:
 * the one that reads most of the weights, else the last. False: none. */
static bool describe_side(summer *s, size_t file, uint32_t row, const char *between,
                          const char **ops, const tt_profile_slot **lead)
{
    const tt_profile *own = s->p->profiles[file];
    const members *m = &s->members[file];
    char text[512] = "";
    size_t used = 0;
    *lead = NULL;
    for (uint32_t i = m->first[row]; i < m->first[row + 1]; i++) {
        const tt_profile_slot *slot = &own->slots[m->slots[i]];
        if (!*lead || slot->weight_bytes >= (*lead)->weight_bytes) *lead = slot;
        int n = snprintf(text + used, sizeof text - used, "%s%s", used ? between : "", slot->op);
        if (n > 0) used = used + (size_t)n < sizeof text ? used + (size_t)n : sizeof text - 1;
    }
    if (*lead) *ops = keep(s, text);
    return *lead != NULL;
}

static tt_status describe_ops(summer *s, const char **kinds, tt_error *err)
{
    const size_t n = s->p->n_rows[TT_DIFF_OPS];
    for (size_t f = 0; f < s->d->n_files; f++)
        if (!group_slots(s, f, NULL, n, false))
            return tt_error_memory(err, "summing up the comparison");
    for (uint32_t r = 0; r < n; r++) {
        const tt_profile_slot *a, *b;
        tt_diff_row *row = &s->p->rows[TT_DIFF_OPS][r];
        describe_side(s, 0, r, ", ", &row->op_a, &a);
        describe_side(s, s->d->n_a, r, ", ", &row->op_b, &b);
        /* The same for ops that are fused in A only. */
        if (!describe_side(s, 0, r, "+", &kinds[r], &a))
            describe_side(s, s->d->n_a, r, "+", &kinds[r], &b);
        const tt_profile_slot *lead = a ? a : b;
        if (!lead) return tt_error_memory(err, "summing up the comparison");
        row->key = lead->name;
        if (a && b && strcmp(tt_profile_name(a->name), tt_profile_name(b->name)) != 0)
            row->key_b = b->name;
        row->layer_id = lead->place.layer_id;
        row->category = lead->place.category;
        row->component = lead->place.component;
    }
    return TT_OK;
}

static uint64_t group_key(tt_diff_family family, const tt_diff_row *op, const char *kind,
                          const char **text)
{
    *text = "";
    switch (family) {
    case TT_DIFF_PARTS:
        *text = op->category;
        break;
    case TT_DIFF_COMPONENTS:
        *text = op->component;
        break;
    case TT_DIFF_KINDS:
        *text = *kind ? kind : op->category;
        break;
    case TT_DIFF_LAYERS:
        return (uint64_t)((int64_t)op->layer_id + 2);
    case TT_DIFF_TOTAL:
    case TT_DIFF_OPS:
    case TT_DIFF_FAMILIES:
        return 0;
    }
    return tt_profile_hash(TT_PROFILE_HASH, *text);
}

static tt_status make_family(summer *s, tt_diff_family family, const char *const *kinds,
                             uint32_t *group_of_row, tt_error *err)
{
    const size_t n = s->p->n_rows[TT_DIFF_OPS];
    tt_idmap groups = {0};
    bool ok = true;
    s->p->rows[family] = calloc(n + 1, sizeof **s->p->rows);
    if (!s->p->rows[family]) return tt_error_memory(err, "summing up the comparison");
    for (size_t r = 0; r < n && ok; r++) {
        const tt_diff_row *op = &s->p->rows[TT_DIFF_OPS][r];
        const char *text;
        uint64_t key = group_key(family, op, kinds[r], &text);
        uint32_t next = (uint32_t)s->p->n_rows[family];
        ok = tt_idmap_add(&groups, key, next, &group_of_row[r]);
        if (!ok || group_of_row[r] != TT_NONE) continue;
        group_of_row[r] = next;
        s->p->rows[family][s->p->n_rows[family]++] = (tt_diff_row){
            .key = text, .layer_id = family == TT_DIFF_LAYERS ? op->layer_id : TT_LAYER_NONE};
    }
    tt_idmap_free(&groups);
    if (!ok) return tt_error_memory(err, "summing up the comparison");
    if (family == TT_DIFF_KINDS && s->kind_of)
        memcpy(s->kind_of, group_of_row, n * sizeof *group_of_row);
    return sum_family(s, family, group_of_row, err);
}

static tt_status sum_all(summer *s, tt_error *err)
{
    /* Kinds before what is compared by kind. */
    static const tt_diff_family families[] = {TT_DIFF_TOTAL, TT_DIFF_KINDS, TT_DIFF_PARTS,
                                              TT_DIFF_COMPONENTS, TT_DIFF_LAYERS};
    const size_t n = s->p->n_rows[TT_DIFF_OPS];
    const char **kinds = calloc(n + 1, sizeof *kinds);
    uint32_t *group_of_row = reallocarray(NULL, n + 1, sizeof *group_of_row);
    s->p->rows[TT_DIFF_OPS] = calloc(n + 1, sizeof **s->p->rows);
    tt_status status = TT_OK;
    if (!kinds || !group_of_row || !s->p->rows[TT_DIFF_OPS])
        status = tt_error_memory(err, "summing up the comparison");
    if (status == TT_OK) status = describe_ops(s, kinds, err);
    if (status == TT_OK && s->p->busy) status = share_work(s, err);
    for (size_t i = 0; i < sizeof families / sizeof *families && status == TT_OK; i++) {
        status = make_family(s, families[i], kinds, group_of_row, err);
        if (status == TT_OK && families[i] != TT_DIFF_TOTAL && tt_diff_against_others(s->p))
            status = test_family_against_others(s, families[i], group_of_row, err);
    }
    if (status == TT_OK) status = sum_family(s, TT_DIFF_OPS, NULL, err);
    if (status == TT_OK && tt_diff_against_others(s->p))
        status = test_family_against_others(s, TT_DIFF_OPS, NULL, err);
    free(kinds);
    free(group_of_row);
    return status;
}

tt_status tt_diff_sum_phase(tt_diff_phase *p, const tt_diff *d, tt_error *err)
{
    const size_t cells = d->n_files * p->n_samples + 1;
    summer s = {.p = p, .d = d};
    s.row_of_slot = calloc(d->n_files, sizeof *s.row_of_slot);
    s.members = calloc(d->n_files, sizeof *s.members);
    s.times = reallocarray(NULL, cells, sizeof *s.times);
    s.waits = reallocarray(NULL, cells, sizeof *s.waits);
    s.offs = reallocarray(NULL, cells, sizeof *s.offs);
    s.work = reallocarray(NULL, cells, sizeof *s.work);
    tt_status status = TT_OK;
    if (!s.row_of_slot || !s.members || !s.times || !s.waits || !s.offs || !s.work)
        status = tt_error_memory(err, "summing up the comparison");
    if (status == TT_OK) status = map_slots(&s, err);
    if (status == TT_OK) see_disturbance(p, d, s.work);
    if (status == TT_OK) status = sum_all(&s, err);
    for (size_t f = 0; f < d->n_files; f++) {
        if (s.row_of_slot) free(s.row_of_slot[f]);
        if (!s.members) continue;
        free(s.members[f].slots);
        free(s.members[f].first);
    }
    free(s.row_of_slot);
    free(s.members);
    free(s.times);
    free(s.waits);
    free(s.offs);
    free(s.work);
    free(s.shares);
    free(s.kind_of);
    return status;
}

/* Interpretation of a comparison's rows: corrections, the verdict, and the causes of a change. */

/* The share of the total change that the named causes must explain; and of a cause's, its
 * layers. */
#define EXPLAINED 0.8
/* A cause's smallest share. */
#define CAUSE_MIN 0.1

/* --- corrections --- */

/* All families except the total divide the level among them. */
static tt_status correct_family(tt_diff_row *rows, size_t n, double level, tt_error *err)
{
    double *p = reallocarray(NULL, 2 * n + 1, sizeof *p);
    if (!p) return tt_error_memory(err, "the verdict");
    for (size_t i = 0; i < n; i++) {
        p[i] = rows[i].p;
        p[n + i] = rows[i].p_matters;
    }
    bool ok = tt_holm(p, n) && tt_holm(p + n, n);
    for (size_t i = 0; i < n && ok; i++) {
        rows[i].p_adjusted = p[i];
        rows[i].p_matters = p[n + i];
        rows[i].significant = p[i] < level;
        rows[i].matters = p[n + i] < level;
    }
    free(p);
    return ok ? TT_OK : tt_error_memory(err, "the verdict");
}

/* A token may take equally long although its ops do not. */
static bool all_identical(const tt_diff_phase *p)
{
    bool all = p->rows[TT_DIFF_TOTAL][0].identical;
    for (size_t i = 0; i < p->n_rows[TT_DIFF_OPS] && all; i++) {
        const tt_diff_row *r = &p->rows[TT_DIFF_OPS][i];
        all = r->identical || (r->a.n_samples == 0 && r->b.n_samples == 0);
    }
    return all;
}

static tt_diff_verdict evaluate_total(const tt_diff_row *total)
{
    if (total->identical) return TT_DIFF_SAME;
    if (!total->shift.tested)
        return total->shift.by_ranks && total->shift.n > 2 ? TT_DIFF_UNDECIDED : TT_DIFF_UNTESTED;
    if (total->matters) return total->change > 0 ? TT_DIFF_SLOWER : TT_DIFF_FASTER;
    const bool inside = log1p(total->low) >= -total->edge && log1p(total->high) <= total->edge;
    /* What disturbs only some of the tokens is not in the estimate. */
    const double usual = log(total->b.median_ns / total->a.median_ns);
    return inside && fabs(usual) <= total->edge ? TT_DIFF_SAME : TT_DIFF_UNDECIDED;
}

static bool any_matters(const tt_diff_phase *p)
{
    for (size_t f = TT_DIFF_PARTS; f < TT_DIFF_FAMILIES; f++)
        for (size_t i = 0; i < p->n_rows[f]; i++)
            if (p->rows[f][i].matters) return true;
    return false;
}

/* --- causes --- */

static double towards(double delta, double whole)
{
    return whole < 0 ? -delta : delta;
}

typedef struct weighed {
    double delta;
    uint32_t at;
} weighed;

static int heaviest(const void *a, const void *b)
{
    const weighed *x = a, *y = b;
    if (x->delta != y->delta) return x->delta > y->delta ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* "Attention V", from the op's own name if that has it; else the component. */
static void name_cause(tt_diff_cause *c, const tt_diff_phase *p)
{
    (void)snprintf(c->title, sizeof c->title, "%s", c->component);
    for (size_t i = 0; i < p->n_rows[TT_DIFF_OPS]; i++) {
        const tt_diff_row *op = &p->rows[TT_DIFF_OPS][i];
        if (strcmp(op->component, c->component) != 0) continue;
        tt_component what = tt_layout_classify(op->key);
        if (strcmp(what.component, c->component) != 0 || strcmp(what.component_type, "Other") == 0)
            continue;
        (void)snprintf(c->title, sizeof c->title, "%.63s", what.component_type);
        return;
    }
}

/* The layers that explain the component's change: the heaviest are chosen, then sorted. */
static void find_layers(tt_diff_cause *c, const tt_diff_phase *p, weighed *list, int32_t *layers)
{
    uint32_t n = 0, of = 0;
    double all = 0, sum = 0;
    for (uint32_t i = 0; i < p->n_rows[TT_DIFF_OPS]; i++) {
        const tt_diff_row *op = &p->rows[TT_DIFF_OPS][i];
        if (strcmp(op->component, c->component) != 0 || op->layer_id == TT_LAYER_NONE) continue;
        uint32_t k = 0;
        while (k < n && layers[k] != op->layer_id)
            k++;
        if (k == n) {
            layers[n] = op->layer_id;
            list[n++] = (weighed){0, k};
        }
        list[k].delta += towards(op->delta_ns, c->delta_ns);
    }
    for (uint32_t k = 0; k < n; k++)
        all += fmax(list[k].delta, 0);
    int32_t *of_weighed = layers + n;
    qsort(list, n, sizeof *list, heaviest);
    while (of < n && list[of].delta > 0 && sum < EXPLAINED * all) {
        sum += list[of].delta;
        of_weighed[of] = layers[list[of].at];
        of++;
    }
    /* Most of them: reported as "in all layers". */
    c->all_layers = n > 1 && of * 3 >= n * 2;
    memmove(layers, of_weighed, of * sizeof *layers);
    qsort(layers, of, sizeof *layers, ascending);
    c->layers = layers;
    c->n_layers = of;
}

static tt_status find_causes(tt_diff_phase *p, tt_error *err)
{
    const size_t n = p->n_rows[TT_DIFF_COMPONENTS], ops = p->n_rows[TT_DIFF_OPS];
    const tt_diff_row *rows = p->rows[TT_DIFF_COMPONENTS];
    double whole = p->rows[TT_DIFF_TOTAL][0].delta_ns, sum = 0;
    weighed *list = reallocarray(NULL, (n > ops ? n : ops) + 1, sizeof *list);
    weighed *work = reallocarray(NULL, ops + 1, sizeof *work);
    p->layers = reallocarray(NULL, TT_DIFF_CAUSES_MAX * 2 * ops + 1, sizeof *p->layers);
    if (!list || !work || !p->layers) {
        free(list);
        free(work);
        return tt_error_memory(err, "the verdict");
    }
    for (uint32_t i = 0; i < n; i++) {
        /* Parts that cancel each other have no common direction. */
        double delta = p->verdict == TT_DIFF_SHIFTED ? fabs(tt_diff_own_delta(&rows[i]))
                                                     : towards(rows[i].delta_ns, whole);
        list[i] = (weighed){isnan(delta) ? 0 : delta, i};
    }
    if (p->verdict == TT_DIFF_SHIFTED) whole = 0;
    qsort(list, n, sizeof *list, heaviest);
    for (uint32_t i = 0; i < n && p->n_causes < TT_DIFF_CAUSES_MAX; i++) {
        const tt_diff_row *row = &rows[list[i].at];
        if (list[i].delta <= 0 || sum >= EXPLAINED * fabs(whole)) {
            if (p->verdict != TT_DIFF_SHIFTED || !row->matters) break;
        }
        if (p->n_causes > 0 && list[i].delta < CAUSE_MIN * list[0].delta) break;
        sum += list[i].delta;
        tt_diff_cause *c = &p->causes[p->n_causes];
        *c = (tt_diff_cause){.component = row->key,
                             .delta_ns = p->verdict == TT_DIFF_SHIFTED ? tt_diff_own_delta(row)
                                                                       : row->delta_ns,
                             .delta_wait_ns = row->delta_wait_ns,
                             .significant = row->significant};
        name_cause(c, p);
        find_layers(c, p, work, p->layers + 2 * ops * p->n_causes);
        p->n_causes++;
    }
    free(list);
    free(work);
    return TT_OK;
}

tt_status tt_diff_evaluate_phase(tt_diff_phase *p, const tt_diff *d, tt_error *err)
{
    const double level = d->options.level;
    const tt_diff_family others = TT_DIFF_FAMILIES - TT_DIFF_PARTS;
    tt_status status = correct_family(p->rows[TT_DIFF_TOTAL], 1, level, err);
    for (size_t f = TT_DIFF_PARTS; f < TT_DIFF_FAMILIES && status == TT_OK; f++)
        status = correct_family(p->rows[f], p->n_rows[f], level / (double)others, err);
    if (status != TT_OK) return status;
    p->rows[TT_DIFF_TOTAL][0].identical = all_identical(p);
    p->verdict = evaluate_total(&p->rows[TT_DIFF_TOTAL][0]);
    if (p->verdict != TT_DIFF_SLOWER && p->verdict != TT_DIFF_FASTER && any_matters(p))
        p->verdict = TT_DIFF_SHIFTED;
    if (p->verdict == TT_DIFF_SLOWER || p->verdict == TT_DIFF_FASTER ||
        p->verdict == TT_DIFF_SHIFTED)
        status = find_causes(p, err);
    return status;
}
