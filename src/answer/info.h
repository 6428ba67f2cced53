/* The contents of a trace, and findings: `tensortrace info --json`. */
#ifndef TT_ANSWER_INFO_H
#define TT_ANSWER_INFO_H

#include "analyze/buffers.h"
#include "analyze/content.h"
#include "analyze/stats.h"
#include "analyze/summary.h"
#include "base/json.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>

typedef struct tt_info {
    const tt_model *m;
    const char *path;
    tt_summary summary;
    tt_buffers_peak peaks[TT_BUFFER_KINDS]; /* by tt_buffer_kind */
    bool findings;                          /* the five members below are set */
    tt_stats *by_category, *by_op, *by_tensor, *by_phase, *by_thread;
    tt_content content; /* without rows unless requested */
} tt_info;

/* If `findings` is set, reads the ops for the content and, when the trace has a clock, for the
 * times. Free it with tt_info_free, also after a failure. */
tt_status tt_info_collect(tt_info *info, const tt_model *m, const char *path, bool findings,
                          tt_stats_progress *progress, void *context, tt_error *err);
void tt_info_free(tt_info *info);
/* Writes one object. */
void tt_info_json(tt_json *j, const tt_info *info);
/* Kinds of the two below: what `info` shows, and the viewer. */
enum { TT_INFO_COMMAND = 1, TT_INFO_VIEWER = 2 };
extern const tt_schema tt_info_count_schema; /* for a tt_info with `m` and `summary` */
extern const tt_schema tt_info_file_schema;  /* for a tt_model_file; context: its tt_model */

#define TT_INFO_CAPTURES 9u
/* The environment's value of capture_NAME. */
typedef struct tt_info_capture {
    const char *name;
    const char *state;  /* "on", "off", "not observed"; NULL: not in the trace */
    const char *reason; /* with "not observed" */
    const char *asked;  /* for values that are on: as in `run --values`; else NULL */
} tt_info_capture;
/* i < TT_INFO_CAPTURES */
tt_info_capture tt_info_find_capture(const tt_model *m, unsigned i);
/* "same", "changed", "replaced", "removed"; NULL: the file was not checked when recording ended. */
const char *tt_info_end_state(const tt_model_file *f);
/* The trace's run id as 32 hex digits. */
void tt_info_run_id(const tt_info *info, char out[33]);
/* The row with that key, or NULL. */
const tt_stats_row *tt_info_row(tt_stats *s, const char *key);

#endif
