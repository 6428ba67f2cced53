/* Sums of time and bytes: `tensortrace stats --json`. */
#ifndef TT_ANSWER_STATS_H
#define TT_ANSWER_STATS_H

#include "analyze/stats.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result of a walk, to be written. */
typedef struct tt_stats_view {
    const char *path; /* of the trace */
    const tt_model *m;
    const tt_stats_dimension *by;
    const tt_listing *rows;
    const tt_stats_row *total;
    uint64_t orphan;
} tt_stats_view;

/* Writes one object. */
void tt_stats_json(tt_json *j, const tt_stats_view *v);
/* Writes one object: the sums of the listed rows per bucket (tt_stats_keep_series), and of all
 * others as "other". */
void tt_stats_series_json(tt_json *j, const tt_stats_view *v, const tt_stats *s);

#endif
