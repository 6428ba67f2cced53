#include "analyze/timeline/timeline.h"

#include "analyze/ops.h"
#include "analyze/timeline/timeline_parts.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t tt_timeline_tick_of(const tt_timeline *t, double ns)
{
    double tick = ceil(ns / t->ns_per_tick);
    if (!(tick > -(double)TT_TIMELINE_TICK_MAX)) return -TT_TIMELINE_TICK_MAX;
    return tick < (double)TT_TIMELINE_TICK_MAX ? (int64_t)tick : TT_TIMELINE_TICK_MAX;
}

tt_lap tt_timeline_lap(const tt_timeline *t, const tt_piece_ops *p, size_t i)
{
    tt_lap lap = {tt_timeline_tick(t, p->start[i]), tt_timeline_tick(t, p->arrive[i]),
                  tt_timeline_tick(t, p->release[i])};
    if (p->open || lap.arrive < lap.start || lap.release < lap.arrive)
        lap.arrive = lap.release = lap.start;
    return lap;
}

/* --- runs in order --- */

TT_ORDER_BY(by_begin, tt_timeline_span, begin, run)

/* The last moment that is known of a run without an end: of its ops. */
static tt_status last_seen(const tt_timeline *t, const tt_model *m, tt_timeline_span *span,
                           tt_error *err)
{
    const tt_piece *pieces;
    size_t n;
    int64_t end = span->begin;
    tt_status status = tt_pieces_of_run(m->pieces, m->runs[span->run].id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        for (size_t k = 0; k < p.n && status == TT_OK; k++) {
            tt_lap lap = tt_timeline_lap(t, &p, k);
            if (lap.release >= end) end = lap.release + 1;
        }
    }
    span->end = end;
    return status;
}

static tt_status list_spans(tt_timeline *t, const tt_model *m, tt_error *err)
{
    uint32_t open = 0;
    t->spans = calloc((size_t)m->n_runs + 1, sizeof *t->spans);
    t->row_of_run = calloc((size_t)m->n_runs + 1, sizeof *t->row_of_run);
    if (!t->spans || !t->row_of_run) return tt_error_memory(err, "the timeline");
    t->n_runs = m->n_runs;
    t->n_lanes = 1;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        if (r->observed == TT_OBSERVED_BOUNDS) continue;
        tt_timeline_span *s = &t->spans[t->n_spans++];
        *s = (tt_timeline_span){.run = i, .begin = tt_timeline_tick(t, r->begin_ticks)};
        s->end = r->ended ? tt_timeline_tick(t, r->end_ticks) : INT64_MAX;
        if (s->end < s->begin) s->end = INT64_MAX; /* damaged: may lie anywhere */
        if (s->end == INT64_MAX && open++ < TT_TIMELINE_OPEN_RUNS_MAX) {
            tt_status status = last_seen(t, m, s, err);
            if (status != TT_OK) return status;
        }
        if (r->threads > t->n_lanes) t->n_lanes = r->threads;
    }
    if (t->n_lanes > TT_OPS_LANE_MAX + 1u) t->n_lanes = TT_OPS_LANE_MAX + 1u;
    if (t->n_spans) qsort(t->spans, t->n_spans, sizeof *t->spans, by_begin);
    int64_t so_far = INT64_MIN;
    for (size_t i = 0; i < t->n_spans; i++) {
        if (t->spans[i].end > so_far) so_far = t->spans[i].end;
        t->spans[i].end_so_far = so_far;
    }
    return TT_OK;
}

/* A run goes where its context's last one was, if that has ended; else into the first free row. */
static void choose_rows(tt_timeline *t, const tt_model *m)
{
    int64_t end[TT_TIMELINE_ROWS_MAX];
    uint32_t context[TT_TIMELINE_ROWS_MAX];
    for (size_t i = 0; i < t->n_spans; i++) {
        tt_timeline_span *s = &t->spans[i];
        const uint32_t batch = m->runs[s->run].batch;
        uint32_t of = batch == TT_NONE ? TT_NONE : m->batches[batch].context, row = t->n_rows;
        for (uint32_t r = t->n_rows; r-- > 0;)
            if (end[r] <= s->begin && (row == t->n_rows || context[row] != of || context[r] == of))
                row = r;
        if (row >= TT_TIMELINE_ROWS_MAX) row = TT_TIMELINE_ROWS_MAX - 1;
        if (row == t->n_rows) t->n_rows++;
        /* Without an end it is not known whether anything overlaps it. */
        end[row] = s->end == INT64_MAX ? s->begin : s->end;
        context[row] = of;
        s->row = row;
        t->row_of_run[s->run] = row + 1;
    }
    if (t->n_rows == 0) t->n_rows = 1;
}

static void find_extent(tt_timeline *t, const tt_model *m)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < t->n_spans; i++) {
        const tt_timeline_span *s = &t->spans[i];
        int64_t last = s->end == INT64_MAX ? s->begin : s->end;
        if (s->begin < begin) begin = s->begin;
        if (last > end) end = last;
    }
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        int64_t first = tt_timeline_tick(t, b->begin_ticks);
        int64_t last = b->ended ? tt_timeline_tick(t, b->end_ticks) : first;
        if (first < begin) begin = first;
        if (last > end) end = last;
    }
    t->begin = begin < end ? begin : 0;
    t->end = begin < end ? end : begin == end ? begin + 1 : 1;
    if (begin == end) t->begin = begin;
}

tt_status tt_timeline_new(const tt_model *m, tt_timeline **out, tt_error *err)
{
    *out = NULL;
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    tt_timeline *t = calloc(1, sizeof *t);
    if (!t) return tt_error_memory(err, "the timeline");
    t->zero_ticks = m->clock.zero_ticks;
    t->ns_per_tick = m->clock.ns_per_tick;
    t->waits_known = m->waits_known;
    t->kinds = calloc(1, sizeof *t->kinds);
    if (t->kinds) {
        (void)pthread_mutex_init(&t->kinds->lock, NULL);
        t->kinds->n_graphs = m->n_graphs;
        t->kinds->nodes = calloc((size_t)m->n_graphs + 1, sizeof *t->kinds->nodes);
    }
    status =
        t->kinds && t->kinds->nodes ? list_spans(t, m, err) : tt_error_memory(err, "the timeline");
    if (status == TT_OK) {
        choose_rows(t, m);
        find_extent(t, m);
        status = tt_overview_new(t, m, err);
    }
    if (status == TT_OK)
        *out = t;
    else
        tt_timeline_free(t);
    return status;
}

void tt_timeline_free(tt_timeline *t)
{
    if (!t) return;
    tt_overview_free(t->overview, t->n_rows * t->n_lanes);
    if (t->kinds) {
        for (uint32_t i = 0; t->kinds->nodes && i < t->kinds->n_graphs; i++)
            free(t->kinds->nodes[i]);
        for (uint32_t i = 0; i < t->kinds->n; i++)
            free((void *)(uintptr_t)t->kinds->list[i].op);
        free(t->kinds->nodes);
        (void)pthread_mutex_destroy(&t->kinds->lock);
    }
    free(t->kinds);
    free(t->spans);
    free(t->row_of_run);
    free(t);
}

void tt_timeline_extent(const tt_timeline *t, double *from_ns, double *to_ns)
{
    *from_ns = tt_timeline_ns(t, t->begin);
    *to_ns = tt_timeline_ns(t, t->end);
}

uint32_t tt_timeline_tracks(const tt_timeline *t, uint32_t *n_lanes)
{
    if (n_lanes) *n_lanes = t->n_lanes;
    return t->n_rows * t->n_lanes;
}

uint32_t tt_timeline_track_of(const tt_timeline *t, uint32_t run, uint32_t lane)
{
    if (run >= t->n_runs || t->row_of_run[run] == 0 || lane >= t->n_lanes) return TT_NONE;
    return (t->row_of_run[run] - 1) * t->n_lanes + lane;
}

void tt_timeline_spans(const tt_timeline *t, int64_t from, int64_t to, size_t *first, size_t *end)
{
    size_t low;
    /* the first that begins at `to` or behind it */
    tt_lower_bound(low, t->n_spans, t->spans[low].begin < to);
    *end = low;
    /* the first with something before it, or itself, that ends behind it */
    tt_lower_bound(low, *end, t->spans[low].end_so_far < from);
    *first = low;
}

/* --- what ops are --- */

static const char *const categories[TT_TIMELINE_CATEGORIES] = {"input", "norm",   "attention",
                                                               "ffn",   "output", "other"};

const char *tt_timeline_category_name(uint8_t category)
{
    return categories[category];
}

static uint8_t category_of(const char *name)
{
    uint8_t i = 0;
    while (i + 1u < TT_TIMELINE_CATEGORIES && strcmp(categories[i], name) != 0)
        i++;
    return i;
}

/* The kind's place, added at the first need; the last one stands for those without room. */
static uint8_t kind_of(tt_timeline_kinds *k, const char *op, uint8_t category)
{
    for (uint32_t i = 0; i < k->n; i++)
        if (k->list[i].category == category && strcmp(k->list[i].op, op) == 0) return (uint8_t)i;
    if (k->n == TT_TIMELINE_KINDS_MAX) return TT_TIMELINE_KINDS_MAX - 1;
    bool last = k->n + 1 == TT_TIMELINE_KINDS_MAX;
    char *name = strdup(last ? "(other)" : op);
    if (!name) return TT_STRIP_NO_KIND;
    k->list[k->n] = (tt_timeline_kind){name, last ? TT_TIMELINE_CATEGORIES - 1 : category};
    return (uint8_t)k->n++;
}

static bool learn(tt_timeline_kinds *k, const tt_model *m, uint32_t graph, uint32_t node,
                  uint8_t covers, tt_timeline_node *out)
{
    tt_op op;
    tt_op_describe(m, &m->graphs[graph], node, covers, &op);
    uint8_t kind = kind_of(k, op.op, category_of(op.place.category));
    if (kind == TT_STRIP_NO_KIND) return false;
    *out = (tt_timeline_node){.weight_bytes = op.weight_bytes,
                              .last = op.nodes[op.n_nodes - 1],
                              .weight = TT_NONE,
                              .layer_id = op.place.layer_id,
                              .covers = covers,
                              .kind = kind,
                              .known = true,
                              .at_most = op.at_most || op.picks};
    for (uint32_t i = 0; i < op.n_sources && out->weight == TT_NONE; i++)
        out->weight = op.sources[i].weight;
    return true;
}

/* What is learned stays: who has held the lock since may read it without. A node that is met with
 * another number of covered nodes keeps what was learned first (no engine does that). */
const tt_timeline_node *tt_timeline_learn(const tt_timeline *t, const tt_model *m, uint32_t graph,
                                          const tt_piece_ops *p, tt_error *err)
{
    const uint32_t n_nodes = m->graphs[graph].n_nodes;
    tt_timeline_kinds *k = t->kinds;
    bool ok = true;
    (void)pthread_mutex_lock(&k->lock);
    if (!k->nodes[graph]) k->nodes[graph] = calloc((size_t)n_nodes + 1, sizeof **k->nodes);
    tt_timeline_node *nodes = k->nodes[graph];
    for (size_t i = 0; i < p->n && nodes && ok; i++)
        if (p->node[i] < n_nodes && !nodes[p->node[i]].known)
            ok = learn(k, m, graph, p->node[i], p->covers[i], &nodes[p->node[i]]);
    (void)pthread_mutex_unlock(&k->lock);
    if (nodes && ok) return nodes;
    (void)tt_error_memory(err, "the timeline");
    return NULL;
}

tt_timeline_kind *tt_timeline_kinds_copy(const tt_timeline *t, uint32_t *n)
{
    tt_timeline_kinds *k = t->kinds;
    (void)pthread_mutex_lock(&k->lock);
    tt_timeline_kind *copy = malloc(((size_t)k->n + 1) * sizeof *copy);
    if (copy && k->n) memcpy(copy, k->list, k->n * sizeof *copy);
    *n = copy ? k->n : 0;
    (void)pthread_mutex_unlock(&k->lock);
    return copy;
}

/* --- walking --- */

static tt_status walk_run(const tt_timeline *t, const tt_model *m, const tt_timeline_span *span,
                          const uint8_t *tracks, tt_timeline_visit *visit, void *context,
                          uint64_t *stray, tt_error *err)
{
    const tt_run *run = &m->runs[span->run];
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, run->id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        if (run->graph == TT_NONE || pieces[i].lane >= t->n_lanes) {
            *stray += pieces[i].count;
            continue;
        }
        uint32_t track = span->row * t->n_lanes + pieces[i].lane;
        if (tracks && !tracks[track]) continue;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        const tt_timeline_node *nodes = tt_timeline_learn(t, m, run->graph, &p, err);
        if (!nodes) return TT_E_MEMORY;
        status = visit(context, span, &p, nodes, track, err);
    }
    return status;
}

tt_status tt_timeline_walk(const tt_timeline *t, const tt_model *m, size_t first, size_t end,
                           int64_t from, const uint8_t *tracks, tt_timeline_visit *visit,
                           void *context, uint64_t *stray, tt_error *err)
{
    for (size_t i = first; i < end; i++) {
        if (t->spans[i].end < from) continue;
        tt_status status = walk_run(t, m, &t->spans[i], tracks, visit, context, stray, err);
        if (status != TT_OK) return status;
    }
    return TT_OK;
}
