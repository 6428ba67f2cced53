/* Everything that is wrong with an input, so that it can be reported at once. */
#ifndef TT_EXPERIMENT_DIAGNOSTICS_H
#define TT_EXPERIMENT_DIAGNOSTICS_H

#include "base/status.h"

#include <stddef.h>

/* No more are kept; the others are counted. */
#define TT_DIAGNOSTICS_MAX 50u

/* Zero-filled is empty. */
typedef struct tt_diagnostics {
    char *texts[TT_DIAGNOSTICS_MAX];
    size_t n; /* found; the first TT_DIAGNOSTICS_MAX are kept */
} tt_diagnostics;

/* A sentence. Control bytes, of a name in the input, become '?'. */
void tt_diagnose(tt_diagnostics *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The next sentence from *at on, which begins at 0; NULL behind the last. */
const char *tt_diagnostics_next(const tt_diagnostics *c, size_t *at);
/* TT_E_USAGE: how many diagnostics there are behind the first `before`. */
tt_status tt_diagnostics_error(const tt_diagnostics *c, size_t before, const char *name,
                               tt_error *err);
void tt_diagnostics_free(tt_diagnostics *c);

#endif
