#include "analyze/timeline/timeline.h"

#include "analyze/ops.h"
#include "analyze/timeline/parts.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_AT_CLOCK_EVERY 16u /* runs */
#define BUCKETS_MIN 1024u

/* Buckets per track: no more than the trace's records can fill. */
static uint32_t wanted_buckets(const tt_timeline *t, const tt_model *m)
{
    uint64_t tracks = (uint64_t)t->n_rows * t->n_lanes, most = TT_OVERVIEW_CELLS_MAX / tracks;
    uint64_t records = tt_pieces_records(m->pieces) / tracks;
    if (most > TT_OVERVIEW_BUCKETS_MAX) most = TT_OVERVIEW_BUCKETS_MAX;
    if (most > records) most = records;
    if (most > BUCKETS_MIN) return (uint32_t)most;
    return BUCKETS_MIN * tracks <= TT_OVERVIEW_CELLS_MAX
               ? BUCKETS_MIN
               : (uint32_t)(TT_OVERVIEW_CELLS_MAX / tracks);
}

tt_status tt_timeline_sketch_new(tt_timeline *t, const tt_model *m, tt_error *err)
{
    const uint32_t n_tracks = t->n_rows * t->n_lanes, most = wanted_buckets(t, m);
    tt_timeline_sketch *o = calloc(1, sizeof *o);
    if (!o) return tt_error_memory(err, "the timeline's overview");
    t->overview = o;
    (void)pthread_mutex_init(&o->lock, NULL);
    double from, to;
    tt_timeline_extent(t, &from, &to);
    /* One more than the span needs, because it may begin inside a bucket. */
    o->bucket_ns = exp2(ceil(log2((to - from) / (most - 1))));
    o->origin_ns = floor(from / o->bucket_ns) * o->bucket_ns;
    o->n_buckets = (uint32_t)fmin(most, floor((to - o->origin_ns) / o->bucket_ns) + 1);
    o->edges = tt_strip_edges(t, o->origin_ns, o->bucket_ns, o->n_buckets);
    o->strips = calloc(n_tracks, sizeof *o->strips);
    if (!o->edges || !o->strips) return tt_error_memory(err, "the timeline's overview");
    for (uint32_t i = 0; i < n_tracks; i++) {
        o->strips[i].cells = calloc(o->n_buckets, sizeof *o->strips[i].cells);
        if (!o->strips[i].cells) return tt_error_memory(err, "the timeline's overview");
        for (uint32_t b = 0; b < o->n_buckets; b++)
            o->strips[i].cells[b].kind = TT_STRIP_NO_KIND;
        o->strips[i].edges = o->edges;
        o->strips[i].n = o->n_buckets;
        o->strips[i].kinds = t->kinds->list;
        o->strips[i].steps_left = TT_STRIP_STEPS(o->n_buckets);
    }
    return TT_OK;
}

void tt_timeline_sketch_free(tt_timeline_sketch *o, uint32_t n_tracks)
{
    if (!o) return;
    for (uint32_t i = 0; o->strips && i < n_tracks; i++)
        free(o->strips[i].cells);
    (void)pthread_mutex_destroy(&o->lock);
    free(o->strips);
    free(o->edges);
    free(o);
}

typedef struct adding {
    const tt_timeline *t;
    const tt_model *m;
} adding;

static tt_status add_piece(void *context, const tt_timeline_span *span, const tt_piece_ops *p,
                           const tt_timeline_node *nodes, uint32_t track, tt_error *err)
{
    const adding *a = context;
    const uint32_t n_nodes = a->m->graphs[a->m->runs[span->run].graph].n_nodes;
    tt_timeline_sketch *o = a->t->overview;
    tt_strip *s = &o->strips[track];
    (void)err;
    for (size_t i = 0; i < p->n; i++) {
        if (p->node[i] >= n_nodes) {
            o->orphan++;
            continue;
        }
        tt_lap lap = tt_timeline_lap(a->t, p, i);
        /* A damaged trace's records outside of its runs are shown at the edge. */
        if (lap.start < o->edges[0]) lap.start = o->edges[0];
        if (lap.start >= o->edges[o->n_buckets]) lap.start = o->edges[o->n_buckets] - 1;
        if (lap.arrive < lap.start) lap.arrive = lap.start;
        if (lap.release < lap.arrive) lap.release = lap.arrive;
        if (!tt_strip_add(s, nodes[p->node[i]].kind, &lap)) o->orphan++;
    }
    return TT_OK;
}

static uint64_t now_ns(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

tt_status tt_timeline_advance(const tt_timeline *t, const tt_model *m, uint64_t budget_ns,
                              tt_error *err)
{
    tt_timeline_sketch *o = t->overview;
    adding a = {t, m};
    tt_status status = TT_OK;
    /* Before the lock: simultaneous requests must not wait for the sum of all budgets. */
    const uint64_t until = now_ns() + budget_ns;
    (void)pthread_mutex_lock(&o->lock);
    bool was_done = o->next == t->n_spans;
    while (o->next < t->n_spans && status == TT_OK) {
        status = tt_timeline_walk(t, m, o->next, o->next + 1, INT64_MIN, NULL, add_piece, &a,
                                  &o->orphan, err);
        o->next++;
        if (budget_ns && o->next % LOOK_AT_CLOCK_EVERY == 0 && now_ns() >= until) break;
    }
    for (uint32_t i = 0; !was_done && i < t->n_rows * t->n_lanes; i++)
        tt_strip_end(&o->strips[i]);
    (void)pthread_mutex_unlock(&o->lock);
    return status;
}

void tt_timeline_progress(const tt_timeline *t, uint64_t *done, uint64_t *total, double *until_ns)
{
    tt_timeline_sketch *o = t->overview;
    (void)pthread_mutex_lock(&o->lock);
    *done = o->next;
    *total = t->n_spans;
    *until_ns = o->next == t->n_spans ? INFINITY : tt_timeline_ns(t, t->spans[o->next].begin);
    (void)pthread_mutex_unlock(&o->lock);
}

uint64_t tt_timeline_orphan(const tt_timeline *t)
{
    tt_timeline_sketch *o = t->overview;
    (void)pthread_mutex_lock(&o->lock);
    uint64_t orphan = o->orphan;
    (void)pthread_mutex_unlock(&o->lock);
    return orphan;
}

double tt_timeline_bucket_ns(const tt_timeline *t)
{
    return t->overview->bucket_ns;
}

tt_status tt_timeline_load(const tt_timeline *t, double from_ns, double to_ns, uint32_t n_buckets,
                           float *busy, float *wait, tt_error *err)
{
    tt_timeline_sketch *o = t->overview;
    const double width = (to_ns - from_ns) / n_buckets;
    const uint32_t n_tracks = t->n_rows * t->n_lanes;
    double *sums = calloc((size_t)n_buckets * 2, sizeof *sums);
    if (!sums) return tt_error_memory(err, "the timeline's overview");
    (void)pthread_mutex_lock(&o->lock);
    for (uint32_t i = 0; i < o->n_buckets; i++) {
        /* A bucket of the overview may be wider than a requested one: divide it. */
        double begin = o->origin_ns + i * o->bucket_ns, end = begin + o->bucket_ns;
        if (end <= from_ns || begin >= to_ns) continue;
        double both[2] = {0, 0};
        for (uint32_t track = 0; track < n_tracks; track++) {
            both[0] += (double)o->strips[track].cells[i].busy;
            both[1] += (double)o->strips[track].cells[i].wait;
        }
        uint32_t first = begin > from_ns ? (uint32_t)((begin - from_ns) / width) : 0;
        for (uint32_t b = first; b < n_buckets && from_ns + b * width < end; b++) {
            double low = fmax(begin, from_ns + b * width),
                   high = fmin(end, from_ns + (b + 1) * width);
            double share = high > low ? (high - low) / o->bucket_ns : 0;
            sums[2 * b] += both[0] * share;
            sums[2 * b + 1] += both[1] * share;
        }
    }
    const double until =
        o->next == t->n_spans ? INFINITY : tt_timeline_ns(t, t->spans[o->next].begin);
    (void)pthread_mutex_unlock(&o->lock);
    const double whole = width / t->ns_per_tick * t->n_lanes;
    for (uint32_t b = 0; b < n_buckets; b++) {
        bool known = from_ns + (b + 1) * width <= until;
        busy[b] = known ? (float)(sums[2 * b] / whole) : -1;
        wait[b] = known && t->waits_known ? (float)(sums[2 * b + 1] / whole) : -1;
    }
    free(sums);
    return TT_OK;
}

/* Drawings from the overview. */

typedef struct gathering {
    tt_tile *tile;
    tt_tile_merged at;
    bool any;
    double kind_ns[TT_TIMELINE_KINDS_MAX + 1];
} gathering;

static bool gathered(gathering *g)
{
    uint8_t best = 0;
    if (!g->any) return true;
    for (uint32_t i = 0; i <= TT_TIMELINE_KINDS_MAX; i++)
        if (g->kind_ns[i] > g->kind_ns[best]) best = (uint8_t)i;
    g->at.kind = best;
    g->any = false;
    memset(g->kind_ns, 0, sizeof g->kind_ns);
    return tt_tile_add_merged(g->tile, g->at);
}

static bool gather_track(const tt_timeline *t, tt_tile *tile, uint32_t track)
{
    const tt_timeline_sketch *o = t->overview;
    const tt_strip *s = &o->strips[track];
    const double width = (tile->to_ns - tile->from_ns) / tile->n_buckets,
                 begin = ceil((tile->from_ns - o->origin_ns) / o->bucket_ns);
    gathering g = {.tile = tile};
    for (double at = begin > 0 ? begin : 0; at < o->n_buckets; at++) {
        const double ns = o->origin_ns + at * o->bucket_ns;
        const tt_strip_cell *c = &s->cells[(uint32_t)at];
        if (ns >= tile->to_ns) break;
        if (c->count == 0 && c->busy == 0 && c->wait == 0) continue;
        uint32_t bucket = (uint32_t)((ns - tile->from_ns) / width);
        if (bucket >= tile->n_buckets) break; /* rounding */
        if (g.any && bucket != g.at.bucket && !gathered(&g)) return false;
        if (!g.any) g.at = (tt_tile_merged){.bucket = bucket, .track = (uint16_t)track};
        g.any = true;
        g.at.count += c->count;
        g.at.busy_ns += (double)c->busy * t->ns_per_tick;
        g.at.wait_ns += t->waits_known ? (double)c->wait * t->ns_per_tick : NAN;
        g.kind_ns[c->kind] += (double)c->busy + 1;
        for (uint32_t k = 0; k < TT_TIMELINE_CATEGORIES; k++)
            g.at.category_ns[k] += c->category[k] * (float)t->ns_per_tick;
    }
    return gathered(&g);
}

tt_status tt_tile_of_overview(const tt_timeline *t, const tt_tile_query *q, tt_tile *tile,
                              tt_error *err)
{
    tt_timeline_sketch *o = t->overview;
    const uint32_t n_tracks = tt_timeline_tracks(t, NULL);
    bool ok = true;
    /* If there are too many records, buckets become as wide as the overview's. */
    if ((tile->to_ns - tile->from_ns) / tile->n_buckets < o->bucket_ns) {
        tile->from_ns = floor(tile->from_ns / o->bucket_ns) * o->bucket_ns;
        double n = ceil((tile->to_ns - tile->from_ns) / o->bucket_ns);
        tile->n_buckets = n < 1 ? 1 : (uint32_t)fmin(n, TT_TILE_BUCKETS_MAX);
        tile->to_ns = tile->from_ns + tile->n_buckets * o->bucket_ns;
    }
    tile->from_overview = true;
    (void)pthread_mutex_lock(&o->lock);
    for (uint32_t i = 0; i < n_tracks && ok; i++)
        if ((!q->tracks || q->tracks[i])) ok = gather_track(t, tile, i);
    if (o->next < t->n_spans) tile->until_ns = tt_timeline_ns(t, t->spans[o->next].begin);
    tile->orphan = o->orphan;
    (void)pthread_mutex_unlock(&o->lock);
    return ok ? TT_OK : tt_error_memory(err, "a picture of the timeline");
}

int64_t *tt_strip_edges(const tt_timeline *t, double from_ns, double bucket_ns, uint32_t n)
{
    int64_t *edges = malloc(((size_t)n + 1) * sizeof *edges);
    for (uint32_t i = 0; edges && i <= n; i++)
        edges[i] = tt_timeline_tick_of(t, from_ns + i * bucket_ns);
    return edges;
}

uint32_t tt_strip_bucket(const tt_strip *s, int64_t at)
{
    uint32_t low = s->current;
    if (at >= s->edges[low] && at < s->edges[low + 1]) return low;
    if (low + 2 <= s->n && at >= s->edges[low + 1] && at < s->edges[low + 2]) return low + 1;
    /* the first edge after it */
    tt_lower_bound(low, s->n, s->edges[low] <= at);
    return low == 0 ? 0 : low - 1;
}

void tt_strip_end(tt_strip *s)
{
    tt_strip_cell *c = &s->cells[s->current];
    if (s->kinds_used == 0) return;
    /* If nothing worked, what only waited or began here gives the kind. */
    uint8_t best = s->first_kind;
    for (uint32_t i = 0; i < s->kinds_used; i++) {
        if (s->kind_ticks[i] == 0) continue;
        if (s->kind_ticks[i] > s->kind_ticks[best]) best = (uint8_t)i;
        c->category[s->kinds[i].category] += (float)s->kind_ticks[i];
    }
    /* A bucket that is revisited (ops that overlap) keeps its kind, unless most of it came now. */
    if (c->kind == TT_STRIP_NO_KIND || s->kind_ticks[best] > c->busy / 2) c->kind = best;
    memset(s->kind_ticks, 0, s->kinds_used * sizeof *s->kind_ticks);
    s->kinds_used = 0;
}

static tt_strip_cell *enter(tt_strip *s, uint32_t bucket)
{
    if (bucket != s->current) {
        tt_strip_end(s);
        s->current = bucket;
    }
    return &s->cells[bucket];
}

static void note_kind(tt_strip *s, uint8_t kind, uint64_t ticks)
{
    if (s->kinds_used == 0) s->first_kind = kind;
    s->kind_ticks[kind] += ticks;
    if (kind >= s->kinds_used) s->kinds_used = kind + 1u;
}

static bool add_interval(tt_strip *s, uint8_t kind, int64_t from, int64_t to, bool wait)
{
    if (from < s->edges[0]) from = s->edges[0];
    if (to > s->edges[s->n]) to = s->edges[s->n];
    if (from >= to) return true;
    for (uint32_t b = tt_strip_bucket(s, from); b < s->n && from < to; b++) {
        int64_t end = to < s->edges[b + 1] ? to : s->edges[b + 1];
        if (end <= from) continue; /* buckets narrower than a tick */
        if (s->steps_left == 0) return false;
        s->steps_left--;
        tt_strip_cell *c = enter(s, b);
        uint64_t ticks = (uint64_t)(end - from);
        *(wait ? &c->wait : &c->busy) += ticks;
        note_kind(s, kind, wait ? 0 : ticks);
        from = end;
    }
    return true;
}

bool tt_strip_add(tt_strip *s, uint8_t kind, const tt_lap *lap)
{
    if (lap->start >= s->edges[0] && lap->start < s->edges[s->n]) {
        uint32_t b = tt_strip_bucket(s, lap->start);
        tt_strip_cell *c = enter(s, b);
        c->count++;
        note_kind(s, kind, 0);
        s->steps_left++;
        if (lap->release <= s->edges[b + 1]) { /* nearly always */
            c->busy += (uint64_t)(lap->arrive - lap->start);
            c->wait += (uint64_t)(lap->release - lap->arrive);
            note_kind(s, kind, (uint64_t)(lap->arrive - lap->start));
            return true;
        }
    }
    return add_interval(s, kind, lap->start, lap->arrive, false) &&
           add_interval(s, kind, lap->arrive, lap->release, true);
}

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

/* The last known time of a run without an end: of its ops. */
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
        if (s->end < s->begin) s->end = INT64_MAX; /* damaged: may be anywhere */
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

/* A run goes into its context's last row, if that is free; else into the first free row. */
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
        /* Without an end, overlaps are unknown. */
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
        status = tt_timeline_sketch_new(t, m, err);
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
    tt_timeline_sketch_free(t->overview, t->n_rows * t->n_lanes);
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
    /* the first that begins at or after `to` */
    tt_lower_bound(low, t->n_spans, t->spans[low].begin < to);
    *end = low;
    /* the first that ends after it, or has an earlier one that does */
    tt_lower_bound(low, *end, t->spans[low].end_so_far < from);
    *first = low;
}

/* --- what ops are --- */

static const char *const categories[TT_TIMELINE_CATEGORIES] = {
    "input", "norm", "attention", "ffn", "ssm", "rwkv", "conv", "projector", "output", "other"};

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

/* The kind's index, added on demand; the last one collects those without room. */
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

/* Entries are permanent: threads that have held the lock since may read them without it. If a node
 * recurs with another number of covered nodes (which no engine does), the first entry is kept. */
static const tt_timeline_node *timeline_learn(const tt_timeline *t, const tt_model *m,
                                              uint32_t graph, const tt_piece_ops *p, tt_error *err)
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
                          uint64_t *orphan, tt_error *err)
{
    const tt_run *run = &m->runs[span->run];
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, run->id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        if (run->graph == TT_NONE || pieces[i].lane >= t->n_lanes) {
            *orphan += pieces[i].count;
            continue;
        }
        uint32_t track = span->row * t->n_lanes + pieces[i].lane;
        if (tracks && !tracks[track]) continue;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        const tt_timeline_node *nodes = timeline_learn(t, m, run->graph, &p, err);
        if (!nodes) return TT_E_MEMORY;
        status = visit(context, span, &p, nodes, track, err);
    }
    return status;
}

tt_status tt_timeline_walk(const tt_timeline *t, const tt_model *m, size_t first, size_t end,
                           int64_t from, const uint8_t *tracks, tt_timeline_visit *visit,
                           void *context, uint64_t *orphan, tt_error *err)
{
    for (size_t i = first; i < end; i++) {
        if (t->spans[i].end < from) continue;
        tt_status status = walk_run(t, m, &t->spans[i], tracks, visit, context, orphan, err);
        if (status != TT_OK) return status;
    }
    return TT_OK;
}
