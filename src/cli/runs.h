/* Which runs of a folder of experiments a command is about: --where. */
#ifndef TT_CLI_RUNS_H
#define TT_CLI_RUNS_H

#include "cli/input.h"
#include "cli/options.h"
#include "experiment/chosen.h"

#include <stdbool.h>
#include <stddef.h>

#define TT_WHERE_MAX 8u

/* What --where said, each time it was given. */
typedef struct tt_where {
    const char *list[TT_WHERE_MAX];
    size_t n;
} tt_where;

#define TT_WHERE_ABOUT                                                                             \
    "Of a folder of experiments, the runs that have it: domain=code, memory_limit=60% "            \
    "(experiment list --columns help); may be repeated"
/* The option, of options S with a tt_where. */
#define TT_WHERE(S, m, group)                                                                      \
    {                                                                                              \
        "where", 0, "COLUMN=VALUE", TT_WHERE_ABOUT, group, TT_TAKE(S, m, tt_where_take)            \
    }
tt_option_take tt_where_take;

/* Calls `show` for the input; with --where for each run that has it, with the input's path set to
 * its trace. Several are told apart by a line with their folder, or are an array with --json; as
 * CSV they are refused. Returns the first exit code that is not TT_EXIT_OK. */
int tt_runs_each(tt_input *input, const tt_where *where, bool csv, int (*show)(void *options),
                 void *options);

#endif
