/* Ops over time, lane by lane, for a drawing of a given width: ops at least as wide as a bucket of
 * time are single slices, others are merged per bucket, so that nothing vanishes and a drawing of
 * any trace has a few thousand items.
 *
 * Times are ns since the trace's zero (tt_model_ns). Records are clipped to buckets exactly: busy
 * and wait of all items of a window are those of the records in it. Buckets with many records (the
 * whole run at once) come from an overview, which is computed once; others from the records. */
#ifndef TT_ANALYZE_TIMELINE_TIMELINE_H
#define TT_ANALYZE_TIMELINE_TIMELINE_H

#include "analyze/over.h"
#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of buckets: of a drawing, of the overview per track, and of the overview in total (48
 * bytes each). */
#define TT_TILE_BUCKETS_MAX 8192u
#define TT_OVERVIEW_BUCKETS_MAX (1u << 18)
#define TT_OVERVIEW_CELLS_MAX (1u << 20)
/* Simultaneous computations that are distinguished; further ones are drawn in the last row. */
#define TT_TIMELINE_ROWS_MAX 8u
#define TT_TIMELINE_TRACKS_MAX (TT_TIMELINE_ROWS_MAX * (TT_OPS_LANE_MAX + 1u))
/* Kinds of ops distinguished in one trace; others are "(other)". */
#define TT_TIMELINE_KINDS_MAX 255u
/* Runs without a recorded end, for which it is searched in their ops. */
#define TT_TIMELINE_OPEN_RUNS_MAX 64u

/* The categories of tt_place, in the order of tt_timeline_category_name. */
#define TT_TIMELINE_CATEGORIES 10u

/* The kind of a drawing's items. */
typedef struct tt_timeline_kind {
    const char *op; /* "MUL_MAT", "RMS_NORM+MUL" */
    uint8_t category;
} tt_timeline_kind;

/* "input", "norm", "attention", "ffn", "ssm", ..., "other": the last one is for all others */
const char *tt_timeline_category_name(uint8_t category);

typedef struct tt_timeline tt_timeline;

/* Sorts the runs. *out is freed with tt_timeline_free; NULL on failure (TT_E_NOT_FOUND: no clock).
 * Any thread may use it, with its own share of the model. */
tt_status tt_timeline_new(const tt_model *m, tt_timeline **out, tt_error *err);
void tt_timeline_free(tt_timeline *t);

/* The start of the first run or batch, and the end of the last one. */
void tt_timeline_extent(const tt_timeline *t, double *from_ns, double *to_ns);
/* A track is a lane of one of the simultaneous computations: row r has the tracks r x n_lanes ..,
 * and further rows exist where computations overlap. */
uint32_t tt_timeline_tracks(const tt_timeline *t, uint32_t *n_lanes);
/* The track of that lane of a run (index in m->runs); TT_NONE: none. */
uint32_t tt_timeline_track_of(const tt_timeline *t, uint32_t run, uint32_t lane);
/* The width of an overview's bucket: a power of two; its buckets begin at multiples of it. */
double tt_timeline_bucket_ns(const tt_timeline *t);

/* Computes the overview for about that long (0: until it is complete). If another thread is
 * computing it, waits for that. */
tt_status tt_timeline_advance(const tt_timeline *t, const tt_model *m, uint64_t budget_ns,
                              tt_error *err);
/* Runs in the overview, and all; the overview is valid before *until_ns. */
void tt_timeline_progress(const tt_timeline *t, uint64_t *done, uint64_t *total, double *until_ns);
/* Records left out of the overview so far: of unknown runs, nodes or lanes. */
uint64_t tt_timeline_orphan(const tt_timeline *t);

/* All tracks together: the share of the lanes' time spent working or waiting, by bucket; -1 where
 * the overview is incomplete, and for waits that were not observed. */
tt_status tt_timeline_load(const tt_timeline *t, double from_ns, double to_ns, uint32_t n_buckets,
                           float *busy, float *wait, tt_error *err);

/* --- drawings --- */

typedef struct tt_tile_query {
    double from_ns, to_ns; /* finite, from < to */
    uint32_t n_buckets;    /* 1 .. TT_TILE_BUCKETS_MAX */
    const uint8_t *tracks; /* by track: wanted; NULL: all */
    bool has_layer;        /* ops to mark: */
    int32_t layer;
    /* A weight that they read, or the tensor they compute; NULL: none. With "[N]": ops that read
     * that expert of it (analyze/filter.h). */
    const char *tensor;
    bool layers; /* also list when each layer was computed */
} tt_tile_query;

#define TT_SLICE_OPEN 1u   /* its end was not observed: busy is 0, and wait, if waits are known */
#define TT_SLICE_MARKED 2u /* matches the query */
#define TT_SLICE_FUSED 4u  /* computes several nodes */

/* One op on one lane. */
typedef struct tt_tile_slice {
    double start_ns;
    double busy_ns; /* until it arrives at its barrier */
    double wait_ns; /* there; NAN: not observed, here and below */
    uint32_t run;   /* in tt_model.runs */
    uint32_t node;
    uint32_t name;   /* in tt_tile.names */
    uint32_t weight; /* in tt_model.weights: the first that it reads, or TT_NONE */
    int32_t layer_id;
    uint16_t track;
    uint8_t kind;
    uint8_t flags; /* TT_SLICE_* */
} tt_tile_slice;

/* All other ops in one bucket. */
typedef struct tt_tile_merged {
    uint32_t bucket;
    uint32_t count;  /* that begin in it */
    uint32_t marked; /* of these; 0 unless tt_tile.marks_known */
    uint16_t track;
    uint8_t kind;   /* that worked longest */
    double busy_ns; /* inside the bucket */
    double wait_ns;
    float category_ns[TT_TIMELINE_CATEGORIES]; /* parts of busy_ns */
} tt_tile_merged;

/* Consecutive layers on the first lane of a row: one, or as many as fill a bucket. */
typedef struct tt_tile_layer {
    double start_ns;
    double end_ns;
    uint32_t run;        /* in tt_model.runs */
    int32_t first, last; /* TT_LAYER_NONE: ops without a layer */
    uint32_t count;      /* changes of layer in it + 1 */
    uint16_t row;
} tt_tile_layer;

typedef struct tt_tile {
    double from_ns, to_ns;
    uint32_t n_buckets;
    bool from_overview;
    bool marks_known; /* slices and merged ones are marked */
    double until_ns;  /* later ops are not included yet; INFINITY: complete */
    uint64_t orphan;  /* records left out, of unknown lanes or nodes */
    tt_tile_slice *slices;
    tt_tile_merged *merged;
    tt_tile_layer *layers; /* only if computed from records */
    uint32_t n_slices, n_merged, n_layers;
    tt_timeline_kind *kinds; /* belong to the timeline */
    uint32_t n_kinds;
    const char **names; /* of tensors, belong to the model */
    uint32_t n_names;
    size_t slices_capacity, merged_capacity, layers_capacity, names_capacity; /* private */
} tt_tile;

/* Whether the drawing comes from the overview: it is as complete as that. */
bool tt_tile_from_overview(const tt_timeline *t, const tt_model *m, const tt_tile_query *q);
/* *tile is freed with tt_tile_free, also after an error. It comes from the overview if the buckets
 * are as wide as the overview's; then a bucket of it belongs where it begins. */
tt_status tt_tile_make(const tt_timeline *t, const tt_model *m, const tt_tile_query *q,
                       tt_tile *tile, tt_error *err);
void tt_tile_free(tt_tile *tile);

/* --- exact sums over a selection of time and tracks --- */

typedef struct tt_timeline_sum {
    uint8_t kind;
    uint64_t count; /* ops on lanes that overlap it */
    double busy_ns; /* inside of it, like all of these */
    double wait_ns;
    double weight_bytes; /* read by those of these ops that begin in it; a lane's share each */
    bool at_most;        /* the rows or experts that some of them read are not known here */
} tt_timeline_sum;

typedef struct tt_timeline_sums {
    tt_timeline_sum *list; /* the busiest first */
    uint32_t n;
    tt_timeline_sum total;
    double first_ns, last_ns; /* start of the first and the last op in it; if count is not 0 */
    tt_timeline_kind *kinds;
    uint32_t n_kinds;
} tt_timeline_sums;

/* tracks: as in a tile query. Reads all records of the window; `over` may be NULL. *sums is freed
 * with tt_timeline_sums_free, also after an error. */
tt_status tt_timeline_aggregate(const tt_timeline *t, const tt_model *m, double from_ns,
                                double to_ns, const uint8_t *tracks, const tt_over *over,
                                tt_timeline_sums *sums, tt_error *err);
void tt_timeline_sums_free(tt_timeline_sums *sums);

/* --- along a track --- */

typedef struct tt_timeline_step {
    uint32_t run; /* in tt_model.runs, or TT_NONE: none */
    uint32_t node;
    double start_ns;
    double end_ns; /* its release; NAN: not observed */
} tt_timeline_step;

/* The previous and the next op on its lane. */
tt_status tt_timeline_neighbours(const tt_timeline *t, const tt_model *m, uint32_t run,
                                 uint32_t node, uint32_t lane, tt_timeline_step *before,
                                 tt_timeline_step *behind, tt_error *err);

#endif
