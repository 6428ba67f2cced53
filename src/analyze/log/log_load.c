#include "analyze/log/log_load.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

TT_ORDER_BY(by_start, tt_log_item, start, node, lane)

void tt_log_load_begin(tt_log_load *l, const tt_model *m, const tt_filter *filter, bool by_lane)
{
    *l = (tt_log_load){.m = m,
                       .filter = filter,
                       .by_lane = by_lane || filter->has_lane,
                       .passing = {.m = m, .filter = filter},
                       .slices = tt_slice_filter_of(m, filter)};
}

void tt_log_load_model(tt_log_load *l, const tt_model *m)
{
    tt_slice_filter_free(&l->slices);
    l->m = l->passing.m = l->slices.m = m;
}

void tt_log_load_free(tt_log_load *l)
{
    tt_join_free(&l->join);
    tt_filter_ops_free(&l->passing);
    tt_slice_filter_free(&l->slices);
    free(l->items);
    l->items = NULL;
}

bool tt_log_load_may(const tt_log_load *l, uint32_t run)
{
    const tt_run *r = &l->m->runs[run];
    return r->graph != TT_NONE && tt_filter_run(l->filter, l->m, r);
}

/* What its verdicts (those of the run's graph) do not know of the op. */
static bool times_pass(const tt_log_load *l, uint64_t start, uint64_t arrive, bool open)
{
    const tt_filter *f = l->filter;
    if ((f->has_from || f->has_to) && !tt_filter_time(f, tt_model_ns(l->m, start))) return false;
    if (!f->has_least && !f->has_most) return true;
    return tt_filter_duration(f, open, tt_model_span_ns(l->m, arrive - start));
}

static tt_status load_joined(tt_log_load *l, uint32_t run, uint8_t *verdicts, tt_error *err)
{
    const uint32_t graph = l->m->runs[run].graph;
    tt_status status = tt_join_run(&l->join, l->m, run, err);
    if (status != TT_OK) return status;
    if (!tt_array_room(l->items, l->capacity, l->n + l->join.n_touched))
        return tt_error_memory(err, "a run's ops");
    for (uint32_t i = 0; i < l->join.n_touched; i++) {
        uint32_t node = l->join.touched[i];
        const tt_joined *o = &l->join.ops[node];
        if (!tt_filter_ops_pass(&l->passing, verdicts, graph, node, o->covers) ||
            !times_pass(l, o->start, o->arrive, o->open))
            continue;
        l->items[l->n++] = (tt_log_item){o->start, o->arrive,  o->release, o->busy,
                                         o->wait,  o->off_cpu, node,       TT_NONE,
                                         o->lanes, o->covers,  o->open,    l->join.off_cpu.known};
    }
    return TT_OK;
}

static tt_status load_lanes(tt_log_load *l, uint32_t run, uint8_t *verdicts, tt_error *err)
{
    const tt_piece *pieces;
    size_t n;
    const uint32_t graph = l->m->runs[run].graph;
    tt_off_cpu *off = &l->join.off_cpu;
    tt_status status = tt_pieces_of_run(l->m->pieces, l->m->runs[run].id, &pieces, &n, err);
    if (status == TT_OK) status = tt_off_cpu_load(off, l->m, &l->m->runs[run], err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(l->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        if (l->filter->has_lane && p.lane != l->filter->lane) continue;
        if (!tt_array_room(l->items, l->capacity, l->n + p.n))
            return tt_error_memory(err, "a run's ops");
        for (size_t k = 0; k < p.n; k++) {
            uint64_t start = p.start[k], arrive = p.arrive[k], release = p.release[k];
            if (p.node[k] >= l->m->graphs[graph].n_nodes ||
                !tt_filter_ops_pass(&l->passing, verdicts, graph, p.node[k], p.covers[k]) ||
                !times_pass(l, start, arrive, p.open))
                continue;
            l->items[l->n++] = (tt_log_item){
                start,
                arrive,
                release,
                arrive - start,
                release - arrive,
                arrive > start ? tt_off_cpu_ticks(off, p.node[k], p.lane, arrive - start) : 0,
                p.node[k],
                p.lane,
                1,
                p.covers[k],
                p.open,
                off->known};
        }
    }
    return status;
}

/* Leaves out what read other experts than the one that is asked for. */
static tt_status keep_slices(tt_log_load *l, uint32_t run, tt_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++) {
        bool passes;
        tt_status status = tt_slice_filter_passes(&l->slices, run, l->items[i].node,
                                                  l->items[i].covers, &passes, err);
        if (status != TT_OK) return status;
        if (passes) l->items[kept++] = l->items[i];
    }
    l->n = kept;
    return TT_OK;
}

tt_status tt_log_load_run(tt_log_load *l, uint32_t run, tt_error *err)
{
    l->n = 0;
    uint8_t *verdicts = tt_filter_ops_of(&l->passing, l->m->runs[run].graph);
    if (l->passing.failed) return tt_error_memory(err, "a run's ops");
    tt_status status =
        l->by_lane ? load_lanes(l, run, verdicts, err) : load_joined(l, run, verdicts, err);
    if (status == TT_OK && l->passing.failed) status = tt_error_memory(err, "a run's ops");
    if (status == TT_OK && l->slices.pattern) status = keep_slices(l, run, err);
    if (status != TT_OK) return status;
    size_t sorted = 1;
    while (sorted < l->n && by_start(&l->items[sorted - 1], &l->items[sorted]) <= 0)
        sorted++;
    if (sorted < l->n) qsort(l->items, l->n, sizeof *l->items, by_start);
    return TT_OK;
}
