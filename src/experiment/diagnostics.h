/* Collects all errors in an input, to report them at once. */
#ifndef TT_EXPERIMENT_DIAGNOSTICS_H
#define TT_EXPERIMENT_DIAGNOSTICS_H

#include "base/status.h"

#include <stddef.h>

/* Further ones are counted but not kept. */
#define TT_DIAGNOSTICS_MAX 50u

/* Zero-initialised is empty. */
typedef struct tt_diagnostics {
    char *texts[TT_DIAGNOSTICS_MAX];
    size_t n; /* all found; the first TT_DIAGNOSTICS_MAX are kept */
} tt_diagnostics;

/* Adds a sentence. Control bytes, as in a name of the input, become '?'. */
void tt_diagnose(tt_diagnostics *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The next sentence from *at on, which starts at 0; NULL after the last. */
const char *tt_diagnostics_next(const tt_diagnostics *c, size_t *at);
/* TT_E_USAGE: the number of diagnostics after the first `before`. */
tt_status tt_diagnostics_error(const tt_diagnostics *c, size_t before, const char *name,
                               tt_error *err);
void tt_diagnostics_free(tt_diagnostics *c);

#endif
