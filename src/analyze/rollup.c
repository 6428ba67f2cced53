#include "analyze/rollup.h"

#include <stdlib.h>
#include <string.h>

/* Below this share of both edges, neither is what an op waits for. */
#define NEITHER_SHARE 0.1

/* By what cells are put together; a NULL text or a zero flag does not tell them apart. */
typedef struct rollup_key {
    const char *key, *part;
    int64_t number;
    uint8_t phase;
    bool integers;
} rollup_key;

typedef rollup_key key_of(const tt_work_cell *c);

static rollup_key by_part(const tt_work_cell *c)
{
    return (rollup_key){.key = c->category, .number = TT_LAYER_NONE};
}

static rollup_key by_op(const tt_work_cell *c)
{
    return (rollup_key){.key = c->op, .number = TT_LAYER_NONE};
}

static rollup_key by_layer(const tt_work_cell *c)
{
    return (rollup_key){.key = "", .number = c->layer_id};
}

static rollup_key by_point(const tt_work_cell *c)
{
    return (rollup_key){.key = c->op,
                        .part = c->category,
                        .number = TT_LAYER_NONE,
                        .phase = c->phase,
                        .integers = c->integers};
}

static int compare_keys(const rollup_key *x, const rollup_key *y)
{
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
    if (x->integers != y->integers) return x->integers ? 1 : -1;
    int order = strcmp(x->key, y->key);
    return order ? order : strcmp(x->part ? x->part : "", y->part ? y->part : "");
}

typedef struct keyed {
    rollup_key key;
    const tt_work_cell *cell;
} keyed;

static int compare_keyed(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    return compare_keys(&x->key, &y->key);
}

static void add(tt_rollup *r, const tt_work_cell *c, const tt_model *m)
{
    r->count += c->count;
    r->timed += c->timed;
    r->compute_ns += tt_model_span_ns(m, c->busy_ticks);
    r->wait_ns += tt_model_span_ns(m, c->wait_ticks);
    r->work_ns += tt_model_span_ns(m, c->busy_ticks - c->off_cpu_ticks);
    r->wall_ns += tt_model_span_ns(m, c->ticks);
    r->flops += c->flops;
    r->moved_bytes += c->moved_bytes;
    r->weight_bytes += c->weight_bytes;
    r->flops_known &= c->flops_known;
    r->flops_at_most |= c->flops_at_most;
    r->bytes_at_most |= c->bytes_at_most;
}

static int most_work_first(const void *a, const void *b)
{
    const tt_rollup *x = a, *y = b;
    return x->work_ns > y->work_ns ? -1 : x->work_ns < y->work_ns ? 1 : 0;
}

bool tt_rollups_of(const tt_work *work, const tt_model *m, tt_rollup_by by, tt_rollups *out)
{
    static key_of *const keys[] = {[TT_ROLLUP_PART] = by_part,
                                   [TT_ROLLUP_OP] = by_op,
                                   [TT_ROLLUP_LAYER] = by_layer,
                                   [TT_ROLLUP_POINT] = by_point};
    const size_t n = work->n_cells;
    keyed *all = calloc(n + 1, sizeof *all);
    out->list = calloc(n + 1, sizeof *out->list);
    out->n = 0;
    if (!all || !out->list) {
        free(all);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        all[i] = (keyed){keys[by](&work->cells[i]), &work->cells[i]};
    qsort(all, n, sizeof *all, compare_keyed);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_keyed(&all[i], &all[i - 1]) != 0)
            out->list[out->n++] = (tt_rollup){.key = all[i].key.key,
                                              .part = all[i].key.part,
                                              .number = all[i].key.number,
                                              .phase = all[i].key.phase,
                                              .integers = all[i].key.integers,
                                              .flops_known = true};
        add(&out->list[out->n - 1], all[i].cell, m);
    }
    if (by != TT_ROLLUP_LAYER) qsort(out->list, out->n, sizeof *out->list, most_work_first);
    free(all);
    return true;
}

/* --- what bounds them --- */

double tt_peaks_flops(const tt_peaks *e, const tt_rollup *r)
{
    return r->integers && e->int8_ops_per_s > 0 ? e->int8_ops_per_s : e->flops_per_s;
}

tt_bound tt_bound_of(const tt_peaks *e, const tt_rollup *r, double *share)
{
    const double peak = tt_peaks_flops(e, r);
    *share = 0;
    if (e->bytes_per_s <= 0 || peak <= 0 || !r->flops_known || r->wall_ns <= 0)
        return TT_BOUND_UNKNOWN;
    const double moving = r->moved_bytes / e->bytes_per_s, computing = r->flops / peak;
    *share = (moving > computing ? moving : computing) / (r->wall_ns / 1e9);
    if (*share < NEITHER_SHARE) return TT_BOUND_NEITHER;
    return moving > computing ? TT_BOUND_MEMORY : TT_BOUND_COMPUTE;
}

const char *tt_bound_name(tt_bound bound)
{
    static const char *const names[] = {"unknown", "memory", "compute", "neither"};
    return names[bound];
}
