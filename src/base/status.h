/* Errors as values: a code, a place and a sentence. */
#ifndef TT_BASE_STATUS_H
#define TT_BASE_STATUS_H

#include <stdarg.h>
#include <stdint.h>

typedef enum tt_status {
    TT_OK = 0,
    TT_E_IO,          /* the operating system refused; message names the file and why */
    TT_E_FORMAT,      /* bytes that break the format's rules */
    TT_E_TRUNCATED,   /* the input ends before what it announces */
    TT_E_CHECKSUM,    /* stored and computed checksum differ */
    TT_E_LIMIT,       /* larger than a named limit allows */
    TT_E_MEMORY,      /* out of memory */
    TT_E_UNSUPPORTED, /* valid, but newer or other than this build knows */
    TT_E_USAGE,       /* the caller's words are off */
    TT_E_NOT_FOUND,   /* the named thing is not there */
    TT_E_EXISTS       /* the named thing is there and would be overwritten */
} tt_status;

/* Offset of an error that has no place in a file. */
#define TT_NO_OFFSET UINT64_MAX

typedef struct tt_error {
    tt_status status;
    uint64_t offset;   /* byte offset in the input, or TT_NO_OFFSET */
    char message[320]; /* what, where, what to do; no trailing newline */
} tt_error;

/* Fills *err (NULL is allowed: only the status is returned) and returns status,
 * so that a failing function can end in `return tt_error_set(err, ...)`. */
tt_status tt_error_set(tt_error *err, tt_status status, uint64_t offset, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A short name of the code ("truncated"), never NULL. Static storage. */
const char *tt_status_name(tt_status status);

#endif
