/* The table `lanes`. */
#include "export/tables/tables.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum {
    LANES_RUN_ID,
    LANES_OP_ID,
    LANES_THREAD,
    LANES_START,
    LANES_ARRIVE,
    LANES_RELEASE,
    LANES_BUSY,
    LANES_WAIT,
    LANES_OFF_CPU,
    LANES_INSIDE,
    LANES_COLUMNS
};

static const tt_column columns[LANES_COLUMNS] = {
    [LANES_RUN_ID] = TT_EXPORT_COLUMN("run_id", TT_CELL_NAME, false, "the trace's id"),
    [LANES_OP_ID] = TT_EXPORT_COLUMN("op_id", TT_CELL_U64, false, "the executed op, in `ops`"),
    [LANES_THREAD] =
        TT_EXPORT_COLUMN("thread_id", TT_CELL_U16, false,
                         "number of the thread in the computation; 0 when observed by callback"),
    [LANES_START] =
        TT_EXPORT_COLUMN("start_ns", TT_CELL_I64, true, "when it began, on CLOCK_MONOTONIC"),
    [LANES_ARRIVE] =
        TT_EXPORT_COLUMN("arrive_ns", TT_CELL_I64, true, "arrival; null: the end was not seen"),
    [LANES_RELEASE] = TT_EXPORT_COLUMN("release_ns", TT_CELL_I64, true, "release"),
    [LANES_BUSY] = TT_EXPORT_COLUMN("busy_ns", TT_CELL_U64, true, "from start to arrive"),
    [LANES_WAIT] = TT_EXPORT_COLUMN("wait_ns", TT_CELL_U64, true, "from arrive to release"),
    [LANES_OFF_CPU] = TT_EXPORT_COLUMN("off_cpu_ns", TT_CELL_U64, true,
                                       "the part of busy_ns on no processor; null: not observed"),
    [LANES_INSIDE] =
        TT_EXPORT_COLUMN("wait_inside_ns", TT_CELL_U64, true,
                         "the part of busy_ns at barriers inside the op; null: not observed"),
};

/* A thread's progress among the pieces of a run. */
typedef struct tt_lane_cursor {
    size_t piece, end; /* remaining pieces: piece .. end - 1 */
    size_t at;         /* record of the piece */
    uint32_t node;     /* of that record; TT_NONE: none is left */
} cursor;

uint64_t tt_tables_lane_rows(const tt_model *m, const tt_filter *filter, uint32_t run)
{
    const tt_run *r = &m->runs[run];
    if (!tt_tables_run_passes(m, filter, run)) return 0;
    /* Except in callback mode, where one thread records for all. */
    uint64_t threads = r->threads == 0 || r->observed != TT_OBSERVED_HOOK ? 1 : r->threads;
    if (threads > TT_OPS_LANE_MAX) threads = TT_OPS_LANE_MAX;
    return m->graphs[r->graph].n_executed * threads;
}

static const tt_parting by_run = {tt_tables_runs, tt_tables_lane_rows, TT_ROWS_MAX};

static uint32_t parts(const tt_model *m, const tt_filter *filter)
{
    return tt_parting_parts(&by_run, m, filter);
}

static uint64_t ticks(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* off: of the piece's run. */
static void put_row(tt_rows *rows, const tt_model *m, const tt_off_cpu *off, const tt_piece_ops *p,
                    size_t i, bool waits_known)
{
    const size_t n = rows->n++;
    const uint64_t busy = ticks(p->start[i], p->arrive[i]);
    tt_values *c = rows->columns;
    ((uint64_t *)c[LANES_OP_ID].values)[n] = tt_op_id(p->run, p->node[i]);
    ((uint16_t *)c[LANES_THREAD].values)[n] = (uint16_t)p->lane;
    ((int64_t *)c[LANES_START].values)[n] = tt_tables_mono_ns(m, p->start[i]);
    ((int64_t *)c[LANES_ARRIVE].values)[n] = tt_tables_mono_ns(m, p->arrive[i]);
    ((int64_t *)c[LANES_RELEASE].values)[n] = tt_tables_mono_ns(m, p->release[i]);
    ((uint64_t *)c[LANES_BUSY].values)[n] = tt_tables_span_ns(m, busy);
    ((uint64_t *)c[LANES_WAIT].values)[n] =
        tt_tables_span_ns(m, ticks(p->arrive[i], p->release[i]));
    tt_waits_inside inside = {0};
    ((uint64_t *)c[LANES_OFF_CPU].values)[n] =
        tt_tables_span_ns(m, tt_off_cpu_ticks(off, p->node[i], p->lane, busy, &inside));
    ((uint64_t *)c[LANES_INSIDE].values)[n] = tt_tables_span_ns(m, inside.ticks);
    if (!p->open && m->clock.known && waits_known && off->known && off->inside_known) return;
    rows->n = n;
    for (uint32_t k = LANES_START; k <= LANES_INSIDE; k++)
        if (!m->clock.known || (p->open && k >= LANES_ARRIVE) ||
            (k == LANES_WAIT && !waits_known) || (k == LANES_OFF_CPU && !off->known) ||
            (k == LANES_INSIDE && !off->inside_known))
            tt_rows_null(rows, k);
    rows->n++;
}

/* Whether all threads have the same nodes in the same order, which the graph has: as they are
 * executed. Then row k of thread l is row k * threads + l. */
static bool is_in_step(const tt_tables_own *own, size_t n, uint32_t n_nodes)
{
    const tt_piece_ops *p = own->lanes;
    for (size_t i = 0; i < n; i++)
        if (p[i].open || p[i].n != p->n || (i && p[i].lane <= p[i - 1].lane) ||
            memcmp(p[i].node, p->node, p->n * sizeof *p->node) != 0)
            return false;
    for (size_t k = 0; k < p->n; k++)
        if (p->node[k] >= n_nodes || (k && p->node[k] <= p->node[k - 1])) return false;
    return true;
}

/* A column of threads that are in step; `value` is that of record k of thread p. */
#define EACH(type, column, value)                                                                  \
    if (tt_rows_wants(rows, column))                                                               \
        for (size_t l = 0; l < n; l++) {                                                           \
            const tt_piece_ops *const p = &own->lanes[l];                                          \
            type *const out = (type *)rows->columns[column].values + rows->n + l;                  \
            for (size_t k = 0; k < p->n; k++)                                                      \
                out[k * n] = (type)(value);                                                        \
        }

/* The parts of busy_ns in which a thread did not work; they are found together. */
static void put_off(tt_rows *rows, const tt_tables_own *own, size_t n)
{
    const tt_off_cpu *off = &own->join.off_cpu;
    const size_t all = n * own->lanes->n;
    uint64_t *const off_ns = (uint64_t *)rows->columns[LANES_OFF_CPU].values + rows->n;
    uint64_t *const inside_ns = (uint64_t *)rows->columns[LANES_INSIDE].values + rows->n;
    if (!tt_rows_wants(rows, LANES_OFF_CPU) && !tt_rows_wants(rows, LANES_INSIDE)) return;
    for (size_t l = 0; l < n; l++) {
        const tt_piece_ops *const p = &own->lanes[l];
        for (size_t k = 0; k < p->n; k++) {
            tt_waits_inside inside = {0};
            const uint64_t of = tt_off_cpu_ticks(off, p->node[k], p->lane,
                                                 ticks(p->start[k], p->arrive[k]), &inside);
            off_ns[k * n + l] = off->known ? tt_tables_span_ns(own->m, of) : 0;
            inside_ns[k * n + l] = off->inside_known ? tt_tables_span_ns(own->m, inside.ticks) : 0;
        }
    }
    if (!off->known) memset(tt_rows_valid(rows, LANES_OFF_CPU) + rows->n, 0, all);
    if (!off->inside_known) memset(tt_rows_valid(rows, LANES_INSIDE) + rows->n, 0, all);
}

static void put_in_step(tt_rows *rows, const tt_tables_own *own, size_t n)
{
    const tt_model *m = own->m;
    const size_t all = n * own->lanes->n;
    EACH(uint64_t, LANES_OP_ID, tt_op_id(p->run, p->node[k]))
    EACH(uint16_t, LANES_THREAD, p->lane)
    EACH(int64_t, LANES_START, tt_tables_mono_ns(m, p->start[k]))
    EACH(int64_t, LANES_ARRIVE, tt_tables_mono_ns(m, p->arrive[k]))
    EACH(int64_t, LANES_RELEASE, tt_tables_mono_ns(m, p->release[k]))
    EACH(uint64_t, LANES_BUSY, tt_tables_span_ns(m, ticks(p->start[k], p->arrive[k])))
    EACH(uint64_t, LANES_WAIT,
         own->waits_known ? tt_tables_span_ns(m, ticks(p->arrive[k], p->release[k])) : 0)
    put_off(rows, own, n);
    if (!own->waits_known) memset(tt_rows_valid(rows, LANES_WAIT) + rows->n, 0, all);
    rows->n += all;
}

/* Advances to the next record of a node in the graph. */
static void advance(cursor *c, const tt_piece_ops *pieces, uint32_t n_nodes)
{
    for (; c->piece < c->end; c->piece++, c->at = 0)
        for (; c->at < pieces[c->piece].n; c->at++)
            if (pieces[c->piece].node[c->at] < n_nodes) {
                c->node = pieces[c->piece].node[c->at];
                return;
            }
    c->node = TT_NONE;
}

static size_t begin_cursors(tt_tables_own *own, size_t n_pieces, uint32_t n_nodes)
{
    size_t n = 0;
    for (size_t i = 0, end; i < n_pieces; i = end) {
        for (end = i + 1; end < n_pieces && own->lanes[end].lane == own->lanes[i].lane;)
            end++;
        own->cursors[n] = (cursor){.piece = i, .end = end};
        advance(&own->cursors[n++], own->lanes, n_nodes);
    }
    return n;
}

/* Op by op, and each thread by thread: the threads advance through the nodes together. */
static tt_status put_together(tt_rows *rows, tt_tables_own *own, uint32_t run, size_t n_pieces,
                              tt_error *err)
{
    const uint32_t graph = own->m->runs[run].graph, n_nodes = own->m->graphs[graph].n_nodes;
    uint8_t *verdicts = tt_filter_ops_of(&own->passing, graph);
    const bool all = !verdicts && !own->passing.failed && own->m->clock.known;
    if (all && is_in_step(own, n_pieces, n_nodes)) {
        put_in_step(rows, own, n_pieces);
        return TT_OK;
    }
    const size_t n = begin_cursors(own, n_pieces, n_nodes);
    for (;;) {
        uint32_t node = TT_NONE;
        for (size_t i = 0; i < n; i++)
            if (own->cursors[i].node < node) node = own->cursors[i].node;
        if (node == TT_NONE) return TT_OK;
        for (size_t i = 0; i < n; i++) {
            cursor *c = &own->cursors[i];
            const tt_piece_ops *p = &own->lanes[c->piece];
            bool passes = true;
            if (c->node != node) continue;
            if (verdicts || own->passing.failed) {
                const uint8_t covers = p->covers[c->at];
                tt_status status =
                    tt_tables_op_passes(own, verdicts, run, node, covers, &passes, err);
                if (status != TT_OK) return status;
            }
            if (passes) put_row(rows, own->m, &own->join.off_cpu, p, c->at, own->waits_known);
            c->at++;
            advance(c, own->lanes, n_nodes);
        }
    }
}

/* A run with more records than fit into memory: thread by thread. */
static tt_status put_apart(tt_rows *rows, tt_tables_own *own, uint32_t run, const tt_piece *pieces,
                           size_t n, tt_error *err)
{
    const uint32_t graph = own->m->runs[run].graph, n_nodes = own->m->graphs[graph].n_nodes;
    uint8_t *verdicts = tt_filter_ops_of(&own->passing, graph);
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops p;
        tt_status status = tt_pieces_get(own->m->pieces, &pieces[i], &p, err);
        if (status == TT_OK) status = tt_rows_reserve(rows, rows->n + p.n, err);
        if (status != TT_OK) return status;
        for (size_t k = 0; k < p.n; k++) {
            bool passes = p.node[k] < n_nodes;
            if (passes && (verdicts || own->passing.failed))
                status =
                    tt_tables_op_passes(own, verdicts, run, p.node[k], p.covers[k], &passes, err);
            if (status != TT_OK) return status;
            if (passes) put_row(rows, own->m, &own->join.off_cpu, &p, k, own->waits_known);
        }
    }
    return TT_OK;
}

static bool make_lanes(tt_tables_own *own, size_t n)
{
    size_t had = own->lanes_capacity;
    return tt_array_room(own->lanes, had, n) && tt_array_room(own->cursors, own->lanes_capacity, n);
}

static tt_status fill_one(tt_rows *rows, tt_tables_own *own, uint32_t run, tt_error *err)
{
    const tt_run *r = &own->m->runs[run];
    const tt_piece *pieces;
    size_t n, records = 0;
    bool together = false;
    tt_status status = tt_pieces_of_run(own->m->pieces, r->id, &pieces, &n, err);
    if (status == TT_OK && n > 0) status = tt_off_cpu_load(&own->join.off_cpu, own->m, r, err);
    if (status != TT_OK || n == 0) return status;
    own->waits_known = tt_model_waits_known(own->m, r);
    if (!make_lanes(own, n)) return tt_error_memory(err, "the tables");
    status = tt_pieces_get_together(own->m->pieces, pieces, n, own->lanes, &together, err);
    if (status != TT_OK) return status;
    if (!together) return put_apart(rows, own, run, pieces, n, err);
    for (size_t i = 0; i < n; i++)
        records += own->lanes[i].n;
    status = tt_rows_reserve(rows, rows->n + records, err);
    return status == TT_OK ? put_together(rows, own, run, n, err) : status;
}

static tt_status fill(const tt_model *m, const tt_filter *filter, uint32_t part, tt_rows *rows,
                      tt_error *err)
{
    return tt_tables_fill_runs(&tt_table_lanes, &by_run, fill_one, m, filter, part, rows, err);
}

const tt_export_table tt_table_lanes = {
    .name = "lanes",
    .about = "A row for each executed op on each thread",
    .columns = columns,
    .n_columns = LANES_COLUMNS,
    .filtered = true,
    .of_ops = true,
    .parts = parts,
    .fill = fill,
};
