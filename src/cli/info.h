/* What `tensortrace info` shows, collected once and printed as text or JSON. */
#ifndef TT_CLI_INFO_H
#define TT_CLI_INFO_H

#include "analyze/content.h"
#include "analyze/stats.h"
#include "analyze/summary.h"
#include "base/json.h"
#include "model/model.h"

#include <stdbool.h>

typedef struct tt_info {
    const tt_model *m;
    const char *path;
    tt_summary summary;
    bool findings; /* the five below are there */
    tt_stats *by_category, *by_op, *by_tensor, *by_phase, *by_thread;
    tt_content content; /* without rows: not asked for */
} tt_info;

/* Reads the ops when `findings` is set: for the content, and, when the trace has a clock, for the
 * times. Free it with
 * tt_info_free also after a failure. */
tt_status tt_info_collect(tt_info *info, const tt_model *m, const char *path, bool findings,
                          tt_stats_progress *progress, void *context, tt_error *err);
void tt_info_free(tt_info *info);
/* False when the output failed. */
bool tt_info_print_text(const tt_info *info);
bool tt_info_print_json(const tt_info *info);

/* What was captured besides the ops, and what became of memory. */
void tt_info_capture_text(const tt_info *info);
void tt_info_capture_json(tt_json *j, const tt_info *info);
/* What the trace's bytes are. */
bool tt_info_content_text(const tt_info *info);
void tt_info_content_json(tt_json *j, const tt_info *info);
/* "same", "changed", "replaced", "removed"; NULL: the file was not looked at when recording
 * ended. */
const char *tt_info_end_state(const tt_model_file *f);
/* One line of text: what it is about, and the rest. */
void tt_info_line(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The trace's run id as 32 hex digits. */
void tt_info_run_id(const tt_info *info, char out[33]);
/* The row of that key, or NULL. */
const tt_stats_row *tt_info_row(tt_stats *s, const char *key);

#endif
