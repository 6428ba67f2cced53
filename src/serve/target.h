/* The target in a request's first line: "/api/v1/traces/0/tensors?from=3". Pure: no input or
 * output. */
#ifndef TT_SERVE_TARGET_H
#define TT_SERVE_TARGET_H

#include "base/status.h"
#include "serve/request.h"

#include <stddef.h>

#define TT_TARGET_BYTES_MAX 8192u

typedef struct tt_target {
    char text[TT_TARGET_BYTES_MAX + 1]; /* the storage of everything below */
    /* Not unescaped: no served path needs escapes, and unknown ones are not found. */
    const char *path;
    uint32_t n_params;
    tt_param params[TT_REQUEST_PARAMS_MAX];
} tt_target;

/* TT_E_LIMIT if it is too long; TT_E_USAGE if it is malformed: a bad escape, a NUL, a duplicate
 * parameter, too many. */
tt_status tt_target_parse(tt_target *t, const char *text, size_t n, tt_error *err);

#endif
