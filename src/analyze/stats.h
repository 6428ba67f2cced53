/* Time and bytes of the executed ops, summed by a dimension.
 *
 * An op counts once, however many lanes computed it. Its time is from the first lane's start to the
 * end of the last lane's work, so times of one run's ops do not overlap. `busy` and `wait` are
 * summed over the lanes; `off_cpu` is the part of `busy` in which the threads were off CPU, the
 * rest their own work. By thread, a row's ops are the lane's records and time is the lane's own
 * work. */
#ifndef TT_ANALYZE_STATS_H
#define TT_ANALYZE_STATS_H

#include "analyze/filter.h"
#include "analyze/join.h"
#include "analyze/over.h"
#include "analyze/quantiles.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tt_stats_by {
    TT_BY_OP,
    TT_BY_LAYER,
    TT_BY_COMPONENT,
    TT_BY_CATEGORY,
    TT_BY_TENSOR, /* the weights an op reads; an op of two weights counts for both */
    TT_BY_THREAD,
    TT_BY_BATCH,
    TT_BY_PHASE,
    TT_BY_MODEL,
    TT_BY_CONTEXT
} tt_stats_by;

/* A row's share of some tokens. */
typedef struct tt_stats_cell {
    uint64_t ticks;        /* of the ops with an observed end */
    uint64_t weight_bytes; /* likewise */
} tt_stats_cell;

/* Further rows are only in a series' total. */
#define TT_STATS_SERIES_ROWS_MAX 4096u
#define TT_STATS_SERIES_BUCKETS_MAX 1024u

typedef struct tt_stats_row {
    const char *key; /* as text */
    int64_t number;  /* a layer, or of a thread, token or context; -1: none */
    /* Of a layer, tensor or model: tt_model_path and tt_model_label of its model. */
    const char *model_file, *model_label;
    uint64_t count;
    uint64_t timed; /* of these; the others have no observed end, and no times */
    uint64_t bent;  /* of the timed: their times fall, or are outside of their run */
    double total_ns, mean_ns, p50_ns, p95_ns, max_ns;
    double work_ns; /* own work: busy_ns minus the known off_cpu_ns and wait_inside_ns */
    double off_cpu_ns, wait_inside_ns; /* NAN if not observed for some op */
    double busy_ns, wait_ns;           /* wait_ns: NAN if waits were not observed */
    uint64_t weight_bytes;             /* read from weights */
    bool at_most;     /* an upper bound: some selected rows or experts are unknown */
    uint64_t sources; /* of the ops, for each read */
    uint64_t file_sources, buffer_sources; /* of these, by origin */
    uint32_t
        tensors; /* sources of different names; 0: not counted (rows by batch, phase, thread) */
    tt_stats_cell *series; /* with tt_stats_keep_series, by bucket; else NULL */
    /* Private: */
    tt_quantiles ticks;
    uint64_t busy_ticks, wait_ticks, off_cpu_ticks, inside_ticks;
    bool off_cpu_unknown, wait_unknown, inside_unknown;
    uint64_t timed_weight_bytes;
    bool done;
} tt_stats_row;

typedef struct tt_stats tt_stats;

/* NULL if out of memory. The filter is copied (its texts are not); NULL: everything. */
tt_stats *tt_stats_new(const tt_model *m, tt_stats_by by, const tt_filter *filter);
void tt_stats_free(tt_stats *s);

/* The batches of a series, in buckets: batch first + i (in tt_model.batches) is in the bucket i *
 * n_buckets / n_batches. */
typedef struct tt_stats_axis {
    uint32_t first;
    uint32_t n_batches;
    uint32_t n_buckets;
} tt_stats_axis;

/* Before the walk: rows and total also keep sums for each of at most n_buckets (1 to
 * TT_STATS_SERIES_BUCKETS_MAX) intervals of the batches from the filter's first to its last. Not by
 * token. False if out of memory. */
bool tt_stats_keep_series(tt_stats *s, uint32_t n_buckets);
const tt_stats_axis *tt_stats_series_axis(const tt_stats *s);
/* By bucket: the number of its batches that the filter selects. */
const uint32_t *tt_stats_series_batches(const tt_stats *s);
/* Pure: the batches from the filter's first to its last; no buckets if there are none. */
tt_stats_axis tt_stats_axis_of(const tt_model *m, const tt_filter *filter, uint32_t n_buckets);
/* The bucket of a batch (index in tt_model.batches), or TT_NONE. */
uint32_t tt_stats_bucket(const tt_stats_axis *axis, uint32_t batch);
/* The first batch of a bucket (<= n_buckets), as an index in tt_model.batches. */
uint32_t tt_stats_bucket_begin(const tt_stats_axis *axis, uint32_t bucket);

/* Called occasionally with the runs done and the total. */
typedef void tt_stats_progress(void *context, uint64_t done, uint64_t total);

/* Cancels a walk for s alone. */
void tt_stats_until(tt_stats *s, tt_over over);

/* Walks the trace once for all n of them. Needs a clock (tt_model_need_clock). */
tt_status tt_stats_walk(tt_stats *const *list, size_t n, const tt_model *m,
                        tt_stats_progress *progress, void *context, tt_error *err);

/* After the walk: the rows by number, then by key, then by model; several threads may read them.
 * They belong to s. */
const tt_stats_row *tt_stats_rows(const tt_stats *s, size_t *n);
/* All ops that passed the filter, each once, whatever the rows' dimension. */
const tt_stats_row *tt_stats_total(const tt_stats *s);
/* A warning about the total's times: ops without an end, and ops with impossible times. False:
 * none. `text` has room for TT_STATS_FLAWS_TEXT bytes. */
#define TT_STATS_FLAWS_TEXT 256u
bool tt_stats_flaws(const tt_stats_row *total, char *text);
/* Records without a known run, graph or node, left out. */
uint64_t tt_stats_orphan(const tt_stats *s);
/* Its share of the own work of `all`; 0 if there is none. */
double tt_stats_share(const tt_stats_row *r, const tt_stats_row *all);
/* Bytes of weights read by the timed ops / their time; 0 if either is 0. */
double tt_stats_rate(const tt_stats_row *r);

/* --- the rows' columns --- */

typedef struct tt_stats_dimension {
    const char *name; /* as on the command line: "op" */
    const char *key;  /* of the column that identifies a row: "op", "layer_id" */
    tt_stats_by by;
    const char *sort; /* the default order */
} tt_stats_dimension;

#define TT_STATS_DIMENSIONS 10u
extern const tt_stats_dimension tt_stats_dimensions[TT_STATS_DIMENSIONS];

/* Passed to the columns. */
typedef struct tt_stats_context {
    const tt_stats_row *total; /* for shares */
} tt_stats_context;

extern const tt_schema tt_stats_schema;
tt_rowset tt_stats_rowset(const tt_stats_context *x, tt_stats_by by, const tt_stats_row *rows,
                          size_t n);

#endif
