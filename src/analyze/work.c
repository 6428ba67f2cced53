#include "analyze/work.h"

#include "analyze/access.h"
#include "analyze/join.h"
#include "analyze/ops.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 64u
#define TEXTS_BYTES_MAX ((size_t)64 << 20)
#define NO_LANE UINT32_MAX

/* What is the same for each execution of a node. */
typedef struct node_info {
    uint32_t cells[TT_PHASES]; /* + 1; 0: none in that phase */
    uint8_t covers;
    bool known, picks;
    tt_cost cost;
    uint64_t weight_bytes;
} node_info;

typedef struct walk {
    const tt_model *m;
    tt_work *work;
    node_info **nodes; /* by graph; NULL until needed */
    tt_idmap cell_of_key;
    tt_op_table *ops;
    tt_accesses *accesses;
    tt_join join;
    uint32_t *window_of_batch; /* + 1 */
    uint64_t *lane_waits;      /* n x n for the most lanes so far */
    uint32_t waits_lanes;
    size_t windows_capacity;
} walk;

/* --- cells --- */

static uint64_t key_of(const tt_work_cell *c)
{
    const uint64_t parts[] = {tt_checksum(c->op, strlen(c->op)),
                              tt_checksum(c->category, strlen(c->category)),
                              tt_checksum(c->component, strlen(c->component)),
                              (uint64_t)(int64_t)c->layer_id,
                              c->phase,
                              c->integers,
                              c->flops_known};
    return tt_checksum(parts, sizeof parts);
}

typedef struct looked_for {
    const tt_work *work;
    const tt_work_cell *cell;
} looked_for;

static bool is_same_cell(const void *context, uint32_t index)
{
    const looked_for *l = context;
    const tt_work_cell *a = &l->work->cells[index], *b = l->cell;
    return strcmp(a->op, b->op) == 0 && strcmp(a->category, b->category) == 0 &&
           strcmp(a->component, b->component) == 0 && a->layer_id == b->layer_id &&
           a->phase == b->phase && a->integers == b->integers && a->flops_known == b->flops_known;
}

/* The index of such a cell + 1, made on demand; 0 if out of memory. */
static uint32_t cell_of(walk *w, tt_work_cell cell)
{
    tt_work *work = w->work;
    const looked_for l = {work, &cell};
    uint64_t key = key_of(&cell);
    uint32_t was = tt_idmap_find(&w->cell_of_key, &key, is_same_cell, &l);
    if (was != TT_NONE) return was + 1;
    if (work->n_cells >= TT_WORK_CELLS_MAX) {
        cell.op = "(other)";
        cell.category = cell.component = "other";
        cell.layer_id = TT_LAYER_NONE;
        key = key_of(&cell);
        was = tt_idmap_find(&w->cell_of_key, &key, is_same_cell, &l);
        if (was != TT_NONE) return was + 1;
    }
    if (!tt_idmap_add(&w->cell_of_key, key, (uint32_t)work->n_cells, &was)) return 0;
    if (!tt_array_one_more(work->cells, work->n_cells, work->cells_capacity)) return 0;
    cell.op = tt_arena_text(&work->texts, cell.op, strlen(cell.op));
    if (!cell.op) return 0;
    work->cells[work->n_cells] = cell;
    return (uint32_t)++work->n_cells;
}

static tt_status learn(walk *w, uint32_t graph, uint32_t node, uint8_t covers, uint8_t phase,
                       node_info *info, tt_error *err)
{
    const tt_op *op = tt_op_table_get(w->ops, graph, node, covers);
    if (!op) return tt_error_memory(err, "summing up the threads' time");
    if (!info->known || info->covers != covers) {
        *info = (node_info){.known = true, .covers = covers, .picks = op->picks};
        info->weight_bytes = op->weight_bytes;
        tt_cost_of(op, &info->cost);
    }
    info->cells[phase] = cell_of(w, (tt_work_cell){.op = op->op,
                                                   .category = op->place.category,
                                                   .component = op->place.component,
                                                   .layer_id = op->place.layer_id,
                                                   .phase = phase,
                                                   .integers = tt_flops_in_integers(op),
                                                   .flops_known = info->cost.flops.known});
    return info->cells[phase] ? TT_OK : tt_error_memory(err, "summing up the threads' time");
}

/* What this run's op read, if that differs from run to run. */
static tt_status measure_picks(walk *w, uint32_t graph, uint32_t node, node_info *info,
                               tt_error *err)
{
    const tt_access *list;
    size_t n;
    const tt_op *described = tt_op_table_get(w->ops, graph, node, info->covers);
    if (!described) return tt_error_memory(err, "summing up the threads' time");
    tt_status status = tt_accesses_of(w->accesses, described, &list, &n, err);
    if (status != TT_OK) return status;
    tt_op op = *described;
    tt_access_apply(&op, list, n);
    tt_cost_of(&op, &info->cost);
    info->weight_bytes = op.weight_bytes;
    return TT_OK;
}

/* kernel: the share of the run's own work that was there. */
static void add_to_cell(tt_work_cell *c, const tt_joined *op, const node_info *info, double kernel)
{
    c->count++;
    c->busy_ticks += op->busy;
    c->wait_ticks += op->wait;
    c->own_ticks += tt_joined_work(op);
    c->bytes_at_most |= info->cost.at_most;
    c->flops_at_most |= info->cost.flops.at_most;
    if (op->open) return;
    c->timed++;
    c->ticks += tt_joined_ticks(op);
    const uint64_t lost = op->last_off_cpu + tt_joined_held(op);
    const uint64_t ran = tt_joined_ticks(op) > lost ? tt_joined_ticks(op) - lost : 0;
    c->lost_ticks += tt_joined_ticks(op) - ran + (uint64_t)((double)ran * kernel);
    if (info->cost.flops.known) c->flops += (double)info->cost.flops.flops;
    c->moved_bytes += (double)info->cost.read_bytes + (double)info->cost.write_bytes;
    c->weight_bytes += (double)info->weight_bytes;
}

static tt_status add_ops(walk *w, uint32_t graph, uint8_t phase, tt_error *err)
{
    const tt_join *j = &w->join;
    const double kernel = tt_off_cpu_kernel_share(&j->off_cpu);
    if (!w->nodes[graph])
        w->nodes[graph] = calloc((size_t)w->m->graphs[graph].n_nodes + 1, sizeof **w->nodes);
    node_info *nodes = w->nodes[graph];
    if (!nodes) return tt_error_memory(err, "summing up the threads' time");
    for (uint32_t i = 0; i < j->n_touched; i++) {
        const uint32_t node = j->touched[i];
        const tt_joined *op = &j->ops[node];
        w->work->off_cpu_ticks += op->off_cpu;
        w->work->inside_ticks += op->inside;
        node_info *info = &nodes[node];
        tt_status status = TT_OK;
        if (!info->known || info->covers != op->covers || !info->cells[phase])
            status = learn(w, graph, node, op->covers, phase, info, err);
        if (status == TT_OK && info->picks) status = measure_picks(w, graph, node, info, err);
        if (status != TT_OK) return status;
        add_to_cell(&w->work->cells[info->cells[phase] - 1], op, info, kernel);
    }
    return TT_OK;
}

/* --- windows --- */

static tt_work_window *window_of(walk *w, const tt_run *run)
{
    tt_work *work = w->work;
    if (run->batch != TT_NONE && w->window_of_batch[run->batch])
        return &work->windows[w->window_of_batch[run->batch] - 1];
    if (!tt_array_one_more(work->windows, work->n_windows, w->windows_capacity)) return NULL;
    const tt_batch *b = run->batch == TT_NONE ? NULL : &w->m->batches[run->batch];
    uint64_t begin = b ? b->begin_ticks : run->begin_ticks;
    bool ended = b ? b->ended : run->ended;
    uint64_t end = b ? b->end_ticks : run->end_ticks;
    work->windows[work->n_windows++] =
        (tt_work_window){.begin_ticks = begin,
                         .end_ticks = ended && end > begin ? end : begin,
                         .batch = run->batch,
                         .open = !ended};
    if (b) w->window_of_batch[run->batch] = (uint32_t)work->n_windows;
    return &work->windows[work->n_windows - 1];
}

/* A record may be outside of its batch's own times. */
static void widen(tt_work_window *v, const tt_piece_ops *p)
{
    for (size_t i = 0; i < p->n; i++) {
        uint64_t end = p->open ? p->start[i] : p->release[i];
        if (p->start[i] < v->begin_ticks) v->begin_ticks = p->start[i];
        if (end > v->end_ticks) v->end_ticks = end;
    }
}

/* --- lanes --- */

static bool make_room(walk *w, uint32_t lanes)
{
    if (lanes <= w->waits_lanes) return true;
    uint64_t *waits = calloc((size_t)lanes * lanes, sizeof *waits);
    if (!waits) return false;
    for (uint32_t i = 0; i < w->waits_lanes; i++)
        memcpy(waits + (size_t)i * lanes, w->lane_waits + (size_t)i * w->waits_lanes,
               w->waits_lanes * sizeof *waits);
    free(w->lane_waits);
    w->lane_waits = waits;
    w->waits_lanes = lanes;
    return true;
}

static void add_lane(walk *w, const tt_run *run, const tt_piece_ops *p, tt_work_window *v)
{
    tt_work *work = w->work;
    const tt_run_ticks ticks = tt_run_ticks_of(run, p->tick_shift);
    uint64_t busy = 0, wait = 0;
    for (size_t i = 0; i < p->n; i++) {
        busy += p->arrive[i] - p->start[i];
        wait += p->release[i] - p->arrive[i];
        work->bent_records +=
            !p->open && tt_times_are_bent(ticks, p->start[i], p->arrive[i], p->release[i]);
    }
    if (p->open) {
        work->open_records += p->n;
        busy = wait = 0;
    }
    v->busy_ticks += busy;
    v->wait_ticks += wait;
    widen(v, p);
    if (p->lane >= TT_WORK_LANES_MAX) {
        work->unknown_lane += p->n;
        return;
    }
    if (p->lane >= work->n_lanes) work->n_lanes = p->lane + 1;
    work->lanes[p->lane].ops += p->n;
    work->lanes[p->lane].busy_ticks += busy;
    work->lanes[p->lane].wait_ticks += wait;
}

/* Whether the lane that arrived last at the op is known: one of at least two, all of which ended.
 */
static bool has_last(const tt_joined *op)
{
    return op->lanes > 1 && !op->open && op->last_lane < TT_WORK_LANES_MAX;
}

static void note_last(walk *w)
{
    const tt_join *j = &w->join;
    for (uint32_t i = 0; i < j->n_touched; i++) {
        const tt_joined *op = &j->ops[j->touched[i]];
        if (!has_last(op)) continue;
        w->work->lanes[op->last_lane].last++;
        w->work->barriers++;
    }
}

static void add_waits(walk *w, const tt_piece_ops *p)
{
    const tt_join *j = &w->join;
    if (p->open || p->lane >= TT_WORK_LANES_MAX) return;
    uint64_t *row = w->lane_waits + (size_t)p->lane * w->waits_lanes;
    for (size_t i = 0; i < p->n; i++) {
        const uint32_t node = p->node[i];
        if (node >= j->graph->n_nodes || !has_last(&j->ops[node])) continue;
        row[j->ops[node].last_lane] += p->release[i] - p->arrive[i];
    }
}

static tt_status add_pieces(walk *w, const tt_run *run, tt_work_window *v, tt_error *err)
{
    const tt_piece *pieces;
    size_t n;
    uint32_t lanes = 0;
    tt_status status = tt_pieces_of_run(w->m->pieces, run->id, &pieces, &n, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < n; i++)
        if (pieces[i].lane < TT_WORK_LANES_MAX && pieces[i].lane >= lanes)
            lanes = pieces[i].lane + 1;
    if (!make_room(w, lanes)) return tt_error_memory(err, "summing up the threads' time");
    if (lanes > v->lanes) v->lanes = lanes;
    if (lanes > 1) note_last(w);
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(w->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        add_lane(w, run, &p, v);
        if (lanes > 1) add_waits(w, &p);
    }
    return TT_OK;
}

static tt_status add_run(walk *w, uint32_t at, tt_error *err)
{
    const tt_run *run = &w->m->runs[at];
    const uint8_t phase =
        run->batch == TT_NONE ? TT_PHASE_UNKNOWN : w->m->batches[run->batch].phase;
    tt_status status = tt_join_run(&w->join, w->m, at, err);
    if (status != TT_OK || !w->join.graph || w->join.n_touched == 0) return status;
    w->work->off_cpu_known &= w->join.off_cpu.known;
    tt_work_window *v = window_of(w, run);
    if (!v) return tt_error_memory(err, "summing up the threads' time");
    /* The callback sees an op as a whole, on whichever threads it ran. */
    if (run->observed == TT_OBSERVED_HOOK && run->threads <= TT_WORK_LANES_MAX &&
        run->threads > v->lanes)
        v->lanes = run->threads;
    status = tt_accesses_run(w->accesses, at, err);
    if (status == TT_OK)
        status = add_ops(w, run->graph, phase < TT_PHASES ? phase : TT_PHASE_UNKNOWN, err);
    return status == TT_OK ? add_pieces(w, run, v, err) : status;
}

/* --- sums --- */

TT_ORDER_BY(by_begin, tt_work_window, begin_ticks)

static bool sum_windows(tt_work *work)
{
    tt_work_window *sorted = malloc((work->n_windows + 1) * sizeof *sorted);
    uint64_t end = 0, covered = 0, all = 0;
    if (!sorted) return false;
    if (work->n_windows) memcpy(sorted, work->windows, work->n_windows * sizeof *sorted);
    qsort(sorted, work->n_windows, sizeof *sorted, by_begin);
    for (size_t i = 0; i < work->n_windows; i++) {
        const tt_work_window *v = &sorted[i];
        uint64_t from = i && v->begin_ticks < end ? end : v->begin_ticks;
        if (v->end_ticks > from || i == 0) {
            covered += v->end_ticks - from;
            end = v->end_ticks;
        }
        all += v->end_ticks - v->begin_ticks;
        uint64_t total = (v->end_ticks - v->begin_ticks) * v->lanes;
        uint64_t used = v->busy_ticks + v->wait_ticks;
        work->busy_ticks += v->busy_ticks;
        work->wait_ticks += v->wait_ticks;
        if (total > used) work->idle_ticks += total - used;
    }
    if (work->n_windows) work->span_ticks = end - sorted[0].begin_ticks;
    work->between_ticks = work->span_ticks - covered;
    work->overlap_ticks = all - covered;
    free(sorted);
    return true;
}

static bool open_walk(walk *w, const tt_model *m, tt_work *work)
{
    memset(work, 0, sizeof *work);
    work->off_cpu_known = true;
    tt_arena_init(&work->texts, TEXTS_BYTES_MAX);
    *w = (walk){.m = m,
                .work = work,
                .nodes = calloc((size_t)m->n_graphs + 1, sizeof *w->nodes),
                .ops = tt_op_table_new(m),
                .accesses = tt_accesses_new(m),
                .window_of_batch = calloc((size_t)m->n_batches + 1, sizeof(uint32_t))};
    return w->nodes && w->ops && w->accesses && w->window_of_batch;
}

static void close_walk(walk *w)
{
    for (uint32_t i = 0; w->nodes && i < w->m->n_graphs; i++)
        free(w->nodes[i]);
    free(w->nodes);
    tt_idmap_free(&w->cell_of_key);
    tt_op_table_free(w->ops);
    tt_accesses_free(w->accesses);
    tt_join_free(&w->join);
    free(w->window_of_batch);
    free(w->lane_waits);
}

static void hand_over_waits(walk *w)
{
    if (w->work->n_lanes < 2 || w->waits_lanes != w->work->n_lanes) return;
    w->work->waits = w->lane_waits;
    w->lane_waits = NULL;
}

tt_status tt_work_measure(const tt_model *m, tt_work *work, tt_work_progress *progress,
                          void *context, tt_error *err)
{
    walk w;
    tt_status status =
        open_walk(&w, m, work) ? TT_OK : tt_error_memory(err, "summing up the threads' time");
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        status = add_run(&w, i, err);
        if (progress && i % PROGRESS_EVERY == 0) progress(context, i, m->n_runs);
    }
    work->orphan = w.join.orphan;
    if (status == TT_OK && !sum_windows(work))
        status = tt_error_memory(err, "summing up the threads' time");
    hand_over_waits(&w);
    close_walk(&w);
    return status;
}

void tt_work_free(tt_work *work)
{
    free(work->cells);
    free(work->windows);
    free(work->waits);
    tt_arena_free(&work->texts);
    memset(work, 0, sizeof *work);
}

/* Below this share of both peaks, neither bounds an op. */
#define NEITHER_SHARE 0.1

/* The key for summing cells; a NULL text or a zero flag does not separate them. */
typedef struct rollup_key {
    const char *key, *part;
    int64_t number;
    uint8_t phase;
    bool integers;
} rollup_key;

typedef rollup_key rollup_key_of(const tt_work_cell *c);

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
    r->work_ns += tt_model_span_ns(m, c->own_ticks);
    r->wall_ns += tt_model_span_ns(m, c->ticks);
    r->quiet_ns += tt_model_span_ns(m, c->ticks - c->lost_ticks);
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
    static rollup_key_of *const keys[] = {[TT_ROLLUP_PART] = by_part,
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
    if (e->bytes_per_s <= 0 || peak <= 0 || !r->flops_known || r->quiet_ns <= 0)
        return TT_BOUND_UNKNOWN;
    const double moving = r->moved_bytes / e->bytes_per_s, computing = r->flops / peak;
    *share = (moving > computing ? moving : computing) / (r->quiet_ns / 1e9);
    if (*share < NEITHER_SHARE) return TT_BOUND_NEITHER;
    return moving > computing ? TT_BOUND_MEMORY : TT_BOUND_COMPUTE;
}

const char *tt_bound_name(tt_bound bound)
{
    static const char *const names[] = {"unknown", "memory", "compute", "neither"};
    return names[bound];
}
