/* Any row of the log under a filter, without walking to it: how many rows there are, and places to
 * start from, some thousand rows apart.
 *
 * An index is made piece by piece (tt_log_index_extend), so that whoever asks sees how far it is,
 * and what was counted so far can be used already. Its memory does not grow with the trace beyond
 * TT_LOG_PLACES_MAX places. One thread at a time. */
#ifndef TT_ANALYZE_LOG_INDEX_H
#define TT_ANALYZE_LOG_INDEX_H

#include "analyze/filter.h"
#include "analyze/log/log_cursor.h"
#include "analyze/log/log_survey.h"

#include <stdbool.h>
#include <stdint.h>

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
