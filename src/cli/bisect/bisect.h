/* The builds of `bisect`: found, and run. */
#ifndef TT_CLI_BISECT_BISECT_H
#define TT_CLI_BISECT_BISECT_H

#include "analyze/bisect.h"
#include "base/outfile.h"
#include "cli/runner_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_BISECT_BUILDS_MAX 256u

typedef struct tt_bisect_plan {
    const tt_runner_args *runner; /* every run's, apart from the engine and the tokens */
    const tt_outdir *folder;      /* for the traces */
    uint32_t runs;                /* that are measured, of each build */
    uint64_t timeout_ns;          /* of a run; 0: none */
} tt_bisect_plan;

/* Adds the engine in `dir`, or all in folders directly below it, in the order of their versions.
 * TT_E_NOT_FOUND: there is none. */
tt_status tt_bisect_find(tt_bisect *x, const char *dir, tt_error *err);

/* Runs every build once with values, then in rounds that alternate their order; all compute the
 * tokens that the first one that works has chosen. Fills builds' runs and values, or why a build
 * was refused. Traces are "NN-NAME/values.ttrace" and "NN-NAME/run-N.ttrace" in the folder, what
 * the programs printed in "NN-NAME/messages.txt". After a signal to end (tt_interrupted) builds
 * have the runs that were done; without any they are refused. */
tt_status tt_bisect_run(tt_bisect *x, const tt_bisect_plan *plan, tt_error *err);

#endif
