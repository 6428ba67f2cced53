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

static tt_status add_piece(tt_off_cpu_ops *o, const tt_model *m, uint32_t run,
                           const tt_off_cpu *off, const tt_piece_ops *p, tt_error *err)
{
    const tt_run_ticks limits = tt_run_ticks_of(&m->runs[run], p->tick_shift);
    for (size_t i = 0; !p->open && i < p->n; i++) {
        if (tt_times_are_bent(limits, p->start[i], p->arrive[i], p->release[i])) continue;
        const uint64_t busy = p->arrive[i] - p->start[i];
        const uint64_t ticks = tt_off_cpu_ticks(off, p->node[i], p->lane, busy);
        if (ticks == 0) continue;
        o->cut = o->n == TT_OFF_CPU_OPS_MAX;
        if (o->cut) return TT_OK;
        tt_off_cpu_op *op = tt_array_add(o->list, o->n, o->capacity);
        if (!op) return tt_error_memory(err, "the ops that were off CPU");
        *op = (tt_off_cpu_op){.start_ns = tt_model_ns(m, p->start[i]),
                              .end_ns = tt_model_ns(m, p->arrive[i]),
                              .off_ns = tt_model_span_ns(m, ticks),
                              .run = run,
                              .node = p->node[i],
                              .lane = (uint16_t)p->lane};
        const double length_ns = op->end_ns - op->start_ns;
        if (length_ns > o->longest_ns) o->longest_ns = length_ns;
    }
    return TT_OK;
}

static tt_status add_run(tt_off_cpu_ops *o, const tt_model *m, uint32_t run, tt_off_cpu *off,
                         tt_error *err)
{
    const tt_piece *pieces;
    size_t n = 0;
    tt_status status = tt_off_cpu_load(off, m, &m->runs[run], err);
    /* Most runs have none: their ops are not read. */
    if (status != TT_OK || !off->known || off->n == 0) return status;
    status = tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK && !o->cut; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status == TT_OK) status = add_piece(o, m, run, off, &p, err);
    }
    return status;
}

tt_status tt_off_cpu_ops_find(tt_off_cpu_ops *o, tt_model *m, tt_error *err)
{
    tt_off_cpu off = {0};
    tt_status status = TT_OK;
    memset(o, 0, sizeof *o);
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK && !o->cut; i++)
        status = add_run(o, m, i, &off, err);
    tt_off_cpu_free(&off);
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
