/* What the log of a trace has of each run, whatever the filter: which ops, and between which times.
 * Looked up once a run, when it is asked for; then a filter by names, layers and the like is
 * counted without reading the run's records. One thread at a time. */
#ifndef TT_ANALYZE_LOG_INDEX_H
#define TT_ANALYZE_LOG_INDEX_H

#include "analyze/filter.h"
#include "analyze/log/log.h"
#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of ops that are kept, and their memory. Runs of the same graph nearly always execute the
 * same; what has a set of its own beyond these is read for each filter. */
#define TT_LOG_SETS_MAX 4096u
#define TT_LOG_SETS_BYTES_MAX ((size_t)32 << 20)

/* Ops of a graph that a run executed. */
typedef struct tt_log_set {
    uint32_t graph;
    uint32_t n;
    uint32_t *nodes;
    uint8_t *covers; /* by the nodes' places */
} tt_log_set;

typedef struct tt_log_surveyed {
    uint64_t first_ticks; /* start of its first op and of its last one; both 0 without any */
    uint64_t last_ticks;
    uint32_t set; /* TT_NONE: not kept */
    uint32_t n;   /* ops */
} tt_log_surveyed;

typedef struct tt_log_survey tt_log_survey;

/* NULL without memory. */
tt_log_survey *tt_log_survey_new(const tt_model *m);
void tt_log_survey_free(tt_log_survey *s);
/* The runs (in m->runs) in the order in which they began. */
const uint32_t *tt_log_survey_order(const tt_log_survey *s);
/* The run at that place of the order; m is the model it was made for, or a share of it. *work grows
 * by what had to be read, in records. NULL on failure, which is not kept. */
const tt_log_surveyed *tt_log_survey_run(tt_log_survey *s, const tt_model *m, uint32_t position,
                                         uint64_t *work, tt_error *err);
/* Valid until the next tt_log_survey_run. */
const tt_log_set *tt_log_survey_set(const tt_log_survey *s, uint32_t set);
uint32_t tt_log_survey_sets(const tt_log_survey *s);

/* Any row of the log under a filter, without walking to it: how many rows there are, and places to
 * start from, some thousand rows apart.
 *
 * An index is made piece by piece (tt_log_index_extend), so that whoever asks sees how far it is,
 * and what was counted so far can be used already. Its memory does not grow with the trace beyond
 * TT_LOG_PLACES_MAX places. One thread at a time. */

/* Places kept at once: when there would be more, they are put twice as far apart. */
#define TT_LOG_PLACES_MAX 65536u
/* Runs under way that all places together remember. */
#define TT_LOG_ACTIVE_MAX (1u << 20)

typedef struct tt_log_index tt_log_index;

typedef struct tt_log_count {
    uint64_t rows;      /* counted so far */
    uint32_t runs_done; /* looked at */
    uint32_t runs;      /* in all */
    bool done;          /* these are all rows that can be read */
    tt_error ended_by;  /* when done: TT_OK, or what keeps rows behind these from being read */
} tt_log_count;

/* Of the rows that tt_log_walk visits. The survey is of m, and outlives it; the filter's texts are
 * copied. *out is freed with tt_log_index_free; NULL on failure. */
tt_status tt_log_index_new(const tt_model *m, tt_log_survey *survey, const tt_filter *filter,
                           bool by_lane, tt_log_index **out, tt_error *err);
void tt_log_index_free(tt_log_index *x);
const tt_filter *tt_log_index_filter(const tt_log_index *x);

/* Counts on, for about `work` records read; m is the survey's model or a share of it. What cannot
 * be read ends the index and is no failure. */
tt_status tt_log_index_extend(tt_log_index *x, const tt_model *m, uint64_t work, tt_error *err);
void tt_log_index_count(const tt_log_index *x, tt_log_count *out);

/* Moves the cursor (of the same model or a share of it, filter, by_lane and order) in front of the
 * row, which was counted. */
tt_status tt_log_index_seek(const tt_log_index *x, tt_log_cursor *c, uint64_t row, tt_error *err);
/* tt_log_cursor_step from behind row `row` - 1 on to the next row, past runs that are known to have
 * none; *more is false when there is no row that was counted. */
tt_status tt_log_index_next(const tt_log_index *x, tt_log_cursor *c, uint64_t row, bool *more,
                            tt_error *err);

/* The row of the op at `node` (also one that a fused op covers) of the run (in m->runs): *row, and
 * *found. When it is not among the rows counted so far, *row is where it would stand. With rows by
 * lane: that of the first lane. */
tt_status tt_log_index_locate_op(const tt_log_index *x, const tt_model *m, uint32_t run,
                                 uint32_t node, uint64_t *row, bool *found, tt_error *err);
/* The first row that begins at or after the time (of m's clock); the number of rows when none. */
tt_status tt_log_index_locate_time(const tt_log_index *x, const tt_model *m, double ns,
                                   uint64_t *row, tt_error *err);

#endif
