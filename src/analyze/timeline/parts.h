/* What the files of the timeline share. Private to them. */
#ifndef TT_ANALYZE_TIMELINE_PARTS_H
#define TT_ANALYZE_TIMELINE_PARTS_H

#include "analyze/timeline/timeline.h"

#include <pthread.h>

/* --- time, in ticks since the trace's zero --- */

typedef struct tt_lap {
    int64_t start, arrive, release; /* in that order */
} tt_lap;

/* --- intervals of time added up in buckets --- */

#define TT_STRIP_NO_KIND 0xffu

typedef struct tt_strip_cell {
    uint64_t busy, wait; /* ticks */
    uint32_t count;
    uint8_t kind; /* that worked longest; TT_STRIP_NO_KIND: nothing began or worked here */
    float category[TT_TIMELINE_CATEGORIES]; /* of busy; not yet of the bucket under way */
} tt_strip_cell;

/* One track's. Zero-filled, with the five first set, it is ready; the caller frees the cells. */
typedef struct tt_strip {
    tt_strip_cell *cells;
    const int64_t *edges; /* n + 1, ascending */
    uint32_t n;
    const tt_timeline_kind *kinds;
    uint64_t steps_left; /* buckets that may still be walked: many only where ops overlap */
    /* Private: */
    uint32_t current; /* the bucket of kind_ticks */
    uint64_t kind_ticks[TT_TIMELINE_KINDS_MAX + 1];
    uint8_t first_kind;  /* of what began, worked or waited there; TT_STRIP_NO_KIND: nothing did */
    uint32_t kinds_used; /* of it: the highest + 1 */
} tt_strip;

/* Steps that an array of n buckets gets: enough for one op behind the other. */
#define TT_STRIP_STEPS(n) (16u * (uint64_t)(n) + (1u << 20))

/* n + 1 edges of buckets from from_ns on; NULL without memory. */
int64_t *tt_strip_edges(const tt_timeline *t, double from_ns, double bucket_ns, uint32_t n);
/* The bucket that holds the moment, the first or last one when it is outside. */
uint32_t tt_strip_bucket(const tt_strip *s, int64_t at);
/* Adds an op, clipped to the buckets; it counts where it begins, when that is inside. False: there
 * were no steps left, and some of its time is missing. */
bool tt_strip_add(tt_strip *s, uint8_t kind, const tt_lap *lap);
/* Writes down what is known of the bucket under way. */
void tt_strip_end(tt_strip *s);

/* --- the timeline --- */

/* A run that may have op records. */
typedef struct tt_timeline_span {
    uint32_t run;
    uint32_t row;
    int64_t begin, end; /* end: INT64_MAX when it is not known */
    int64_t end_so_far; /* the latest of this and all spans before it */
} tt_timeline_span;

/* What is the same each time a node is executed. */
typedef struct tt_timeline_node {
    uint64_t weight_bytes;
    uint32_t last;   /* node of the graph: the last one that the op computes */
    uint32_t weight; /* the first that it reads, or TT_NONE */
    int32_t layer_id;
    uint8_t covers;
    uint8_t kind;
    bool known, at_most;
} tt_timeline_node;

typedef struct tt_overview {
    pthread_mutex_t lock;
    tt_strip *strips; /* by track */
    int64_t *edges;
    uint32_t n_buckets;
    double origin_ns, bucket_ns;
    size_t next; /* span */
    uint64_t orphan;
} tt_overview;

typedef struct tt_timeline_kinds {
    pthread_mutex_t lock;
    tt_timeline_kind list[TT_TIMELINE_KINDS_MAX];
    uint32_t n;
    tt_timeline_node **nodes; /* by graph, by node; NULL until met */
    uint32_t n_graphs;
} tt_timeline_kinds;

struct tt_timeline {
    uint64_t zero_ticks;
    double ns_per_tick;
    bool waits_known;        /* how long lanes waited; of all computations */
    tt_timeline_span *spans; /* by begin */
    size_t n_spans;
    uint32_t *row_of_run; /* + 1; 0: none */
    uint32_t n_runs;
    uint32_t n_rows, n_lanes;
    int64_t begin, end;
    tt_timeline_kinds *kinds;
    tt_overview *overview;
};

/* Ticks are kept in these bounds, whatever a damaged trace says: differences of two fit. */
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

/* The first tick at or behind that time. */
int64_t tt_timeline_tick_of(const tt_timeline *t, double ns);

/* Record i of a piece. What a damaged trace says may not ascend; then it has no length. */
tt_lap tt_timeline_lap(const tt_timeline *t, const tt_piece_ops *p, size_t i);

/* The spans that may have time in [from, to): first .. end - 1, of which those that end before
 * `from` are to be passed over. */
void tt_timeline_spans(const tt_timeline *t, int64_t from, int64_t to, size_t *first, size_t *end);

/* A copy of the kinds so far; NULL without memory. */
tt_timeline_kind *tt_timeline_kinds_copy(const tt_timeline *t, uint32_t *n);

/* Called with each piece of the runs in spans[first .. end) that end behind `from`, of wanted
 * tracks. An error ends the walk. */
typedef tt_status tt_timeline_visit(void *context, const tt_timeline_span *span,
                                    const tt_piece_ops *p, const tt_timeline_node *nodes,
                                    uint32_t track, tt_error *err);
/* *orphan grows by the records of runs and lanes that are not known. */
tt_status tt_timeline_walk(const tt_timeline *t, const tt_model *m, size_t first, size_t end,
                           int64_t from, const uint8_t *tracks, tt_timeline_visit *visit,
                           void *context, uint64_t *orphan, tt_error *err);

/* timeline.c */
tt_status tt_overview_new(tt_timeline *t, const tt_model *m, tt_error *err);
void tt_overview_free(tt_overview *o, uint32_t n_tracks);

/* tile.c; false without memory. */
bool tt_tile_add_merged(tt_tile *tile, tt_tile_merged merged);
tt_status tt_tile_of_overview(const tt_timeline *t, const tt_tile_query *q, tt_tile *tile,
                              tt_error *err);

#endif
