/* Shared by the timeline's files; private to them. */
#ifndef TT_ANALYZE_TIMELINE_PARTS_H
#define TT_ANALYZE_TIMELINE_PARTS_H

#include "analyze/timeline/timeline.h"

#include <pthread.h>

/* --- time, in ticks since the trace's zero --- */

typedef struct tt_lap {
    int64_t start, arrive, release; /* in that order */
} tt_lap;

/* --- intervals of time, summed in buckets --- */

#define TT_STRIP_NO_KIND 0xffu

typedef struct tt_strip_cell {
    uint64_t busy, wait; /* ticks */
    uint32_t count;
    uint8_t kind; /* that worked longest; TT_STRIP_NO_KIND: nothing began or worked here */
    float category[TT_TIMELINE_CATEGORIES]; /* of busy; not yet of the current bucket */
} tt_strip_cell;

/* Of one track. Zero-filled, with the first five members set, it is ready; the caller frees the
 * cells. */
typedef struct tt_strip {
    tt_strip_cell *cells;
    const int64_t *edges; /* n + 1, ascending */
    uint32_t n;
    const tt_timeline_kind *kinds;
    uint64_t steps_left; /* bucket visits left: many are needed only where ops overlap */
    /* Private: */
    uint32_t current; /* the bucket of kind_ticks */
    uint64_t kind_ticks[TT_TIMELINE_KINDS_MAX + 1];
    uint8_t first_kind;  /* of anything that began, worked or waited there; TT_STRIP_NO_KIND:
                            nothing */
    uint32_t kinds_used; /* the highest kind + 1 */
} tt_strip;

/* Steps for an array of n buckets: enough for ops that do not overlap. */
#define TT_STRIP_STEPS(n) (16u * (uint64_t)(n) + (1u << 20))

/* n + 1 edges of buckets from from_ns on; NULL if out of memory. */
int64_t *tt_strip_edges(const tt_timeline *t, double from_ns, double bucket_ns, uint32_t n);
/* The bucket of the time; the first or last one if it is outside. */
uint32_t tt_strip_bucket(const tt_strip *s, int64_t at);
/* Adds an op, clipped to the buckets; it is counted where it begins, if that is inside. False: no
 * steps were left, and some of its time is missing. */
bool tt_strip_add(tt_strip *s, uint8_t kind, const tt_lap *lap);
/* Completes the current bucket. */
void tt_strip_end(tt_strip *s);

/* --- the timeline --- */

/* A run that may have op records. */
typedef struct tt_timeline_span {
    uint32_t run;
    uint32_t row;
    int64_t begin, end; /* end: INT64_MAX if unknown */
    int64_t end_so_far; /* the latest of this and all earlier spans */
} tt_timeline_span;

/* What is the same for each execution of a node. */
typedef struct tt_timeline_node {
    uint64_t weight_bytes;
    uint32_t last;   /* node of the graph: the last one that the op computes */
    uint32_t weight; /* the first that it reads, or TT_NONE */
    int32_t layer_id;
    uint8_t covers;
    uint8_t kind;
    bool known, at_most;
} tt_timeline_node;

typedef struct tt_timeline_sketch {
    pthread_mutex_t lock;
    tt_strip *strips; /* by track */
    int64_t *edges;
    uint32_t n_buckets;
    double origin_ns, bucket_ns;
    size_t next; /* span */
    uint64_t orphan;
} tt_timeline_sketch;

typedef struct tt_timeline_kinds {
    pthread_mutex_t lock;
    tt_timeline_kind list[TT_TIMELINE_KINDS_MAX];
    uint32_t n;
    tt_timeline_node **nodes; /* by graph, by node; NULL until needed */
    uint32_t n_graphs;
} tt_timeline_kinds;

struct tt_timeline {
    uint64_t zero_ticks;
    double ns_per_tick;
    bool waits_known;        /* how long lanes waited; for all computations */
    tt_timeline_span *spans; /* by start */
    size_t n_spans;
    uint32_t *row_of_run; /* + 1; 0: none */
    uint32_t n_runs;
    uint32_t n_rows, n_lanes;
    int64_t begin, end;
    tt_timeline_kinds *kinds;
    tt_timeline_sketch *overview;
};

/* Limits of ticks, whatever a damaged trace contains: differences of two fit. */
#define TT_TIMELINE_TICK_MAX ((int64_t)1 << 60)

static inline int64_t tt_timeline_tick(const tt_timeline *t, uint64_t ticks)
{
    int64_t tick = (int64_t)(ticks - t->zero_ticks);
    if (tick > TT_TIMELINE_TICK_MAX) return TT_TIMELINE_TICK_MAX;
    return tick < -TT_TIMELINE_TICK_MAX ? -TT_TIMELINE_TICK_MAX : tick;
}

static inline double tt_timeline_ns(const tt_timeline *t, int64_t tick)
{
    return (double)tick * t->ns_per_tick;
}

/* The first tick at or after that time. */
int64_t tt_timeline_tick_of(const tt_timeline *t, double ns);

/* Record i of a piece. If a damaged trace's times fall, its duration is 0. */
tt_lap tt_timeline_lap(const tt_timeline *t, const tt_piece_ops *p, size_t i);

/* The spans that may overlap [from, to): first .. end - 1; skip those that end before `from`. */
void tt_timeline_spans(const tt_timeline *t, int64_t from, int64_t to, size_t *first, size_t *end);

/* A copy of the kinds so far; NULL if out of memory. */
tt_timeline_kind *tt_timeline_kinds_copy(const tt_timeline *t, uint32_t *n);

/* Called with each piece of the runs in spans[first .. end) that end after `from`, for the wanted
 * tracks. An error ends the walk. */
typedef tt_status tt_timeline_visit(void *context, const tt_timeline_span *span,
                                    const tt_piece_ops *p, const tt_timeline_node *nodes,
                                    uint32_t track, tt_error *err);
/* Adds to *orphan the records of unknown runs and lanes. */
tt_status tt_timeline_walk(const tt_timeline *t, const tt_model *m, size_t first, size_t end,
                           int64_t from, const uint8_t *tracks, tt_timeline_visit *visit,
                           void *context, uint64_t *orphan, tt_error *err);

/* timeline.c */
tt_status tt_timeline_sketch_new(tt_timeline *t, const tt_model *m, tt_error *err);
void tt_timeline_sketch_free(tt_timeline_sketch *o, uint32_t n_tracks);

/* tile.c; false if out of memory. */
bool tt_tile_add_merged(tt_tile *tile, tt_tile_merged merged);
tt_status tt_tile_of_overview(const tt_timeline *t, const tt_tile_query *q, tt_tile *tile,
                              tt_error *err);

#endif
