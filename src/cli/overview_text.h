/* The run at a glance as text: of `why` and `info`. */
#ifndef TT_CLI_OVERVIEW_TEXT_H
#define TT_CLI_OVERVIEW_TEXT_H

#include "analyze/overview.h"

#include <stdbool.h>
#include <stddef.h>

/* All of these print on standard output; false if it failed or memory ran out. */
bool tt_overview_print(const tt_overview *o);
/* Where the time went, the slowest tokens, and other findings. */
bool tt_overview_print_brief(const tt_overview *o);
/* Its parts, of total_ns; `compared`: with the usual. */
bool tt_parts_print(const tt_why_part *parts, size_t n, double total_ns, bool compared);
/* A heading and a list of sentences; nothing if there are none. */
void tt_sentences_print(const char *heading, const tt_sentences *texts);

#endif
