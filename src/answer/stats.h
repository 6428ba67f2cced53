/* Time and bytes, summed up: `tensortrace stats --json`. */
#ifndef TT_ANSWER_STATS_H
#define TT_ANSWER_STATS_H

#include "analyze/stats.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is said of a walk. */
typedef struct tt_stats_view {
    const char *path; /* of the trace */
    const tt_model *m;
    const tt_stats_dimension *by;
    const tt_listing *rows;
    const tt_stats_row *total;
    uint64_t orphan;
} tt_stats_view;

/* One object. */
void tt_stats_json(tt_json *j, const tt_stats_view *v);
/* One object: the rows' sums bucket by bucket (tt_stats_keep_series), of the listed rows;
 * the others in one, "other". */
void tt_stats_series_json(tt_json *j, const tt_stats_view *v, const tt_stats *s);

#endif
