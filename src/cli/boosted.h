/* The counters of a boosted program: their memory, which it shares, and what is printed at its end.
 */
#ifndef TT_CLI_BOOSTED_H
#define TT_CLI_BOOSTED_H

#include "base/json.h"
#include "boost/report.h"

#include <stdbool.h>

/* Makes the memory, which stays mapped until the process ends, and names it in the environment of
 * programs that are started from now on. Nothing is left in a file system. NULL: errno says why. */
tt_boost_report *tt_boosted_report_new(void);

/* Prints on stderr what is to be known. quiet: only what went wrong. failed: so did the built-in
 * runner, which said why. */
void tt_boosted_report_print(const tt_boost_report *b, bool quiet, bool failed);
/* In a process that `tensortrace boost` has started: writes a member "boost" of the open object,
 * null if the hook library was not loaded. */
void tt_boosted_report_json(tt_json *j);

#endif
