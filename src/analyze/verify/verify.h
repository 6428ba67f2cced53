/* Checks that a trace is complete and consistent. */
#ifndef TT_ANALYZE_VERIFY_VERIFY_H
#define TT_ANALYZE_VERIFY_VERIFY_H

#include "model/model.h"

#include <stdint.h>

#define TT_CHECK_TEXT 400

typedef enum tt_verdict {
    TT_CHECK_PASSED,
    TT_CHECK_FAILED,
    TT_CHECK_NOT_OBSERVED /* the trace lacks the data for the check */
} tt_verdict;

typedef struct tt_check {
    const char *name; /* "graph-order" */
    const char *what; /* what it checks, one line */
    tt_verdict verdict;
    uint64_t examined;
    uint64_t offences;
    uint64_t offset_bytes;      /* of the first violation, or TT_NO_OFFSET */
    char detail[TT_CHECK_TEXT]; /* the first violation, or why it was not observed; of a check that
                                   passed: what it cannot tell; "": nothing */
    char examined_what[24];     /* the unit of `examined`: "records" */
} tt_check;

#define TT_CHECKS_MAX 24u

/* Called after each check with the checks done and the total. */
typedef void tt_verify_progress(void *context, uint64_t done, uint64_t total);

/* Runs every check; fills checks (room for TT_CHECKS_MAX) and their number. progress may be NULL.
 * Returns an error only if out of memory or if the file cannot be read. */
tt_status tt_verify(const tt_model *m, tt_check *checks, size_t *n, tt_verify_progress *progress,
                    void *context, tt_error *err);
/* "passed", "failed", "not observed" */
const char *tt_verdict_name(tt_verdict v);

#endif
