/* What was measured of the ops that belong together, summed up in several ways. */
#include "analyze/diff/diff.h"

#include "analyze/quantiles.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slots of a file by the group they are in. */
typedef struct members {
    uint32_t *slots;
    uint32_t *first; /* by group, and one behind the last */
} members;

typedef struct summer {
    tt_diff_phase *p;
    const tt_diff *d;
    uint32_t **row_of_slot; /* by file, by slot; TT_NONE: left out */
    members *members;       /* by file */
    double *times, *waits;  /* by file and sample: of one group */
    double *work;           /* as much room, and one more */
} summer;

static bool is_b(const summer *s, size_t file)
{
    return file >= s->d->n_a;
}

/* --- which slots are which row --- */

/* Repeats have the ops of the first run of their side; others are left out. */
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
        /* After the second pass each begin has moved on to the next one's. */
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
        s->times[i] = s->waits[i] = NAN;
    for (size_t f = 0; f < s->d->n_files; f++) {
        const members *m = &s->members[f];
        for (uint32_t i = m->first[group]; i < m->first[group + 1]; i++) {
            const tt_profile_slot *slot = &s->p->profiles[f]->slots[m->slots[i]];
            add_samples(s->times + f * n, slot->times_ns, n);
            add_samples(s->waits + f * n, slot->waits_ns, n);
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
    /* Times that people compare with those of `stats` and `report`: as these have them. */
    side->median_ns = tt_quantiles_sorted(s->work, side->n_samples, 0.5);
    side->p25_ns = tt_quantiles_sorted(s->work, side->n_samples, 0.25);
    side->p75_ns = tt_quantiles_sorted(s->work, side->n_samples, 0.75);
    size_t n = pool(s, s->waits, from, to);
    side->wait_median_ns = !waits_known ? NAN : n ? tt_quantiles_sorted(s->work, n, 0.5) : 0;
}

/* A clock's tick is the least that could be seen. */
static double log_time(const summer *s, size_t file, double ns)
{
    double least = s->p->profiles[file]->m->clock.ns_per_tick;
    return log(ns > least ? ns : least);
}

/* Returns whether all of B's are those of A. */
static bool shift_of_two(summer *s, tt_shift *shift)
{
    const size_t n = s->p->n_samples;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(s->times[i]) && !isnan(s->times[n + i]))
            s->work[k++] = log_time(s, 1, s->times[n + i]) - log_time(s, 0, s->times[i]);
    tt_shift_of_tokens(shift, s->work, k);
    return k > 0 && s->work[0] == 0 && s->work[k - 1] == 0;
}

/* Each run's level: how its tokens compare with the mean of all runs' same tokens, typically. */
static void shift_of_many(summer *s, tt_shift *shift)
{
    const size_t n = s->p->n_samples, n_files = s->d->n_files;
    double level[TT_DIFF_FILES_MAX];
    for (size_t f = 0; f < n_files; f++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            double mean = 0;
            for (size_t g = 0; g < n_files; g++)
                mean += log_time(s, g, s->times[g * n + i]) / (double)n_files;
            /* NAN where a run does not have it. */
            for (size_t g = 0; g < n_files; g++)
                if (isnan(s->times[g * n + i])) mean = NAN;
            if (!isnan(mean)) s->work[k++] = log_time(s, f, s->times[f * n + i]) - mean;
        }
        if (k == 0) {
            tt_shift_of_tokens(shift, s->work, 0);
            return;
        }
        tt_sort_doubles(s->work, k);
        level[f] = tt_sorted_quantile(s->work, k, 0.5);
    }
    tt_shift_of_runs(shift, level, s->d->n_a, level + s->d->n_a, n_files - s->d->n_a);
}

/* p_adjusted and p_matters are as yet those of this row alone. */
static void test_row(summer *s, tt_diff_row *row, double token_ns)
{
    double low, high;
    if (s->d->n_files == 2)
        row->identical = shift_of_two(s, &row->shift);
    else
        shift_of_many(s, &row->shift);
    row->change = expm1(row->shift.estimate);
    tt_shift_interval(&row->shift, s->d->options.level, &low, &high);
    row->low = expm1(low);
    row->high = expm1(high);
    row->p = row->p_adjusted = tt_shift_p(&row->shift, 0);
    /* What of this row makes the threshold's share of a token. */
    double share = s->d->options.threshold * token_ns / fmax(row->a.median_ns, 1e-9);
    double edge = row->shift.estimate > 0 ? log1p(share) : share < 1 ? log1p(-share) : -INFINITY;
    bool beyond = fabs(row->shift.estimate) > fabs(edge);
    row->p_matters = !row->shift.tested ? NAN : beyond ? tt_shift_p(&row->shift, edge) : 1;
    row->shift.sorted = NULL;
}

static void sum_row(summer *s, size_t group, tt_diff_row *row, double token_ns)
{
    gather(s, group);
    sum_side(s, group, 0, s->d->n_a, &row->a);
    sum_side(s, group, s->d->n_a, s->d->n_files, &row->b);
    row->delta_ns = row->b.median_ns - row->a.median_ns;
    row->delta_wait_ns = row->b.wait_median_ns - row->a.wait_median_ns;
    row->change = row->low = row->high = row->p = row->p_adjusted = row->p_matters = NAN;
    if (row->a.n_samples && row->b.n_samples)
        test_row(s, row, token_ns > 0 ? token_ns : row->a.median_ns);
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
    for (size_t g = 0; g < n; g++)
        sum_row(s, g, &rows[g], family == TT_DIFF_TOTAL ? 0 : total->a.median_ns);
    return TT_OK;
}

/* A text's copy, or "" without memory. */
static const char *keep(summer *s, const char *text)
{
    const char *copy = tt_arena_text(&s->p->texts, text, strlen(text));
    return copy ? copy : "";
}

/* The ops of one side of a row, in the order they ran; *lead gets the one that says most of the
 * row: what reads most of the weights, else the last. False: there is none. */
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
    return ok ? sum_family(s, family, group_of_row, err)
              : tt_error_memory(err, "summing up the comparison");
}

static tt_status sum_all(summer *s, tt_error *err)
{
    static const tt_diff_family families[] = {TT_DIFF_TOTAL, TT_DIFF_PARTS, TT_DIFF_COMPONENTS,
                                              TT_DIFF_KINDS, TT_DIFF_LAYERS};
    const size_t n = s->p->n_rows[TT_DIFF_OPS];
    const char **kinds = calloc(n + 1, sizeof *kinds);
    uint32_t *group_of_row = reallocarray(NULL, n + 1, sizeof *group_of_row);
    s->p->rows[TT_DIFF_OPS] = calloc(n + 1, sizeof **s->p->rows);
    tt_status status = TT_OK;
    if (!kinds || !group_of_row || !s->p->rows[TT_DIFF_OPS])
        status = tt_error_memory(err, "summing up the comparison");
    if (status == TT_OK) status = describe_ops(s, kinds, err);
    for (size_t i = 0; i < sizeof families / sizeof *families && status == TT_OK; i++)
        status = make_family(s, families[i], kinds, group_of_row, err);
    if (status == TT_OK) status = sum_family(s, TT_DIFF_OPS, NULL, err);
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
    s.work = reallocarray(NULL, cells, sizeof *s.work);
    tt_status status = TT_OK;
    if (!s.row_of_slot || !s.members || !s.times || !s.waits || !s.work)
        status = tt_error_memory(err, "summing up the comparison");
    if (status == TT_OK) status = map_slots(&s, err);
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
    free(s.work);
    return status;
}
