#include "analyze/log.h"

#include "analyze/join.h"
#include "analyze/op_table.h"

#include <stdlib.h>
#include <string.h>

typedef struct item {
    uint64_t start, arrive, release, busy, wait;
    uint32_t node;
    uint32_t lane;
    uint32_t lanes;
    uint8_t covers;
    bool open;
} item;

/* A run whose ops are being given out. */
typedef struct active {
    const tt_run *run;
    const tt_graph *graph;
    item *items;
    size_t n, at;
} active;

typedef struct walker {
    const tt_model *m;
    const tt_filter *filter;
    bool by_lane;
    tt_log_visit *visit;
    void *context;
    tt_join join;
    uint32_t *order; /* runs by begin */
    uint32_t n_runs, next_run;
    active active[TT_LOG_RUNS_MAX];
    size_t n_active;
    tt_op_table *ops;
    tt_filter_ops passing;
    bool failed; /* out of memory */
} walker;

static int by_start(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static tt_status no_memory(tt_error *err)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for a run's ops");
}

/* Whether the op is to be given out; its verdicts are those of the run's graph. */
static bool passes(walker *w, const active *a, uint8_t *verdicts, uint32_t node, uint8_t covers,
                   uint64_t start)
{
    if (!tt_filter_ops_pass(&w->passing, verdicts, a->run->graph, node, covers)) return false;
    return (!w->filter->has_from && !w->filter->has_to) ||
           tt_filter_time(w->filter, tt_model_ns(w->m, start));
}

static tt_status load_joined(walker *w, uint32_t run, active *a, tt_error *err)
{
    uint8_t *verdicts = tt_filter_ops_of(&w->passing, a->run->graph);
    if (w->passing.failed) return no_memory(err);
    tt_status status = tt_join_run(&w->join, w->m, run, err);
    if (status != TT_OK || w->join.n_touched == 0) return status;
    a->items = malloc(w->join.n_touched * sizeof *a->items);
    if (!a->items) return no_memory(err);
    for (uint32_t i = 0; i < w->join.n_touched; i++) {
        const tt_joined *o = &w->join.ops[w->join.touched[i]];
        if (!passes(w, a, verdicts, w->join.touched[i], o->covers, o->start)) continue;
        a->items[a->n++] = (item){o->start,           o->arrive, o->release, o->busy,   o->wait,
                                  w->join.touched[i], TT_NONE,   o->lanes,   o->covers, o->open};
    }
    return TT_OK;
}

static tt_status load_lanes(walker *w, uint32_t run, active *a, tt_error *err)
{
    const tt_piece *pieces;
    size_t n, capacity = 0;
    uint8_t *verdicts = tt_filter_ops_of(&w->passing, a->run->graph);
    if (w->passing.failed) return no_memory(err);
    tt_status status = tt_pieces_of_run(w->m->pieces, w->m->runs[run].id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(w->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        if (w->filter->has_lane && p.lane != w->filter->lane) continue;
        if (a->n + p.n > capacity) {
            capacity = (a->n + p.n) * 2;
            item *more = reallocarray(a->items, capacity, sizeof *more);
            if (!more) return no_memory(err);
            a->items = more;
        }
        for (size_t k = 0; k < p.n; k++) {
            if (p.node[k] >= a->graph->n_nodes ||
                !passes(w, a, verdicts, p.node[k], p.covers[k], p.start[k]))
                continue;
            a->items[a->n++] = (item){p.start[k],
                                      p.arrive[k],
                                      p.release[k],
                                      p.arrive[k] - p.start[k],
                                      p.release[k] - p.arrive[k],
                                      p.node[k],
                                      p.lane,
                                      1,
                                      p.covers[k],
                                      p.open};
        }
    }
    return status;
}

/* Takes the next run into the active ones, when it has ops to give. */
static tt_status load_run(walker *w, tt_error *err)
{
    uint32_t at = w->order[w->next_run++];
    const tt_run *run = &w->m->runs[at];
    active *a = &w->active[w->n_active];
    if (run->graph == TT_NONE || !tt_filter_run(w->filter, w->m, run)) return TT_OK;
    *a = (active){.run = run, .graph = &w->m->graphs[run->graph]};
    tt_status status = w->by_lane ? load_lanes(w, at, a, err) : load_joined(w, at, a, err);
    if (status != TT_OK || a->n == 0) {
        free(a->items);
        return status;
    }
    size_t sorted = 1;
    while (sorted < a->n && by_start(&a->items[sorted - 1], &a->items[sorted]) <= 0)
        sorted++;
    if (sorted < a->n) qsort(a->items, a->n, sizeof *a->items, by_start);
    w->n_active++;
    return TT_OK;
}

/* The active run whose next op began first; NULL when none is active. */
static active *earliest(walker *w)
{
    active *best = NULL;
    for (size_t i = 0; i < w->n_active; i++)
        if (!best || w->active[i].items[w->active[i].at].start < best->items[best->at].start)
            best = &w->active[i];
    return best;
}

static bool give(walker *w, const active *a, const item *i)
{
    const uint32_t graph = a->run->graph;
    const tt_op *op = tt_op_table_get(w->ops, graph, i->node, i->covers);
    w->failed |= !op;
    if (!op) return false;
    tt_log_op out = {op,         tt_op_table_note(w->ops, graph, i->node),
                     a->run,     i->lane,
                     i->lanes,   i->open,
                     i->start,   i->arrive,
                     i->release, i->busy,
                     i->wait};
    return w->visit(w->context, &out);
}

static tt_status walk(walker *w, tt_error *err)
{
    for (;;) {
        active *a = earliest(w);
        bool more = w->next_run < w->n_runs && w->n_active < TT_LOG_RUNS_MAX;
        /* Ops of a run that began earlier may still be in the file. */
        if (more &&
            (!a || w->m->runs[w->order[w->next_run]].begin_ticks <= a->items[a->at].start)) {
            tt_status status = load_run(w, err);
            if (status != TT_OK) return status;
            continue;
        }
        if (!a || !give(w, a, &a->items[a->at])) return TT_OK;
        if (++a->at == a->n) {
            free(a->items);
            *a = w->active[--w->n_active];
        }
    }
}

static int by_begin(const void *a, const void *b, void *context)
{
    const tt_run *runs = context;
    const tt_run *x = &runs[*(const uint32_t *)a], *y = &runs[*(const uint32_t *)b];
    if (x->begin_ticks != y->begin_ticks) return x->begin_ticks < y->begin_ticks ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

tt_status tt_log_walk(const tt_model *m, const tt_filter *filter, bool by_lane, tt_log_visit *visit,
                      void *context, tt_error *err)
{
    if (filter->has_from || filter->has_to) {
        tt_status status = tt_model_need_clock(m, err);
        if (status != TT_OK) return status;
    }
    walker *w = calloc(1, sizeof *w);
    if (w) w->order = malloc(((size_t)m->n_runs + 1) * sizeof *w->order);
    if (w) w->ops = tt_op_table_new(m);
    if (!w || !w->order || !w->ops) {
        free(w ? w->order : NULL);
        free(w);
        return no_memory(err);
    }
    w->m = m;
    w->filter = filter;
    w->passing = (tt_filter_ops){.m = m, .filter = filter};
    w->by_lane = by_lane || filter->has_lane;
    w->visit = visit;
    w->context = context;
    w->n_runs = m->n_runs;
    for (uint32_t i = 0; i < m->n_runs; i++)
        w->order[i] = i;
    uint32_t sorted = 1;
    while (sorted < m->n_runs && m->runs[sorted - 1].begin_ticks <= m->runs[sorted].begin_ticks)
        sorted++;
    if (sorted < m->n_runs) qsort_r(w->order, m->n_runs, sizeof *w->order, by_begin, m->runs);
    tt_status status = walk(w, err);
    if (status == TT_OK && w->failed) status = no_memory(err);
    for (size_t i = 0; i < w->n_active; i++)
        free(w->active[i].items);
    tt_join_free(&w->join);
    tt_op_table_free(w->ops);
    tt_filter_ops_free(&w->passing);
    free(w->order);
    free(w);
    return status;
}
