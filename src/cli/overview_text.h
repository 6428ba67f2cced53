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
/* Parts of total_ns, with the usual ones unless `usual` is NULL or not known. */
bool tt_parts_print(const tt_model *m, const tt_why_part *parts, size_t n, double total_ns,
                    const tt_usual_value *usual);
/* A heading and a list of sentences; nothing if there are none. */
void tt_sentences_print(const char *heading, const tt_sentences *texts);

#endif
