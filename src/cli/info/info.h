/* How `tensortrace info` says to people what was collected. */
#ifndef TT_CLI_INFO_H
#define TT_CLI_INFO_H

#include "answer/info.h"

/* False when the output failed. */
bool tt_info_print_text(const tt_info *info, bool verbose);

/* Which batches the trace holds, when not all. */
void tt_info_choice_text(const tt_info *info);
/* What was captured besides the ops, and what became of memory. */
void tt_info_capture_text(const tt_info *info);
/* What the trace's bytes are. */
bool tt_info_content_text(const tt_info *info);
/* One line of text: what it is about, and the rest. */
void tt_info_line(const char *what, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
