/* Time and bytes, summed up: `tensortrace stats --json`. */
#ifndef TT_ANSWER_STATS_H
#define TT_ANSWER_STATS_H

#include "analyze/stats.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What rows are by. */
typedef struct tt_stats_dimension {
    const char *name;
    const char *title; /* of its column in a table */
    const char *key;   /* what the row's key is called in JSON */
    bool number;       /* the key is a number in JSON */
    tt_stats_by by;
    tt_stats_sort sort; /* unless something else is asked for */
} tt_stats_dimension;

#define TT_STATS_DIMENSIONS 8u
extern const tt_stats_dimension tt_stats_dimensions[TT_STATS_DIMENSIONS];

/* Orders of rows, by name. */
typedef struct tt_stats_order {
    const char *name;
    tt_stats_sort sort;
} tt_stats_order;

#define TT_STATS_ORDERS 11u
extern const tt_stats_order tt_stats_orders[TT_STATS_ORDERS];

/* What is said of a walk. */
typedef struct tt_stats_view {
    const char *path; /* of the trace */
    const tt_model *m;
    const tt_stats_dimension *by;
    const tt_stats_row *rows; /* in the order in which they are to be said */
    size_t n_rows;
    uint64_t limit; /* rows; 0: all */
    const tt_stats_row *total;
    uint64_t stray;
} tt_stats_view;

/* One object. */
void tt_stats_json(tt_json *j, const tt_stats_view *v);
/* One object: the rows' sums bucket by bucket (tt_stats_keep_series), of the first `limit` rows;
 * the others in one, "other". */
void tt_stats_series_json(tt_json *j, const tt_stats_view *v, const tt_stats *s);

#endif
