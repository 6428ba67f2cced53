#include "analyze/timeline/timeline_parts.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#define LOOK_AT_CLOCK_EVERY 16u /* runs */
#define BUCKETS_MIN 1024u

/* Buckets a track: no more than the trace has records to fill them with. */
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

tt_status tt_overview_new(tt_timeline *t, const tt_model *m, tt_error *err)
{
    const uint32_t n_tracks = t->n_rows * t->n_lanes, most = wanted_buckets(t, m);
    tt_overview *o = calloc(1, sizeof *o);
    if (!o) return tt_error_memory(err, "the timeline's overview");
    t->overview = o;
    (void)pthread_mutex_init(&o->lock, NULL);
    double from, to;
    tt_timeline_extent(t, &from, &to);
    /* One more than the span needs: it may begin inside of a bucket. */
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

void tt_overview_free(tt_overview *o, uint32_t n_tracks)
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
    tt_overview *o = a->t->overview;
    tt_strip *s = &o->strips[track];
    (void)err;
    for (size_t i = 0; i < p->n; i++) {
        if (p->node[i] >= n_nodes) {
            o->orphan++;
            continue;
        }
        tt_lap lap = tt_timeline_lap(a->t, p, i);
        /* What a damaged trace places outside of its runs is shown at the edge. */
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
    tt_overview *o = t->overview;
    adding a = {t, m};
    tt_status status = TT_OK;
    /* From before the lock: of requests that come together, none waits for the budgets of all. */
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
    tt_overview *o = t->overview;
    (void)pthread_mutex_lock(&o->lock);
    *done = o->next;
    *total = t->n_spans;
    *until_ns = o->next == t->n_spans ? INFINITY : tt_timeline_ns(t, t->spans[o->next].begin);
    (void)pthread_mutex_unlock(&o->lock);
}

uint64_t tt_timeline_orphan(const tt_timeline *t)
{
    tt_overview *o = t->overview;
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
    tt_overview *o = t->overview;
    const double width = (to_ns - from_ns) / n_buckets;
    const uint32_t n_tracks = t->n_rows * t->n_lanes;
    double *sums = calloc((size_t)n_buckets * 2, sizeof *sums);
    if (!sums) return tt_error_memory(err, "the timeline's overview");
    (void)pthread_mutex_lock(&o->lock);
    for (uint32_t i = 0; i < o->n_buckets; i++) {
        /* A bucket of the overview may be wider than one that is asked for: share it out. */
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
