/* How `tensortrace info` prints what was collected, for people. */
#ifndef TT_CLI_INFO_H
#define TT_CLI_INFO_H

#include "answer/info.h"

/* False if the output failed. */
bool tt_info_print_text(const tt_info *info, bool verbose);

/* Which batches the trace has, if not all. */
void tt_info_choice_text(const tt_info *info);
/* What was captured besides the ops, and what happened to memory. */
void tt_info_capture_text(const tt_info *info);
/* What the trace's bytes are for. */
bool tt_info_content_text(const tt_info *info);
/* One line of text: a label, and the rest. */
void tt_info_line(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
