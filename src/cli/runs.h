/* Selects runs of a folder of experiments: --where. */
#ifndef TT_CLI_RUNS_H
#define TT_CLI_RUNS_H

#include "cli/input.h"
#include "cli/options.h"
#include "experiment/chosen.h"

#include <stdbool.h>
#include <stddef.h>

#define TT_WHERE_MAX 8u

/* The values of --where, which may be repeated. */
typedef struct tt_where {
    const char *list[TT_WHERE_MAX];
    size_t n;
} tt_where;

#define TT_WHERE_ABOUT                                                                             \
    "Of a folder of experiments, the runs that have it: domain=code, memory_limit=60% "            \
    "(experiment list --columns help); may be repeated"
/* The option, for options S with a tt_where. */
#define TT_WHERE(S, m, group)                                                                      \
    {                                                                                              \
        "where", 0, "COLUMN=VALUE", TT_WHERE_ABOUT, group, TT_TAKE(S, m, tt_where_take)            \
    }
tt_option_take tt_where_take;

/* Calls `show` for the input; with --where for each run that matches, with the input's path set to
 * its trace. Several are separated by a line with their folder, or are an array with --json; CSV is
 * rejected. Returns the first exit code that is not TT_EXIT_OK. */
int tt_runs_each(tt_input *input, const tt_where *where, bool csv, int (*show)(void *options),
                 void *options);

#endif
