/* Errors as values: a code, an offset and a sentence. */
#ifndef TT_BASE_STATUS_H
#define TT_BASE_STATUS_H

#include <tensortrace/types.h>

/* Fills *err (if not NULL) and returns status, so that a failing function can end in `return
 * tt_error_set(err, ...)`. */
tt_status tt_error_set(tt_error *err, tt_status status, uint64_t offset, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The error for failed allocations: "no memory for WHAT". Returns TT_E_MEMORY. */
tt_status tt_error_memory(tt_error *err, const char *what);

#endif
