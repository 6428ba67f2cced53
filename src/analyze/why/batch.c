#include "analyze/why/batch.h"

#include "analyze/faults.h"
#include "analyze/storage.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct gathering {
    tt_evidence *e;
    const char *before; /* the op before */
    uint64_t lane_ticks[TT_WHY_LANES_MAX];
    uint64_t lane_most[TT_WHY_LANES_MAX];
    const char *lane_op[TT_WHY_LANES_MAX];
    bool failed;
} gathering;

static void note_lane(gathering *g, const tt_parts_op *op, const char *name)
{
    const uint32_t lane = op->waited_lane;
    const uint64_t ticks = op->parts.ticks[TT_PART_WAIT];
    if (lane >= TT_WHY_LANES_MAX || op->times->lanes < 2) return;
    g->lane_ticks[lane] += ticks;
    if (ticks <= g->lane_most[lane]) return;
    g->lane_most[lane] = ticks;
    g->lane_op[lane] = name;
}

static void note_gap(gathering *g, const tt_parts_op *op, const char *name)
{
    tt_evidence *e = g->e;
    if (op->gap_ticks > e->gap.ticks) {
        e->gap = (tt_evidence_op){op->gap_ticks, name};
        e->gap_first = !g->before;
        e->gap_after = g->before;
    }
    g->before = name;
}

static void add_op(void *context, const tt_parts_op *op)
{
    gathering *g = context;
    tt_evidence *e = g->e;
    const tt_model *m = e->why->m;
    const tt_op *described;
    tt_usual_op *row = tt_usual_op_of(e->usual, op, &described);
    const char *name = described ? described->name : "";
    const uint64_t *ticks = op->parts.ticks;
    const uint64_t off = ticks[TT_PART_OFF_CPU] + ticks[TT_PART_PROCESSOR] + ticks[TT_PART_STOPPED];
    const char *before = g->before;
    note_gap(g, op, name);
    note_lane(g, op, name);
    if (op->stuck_ticks > e->off.ticks) {
        e->off = (tt_evidence_op){op->stuck_ticks, before};
        e->all_off_ticks = op->stuck_ticks;
        e->off_lanes = op->times->lanes;
    }
    if (off > e->off.ticks) {
        e->off = (tt_evidence_op){off, name};
        e->all_off_ticks = op->all_off_ticks;
        e->off_lanes = op->times->lanes;
    }
    if (op->times->lanes > e->lanes) e->lanes = op->times->lanes;
    tt_amount_add(&e->major, op->major);
    tt_amount_add(&e->read_bytes, op->read_bytes);
    if (!row) return;
    const double ns = tt_model_span_ns(m, tt_parts_sum(&op->parts));
    row->time_ns += ns;
    row->read |= op->major.value > 0 || op->read_bytes.value > 0;
    for (unsigned i = 0; i < TT_PARTS; i++)
        row->part_ns[i] += tt_model_span_ns(m, ticks[i]);
    if (row->run != TT_NONE && ns <= row->longest_ns) return;
    row->run = op->run;
    row->node = op->node;
    row->longest_ns = ns;
}

static void find_last_lane(gathering *g)
{
    for (uint32_t i = 0; i < TT_WHY_LANES_MAX; i++) {
        if (g->lane_ticks[i] <= g->e->last_lane_ticks) continue;
        g->e->last_lane = i;
        g->e->last_lane_ticks = g->lane_ticks[i];
        g->e->last_lane_op = g->lane_op[i];
        g->e->last_lane_most = g->lane_most[i];
    }
}

/* The positions of its first token; -1: not known. */
static double position_of(const tt_batch *b)
{
    return b->positions && b->n_tokens ? (double)b->positions[0] : -1;
}

/* By which share the context is longer than in a typical batch; 0: it is not, or that is not known.
 */
static double longer_context(const tt_evidence *e)
{
    uint32_t chosen[TT_USUAL_SAMPLES];
    double positions[TT_USUAL_SAMPLES];
    size_t n = 0;
    const double here = position_of(e->batch);
    const uint32_t n_chosen = tt_usual_typical(e->usual, chosen, TT_USUAL_SAMPLES);
    for (uint32_t i = 0; i < n_chosen; i++) {
        const double at = position_of(&e->why->m->batches[chosen[i]]);
        if (at >= 0) positions[n++] = at;
    }
    const double typical = n ? tt_usual_of(positions, n).median_ns : 0;
    return here > typical && typical > 0 ? here / typical - 1 : 0;
}

static void add_rows(tt_evidence *e)
{
    double attention_ns = 0;
    for (size_t i = 0; i < e->usual->n_ops; i++) {
        const tt_usual_op *o = &e->usual->ops[i];
        if (o->run == TT_NONE) continue;
        const tt_usual_value usual = tt_usual_op_time(e->usual, o);
        const bool known = tt_usual_known(&usual);
        const double excess = known ? o->time_ns - usual.median_ns : NAN;
        e->expert_disk_ns += o->picks_experts ? o->part_ns[TT_PART_DISK] : 0;
        if (known && o->attends) {
            e->attention_ns += o->part_ns[TT_PART_WORK] - usual.median_ns;
            attention_ns += usual.median_ns;
        }
        if (known && o->read) e->read_ns += excess;
        tt_why_add_op(e->why, &(tt_why_op){.run = o->run,
                                           .node = o->node,
                                           .batch = e->why->batch,
                                           .name = tt_why_keep(e->why, "%s", o->name),
                                           .op = tt_why_keep(e->why, "%s", o->op),
                                           .layer_id = o->layer_id,
                                           .time_ns = o->time_ns,
                                           .usual_ns = known ? usual.median_ns : NAN,
                                           .excess_ns = known ? excess : o->time_ns});
    }
    const double longer = longer_context(e);
    if (longer > 0) e->attention_grown_ns = fmin(e->attention_ns, longer * attention_ns);
}

/* Threads that its computations asked for, and the processors that they may use. */
static void count_threads(tt_evidence *e)
{
    const tt_model *m = e->why->m;
    tt_host_system s;
    tt_system_of(m, &s);
    e->threads = e->lanes;
    if (s.usable_processors < UINT32_MAX) e->usable = (uint32_t)s.usable_processors;
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].batch == e->why->batch && m->runs[i].threads > e->threads)
            e->threads = m->runs[i].threads;
}

static tt_status ask_kernel(tt_evidence *e, tt_error *err)
{
    tt_kernel_sum sum;
    if (!e->why->m->n_usages) return TT_OK;
    tt_kernel *k = tt_kernel_new(e->why->m);
    if (!k) return tt_error_memory(err, "the kernel's counts");
    tt_kernel_batch(k, e->why->batch, &sum);
    tt_kernel_free(k);
    e->kernel_read_bytes = tt_amount_of(sum.windows && sum.has_io, sum.read_bytes);
    if (!sum.windows || !sum.has_faults) return TT_OK;
    e->kernel_known = true;
    e->kernel_major = sum.major;
    e->kernel_cpu_ns = (double)sum.user_ns + (double)sum.system_ns;
    return TT_OK;
}

static void name_it(tt_why *w, const tt_batch *b)
{
    const bool token = b->phase == TT_PHASE_GENERATE && b->n_tokens == 1;
    w->name = tt_why_keep(w, "%s %" PRIu32, token ? "token" : "batch",
                          tt_model_batch_number(w->m, w->batch));
}

static tt_status gather(tt_evidence *e, tt_parts_walker *walker, tt_error *err)
{
    tt_why *w = e->why;
    tt_parts_state state;
    gathering *g = calloc(1, sizeof *g);
    if (!g) return tt_error_memory(err, "the batch");
    g->e = e;
    tt_status status = tt_parts_batch(walker, w->batch, &state, add_op, g, err);
    if (status == TT_OK) {
        find_last_lane(g);
        if (state.last_gap > e->gap.ticks) {
            e->gap = (tt_evidence_op){state.last_gap, NULL};
            e->gap_after = g->before;
            e->gap_first = false;
        }
        for (unsigned i = 0; i < TT_PARTS; i++)
            e->part_ns[i] = tt_model_span_ns(w->m, state.parts.ticks[i]);
    }
    free(g);
    return status;
}

/* If it is only unusual among the batches near it, these are what is usual. */
static void narrow(tt_evidence *e)
{
    tt_usual_value time, before;
    const tt_batch *b = e->batch;
    const double gap = b->phase == TT_PHASE_GENERATE ? e->why->before_ns : (double)NAN;
    const double ns = b->end_ticks > b->begin_ticks
                          ? tt_model_span_ns(e->why->m, b->end_ticks - b->begin_ticks)
                          : 0;
    if (!tt_usual_is_slow(&e->usual->time, &e->usual->before, ns, gap) &&
        tt_usual_near(e->usual, e->why->batch, &time, &before) &&
        tt_usual_is_slow(&time, &before, ns, gap))
        tt_usual_narrow(e->usual, e->why->batch);
}

/* The prompt of which most tokens were computed again, also in this batch. */
static tt_status find_recomputed(tt_evidence *e, tt_error *err)
{
    tt_why *w = e->why;
    tt_recomputed_list list;
    const uint8_t phase = e->batch->phase;
    if (phase != TT_PHASE_PROMPT && phase != TT_PHASE_MIXED) return TT_OK;
    tt_status status = tt_recomputed_find(w->m, &list, err);
    for (size_t i = 0; i < list.n && status == TT_OK; i++) {
        const tt_recomputed *r = &list.rows[i];
        if (r->first_batch > w->batch || r->last_batch < w->batch ||
            w->m->batches[r->first_batch].context != e->batch->context ||
            (e->recomputed.n_tokens >= r->n_tokens))
            continue;
        e->recomputed = *r;
    }
    if (status == TT_OK && list.is_cut && !e->recomputed.n_tokens)
        tt_why_write(w, &w->not_known,
                     "Whether tokens of its prompt had been computed before: not all prompts could "
                     "be compared.");
    tt_recomputed_free(&list);
    return status;
}

static tt_status explain(tt_evidence *e, tt_parts_walker *walker, const tt_over *over,
                         tt_error *err)
{
    tt_why *w = e->why;
    const uint32_t before = tt_usual_batch_before(w->m, w->batch);
    if (before != TT_NONE) w->before_ns = tt_usual_before_ns(w->m, before, w->batch);
    for (uint32_t i = w->batch; before != TT_NONE && i-- > before + 1;)
        if (w->m->batches[i].context == w->m->batches[w->batch].context && w->m->batches[i].ended)
            w->shift = i;
    narrow(e);
    tt_status status = tt_usual_sample(e->usual, walker, over, err);
    if (status == TT_OK) status = gather(e, walker, err);
    if (status == TT_OK) status = ask_kernel(e, err);
    if (status != TT_OK) return status;
    add_rows(e);
    count_threads(e);
    w->time_ns = 0;
    for (unsigned i = 0; i < TT_PARTS; i++)
        w->time_ns += e->part_ns[i];
    w->usual = e->usual->time;
    w->usual_before = e->usual->before;
    w->near = e->usual->near;
    w->kernel_untold =
        !tt_parts_tell_kernel(e->part_ns, tt_usual_known(&w->usual) ? e->usual->part_ns : NULL);
    tt_why_set_parts(w, walker, e->part_ns, tt_usual_known(&w->usual) ? e->usual->part_ns : NULL);
    if (e->part_ns[TT_PART_DISK] > 0 && e->expert_disk_ns > 0) status = tt_why_find_cold(e, err);
    const tt_filter all = {0};
    if (status == TT_OK) status = tt_why_add_faults(w, w->batch, &all, over, err);
    if (status == TT_OK) status = find_recomputed(e, err);
    if (status == TT_OK) tt_why_decide(e);
    return status;
}

tt_status tt_why_batch_with(tt_parts_walker *walker, const tt_model *m, uint32_t batch,
                            const tt_over *over, tt_why *out, tt_error *err)
{
    const tt_batch *b = &m->batches[batch];
    tt_usual usual;
    tt_evidence e = {.why = out, .usual = &usual, .walker = walker, .batch = b};
    tt_why_begin(out, m, TT_WHY_BATCH);
    out->batch = batch;
    name_it(out, b);
    if (tt_why_untimed(out)) return TT_OK;
    if (!b->ended) {
        tt_why_write(out, &out->text, "The trace does not hold the end of %s.", out->name);
        tt_why_note_unknown(out, walker);
        return TT_OK;
    }
    tt_status status = tt_usual_find(m, batch, &usual, err);
    if (status == TT_OK) status = explain(&e, walker, over, err);
    tt_usual_free(&usual);
    if (status == TT_OK && out->failed) status = tt_error_memory(err, "the answer");
    return status;
}

tt_status tt_why_batch(const tt_model *m, uint32_t batch, const tt_over *over, tt_why *out,
                       tt_error *err)
{
    tt_parts_walker *walker = tt_parts_open(m);
    tt_why_begin(out, m, TT_WHY_BATCH);
    if (!walker) return tt_error_memory(err, "the answer");
    const tt_status status = tt_why_batch_with(walker, m, batch, over, out, err);
    tt_parts_close(walker);
    return status;
}
