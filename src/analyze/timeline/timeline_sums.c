#include "analyze/timeline/timeline_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs behind or before one that are looked through for a lane's next op. */
#define STEP_RUNS_MAX 256u
#define ASK_EVERY 512u /* runs: some 10 ms */

/* --- a selection --- */

typedef struct summing {
    const tt_timeline *t;
    const tt_model *m;
    int64_t from, to;
    tt_timeline_sum by_kind[TT_TIMELINE_KINDS_MAX + 1];
    int64_t first, last;
} summing;

static int64_t inside(const summing *s, int64_t from, int64_t to)
{
    if (from < s->from) from = s->from;
    if (to > s->to) to = s->to;
    return to > from ? to - from : 0;
}

static tt_status sum_piece(void *context, const tt_timeline_span *span, const tt_piece_ops *p,
                           const tt_timeline_node *nodes, uint32_t track, tt_error *err)
{
    summing *s = context;
    const tt_run *run = &s->m->runs[span->run];
    const uint32_t n_nodes = s->m->graphs[run->graph].n_nodes;
    const double lanes = run->threads > 1 ? run->threads : 1;
    (void)track;
    (void)err;
    for (size_t i = 0; i < p->n; i++) {
        tt_lap lap = tt_timeline_lap(s->t, p, i);
        bool begins = lap.start >= s->from && lap.start < s->to;
        if (p->node[i] >= n_nodes || lap.start >= s->to || (lap.release <= s->from && !begins))
            continue;
        const tt_timeline_node *node = &nodes[p->node[i]];
        tt_timeline_sum *sum = &s->by_kind[node->kind];
        sum->count++;
        sum->busy_ns += (double)inside(s, lap.start, lap.arrive);
        sum->wait_ns += (double)inside(s, lap.arrive, lap.release);
        sum->at_most |= begins && node->at_most;
        if (begins) sum->weight_bytes += (double)node->weight_bytes / lanes;
        if (lap.start < s->first) s->first = lap.start;
        if (lap.start > s->last) s->last = lap.start;
    }
    return TT_OK;
}

static int busiest(const void *a, const void *b)
{
    const tt_timeline_sum *x = a, *y = b;
    if (x->busy_ns != y->busy_ns) return x->busy_ns > y->busy_ns ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static tt_status end_sums(summing *s, tt_timeline_sums *sums, tt_error *err)
{
    sums->kinds = tt_timeline_kinds_copy(s->t, &sums->n_kinds);
    sums->list = calloc((size_t)sums->n_kinds + 1, sizeof *sums->list);
    if (!sums->kinds || !sums->list) return tt_error_memory(err, "summing up a selection");
    for (uint32_t i = 0; i < sums->n_kinds; i++) {
        tt_timeline_sum *k = &s->by_kind[i];
        if (k->count == 0) continue;
        k->kind = (uint8_t)i;
        k->busy_ns *= s->t->ns_per_tick;
        k->wait_ns *= s->t->waits_known ? s->t->ns_per_tick : NAN;
        sums->total.count += k->count;
        sums->total.busy_ns += k->busy_ns;
        sums->total.wait_ns += k->wait_ns;
        sums->total.weight_bytes += k->weight_bytes;
        sums->total.at_most |= k->at_most;
        sums->list[sums->n++] = *k;
    }
    if (sums->n) qsort(sums->list, sums->n, sizeof *sums->list, busiest);
    sums->first_ns = tt_timeline_ns(s->t, s->first);
    sums->last_ns = tt_timeline_ns(s->t, s->last);
    return TT_OK;
}

tt_status tt_timeline_aggregate(const tt_timeline *t, const tt_model *m, double from_ns,
                                double to_ns, const uint8_t *tracks, const tt_over *over,
                                tt_timeline_sums *sums, tt_error *err)
{
    memset(sums, 0, sizeof *sums);
    summing *s = calloc(1, sizeof *s);
    if (!s) return tt_error_memory(err, "summing up a selection");
    *s = (summing){.t = t, .m = m, .first = INT64_MAX, .last = INT64_MIN};
    s->from = tt_timeline_tick_of(t, from_ns);
    s->to = tt_timeline_tick_of(t, to_ns);
    size_t at, end;
    uint64_t stray = 0;
    tt_status status = TT_OK;
    tt_timeline_spans(t, s->from, s->to, &at, &end);
    for (; at < end && status == TT_OK; at += ASK_EVERY) {
        size_t next = end - at < ASK_EVERY ? end : at + ASK_EVERY;
        status = tt_timeline_walk(t, m, at, next, s->from, tracks, sum_piece, s, &stray, err);
        if (status == TT_OK) status = tt_over_check(over, err);
    }
    if (status == TT_OK) status = end_sums(s, sums, err);
    free(s);
    return status;
}

void tt_timeline_sums_free(tt_timeline_sums *sums)
{
    free(sums->list);
    free(sums->kinds);
    memset(sums, 0, sizeof *sums);
}

/* --- along a track --- */

typedef struct stepping {
    const tt_timeline *t;
    uint32_t lane;
    int64_t start; /* of the op that is stepped from */
    uint32_t run, node;
    bool forward;
    int64_t best;
    tt_timeline_step *out;
} stepping;

/* Looks for the lane's nearest op behind (or before) the start in one run. */
static tt_status step_in_run(stepping *s, const tt_model *m, uint32_t run, tt_error *err)
{
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        if (pieces[i].lane != s->lane) continue;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        for (size_t k = 0; k < p.n && status == TT_OK; k++) {
            tt_lap lap = tt_timeline_lap(s->t, &p, k);
            if (run == s->run && p.node[k] == s->node) continue;
            /* Ops of no length begin together: nodes of a run ascend. */
            bool later = run == s->run ? p.node[k] > s->node : lap.start >= s->start;
            if (later != s->forward || (s->out->run != TT_NONE &&
                                        (s->forward ? lap.start >= s->best : lap.start < s->best)))
                continue;
            s->best = lap.start;
            *s->out = (tt_timeline_step){run, p.node[k], tt_timeline_ns(s->t, lap.start),
                                         p.open ? NAN : tt_timeline_ns(s->t, lap.release)};
        }
    }
    return status;
}

static tt_status step(stepping *s, const tt_model *m, size_t at, tt_error *err)
{
    const tt_timeline *t = s->t;
    const uint32_t row = t->row_of_run[s->run] - 1;
    uint32_t looked = 0;
    tt_status status = TT_OK;
    *s->out = (tt_timeline_step){TT_NONE, TT_NONE, NAN, NAN};
    for (size_t i = at; status == TT_OK && s->out->run == TT_NONE && looked < STEP_RUNS_MAX;) {
        if (t->spans[i].row == row) {
            status = step_in_run(s, m, t->spans[i].run, err);
            looked++;
        }
        if (s->forward ? i + 1 >= t->n_spans : i == 0) break;
        i = s->forward ? i + 1 : i - 1;
    }
    return status;
}

tt_status tt_timeline_neighbours(const tt_timeline *t, const tt_model *m, uint32_t run,
                                 uint32_t node, uint32_t lane, tt_timeline_step *before,
                                 tt_timeline_step *behind, tt_error *err)
{
    *before = *behind = (tt_timeline_step){TT_NONE, TT_NONE, NAN, NAN};
    if (run >= t->n_runs || t->row_of_run[run] == 0) return TT_OK;
    size_t at, end;
    int64_t begin = tt_timeline_tick(t, m->runs[run].begin_ticks);
    tt_timeline_spans(t, begin, begin, &at, &end);
    for (at = end; at < t->n_spans && t->spans[at].run != run; at++) {
        /* runs that begin at the same tick */
    }
    if (at == t->n_spans) return TT_OK;
    stepping s = {.t = t, .lane = lane, .start = begin, .run = run, .node = node};
    const bool ways[2] = {false, true};
    tt_status status = TT_OK;
    for (int i = 0; i < 2 && status == TT_OK; i++) {
        s.forward = ways[i];
        s.out = ways[i] ? behind : before;
        status = step(&s, m, at, err);
    }
    return status;
}
