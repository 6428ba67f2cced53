#include "analyze/why/parts.h"

#include "analyze/pool_lanes.h"
#include "base/order.h"
#include "model/faults.h"

#include <math.h>
#include <stdlib.h>

/* A thread that begins an op so much later than another one, after a barrier, was not running. */
#define LATE_NS 50e3

#define TIMER_NS 4e6 /* between two ticks of most kernels' timers */

/* Batches between two readings, which are 4 ms apart; further ones get no share. */
#define BETWEEN_READINGS_MAX 1024u

struct tt_parts_walker {
    const tt_model *m;
    tt_join join;
    bool off_cpu_known;
    bool has_faults;         /* ops have fault counts */
    bool has_pool;           /* boost ran it: */
    tt_pool_lanes pool;      /* which ops waited for its reads */
    const tt_detail *faults; /* of the current run */
    size_t n_faults;
    double *throttled_ns; /* by batch; NULL: of none */
};

const char *tt_part_name(tt_part_kind part)
{
    static const char *const names[TT_PARTS] = {
        "work",    "kernel", "wait",        "processor",  "throttled",       "stopped",
        "off_cpu", "disk",   "between_ops", "unrecorded", "between_batches", "idle"};
    return part < TT_PARTS ? names[part] : "";
}

const char *tt_part_title(tt_part_kind part)
{
    static const char *const titles[TT_PARTS] = {"own work",
                                                 "own work in the kernel",
                                                 "waiting for threads",
                                                 "waiting for a processor",
                                                 "throttled",
                                                 "stopped",
                                                 "off CPU",
                                                 "waiting for disk",
                                                 "between ops",
                                                 "ops not recorded",
                                                 "between batches",
                                                 "idle between batches"};
    return part < TT_PARTS ? titles[part] : "";
}

/* The share of what quotas withheld between two readings that is the batches' since the first one,
 * by their time between the two. */
static void spread_throttled(tt_parts_walker *w, const tt_meta_throttled *from,
                             const tt_meta_throttled *to)
{
    const tt_model *m = w->m;
    if (to->throttled_ns < from->throttled_ns || to->ticks <= from->ticks) return;
    const double ns = (double)(to->throttled_ns - from->throttled_ns);
    uint64_t all_ticks = 0;
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint32_t i = to->batch + 1, n = 0; i-- > 0 && n < BETWEEN_READINGS_MAX; n++) {
            const tt_batch *b = &m->batches[i];
            const uint64_t begin = b->begin_ticks > from->ticks ? b->begin_ticks : from->ticks;
            const uint64_t end = b->ended && b->end_ticks < to->ticks ? b->end_ticks : to->ticks;
            if (end <= begin) break;
            if (pass == 0)
                all_ticks += end - begin;
            else
                w->throttled_ns[i] += ns * (double)(end - begin) / (double)all_ticks;
        }
}

static bool find_throttled(tt_parts_walker *w)
{
    const tt_model *m = w->m;
    if (!m->n_throttled) return true;
    w->throttled_ns = calloc((size_t)m->n_batches + 1, sizeof *w->throttled_ns);
    for (uint32_t i = 1; w->throttled_ns && i < m->n_throttled; i++)
        if (m->throttled[i].moment == TT_AT_BATCH_END && m->throttled[i].batch < m->n_batches)
            spread_throttled(w, &m->throttled[i - 1], &m->throttled[i]);
    return w->throttled_ns != NULL;
}

uint64_t tt_parts_lost(const tt_parts *p)
{
    uint64_t ticks = p->ticks[TT_PART_KERNEL];
    for (unsigned i = TT_PART_PROCESSOR; i <= TT_PART_DISK; i++)
        ticks += p->ticks[i];
    return ticks;
}

bool tt_parts_tell_kernel(double part_ns[TT_PARTS], double *usual_ns)
{
    const double kernel = part_ns[TT_PART_KERNEL], all = part_ns[TT_PART_WORK] + kernel;
    if (kernel <= 0) return true;
    /* The deviation of so many samples, and what is rounded. */
    const double ticks = sqrt(kernel / TIMER_NS * (1 - kernel / all)) + 0.5;
    if (kernel >= 2 * ticks * TIMER_NS) return true;
    for (double *ns = part_ns; ns; ns = ns == part_ns ? usual_ns : NULL) {
        ns[TT_PART_WORK] += ns[TT_PART_KERNEL];
        ns[TT_PART_KERNEL] = 0;
    }
    return false;
}

tt_parts_walker *tt_parts_open(const tt_model *m)
{
    tt_parts_walker *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->m = m;
    w->has_faults = tt_model_has_faults(m);
    w->off_cpu_known = m->off_cpu_known;
    /* Where ops are not seen thread by thread, their threads are not known to run. */
    for (uint32_t i = 0; i < m->n_runs; i++)
        w->off_cpu_known &=
            m->runs[i].observed == TT_OBSERVED_HOOK || m->runs[i].observed == TT_OBSERVED_BOUNDS;
    if (!find_throttled(w)) {
        tt_parts_close(w);
        return NULL;
    }
    if (m->n_pool_states) {
        w->has_pool = tt_pool_lanes_find(&w->pool, m, NULL) == TT_OK;
        if (!w->has_pool) tt_pool_lanes_free(&w->pool);
    }
    return w;
}

void tt_parts_close(tt_parts_walker *w)
{
    if (!w) return;
    tt_join_free(&w->join);
    if (w->has_pool) tt_pool_lanes_free(&w->pool);
    free(w->throttled_ns);
    free(w);
}

bool tt_parts_off_cpu_known(const tt_parts_walker *w)
{
    return w->off_cpu_known;
}

bool tt_parts_disk_known(const tt_parts_walker *w)
{
    return w->has_faults && w->off_cpu_known && !w->m->n_fault_losses;
}

bool tt_parts_delay_known(const tt_parts_walker *w)
{
    return w->off_cpu_known && w->m->delay_known;
}

void tt_parts_begin(tt_parts_state *s, uint64_t begin_ticks)
{
    *s = (tt_parts_state){.begin = begin_ticks, .at = begin_ticks, .barrier_to = begin_ticks};
}

/* Divides the time since the last op, until `to`, into its barrier and the rest, which is
 * returned. */
static uint64_t pass_gap(tt_parts_state *s, uint64_t to, tt_part_kind part)
{
    s->stuck = 0;
    if (to <= s->at) return 0;
    uint64_t barrier = s->barrier_to > s->at ? s->barrier_to - s->at : 0;
    if (barrier > to - s->at) barrier = to - s->at;
    const uint64_t gap = to - s->at - barrier;
    if (barrier > s->barrier_most) s->stuck = barrier;
    s->parts.ticks[s->stuck ? TT_PART_OFF_CPU : TT_PART_WAIT] += barrier;
    s->parts.ticks[part] += gap;
    s->at = to;
    return part == TT_PART_BETWEEN_OPS ? gap : 0;
}

static void pass_unrecorded(tt_parts_state *s, uint64_t to)
{
    if (to <= s->at) return;
    s->parts.ticks[TT_PART_UNRECORDED] += to - s->at;
    s->at = to;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t late_ticks(const tt_parts_walker *w)
{
    return (uint64_t)(LATE_NS / w->m->clock.ns_per_tick);
}

static void move(tt_parts *p, tt_part_kind from, tt_part_kind to, double ticks)
{
    const uint64_t n = ticks > 0 ? at_most((uint64_t)ticks, p->ticks[from]) : 0;
    p->ticks[from] -= n;
    p->ticks[to] += n;
}

/* The threads' counts are read every few milliseconds, so shorter waits are known of the batch, not
 * of its ops. The part is the least of what is possible: as long as one thread waited for a
 * processor, or as long as threads were off CPU beyond all time in which any of them slept. */
static void divide_batch(const tt_parts_walker *w, uint32_t batch, tt_parts_state *s)
{
    tt_parts *p = &s->parts;
    const double ns_per_tick = w->m->clock.ns_per_tick;
    uint64_t most_us = 0;
    for (uint32_t i = 0; i < TT_PARTS_LANES; i++)
        if (s->delay_us[i] > most_us) most_us = s->delay_us[i];
    move(p, TT_PART_OFF_CPU, TT_PART_PROCESSOR,
         1e3 * (double)most_us / ns_per_tick - (double)p->ticks[TT_PART_PROCESSOR]);
    move(p, TT_PART_OFF_CPU, TT_PART_PROCESSOR,
         fmin((double)p->ticks[TT_PART_OFF_CPU] - 1e3 * (double)s->asleep_us / ns_per_tick,
              1e3 * (double)s->delays_us / ns_per_tick - (double)p->ticks[TT_PART_PROCESSOR]));
    if (batch != TT_NONE && w->throttled_ns)
        move(p, TT_PART_PROCESSOR, TT_PART_THROTTLED, w->throttled_ns[batch] / ns_per_tick);
    if (s->elapsed_us)
        move(p, TT_PART_WORK, TT_PART_KERNEL,
             (double)(s->at - s->begin) * (double)s->system_us / (double)s->elapsed_us);
}

void tt_parts_end(const tt_parts_walker *w, uint32_t batch, tt_parts_state *s, uint64_t end_ticks)
{
    if (!s->seen) pass_unrecorded(s, end_ticks);
    s->last_gap = pass_gap(s, end_ticks, s->remote ? TT_PART_UNRECORDED : TT_PART_BETWEEN_OPS);
    divide_batch(w, batch, s);
}

/* --- an op --- */

static bool is_before(const tt_detail *d, uint32_t node)
{
    return tt_detail_node(d) < node;
}

/* Sums the op's fault counts; whether a thread read from a device: others may wait for the same
 * pages. */
static bool count_faults(const tt_parts_walker *w, tt_parts_op *op)
{
    size_t at;
    uint32_t counted = 0;
    tt_lower_bound(at, w->n_faults, is_before(&w->faults[at], op->node));
    for (; at < w->n_faults && tt_detail_node(&w->faults[at]) == op->node; at++) {
        const tt_detail_faults *f = &w->faults[at].faults;
        tt_amount_add(&op->major, tt_amount_of(true, f->major));
        tt_amount_add(&op->read_bytes, tt_amount_of(f->read_bytes != UINT64_MAX, f->read_bytes));
        counted++;
    }
    /* Of the other threads nothing was counted. */
    if (counted < op->times->lanes) {
        op->major.at_least = true;
        op->read_bytes.at_least = true;
    }
    return op->major.value > 0 || op->read_bytes.value > 0;
}

/* How long the op's last lane waited for reads of the pool, in ticks. */
static uint64_t pool_ticks(const tt_parts_walker *w, const tt_parts_op *op)
{
    uint32_t at, end;
    double ns = 0;
    if (!w->has_pool) return 0;
    tt_pool_lanes_of_op(&w->pool, op->run, op->node, &at, &end);
    for (; at < end; at++) {
        const tt_pool_wait *p = &w->pool.list[w->pool.by_op[at]];
        if (p->lane == op->times->last_lane && p->end_ns > p->begin_ns)
            ns += p->end_ns - p->begin_ns;
    }
    return (uint64_t)(ns / w->m->clock.ns_per_tick);
}

/* The time before the op's last lane began it, while others had. */
static void divide_late(const tt_parts_walker *w, tt_parts_op *op, uint64_t late)
{
    const bool off = !op->first && w->m->waits_known && late > late_ticks(w);
    op->parts.ticks[off ? TT_PART_OFF_CPU : TT_PART_WAIT] += late;
}

/* How long the process was stopped between those times. */
static uint64_t stopped_ticks(const tt_parts_walker *w, uint64_t from, uint64_t to)
{
    const tt_model *m = w->m;
    uint64_t sum = 0;
    uint32_t i;
    tt_lower_bound(i, m->n_pauses, m->pauses[i].end_ticks <= from);
    for (; i < m->n_pauses && m->pauses[i].begin_ticks < to; i++) {
        const tt_meta_pause *p = &m->pauses[i];
        const uint64_t begin = p->begin_ticks > from ? p->begin_ticks : from;
        const uint64_t end = at_most(p->end_ticks, to);
        /* It was stopped at some time between the begin of its sleep and when that was to end. */
        if (end > begin && end > p->due_ticks) sum += end - begin;
    }
    return sum;
}

/* The time off CPU, `off`, of a thread of the op. */
static void divide_off(const tt_parts_walker *w, tt_parts_op *op, uint32_t lane, uint64_t begun,
                       uint64_t off, bool read)
{
    uint64_t *parts = op->parts.ticks, delay = 0;
    (void)tt_off_cpu_delay(&w->join.off_cpu, op->node, lane, &delay);
    const uint64_t waited = at_most(delay, off);
    const uint64_t stopped = at_most(off - waited, stopped_ticks(w, begun, op->times->arrive));
    parts[TT_PART_PROCESSOR] += waited;
    parts[TT_PART_STOPPED] += stopped;
    parts[read ? TT_PART_DISK : TT_PART_OFF_CPU] += off - waited - stopped;
}

/* Of the op's time, from `from` on. */
static void divide(const tt_parts_walker *w, tt_parts_op *op, uint64_t from)
{
    const tt_joined *t = op->times;
    uint64_t *parts = op->parts.ticks;
    const bool read = count_faults(w, op);
    const uint64_t begun = t->last_start > from ? t->last_start : from;
    const uint64_t busy = t->arrive - begun, pool = at_most(pool_ticks(w, op), busy);
    uint64_t off = at_most(t->last_off_cpu, busy);
    if (off < pool) off = pool;
    const uint64_t inside = at_most(t->last_inside.ticks, busy - off), own = busy - off - inside;
    uint64_t held = at_most(tt_joined_held(t), inside);
    if (held < late_ticks(w)) held = 0;
    const uint64_t held_itself = at_most(t->last_inside.delay, held);
    const uint64_t its_off = off - pool + held_itself;
    parts[TT_PART_WORK] = at_most(own, tt_joined_work(t) / t->lanes);
    parts[TT_PART_WAIT] = own - parts[TT_PART_WORK] + inside - held;
    op->waited_lane = inside - held > own - parts[TT_PART_WORK] ? t->inner_lane : t->last_lane;
    parts[TT_PART_DISK] = pool;
    divide_off(w, op, t->last_lane, begun, its_off, read);
    if (held) divide_off(w, op, t->other_lane, t->start, held - held_itself, read);
    divide_late(w, op, begun - from);
    const uint64_t others = (t->arrive - from) * (t->lanes - 1);
    op->all_off_ticks = t->off_cpu > others ? at_most(t->off_cpu - others, off) : 0;
}

/* What the time between two nodes of a graph is: of ops that have no records, if there are any. */
static tt_part_kind between(const tt_graph *g, uint32_t from, uint32_t to)
{
    while (g->n_untimed && from < to && !(g->tensors[from].flags & TT_TENSOR_UNTIMED))
        from++;
    return g->n_untimed && from < to ? TT_PART_UNRECORDED : TT_PART_BETWEEN_OPS;
}

/* last: the node before it that has a record, + 1. */
static void pass_op(const tt_parts_walker *w, tt_parts_op *op, uint32_t last, tt_parts_state *s)
{
    const tt_joined *t = op->times;
    const uint64_t from = t->start > s->at ? t->start : s->at;
    op->gap_ticks = pass_gap(s, from,
                             s->remote && op->first ? TT_PART_UNRECORDED
                                                    : between(w->join.graph, last, op->node));
    op->stuck_ticks = s->stuck;
    if (t->arrive <= from) return;
    divide(w, op, from);
    for (unsigned i = 0; i < TT_PARTS; i++)
        s->parts.ticks[i] += op->parts.ticks[i];
    s->at = t->arrive;
    s->barrier_to = t->release;
    s->barrier_most = late_ticks(w);
}

/* --- runs --- */

/* A run without ops: only its begin and end were observed, or they are lost; unless its graph has
 * none. */
static void pass_unseen(const tt_model *m, const tt_run *run, tt_parts_state *s)
{
    const tt_graph *g = run->graph == TT_NONE ? NULL : &m->graphs[run->graph];
    const bool empty = g && g->n_executed == 0;
    s->seen |= empty || run->ended;
    if (empty || !run->ended) return;
    (void)pass_gap(s, run->begin_ticks, TT_PART_BETWEEN_OPS);
    pass_unrecorded(s, run->end_ticks);
}

/* Neither on a processor nor waiting for one; 0 if that is not known. */
static uint64_t asleep_us(const tt_detail_thread *t)
{
    const uint64_t awake = (uint64_t)t->user_us + t->system_us + t->delay_us;
    return t->delay_us != UINT32_MAX && t->elapsed_us > awake ? t->elapsed_us - awake : 0;
}

static void add_counts(const tt_join *j, tt_parts_state *s)
{
    for (size_t i = 0; i < j->off_cpu.n; i++) {
        const tt_detail *d = &j->off_cpu.list[i];
        const uint32_t lane = tt_detail_lane(d);
        if (tt_detail_kind_of(d) == TT_DETAIL_BETWEEN) s->idle_us += asleep_us(&d->thread);
        if (tt_detail_kind_of(d) != TT_DETAIL_THREAD) continue;
        s->system_us += d->thread.system_us;
        s->elapsed_us += d->thread.elapsed_us;
        s->asleep_us += asleep_us(&d->thread);
        if (lane < TT_PARTS_LANES && d->thread.delay_us != UINT32_MAX)
            s->delay_us[lane] += d->thread.delay_us;
        if (d->thread.delay_us != UINT32_MAX) s->delays_us += d->thread.delay_us;
    }
}

tt_status tt_parts_run(tt_parts_walker *w, uint32_t run, tt_parts_state *s, tt_parts_visit *visit,
                       void *context, tt_error *err)
{
    tt_join *j = &w->join;
    w->n_faults = 0;
    tt_status status = tt_join_run(j, w->m, run, err);
    if (status != TT_OK) return status;
    if (!j->graph || j->n_touched == 0) {
        pass_unseen(w->m, &w->m->runs[run], s);
        return TT_OK;
    }
    s->seen = true;
    s->remote = w->m->remote && w->m->runs[run].observed == TT_OBSERVED_HOOK;
    add_counts(j, s);
    if (w->has_faults) status = tt_model_faults_of_run(w->m, run, &w->faults, &w->n_faults, err);
    for (uint32_t i = 0; i < j->n_touched && status == TT_OK; i++) {
        tt_parts_op op = {
            .run = run, .node = j->touched[i], .times = &j->ops[j->touched[i]], .first = i == 0};
        if (op.times->open || op.times->bent) continue;
        pass_op(w, &op, i ? j->touched[i - 1] + 1 : 0, s);
        if (visit) visit(context, &op);
    }
    const uint32_t last = j->touched[j->n_touched - 1] + 1;
    if (w->m->runs[run].ended && between(j->graph, last, j->graph->n_nodes) == TT_PART_UNRECORDED)
        (void)pass_gap(s, w->m->runs[run].end_ticks, TT_PART_UNRECORDED);
    return status;
}

tt_status tt_parts_batch(tt_parts_walker *w, uint32_t batch, tt_parts_state *s,
                         tt_parts_visit *visit, void *context, tt_error *err)
{
    const tt_batch *b = &w->m->batches[batch];
    uint32_t first = b->last_run, left = b->n_runs;
    tt_status status = TT_OK;
    tt_parts_begin(s, b->begin_ticks);
    if (b->last_run == TT_NONE) left = 0;
    /* A batch's runs follow each other, unless batches are computed at the same time. */
    for (; left; first--) {
        left -= w->m->runs[first].batch == batch;
        if (first == 0 || left == 0) break;
    }
    for (uint32_t i = first; b->n_runs && b->last_run != TT_NONE && i <= b->last_run; i++)
        if (w->m->runs[i].batch == batch && status == TT_OK)
            status = tt_parts_run(w, i, s, visit, context, err);
    if (b->ended) tt_parts_end(w, batch, s, b->end_ticks);
    return status;
}

tt_status tt_parts_batches(tt_parts_walker *w, tt_parts_state *batches, tt_parts_visit *visit,
                           tt_parts_after *after, void *context, tt_error *err)
{
    const tt_model *m = w->m;
    tt_status status = TT_OK;
    for (uint32_t i = 0; i < m->n_batches; i++)
        tt_parts_begin(&batches[i], m->batches[i].begin_ticks);
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        const tt_run *run = &m->runs[i];
        const bool is_alone = run->batch == TT_NONE;
        tt_parts_state alone;
        if (is_alone) tt_parts_begin(&alone, run->begin_ticks);
        status = tt_parts_run(w, i, is_alone ? &alone : &batches[run->batch], visit, context, err);
        if (is_alone && run->ended) tt_parts_end(w, TT_NONE, &alone, run->end_ticks);
        if (status == TT_OK && after) status = after(context, i, is_alone ? &alone : NULL, err);
    }
    for (uint32_t i = 0; i < m->n_batches && status == TT_OK; i++)
        if (m->batches[i].ended) tt_parts_end(w, i, &batches[i], m->batches[i].end_ticks);
    return status;
}
