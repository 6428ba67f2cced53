/* The two sides of a comparison as runs of a folder of experiments. */
#ifndef TT_CLI_DIFF_RUNS_H
#define TT_CLI_DIFF_RUNS_H

#include "cli/runs.h"

#include <stddef.h>

typedef struct tt_diff_runs {
    tt_chosen_runs a, b; /* own the paths */
} tt_diff_runs;

/* A: the runs of the folder that match all of `where`. B: those that match all of `against`, and of
 * `where` the other columns. Each side must be repeats of one prompt, because diff takes
 * differences within a side for noise. Fills paths (room for TT_DIFF_FILES_MAX) with those of A,
 * then of B. TT_EXIT_OK; else the reason was printed. *runs is freed with tt_diff_runs_free in
 * every case. */
int tt_diff_runs_find(tt_diff_runs *runs, const char *folder, const tt_where *where,
                      const tt_where *against, const char **paths, size_t *n_a, size_t *n_b);
void tt_diff_runs_free(tt_diff_runs *runs);

#endif
