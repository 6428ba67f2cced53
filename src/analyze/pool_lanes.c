#include "analyze/pool_lanes.h"

#include "base/array.h"
#include "base/order.h"
#include "model/faults.h"

#include <math.h>
#include <stdlib.h>

/* Reads checked per lane: many only if runs overlap endlessly, which no recorder writes. */
#define STEPS_PER_READ 1024u
#define STEPS_LEAST (1u << 22)

/* An awaited read. */
typedef struct awaited {
    double end_ns, begin_ns; /* of the wait for it */
    uint32_t read;
    uint32_t thread;  /* the first that waited */
    uint32_t waiters; /* others that were not found yet */
    uint32_t node;    /* of the op, in the current run; TT_NONE: not found in it */
} awaited;

/* An op on a lane, from the release of the previous op until its arrival, in which reads ended. */
typedef struct op_time {
    double begin_ns, end_ns;
    uint32_t first, last; /* of the reads */
    uint32_t node;
    uint32_t thread;
    uint16_t lane;
    bool thread_known;
} op_time;

typedef struct search {
    const tt_model *m;
    tt_pool_lanes *out;
    awaited *reads; /* by end */
    uint32_t n;
    op_time *ops; /* of a run */
    size_t n_ops, ops_capacity;
    size_t capacity; /* of out->list */
    uint64_t steps_left;
} search;

TT_ORDER_BY(by_end, awaited, end_ns, read)

static tt_status list_awaited(search *s, tt_error *err)
{
    const tt_model *m = s->m;
    s->reads = calloc((size_t)m->n_pool_reads + 1, sizeof *s->reads);
    if (!s->reads) return tt_error_memory(err, "the waits");
    for (uint32_t i = 0; i < m->n_pool_reads; i++) {
        const tt_pool_read *r = &m->pool_reads[i];
        if (r->waiters)
            s->reads[s->n++] = (awaited){.end_ns = tt_model_ns(m, r->end_ticks),
                                         .begin_ns = tt_model_ns(m, r->end_ticks - r->waited_ticks),
                                         .read = i,
                                         .thread = r->thread,
                                         .waiters = r->waiters,
                                         .node = TT_NONE};
    }
    qsort(s->reads, s->n, sizeof *s->reads, by_end);
    s->steps_left = (uint64_t)s->n * STEPS_PER_READ + STEPS_LEAST;
    return TT_OK;
}

/* A lane's position between its pieces. */
typedef struct along {
    uint32_t lane;
    double released_ns; /* of the previous op */
    uint32_t at;        /* the first read that ended after that */
} along;

/* Adds the op, if reads ended in it. */
static bool add_op(search *s, along *a, uint32_t end, const op_time *of)
{
    uint32_t first = a->at;
    while (first < end && s->reads[first].end_ns <= a->released_ns)
        first++;
    uint32_t last = first;
    while (last < end && s->reads[last].end_ns <= of->end_ns)
        last++;
    const uint32_t steps = last - a->at;
    s->steps_left -= s->steps_left < steps ? s->steps_left : steps;
    a->at = last;
    if (first == last) return true;
    op_time *op = tt_array_add(s->ops, s->n_ops, s->ops_capacity);
    if (!op) return false;
    *op = *of;
    op->begin_ns = a->released_ns;
    op->first = first;
    op->last = last;
    return true;
}

static bool add_ops(search *s, along *a, uint32_t end, const tt_piece_ops *p)
{
    const tt_model *m = s->m;
    /* Times are rounded down. */
    const double slack_ns = tt_model_span_ns(m, (uint64_t)1 << p->tick_shift);
    op_time of = {.lane = (uint16_t)p->lane};
    of.thread_known = p->n > 0 && tt_model_thread_of(m, p->stream, p->start[0], &of.thread);
    for (size_t i = 0; i < p->n && a->at < end && s->steps_left; i++) {
        of.node = p->node[i];
        of.end_ns = tt_model_ns(m, p->open ? p->start[i] : p->arrive[i]) + slack_ns;
        if (!add_op(s, a, end, &of)) return false;
        const uint64_t released = p->open ? p->start[i] : p->release[i];
        a->released_ns = fmax(a->released_ns, tt_model_ns(m, released));
    }
    return true;
}

/* The reads of [first, end) ended during the run. */
static tt_status find_ops(search *s, const tt_run *run, uint32_t first, uint32_t end, tt_error *err)
{
    const tt_piece *pieces;
    size_t n;
    along a = {.lane = TT_NONE};
    s->n_ops = 0;
    tt_status status = tt_pieces_of_run(s->m->pieces, run->id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK && s->steps_left; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(s->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK || p.lane > UINT16_MAX) continue;
        if (p.lane != a.lane) a = (along){p.lane, tt_model_ns(s->m, run->begin_ticks), first};
        if (!add_ops(s, &a, end, &p)) status = tt_error_memory(err, "the waits");
    }
    return status;
}

/* Finds the reads for which its thread waited. False: there is no room. */
static bool add_wait(search *s, uint32_t run, const op_time *op)
{
    tt_pool_wait w = {.begin_ns = INFINITY, .read = TT_NONE, .run = run};
    w.node = op->node;
    w.lane = op->lane;
    for (uint32_t i = op->first; i < op->last; i++) {
        awaited *r = &s->reads[i];
        const bool its = op->thread_known && r->thread == op->thread;
        if (r->node != op->node || (!its && !r->waiters)) continue;
        if (!its) r->waiters--;
        w.begin_ns = fmin(w.begin_ns, fmax(r->begin_ns, op->begin_ns));
        w.end_ns = r->end_ns;
        w.read = r->read;
    }
    if (w.read == TT_NONE) return true;
    if (s->out->n == TT_POOL_WAITS_MAX) {
        s->out->cut = true;
        return true;
    }
    tt_pool_wait *to = tt_array_add(s->out->list, s->out->n, s->capacity);
    if (to) *to = w;
    return to != NULL;
}

/* The first thread that waited for a read identifies the op. */
static void name_ops(search *s, uint32_t run)
{
    for (size_t i = 0; i < s->n_ops; i++) {
        const op_time *op = &s->ops[i];
        for (uint32_t k = op->first; k < op->last && op->thread_known; k++) {
            awaited *r = &s->reads[k];
            if (r->thread != op->thread || s->out->run_of_read[r->read] != TT_NONE) continue;
            r->waiters--;
            s->out->run_of_read[r->read] = run;
            s->out->node_of_read[r->read] = r->node = op->node;
        }
    }
}

static tt_status search_run(search *s, uint32_t run, tt_error *err)
{
    const tt_run *r = &s->m->runs[run];
    const double begin_ns = tt_model_ns(s->m, r->begin_ticks);
    const double end_ns = r->ended ? tt_model_ns(s->m, r->end_ticks) : INFINITY;
    uint32_t first, end;
    bool ok = true;
    tt_lower_bound(first, s->n, s->reads[first].end_ns < begin_ns);
    tt_lower_bound(end, s->n, s->reads[end].end_ns <= end_ns);
    if (first >= end) return TT_OK;
    tt_status status = find_ops(s, r, first, end, err);
    if (status != TT_OK) return status;
    name_ops(s, run);
    for (size_t i = 0; i < s->n_ops && ok; i++)
        ok = add_wait(s, run, &s->ops[i]);
    for (size_t i = 0; i < s->n_ops; i++)
        for (uint32_t k = s->ops[i].first; k < s->ops[i].last; k++)
            s->reads[k].node = TT_NONE;
    return ok ? TT_OK : tt_error_memory(err, "the waits");
}

/* --- the list --- */

TT_ORDER_BY(by_begin, tt_pool_wait, begin_ns, lane, run, node)

typedef struct of_op {
    uint32_t run, node, lane, wait;
} of_op;

TT_ORDER_BY(by_op, of_op, run, node, lane, wait)

static tt_status put_in_order(tt_pool_lanes *p, tt_error *err)
{
    double latest = -INFINITY;
    if (p->n) qsort(p->list, p->n, sizeof *p->list, by_begin);
    of_op *ops = calloc((size_t)p->n + 1, sizeof *ops);
    p->by_op = calloc((size_t)p->n + 1, sizeof *p->by_op);
    for (uint32_t i = 0; ops && i < p->n; i++) {
        tt_pool_wait *w = &p->list[i];
        latest = fmax(latest, w->end_ns);
        w->latest_ns = latest;
        ops[i] = (of_op){w->run, w->node, w->lane, i};
    }
    if (ops) qsort(ops, p->n, sizeof *ops, by_op);
    for (uint32_t i = 0; ops && p->by_op && i < p->n; i++)
        p->by_op[i] = ops[i].wait;
    const bool ok = ops && p->by_op;
    free(ops);
    return ok ? TT_OK : tt_error_memory(err, "the waits");
}

tt_status tt_pool_lanes_find(tt_pool_lanes *p, const tt_model *m, tt_error *err)
{
    search s = {.m = m, .out = p};
    *p = (tt_pool_lanes){0};
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    p->run_of_read = malloc(((size_t)m->n_pool_reads + 1) * sizeof *p->run_of_read);
    p->node_of_read = malloc(((size_t)m->n_pool_reads + 1) * sizeof *p->node_of_read);
    if (!p->run_of_read || !p->node_of_read) return tt_error_memory(err, "the waits");
    for (uint32_t i = 0; i < m->n_pool_reads; i++)
        p->run_of_read[i] = p->node_of_read[i] = TT_NONE;
    status = list_awaited(&s, err);
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK && s.n && s.steps_left; i++)
        if (m->runs[i].observed == TT_OBSERVED_HOOK) status = search_run(&s, i, err);
    p->cut |= !s.steps_left;
    if (status == TT_OK) status = put_in_order(p, err);
    free(s.reads);
    free(s.ops);
    return status;
}

void tt_pool_lanes_free(tt_pool_lanes *p)
{
    free(p->list);
    free(p->by_op);
    free(p->run_of_read);
    free(p->node_of_read);
    *p = (tt_pool_lanes){0};
}

void tt_pool_lanes_waits(const tt_pool_lanes *p, double from_ns, double to_ns, uint32_t *first,
                         uint32_t *end)
{
    uint32_t at;
    tt_lower_bound(at, p->n, p->list[at].latest_ns < from_ns);
    *first = at;
    tt_lower_bound(at, p->n, p->list[at].begin_ns < to_ns);
    *end = at > *first ? at : *first;
}

/* Whether the wait's op is before that one. */
static bool is_before(const tt_pool_wait *w, uint32_t run, uint32_t node)
{
    return w->run < run || (w->run == run && w->node < node);
}

void tt_pool_lanes_of_op(const tt_pool_lanes *p, uint32_t run, uint32_t node, uint32_t *first,
                         uint32_t *end)
{
    uint32_t at;
    tt_lower_bound(at, p->n, is_before(&p->list[p->by_op[at]], run, node));
    *first = at;
    for (*end = at;
         *end < p->n && p->list[p->by_op[*end]].run == run && p->list[p->by_op[*end]].node == node;)
        ++*end;
}
