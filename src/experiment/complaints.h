/* Everything that is wrong with an input, so that it can be told at once. */
#ifndef TT_EXPERIMENT_COMPLAINTS_H
#define TT_EXPERIMENT_COMPLAINTS_H

#include "base/status.h"

#include <stddef.h>

/* No more are kept; the others are counted. */
#define TT_COMPLAINTS_MAX 50u

/* Zero-filled is empty. */
typedef struct tt_complaints {
    char *texts[TT_COMPLAINTS_MAX];
    size_t n; /* found; the first TT_COMPLAINTS_MAX are kept */
} tt_complaints;

/* A sentence. Control bytes, of a name in the input, become '?'. */
void tt_complain(tt_complaints *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The next sentence from *at on, which begins at 0; NULL behind the last. */
const char *tt_complaints_next(const tt_complaints *c, size_t *at);
/* TT_E_USAGE: how many complaints there are behind the first `before`. */
tt_status tt_complaints_error(const tt_complaints *c, size_t before, const char *name,
                              tt_error *err);
void tt_complaints_free(tt_complaints *c);

#endif
