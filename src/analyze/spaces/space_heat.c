#include "analyze/spaces/space_heat.h"

#include "analyze/join.h"
#include "analyze/ranges.h"
#include "analyze/slice_filter.h"
#include "analyze/spaces/space_uses.h"

#include <stdlib.h>
#include <string.h>

/* Ranges of a unit that was touched in part are merged when so many more came. */
#define RANGES_EACH 1024u
/* Runs between two questions whether the result is still wanted. */
#define RUNS_EACH 64u

/* What the runs did at a node whose uses are the same each time: told to its units at the end,
 * or when what it covers changes. */
typedef struct node_sum {
    uint64_t ops; /* 0: nothing to tell */
    uint64_t timed, ticks, first_ticks, last_ticks;
    uint32_t first_batch, last_batch;
    uint32_t run;   /* one that executed it */
    uint8_t covers; /* it was looked at with so many nodes behind it ... */
    bool known;     /* ... and then: */
    bool picks;     /* rows or experts of weights: uses differ from run to run */
} node_sum;

/* Which bytes of a unit were touched. */
typedef struct touch {
    tt_ranges ranges;
    size_t merged; /* how many there were after the last merge */
} touch;

typedef struct measure {
    const tt_model *m;
    const tt_spaces *s;
    const tt_filter *filter;
    tt_space_heat *heat;
    tt_filter_ops passing;
    tt_slice_filter slices;
    tt_join join;
    tt_accesses *accesses;
    uint32_t accesses_run; /* that these are of, or TT_NONE */
    node_sum **sums;       /* by graph, by node; NULL until the graph is met */
    touch **touched;       /* by unit; NULL: nothing */
    uint64_t *last_op;     /* by unit: number of the op that was counted last */
    uint64_t n_ops;
    tt_unit_pieces pieces;
} measure;

static void bounds_of(const tt_spaces *s, uint32_t unit, uint32_t region, uint64_t *begin,
                      uint64_t *end)
{
    const tt_region *r = &s->regions[region];
    *begin = r->begin;
    *end = r->end;
    if (unit >= s->n_regions) tt_spaces_slice(r, unit - r->first_slice, begin, end);
}

/* --- units --- */

static bool add_touch(measure *q, const tt_unit_piece *p)
{
    touch *t = q->touched[p->unit];
    if (!t) t = q->touched[p->unit] = calloc(1, sizeof *t);
    if (!t) return false;
    tt_ranges *r = &t->ranges;
    /* The same bytes again, token after token. */
    if (r->n && r->list[r->n - 1].begin <= p->begin && p->end <= r->list[r->n - 1].end) return true;
    tt_ranges_add(r, p->begin, p->end);
    if (r->n > t->merged * 2 + RANGES_EACH) {
        tt_ranges_merge(r);
        t->merged = r->n;
    }
    return !r->failed;
}

static uint64_t saturated(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t saturated_product(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static void add_ops(tt_unit_use *u, const node_sum *n)
{
    if (u->accesses == 0 || n->first_ticks < u->first_ticks) {
        u->first_ticks = n->first_ticks;
        u->first_batch = n->first_batch;
    }
    if (u->accesses == 0 || n->last_ticks >= u->last_ticks) {
        u->last_ticks = n->last_ticks;
        u->last_batch = n->last_batch;
    }
    u->accesses += n->ops;
    u->timed += n->timed;
    u->ticks += n->ticks;
}

/* All of q->pieces, used by each of the ops of n. */
static bool add_pieces(measure *q, const node_sum *n)
{
    const uint64_t number = ++q->n_ops;
    for (size_t i = 0; i < q->pieces.n; i++) {
        const tt_unit_piece *p = &q->pieces.list[i];
        tt_unit_use *u = &q->heat->units[p->unit];
        u->at_most |= p->at_most;
        if (q->last_op[p->unit] != number) add_ops(u, n);
        q->last_op[p->unit] = number;
        uint64_t *bytes = p->writes ? &u->written_bytes : &u->read_bytes;
        *bytes = saturated(*bytes, saturated_product(p->bytes, n->ops));
        if (p->placed && !add_touch(q, p)) return false;
    }
    return !q->pieces.failed;
}

/* --- ops --- */

static tt_status find_pieces(measure *q, const tt_op *op, uint32_t run, tt_error *err)
{
    const tt_access *list;
    size_t n;
    if (q->accesses_run != run) {
        q->accesses_run = TT_NONE;
        tt_status status = tt_accesses_run(q->accesses, run, err);
        if (status != TT_OK) return status;
        q->accesses_run = run;
    }
    tt_status status = tt_accesses_of(q->accesses, op, &list, &n, err);
    if (status != TT_OK) return status;
    const uint64_t impossible = q->pieces.impossible;
    tt_unit_pieces_of(q->m, q->s, op, list, n, &q->pieces);
    q->heat->impossible += q->pieces.impossible - impossible;
    return q->pieces.failed ? tt_error_memory(err, "the heat of the memory") : TT_OK;
}

/* Tells what the node did to its units. */
static tt_status tell(measure *q, uint32_t graph, uint32_t node, node_sum *n, tt_error *err)
{
    tt_op op;
    if (n->ops == 0) return TT_OK;
    tt_op_describe(q->m, &q->m->graphs[graph], node, n->covers, &op);
    tt_status status = find_pieces(q, &op, n->run, err);
    if (status == TT_OK && !add_pieces(q, n))
        status = tt_error_memory(err, "the heat of the memory");
    n->ops = n->timed = n->ticks = 0;
    return status;
}

static bool knows(node_sum *n, uint8_t covers)
{
    return n->known && n->covers == covers;
}

static tt_status look_at(measure *q, uint32_t graph, uint32_t node, node_sum *n, uint8_t covers,
                         tt_error *err)
{
    tt_op op;
    tt_status status = tell(q, graph, node, n, err);
    tt_op_describe(q->m, &q->m->graphs[graph], node, covers, &op);
    n->covers = covers;
    n->known = true;
    n->picks = op.picks;
    return status;
}

static tt_status add_op(measure *q, uint32_t run, uint32_t node, node_sum *n, tt_error *err)
{
    const tt_joined *o = &q->join.ops[node];
    const tt_run *r = &q->m->runs[run];
    tt_status status = TT_OK;
    if (!knows(n, o->covers)) status = look_at(q, r->graph, node, n, o->covers, err);
    if (n->ops == 0 || o->start < n->first_ticks) {
        n->first_ticks = o->start;
        n->first_batch = r->batch;
    }
    if (n->ops == 0 || o->start >= n->last_ticks) {
        n->last_ticks = o->start;
        n->last_batch = r->batch;
    }
    n->run = run;
    n->ops++;
    n->timed += !o->open;
    if (!o->open) n->ticks += tt_joined_ticks(o);
    q->heat->ops++;
    if (status == TT_OK && n->picks) status = tell(q, r->graph, node, n, err);
    return status;
}

static node_sum *sums_of(measure *q, uint32_t graph)
{
    if (!q->sums[graph])
        q->sums[graph] = calloc((size_t)q->m->graphs[graph].n_nodes + 1, sizeof **q->sums);
    return q->sums[graph];
}

static tt_status walk_run(measure *q, uint32_t run, tt_error *err)
{
    const tt_filter *f = q->filter;
    const uint32_t graph = q->m->runs[run].graph;
    const bool timed = f->has_from || f->has_to;
    if (graph == TT_NONE || !tt_filter_run(f, q->m, &q->m->runs[run])) return TT_OK;
    tt_status status = tt_join_run(&q->join, q->m, run, err);
    if (status != TT_OK || q->join.n_touched == 0) return status;
    node_sum *sums = sums_of(q, graph);
    uint8_t *verdicts = tt_filter_ops_of(&q->passing, graph);
    if (!sums || q->passing.failed) return tt_error_memory(err, "the heat of the memory");
    for (uint32_t i = 0; i < q->join.n_touched && status == TT_OK; i++) {
        const uint32_t node = q->join.touched[i];
        const tt_joined *o = &q->join.ops[node];
        if (!tt_filter_ops_pass(&q->passing, verdicts, graph, node, o->covers)) continue;
        if (timed && !tt_filter_time(f, tt_model_ns(q->m, o->start))) continue;
        bool passes;
        status = tt_slice_filter_passes(&q->slices, run, node, o->covers, &passes, err);
        if (status == TT_OK && passes) status = add_op(q, run, node, &sums[node], err);
    }
    return status;
}

static tt_status tell_all(measure *q, tt_error *err)
{
    tt_status status = TT_OK;
    for (uint32_t g = 0; g < q->m->n_graphs; g++)
        for (uint32_t i = 0; q->sums[g] && i < q->m->graphs[g].n_nodes && status == TT_OK; i++)
            status = tell(q, g, i, &q->sums[g][i], err);
    return status;
}

/* --- all of it --- */

static bool finish_touch(measure *q, uint32_t unit, uint32_t region)
{
    touch *t = q->touched[unit];
    uint64_t begin, end;
    if (!t) return true;
    bounds_of(q->s, unit, region, &begin, &end);
    tt_ranges_merge(&t->ranges);
    q->heat->units[unit].touched_bytes = tt_ranges_within(&t->ranges, begin, end);
    return !t->ranges.failed;
}

static bool finish(measure *q)
{
    bool ok = true;
    for (uint32_t i = 0; i < q->s->n_regions; i++) {
        const tt_region *r = &q->s->regions[i];
        ok &= finish_touch(q, i, i);
        for (uint32_t k = 0; k < r->n_slices; k++)
            ok &= finish_touch(q, r->first_slice + k, i);
    }
    return ok;
}

static void free_measure(measure *q)
{
    for (uint32_t i = 0; q->touched && i < q->s->n_units; i++) {
        if (q->touched[i]) tt_ranges_free(&q->touched[i]->ranges);
        free(q->touched[i]);
    }
    for (uint32_t i = 0; q->sums && i < q->m->n_graphs; i++)
        free(q->sums[i]);
    free(q->touched);
    free(q->sums);
    free(q->last_op);
    tt_accesses_free(q->accesses);
    tt_join_free(&q->join);
    tt_filter_ops_free(&q->passing);
    tt_slice_filter_free(&q->slices);
    tt_unit_pieces_free(&q->pieces);
}

tt_status tt_space_heat_measure(const tt_model *m, const tt_spaces *s, const tt_filter *filter,
                                const tt_over *over, tt_space_heat *heat, tt_error *err)
{
    measure q = {.m = m, .s = s, .filter = filter, .heat = heat, .accesses_run = TT_NONE};
    tt_status status = TT_OK;
    memset(heat, 0, sizeof *heat);
    q.passing = (tt_filter_ops){.m = m, .filter = filter};
    q.slices = tt_slice_filter_of(m, filter);
    if (filter->has_from || filter->has_to) status = tt_model_need_clock(m, err);
    heat->units = calloc((size_t)s->n_units + 1, sizeof *heat->units);
    q.touched = calloc((size_t)s->n_units + 1, sizeof(touch *));
    q.last_op = calloc((size_t)s->n_units + 1, sizeof *q.last_op);
    q.sums = calloc((size_t)m->n_graphs + 1, sizeof(node_sum *));
    q.accesses = tt_accesses_new(m);
    if (status == TT_OK && (!heat->units || !q.touched || !q.last_op || !q.sums || !q.accesses))
        status = tt_error_memory(err, "the heat of the memory");
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        status = walk_run(&q, i, err);
        if (i % RUNS_EACH == RUNS_EACH - 1 && status == TT_OK) status = tt_over_check(over, err);
    }
    if (status == TT_OK) status = tell_all(&q, err);
    if (status == TT_OK && !finish(&q)) status = tt_error_memory(err, "the heat of the memory");
    free_measure(&q);
    return status;
}

void tt_space_heat_free(tt_space_heat *heat)
{
    free(heat->units);
    memset(heat, 0, sizeof *heat);
}
