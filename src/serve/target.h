/* The target of a request, as it stands in its first line: "/api/v1/traces/0/tensors?from=3".
 * Pure: no input or output. */
#ifndef TT_SERVE_TARGET_H
#define TT_SERVE_TARGET_H

#include "base/status.h"
#include "serve/request.h"

#include <stddef.h>

#define TT_TARGET_BYTES_MAX 8192u

typedef struct tt_target {
    char text[TT_TARGET_BYTES_MAX + 1]; /* what all below points into */
    /* As it was sent: nothing that is served has a name with an escape in it, so none is undone,
     * and what is not on a list is not found. */
    const char *path;
    uint32_t n_params;
    tt_param params[TT_REQUEST_PARAMS_MAX];
} tt_target;

/* TT_E_LIMIT when it is too long; TT_E_USAGE when it is none, or its parameters cannot be told
 * apart: a bad escape, a NUL, one given twice, too many. */
tt_status tt_target_parse(tt_target *t, const char *text, size_t n, tt_error *err);

#endif
