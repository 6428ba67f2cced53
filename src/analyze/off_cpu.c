#include "analyze/off_cpu.h"

#include "analyze/join.h"
#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static bool observed_as(const tt_model *m, uint32_t how)
{
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].observed == how) return true;
    return false;
}

bool tt_off_cpu_observed(const tt_model *m)
{
    return m->off_cpu_known && m->clock.known && observed_as(m, TT_OBSERVED_HOOK);
}

const char *tt_off_cpu_option(const tt_model *m)
{
    if (tt_off_cpu_observed(m)) return NULL;
    if (observed_as(m, TT_OBSERVED_HOOK)) return "--faults=both";
    return observed_as(m, TT_OBSERVED_CALLBACK) ? "--mode=hook" : NULL;
}

TT_ORDER_BY(by_start, tt_off_cpu_op, start_ns, lane, run, node)

typedef struct walk {
    const tt_model *m;
    tt_off_cpu off;
    tt_off_cpu_visit *visit;
    void *context;
    bool stopped;
} walk;

static void visit_piece(walk *w, uint32_t run, const tt_piece_ops *p)
{
    const tt_model *m = w->m;
    const tt_run_ticks limits = tt_run_ticks_of(&m->runs[run], p->tick_shift);
    for (size_t i = 0; !p->open && i < p->n && !w->stopped; i++) {
        if (tt_times_are_bent(limits, p->start[i], p->arrive[i], p->release[i])) continue;
        const uint64_t busy = p->arrive[i] - p->start[i];
        const uint64_t ticks = tt_off_cpu_ticks(&w->off, p->node[i], p->lane, busy, NULL);
        if (ticks == 0) continue;
        const tt_off_cpu_op op = {.start_ns = tt_model_ns(m, p->start[i]),
                                  .end_ns = tt_model_ns(m, p->arrive[i]),
                                  .off_ns = tt_model_span_ns(m, ticks),
                                  .run = run,
                                  .node = p->node[i],
                                  .lane = (uint16_t)p->lane};
        w->stopped = !w->visit(w->context, &op);
    }
}

static tt_status visit_run(walk *w, uint32_t run, tt_error *err)
{
    const tt_model *m = w->m;
    const tt_piece *pieces;
    size_t n = 0;
    tt_status status = tt_off_cpu_load(&w->off, m, &m->runs[run], err);
    /* Most runs have none: their ops are not read. */
    if (status != TT_OK || !w->off.known || w->off.n == 0) return status;
    status = tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK && !w->stopped; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status == TT_OK) visit_piece(w, run, &p);
    }
    return status;
}

static bool overlaps(const tt_model *m, const tt_run *run, double from_ns, double to_ns)
{
    return tt_model_ns(m, run->begin_ticks) < to_ns &&
           (!run->ended || tt_model_ns(m, run->end_ticks) > from_ns);
}

tt_status tt_off_cpu_walk(const tt_model *m, double from_ns, double to_ns, tt_off_cpu_visit *visit,
                          void *context, tt_error *err)
{
    walk w = {.m = m, .visit = visit, .context = context};
    tt_status status = TT_OK;
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK && !w.stopped; i++)
        if (overlaps(m, &m->runs[i], from_ns, to_ns)) status = visit_run(&w, i, err);
    tt_off_cpu_free(&w.off);
    return status;
}

typedef struct listing {
    tt_off_cpu_ops *o;
    size_t most;
    bool failed;
} listing;

static bool list_op(void *context, const tt_off_cpu_op *op)
{
    listing *l = context;
    tt_off_cpu_ops *o = l->o;
    o->cut = o->n == l->most;
    if (o->cut) return false;
    tt_off_cpu_op *to = tt_array_add(o->list, o->n, o->capacity);
    l->failed = !to;
    if (!to) return false;
    *to = *op;
    if (op->end_ns - op->start_ns > o->longest_ns) o->longest_ns = op->end_ns - op->start_ns;
    return true;
}

tt_status tt_off_cpu_ops_find(tt_off_cpu_ops *o, const tt_model *m, double from_ns, double to_ns,
                              size_t most, tt_error *err)
{
    listing l = {o, most, false};
    memset(o, 0, sizeof *o);
    tt_status status = tt_off_cpu_walk(m, from_ns, to_ns, list_op, &l, err);
    if (l.failed) status = tt_error_memory(err, "the ops that were off CPU");
    if (o->n) qsort(o->list, o->n, sizeof *o->list, by_start);
    return status;
}

void tt_off_cpu_ops_free(tt_off_cpu_ops *o)
{
    free(o->list);
    memset(o, 0, sizeof *o);
}

void tt_off_cpu_ops_between(const tt_off_cpu_ops *o, double from_ns, double to_ns, size_t *first,
                            size_t *end)
{
    tt_lower_bound(*first, o->n, o->list[*first].start_ns < from_ns - o->longest_ns);
    tt_lower_bound(*end, o->n, o->list[*end].start_ns < to_ns);
}
