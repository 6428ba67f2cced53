#include "analyze/faults.h"

#include "analyze/op_table.h"
#include "analyze/slice_filter.h"
#include "base/array.h"
#include "base/order.h"
#include "model/faults.h"

#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 64u

/* The FAULTS details of one run, by node and lane. */
typedef struct counted {
    tt_detail *details;
    uint64_t *busy;       /* for each: ticks, or TT_FAULTS_NO_TIME */
    tt_fault_lane *lanes; /* likewise */
    size_t n, capacity;
} counted;

typedef struct walk {
    const tt_model *m;
    tt_faults_walker *w;
    tt_join join;
    tt_accesses *accesses;
    tt_op_table *ops;
    tt_filter_ops passing;
    tt_slice_filter slices;
    uint8_t *verdicts; /* on the run's graph */
    counted counted;
    bool stopped;
} walk;

static int compare_place(const void *a, const void *b)
{
    const tt_detail *x = a, *y = b;
    if (tt_detail_node(x) != tt_detail_node(y))
        return tt_detail_node(x) < tt_detail_node(y) ? -1 : 1;
    return tt_detail_lane(x) < tt_detail_lane(y) ? -1 : tt_detail_lane(x) > tt_detail_lane(y);
}

static bool make_room(counted *c, size_t n)
{
    size_t had = c->capacity, also = c->capacity;
    return tt_array_room(c->details, had, n) && tt_array_room(c->lanes, also, n) &&
           tt_array_room(c->busy, c->capacity, n);
}

static tt_status load_details(walk *k, uint32_t run, tt_error *err)
{
    const tt_detail *list;
    size_t n;
    counted *c = &k->counted;
    tt_status status = tt_model_faults_of_run(k->m, run, &list, &n, err);
    c->n = 0;
    if (status != TT_OK) return status;
    if (!make_room(c, n)) return tt_error_memory(err, "a run's counters");
    for (size_t i = 0; i < n; i++) {
        c->busy[c->n] = TT_FAULTS_NO_TIME;
        c->lanes[c->n] = (tt_fault_lane){.thread = 0};
        c->details[c->n++] = list[i];
    }
    return TT_OK;
}

/* The time that each counted lane spent in its ops. */
static tt_status load_times(walk *k, uint32_t run_id, tt_error *err)
{
    counted *c = &k->counted;
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(k->m->pieces, run_id, &pieces, &n, err);
    for (size_t i = 0; status == TT_OK && c->n > 0 && i < n; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(k->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        uint32_t thread = 0;
        if (p.open || p.n == 0) continue;
        bool known = tt_model_thread_of(k->m, p.stream, p.start[0], &thread);
        for (size_t r = 0; r < p.n; r++) {
            if (p.node[r] > TT_OPS_NODE_MAX || p.lane > TT_OPS_LANE_MAX) continue;
            const tt_detail key = {.place = tt_detail_place(p.node[r], p.lane, TT_DETAIL_FAULTS)};
            tt_detail *d = bsearch(&key, c->details, c->n, sizeof key, compare_place);
            if (!d || p.arrive[r] < p.start[r]) continue;
            c->busy[d - c->details] = p.arrive[r] - p.start[r];
            c->lanes[d - c->details] = (tt_fault_lane){known, thread, p.start[r], p.arrive[r]};
        }
    }
    return status;
}

/* The first detail of that node, or where it would be. */
static size_t details_at(const counted *c, uint32_t node)
{
    size_t low;
    tt_lower_bound(low, c->n, tt_detail_node(&c->details[low]) < node);
    return low;
}

static void count(tt_fault_counts *sum, const tt_detail *d)
{
    const tt_detail_faults *f = &d->faults;
    sum->observed++;
    sum->minor += f->minor;
    sum->major += f->major;
    if (f->cpu_ns != TT_FAULTS_NO_CPU) {
        sum->observed_cpu++;
        sum->cpu_ns += f->cpu_ns;
    }
    if (f->read_bytes == UINT64_MAX) return;
    sum->observed_reads++;
    sum->read_bytes += f->read_bytes;
}

static tt_status visit_op(walk *k, uint32_t run, uint32_t node, size_t *matched, tt_error *err)
{
    const counted *c = &k->counted;
    const size_t at = details_at(c, node);
    tt_fault_op op = {.run = run,
                      .times = &k->join.ops[node],
                      .details = c->n ? c->details + at : NULL,
                      .busy = c->n ? c->busy + at : NULL,
                      .lanes = c->n ? c->lanes + at : NULL};
    while (at + op.n_details < c->n && tt_detail_node(&op.details[op.n_details]) == node)
        count(&op.counts, &op.details[op.n_details++]);
    *matched += op.n_details;
    op.op = tt_op_table_get(k->ops, k->m->runs[run].graph, node, op.times->covers);
    if (!op.op) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    op.passes =
        tt_filter_ops_pass(&k->passing, k->verdicts, k->m->runs[run].graph, node, op.times->covers);
    tt_status status = TT_OK;
    if (op.passes)
        status = tt_slice_filter_passes(&k->slices, run, node, op.times->covers, &op.passes, err);
    if (status == TT_OK)
        status = tt_accesses_of(k->accesses, op.op, &op.accesses, &op.n_accesses, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < op.n_accesses; i++)
        if (__builtin_add_overflow(op.accessed_bytes, op.accesses[i].size_bytes,
                                   &op.accessed_bytes))
            op.accessed_bytes = UINT64_MAX;
    k->stopped = !k->w->visit(k->w->context, &op);
    return TT_OK;
}

static tt_status walk_run(walk *k, uint32_t run, tt_error *err)
{
    const uint32_t id = k->m->runs[run].id;
    size_t matched = 0;
    tt_status status = tt_join_run(&k->join, k->m, run, err);
    if (status == TT_OK) status = tt_accesses_run(k->accesses, run, err);
    if (status == TT_OK) status = load_details(k, run, err);
    if (k->join.n_touched) k->verdicts = tt_filter_ops_of(&k->passing, k->m->runs[run].graph);
    if (status == TT_OK && k->passing.failed)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    /* In callback mode the counters are the whole process's: no thread's time belongs to them. */
    if (status == TT_OK && k->m->runs[run].observed == TT_OBSERVED_HOOK)
        status = load_times(k, id, err);
    for (uint32_t i = 0; i < k->join.n_touched && status == TT_OK && !k->stopped; i++)
        status = visit_op(k, run, k->join.touched[i], &matched, err);
    if (!k->stopped) k->w->orphan += k->counted.n - matched;
    return status;
}

tt_status tt_faults_walk(const tt_model *m, tt_faults_walker *w, tt_error *err)
{
    walk k = {.m = m, .w = w, .accesses = tt_accesses_new(m), .ops = tt_op_table_new(m)};
    tt_status status = k.accesses && k.ops
                           ? tt_model_need_clock(m, err)
                           : tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    w->orphan = 0;
    k.passing = (tt_filter_ops){.m = m, .filter = w->filter};
    k.slices = tt_slice_filter_of(m, w->filter);
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK && !k.stopped; i++) {
        if (tt_filter_run(w->filter, m, &m->runs[i])) status = walk_run(&k, i, err);
        if (w->progress && i % PROGRESS_EVERY == 0) w->progress(w->progress_context, i, m->n_runs);
        if (status == TT_OK && i % PROGRESS_EVERY == 0) status = tt_over_check(&w->over, err);
    }
    tt_join_free(&k.join);
    tt_accesses_free(k.accesses);
    tt_op_table_free(k.ops);
    tt_filter_ops_free(&k.passing);
    tt_slice_filter_free(&k.slices);
    free(k.counted.details);
    free(k.counted.busy);
    free(k.counted.lanes);
    return status;
}

bool tt_fault_op_read(const tt_fault_op *op)
{
    return op->counts.major > 0 || op->counts.read_bytes > 0;
}
