/* A summary of each run for the log, independent of the filter: its ops, and the times of the first
 * and the last. Read once per run, on demand; then a filter by names, layers etc. is counted
 * without reading the run's records. One thread at a time. */
#ifndef TT_ANALYZE_LOG_INDEX_H
#define TT_ANALYZE_LOG_INDEX_H

#include "analyze/filter.h"
#include "analyze/log/log.h"
#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of the kept sets of ops. Nearly all runs of a graph execute the same ops; runs with other
 * sets beyond these limits are read for each filter. */
#define TT_LOG_SETS_MAX 4096u
#define TT_LOG_SETS_BYTES_MAX ((size_t)32 << 20)

/* Ops of a graph that a run executed. */
typedef struct tt_log_set {
    uint32_t graph;
    uint32_t n;
    uint32_t *nodes;
    uint8_t *covers; /* by node */
} tt_log_set;

typedef struct tt_log_surveyed {
    uint64_t first_ticks; /* start of its first op and of its last one; both 0 if there are none */
    uint64_t last_ticks;
    uint32_t set; /* TT_NONE: not kept */
    uint32_t n;   /* ops */
} tt_log_surveyed;

typedef struct tt_log_survey tt_log_survey;

/* NULL if out of memory. */
tt_log_survey *tt_log_survey_new(const tt_model *m);
void tt_log_survey_free(tt_log_survey *s);
/* The runs (in m->runs) in the order of their start. */
const uint32_t *tt_log_survey_order(const tt_log_survey *s);
/* The run at that position of the order; m is the model of the survey, or a share of it. Adds the
 * records read to *work. NULL on failure, which is not kept. */
const tt_log_surveyed *tt_log_survey_run(tt_log_survey *s, const tt_model *m, uint32_t position,
                                         uint64_t *work, tt_error *err);
/* Valid until the next tt_log_survey_run. */
const tt_log_set *tt_log_survey_set(const tt_log_survey *s, uint32_t set);
uint32_t tt_log_survey_sets(const tt_log_survey *s);

/* Random access to the rows of a log under a filter: their number, and saved positions some
 * thousand rows apart.
 *
 * An index is built step by step (tt_log_index_extend), so that progress is visible and the rows
 * counted so far are usable. Its memory is bounded by TT_LOG_PLACES_MAX positions. One thread at a
 * time. */

/* Limit of saved positions: above it their distance is doubled. */
#define TT_LOG_PLACES_MAX 65536u
/* Open runs over all saved positions. */
#define TT_LOG_ACTIVE_MAX (1u << 20)

typedef struct tt_log_index tt_log_index;

typedef struct tt_log_count {
    uint64_t rows;      /* counted so far */
    uint32_t runs_done; /* examined */
    uint32_t runs;      /* total */
    bool done;          /* all readable rows have been counted */
    tt_error ended_by;  /* if done: TT_OK, or why later rows cannot be read */
} tt_log_count;

/* For the rows that tt_log_walk visits. The survey must be of m, and outlive it; the filter's texts
 * are copied. *out is freed with tt_log_index_free; NULL on failure. */
tt_status tt_log_index_new(const tt_model *m, tt_log_survey *survey, const tt_filter *filter,
                           bool by_lane, tt_log_index **out, tt_error *err);
void tt_log_index_free(tt_log_index *x);
const tt_filter *tt_log_index_filter(const tt_log_index *x);

/* Continues counting, for about `work` records; m is the survey's model or a share of it.
 * Unreadable data ends the index and is no failure. */
tt_status tt_log_index_extend(tt_log_index *x, const tt_model *m, uint64_t work, tt_error *err);
void tt_log_index_count(const tt_log_index *x, tt_log_count *out);

/* Moves the cursor (of the same model or a share of it, filter, by_lane and order) to before the
 * row, which must have been counted. */
tt_status tt_log_index_seek(const tt_log_index *x, tt_log_cursor *c, uint64_t row, tt_error *err);
/* tt_log_cursor_step from after row `row` - 1 to the next row, skipping runs without rows; *more is
 * false if no counted row follows. */
tt_status tt_log_index_next(const tt_log_index *x, tt_log_cursor *c, uint64_t row, bool *more,
                            tt_error *err);

/* The row of the op at `node` (or of a fused op that covers it) in the run (index in m->runs):
 * *row, and *found. If it is not among the rows counted so far, *row is where it would be. With
 * rows by lane: that of the first lane. */
tt_status tt_log_index_locate_op(const tt_log_index *x, const tt_model *m, uint32_t run,
                                 uint32_t node, uint64_t *row, bool *found, tt_error *err);
/* The first row that begins at or after the time (of m's clock); the number of rows if none. */
tt_status tt_log_index_locate_time(const tt_log_index *x, const tt_model *m, double ns,
                                   uint64_t *row, tt_error *err);

#endif
