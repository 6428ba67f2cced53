/* Shared by the parts of `tensortrace crossval`. */
#ifndef TT_CLI_CROSSVAL_H
#define TT_CLI_CROSSVAL_H

#include "analyze/dumps/stages.h"
#include "base/outfile.h"
#include "cli/report.h"
#include "cli/runlog.h"
#include "crossval/settings.h"
#include "crossval/summary.h"
#include "runner/token_ids.h"

#include <limits.h>
#include <stdbool.h>

#define TT_CV_PATH (PATH_MAX + 128)

typedef struct tt_crossval {
    tt_crossval_settings settings;
    tt_crossval_summary summary;
    tt_stages *stages[2]; /* of the sides */
    tt_outdir folder;
    char output[PATH_MAX]; /* the final path of the folder */
    tt_log log;
} tt_crossval;

/* Checks every file that the settings name, and fills in summary.sides. Errors go to
 * *diagnostics. */
void tt_crossval_check(tt_crossval *x, tt_diagnostics *diagnostics);

/* The input of both sides: the prompt, then `taken`; and the number of choices: one after the
 * prompt and one after each computed token. The last of n taken tokens is not computed. */
typedef struct tt_cv_tokens {
    tt_token_ids prompt, taken;
    int64_t n;
} tt_cv_tokens;

/* The computed part of `taken`; nothing to free. */
tt_token_ids tt_cv_tokens_fed(const tt_cv_tokens *t);

/* A scenario that is being run. */
typedef struct tt_cv_scenario {
    tt_crossval *x;
    const tt_crossval_scenario *settings;
    tt_crossval_end *end;
    char folder[TT_CV_PATH];
    tt_cv_tokens tokens;
    tt_token_ids chosen[2]; /* n 0: unknown */
    tt_progress progress;
} tt_cv_scenario;

/* The path of a side's file: "a" and ".log". */
void tt_cv_path(const tt_cv_scenario *c, char out[TT_CV_PATH], size_t side, const char *suffix);
/* The path of a side's values: its trace, or folder of records. */
void tt_cv_values_path(const tt_cv_scenario *c, char out[TT_CV_PATH], size_t side);
/* The text with the folder's temporary name replaced by its final one, for later readers;
 * malloc'ed, NULL: out of memory. */
char *tt_cv_retained(const tt_crossval *x, const char *text);
/* Marks the scenario as failed, by that side (0, 1) or by none (2). Always false. */
bool tt_cv_fail(tt_cv_scenario *c, size_t side, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs a side's program; `leads`: it chooses what to generate. False: it failed, which was
 * reported, or was interrupted. */
bool tt_cv_side_run(tt_cv_scenario *c, size_t side, bool leads);
/* The input and choices of a side, after its run: from its trace, or the runner's output. The
 * leader's become the input of both. */
bool tt_cv_tokens_read(tt_cv_scenario *c, size_t side, bool leads);
/* Those of the settings. */
bool tt_cv_tokens_given(tt_cv_scenario *c);
/* "1,2,3"; malloc'ed, NULL: out of memory. */
char *tt_cv_tokens_text(const tt_token_ids *first, const tt_token_ids *second);
void tt_cv_tokens_free(tt_cv_scenario *c);

/* Compares the two sides, and writes diff.json and diff.txt. */
bool tt_cv_compare(tt_cv_scenario *c);

/* Runs one scenario, by its number in the settings. */
void tt_crossval_scenario_run(tt_crossval *x, size_t number);

#endif
