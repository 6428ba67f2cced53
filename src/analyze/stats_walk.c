/* The walk over all ops that fills the rows of statistics. */
#include "analyze/access.h"
#include "analyze/stats_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 64u

/* Whether each op is in exactly one row until the end: then the total is the sum of the rows. */
static bool rows_are_parts(const tt_stats *s)
{
    return s->by != TT_BY_TENSOR && s->by != TT_BY_BATCH;
}

/* What is in a row without a series is in that of the total all the same. */
static void add_to_series(const tt_stats *s, const tt_stats_row *row, uint64_t ticks,
                          uint64_t bytes)
{
    tt_stats_cell *series = row->series || !rows_are_parts(s) ? row->series : s->total.series;
    if (!series || s->bucket == TT_NONE) return;
    series[s->bucket].ticks += ticks;
    series[s->bucket].weight_bytes += bytes;
}

static inline void add(const tt_stats *s, tt_stats_row *row, const stats_node *info,
                       const tt_joined *op, uint64_t ticks, uint64_t bytes, bool at_most)
{
    row->count++;
    row->sources += info->sources;
    row->disk_sources += info->disk_sources;
    row->buffer_sources += info->buffer_sources;
    if (!op->open) {
        tt_quantiles_add(&row->ticks, ticks);
        row->bent += op->bent;
        row->timed_weight_bytes += bytes;
        if (s->axis.n_buckets) add_to_series(s, row, ticks, bytes);
    }
    row->busy_ticks += op->busy;
    row->off_cpu_ticks += op->off_cpu;
    row->off_cpu_unknown |= !s->off_cpu_known;
    row->wait_ticks += op->wait;
    row->wait_unknown |= !s->wait_known;
    row->weight_bytes += bytes;
    row->at_most |= at_most;
}

static void add_row(const tt_stats *s, tt_stats_row *total, const tt_stats_row *row)
{
    for (uint32_t i = 0; row->series && i < s->axis.n_buckets; i++) {
        total->series[i].ticks += row->series[i].ticks;
        total->series[i].weight_bytes += row->series[i].weight_bytes;
    }
    total->count += row->count;
    total->sources += row->sources;
    total->disk_sources += row->disk_sources;
    total->buffer_sources += row->buffer_sources;
    total->bent += row->bent;
    tt_quantiles_merge(&total->ticks, &row->ticks);
    total->timed_weight_bytes += row->timed_weight_bytes;
    total->busy_ticks += row->busy_ticks;
    total->off_cpu_ticks += row->off_cpu_ticks;
    total->off_cpu_unknown |= row->off_cpu_unknown;
    total->wait_unknown |= row->wait_unknown;
    total->wait_ticks += row->wait_ticks;
    total->weight_bytes += row->weight_bytes;
    total->at_most |= row->at_most;
}

static uint32_t row_of_run(tt_stats *s, const tt_run *run)
{
    if (s->by == TT_BY_BATCH)
        return tt_stats_numbered_row(
            s, run->batch == TT_NONE ? -1 : (int64_t)tt_model_batch_number(s->m, run->batch));
    if (s->by == TT_BY_PHASE)
        return tt_stats_row_of(s,
                               tt_phase_name(run->batch == TT_NONE
                                                 ? TT_PHASE_UNKNOWN
                                                 : s->m->batches[run->batch].phase),
                               -1);
    return TT_NONE;
}

static void finish_row(const tt_model *m, tt_stats_row *row)
{
    if (row->done) return;
    row->done = true;
    row->timed = row->ticks.n;
    row->total_ns = tt_model_span_ns(m, row->ticks.sum);
    row->mean_ns = row->timed ? row->total_ns / (double)row->timed : 0;
    row->p50_ns = tt_quantiles_at(&row->ticks, 0.50) * m->clock.ns_per_tick;
    row->p95_ns = tt_quantiles_at(&row->ticks, 0.95) * m->clock.ns_per_tick;
    row->max_ns = tt_model_span_ns(m, row->ticks.max);
    row->busy_ns = tt_model_span_ns(m, row->busy_ticks);
    row->work_ns = tt_model_span_ns(m, row->busy_ticks - row->off_cpu_ticks);
    row->off_cpu_ns = row->off_cpu_unknown ? NAN : tt_model_span_ns(m, row->off_cpu_ticks);
    row->wait_ns = row->wait_unknown ? NAN : tt_model_span_ns(m, row->wait_ticks);
    tt_quantiles_free(&row->ticks);
}

/* What the run's op read, where that differs from run to run. The shares of the node stay those
 * of its first run; here they get this run's bytes: by tensor one a weight, else one in all. */
static tt_status measure_picks(tt_stats *s, uint32_t graph, uint32_t node, tt_accesses *accesses,
                               stats_node *info, tt_error *err)
{
    const tt_access *list;
    size_t n;
    if (!s->ops) s->ops = tt_op_table_new(s->m);
    const tt_op *described = s->ops ? tt_op_table_get(s->ops, graph, node, info->covers) : NULL;
    if (!described) return tt_error_memory(err, "the statistics");
    tt_status status = tt_accesses_of(accesses, described, &list, &n, err);
    if (status != TT_OK) return status;
    tt_op op = *described;
    tt_access_apply(&op, list, n);
    info->weight_bytes = op.weight_bytes;
    info->at_most = op.at_most;
    if (info->n == 0) return TT_OK;
    stats_share *part = &s->shares[info->first];
    if (s->by != TT_BY_TENSOR) {
        *part = (stats_share){part->row, op.weight_bytes, op.at_most};
        return TT_OK;
    }
    for (uint32_t i = 0, k = 0; i < op.n_sources && k < info->n; i++) {
        if (op.sources[i].weight == TT_NONE) continue;
        part[k].weight_bytes = op.sources[i].read_bytes;
        part[k++].at_most = op.sources[i].at_most;
    }
    return TT_OK;
}

/* An op that is in no row of its own, or in several. */
static void add_to_shares(tt_stats *s, const stats_node *info, const tt_joined *op, uint64_t ticks)
{
    for (uint32_t k = 0; k < info->n; k++) {
        const stats_share *part = &s->shares[info->first + k];
        add(s, &s->rows[part->row], info, op, ticks, part->weight_bytes, part->at_most);
    }
}

static bool in_time(const tt_stats *s, uint64_t start_ticks)
{
    return tt_filter_time(&s->filter, tt_model_ns(s->m, start_ticks));
}

static tt_status add_run(tt_stats *s, uint32_t at, const tt_join *j, tt_accesses *accesses,
                         tt_error *err)
{
    const tt_run *run = &s->m->runs[at];
    stats_node *nodes = j->n_touched ? tt_stats_nodes_of(s, run->graph) : NULL;
    if (!nodes || s->failed) return TT_OK;
    const bool parts = rows_are_parts(s);
    s->off_cpu_known = j->off_cpu.known;
    s->wait_known = tt_model_waits_known(s->m, run);
    uint32_t run_row = row_of_run(s, run);
    for (uint32_t i = 0; i < j->n_touched; i++) {
        uint32_t node = j->touched[i];
        const tt_joined *op = &j->ops[node];
        stats_node *info = &nodes[node];
        if (!info->known || info->covers != op->covers)
            tt_stats_learn_node(s, j->graph, node, op->covers, info);
        if (s->failed) return TT_OK;
        if (!info->passes || (s->in_time && !in_time(s, op->start))) continue;
        bool passes;
        tt_status status = tt_slice_filter_passes(&s->slices, at, node, op->covers, &passes, err);
        if (status == TT_OK && !passes) continue;
        if (status == TT_OK && info->picks)
            status = measure_picks(s, run->graph, node, accesses, info, err);
        if (status != TT_OK) return status;
        uint64_t ticks = tt_joined_ticks(op);
        if (!parts) add(s, &s->total, info, op, ticks, info->weight_bytes, info->at_most);
        if (run_row != TT_NONE || info->n == 1)
            add(s, &s->rows[run_row != TT_NONE ? run_row : info->row], info, op, ticks,
                info->weight_bytes, info->at_most);
        else
            add_to_shares(s, info, op, ticks);
    }
    /* A token's row is complete after its last run: its values need not be kept. */
    if (s->by == TT_BY_BATCH && run->batch != TT_NONE && s->m->batches[run->batch].last_run == at)
        finish_row(s->m, &s->rows[run_row]);
    return TT_OK;
}

/* By thread: lane by lane, without joining. */
static tt_status add_lanes(tt_stats *s, uint32_t at, tt_off_cpu *off, tt_error *err)
{
    const tt_run *run = &s->m->runs[at];
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(s->m->pieces, run->id, &pieces, &n, err);
    stats_node *nodes = n ? tt_stats_nodes_of(s, run->graph) : NULL;
    if (status == TT_OK && nodes) status = tt_off_cpu_load(off, s->m, run, err);
    if (status != TT_OK) return status;
    s->off_cpu_known = off->known;
    s->wait_known = tt_model_waits_known(s->m, run);
    for (size_t i = 0; nodes && i < n && !s->failed; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(s->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        if (s->filter.has_lane && p.lane != s->filter.lane) continue;
        uint32_t row = tt_stats_numbered_row(s, p.lane);
        const tt_graph *g = &s->m->graphs[run->graph];
        for (size_t k = 0; k < p.n && !s->failed; k++) {
            if (p.node[k] >= g->n_nodes) continue;
            stats_node *info = &nodes[p.node[k]];
            if (!info->known || info->covers != p.covers[k])
                tt_stats_learn_node(s, g, p.node[k], p.covers[k], info);
            if (!info->passes || (s->in_time && !in_time(s, p.start[k]))) continue;
            bool passes;
            status = tt_slice_filter_passes(&s->slices, at, p.node[k], p.covers[k], &passes, err);
            if (status != TT_OK) return status;
            if (!passes) continue;
            uint64_t busy = p.arrive[k] - p.start[k];
            const tt_joined own = {
                .busy = busy,
                .off_cpu = off->n ? tt_off_cpu_ticks(off, p.node[k], p.lane, busy) : 0,
                .wait = p.release[k] - p.arrive[k],
                .open = p.open,
                .bent = !p.open && tt_times_are_bent(run, p.tick_shift, p.start[k], p.arrive[k],
                                                     p.release[k])};
            add(s, &s->rows[row], info, &own, own.busy, 0, false);
        }
    }
    return status;
}

static tt_status walk_run(tt_stats *const *list, size_t n, const tt_model *m, uint32_t run,
                          tt_join *j, tt_accesses *accesses, tt_error *err)
{
    bool joined = false;
    for (size_t i = 0; i < n; i++) {
        tt_status status = TT_OK;
        if (!tt_filter_run(&list[i]->filter, m, &m->runs[run])) continue;
        if (list[i]->axis.n_buckets)
            list[i]->bucket = tt_stats_bucket(&list[i]->axis, m->runs[run].batch);
        if (list[i]->by == TT_BY_THREAD) {
            status = add_lanes(list[i], run, &j->off_cpu, err);
        } else {
            if (!joined) status = tt_join_run(j, m, run, err);
            if (!joined && status == TT_OK) status = tt_accesses_run(accesses, run, err);
            joined = true;
            if (status == TT_OK) status = add_run(list[i], run, j, accesses, err);
        }
        if (status == TT_OK && list[i]->failed) status = tt_error_memory(err, "the statistics");
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

/* Records of runs that the trace does not describe. */
static tt_status count_unknown_runs(const tt_model *m, uint64_t *records, tt_error *err)
{
    uint32_t *ids = malloc(((size_t)m->n_runs + 1) * sizeof *ids);
    if (!ids) return tt_error_memory(err, "the statistics");
    for (uint32_t i = 0; i < m->n_runs; i++)
        ids[i] = m->runs[i].id;
    tt_status status = tt_pieces_count_others(m->pieces, ids, m->n_runs, records, err);
    free(ids);
    return status;
}

static int by_key(const void *a, const void *b)
{
    const tt_stats_row *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->key, y->key);
}

tt_status tt_stats_walk(tt_stats *const *list, size_t n, const tt_model *m,
                        tt_stats_progress *progress, void *context, tt_error *err)
{
    tt_join j = {0};
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    tt_accesses *accesses = tt_accesses_new(m);
    if (!accesses) return tt_error_memory(err, "the statistics");
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        status = walk_run(list, n, m, i, &j, accesses, err);
        if (progress && i % PROGRESS_EVERY == 0) progress(context, i, m->n_runs);
        if (n == 1 && i % PROGRESS_EVERY == 0 && status == TT_OK)
            status = tt_over_check(&list[0]->over, err);
    }
    uint64_t orphan = 0;
    if (status == TT_OK) status = count_unknown_runs(m, &orphan, err);
    orphan += j.orphan;
    tt_join_free(&j);
    tt_accesses_free(accesses);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        for (size_t k = 0; k < list[i]->n_rows && rows_are_parts(list[i]); k++)
            add_row(list[i], &list[i]->total, &list[i]->rows[k]);
        finish_row(m, &list[i]->total);
        for (size_t k = 0; k < list[i]->n_rows; k++)
            finish_row(m, &list[i]->rows[k]);
        if (list[i]->n_rows) qsort(list[i]->rows, list[i]->n_rows, sizeof *list[i]->rows, by_key);
        list[i]->orphan = orphan;
    }
    return status;
}
