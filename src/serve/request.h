/* What was asked: a trace, and typed parameters from the query string.
 *
 * A request belongs to one worker thread from the moment it is answered until its reply is sent. */
#ifndef TT_SERVE_REQUEST_H
#define TT_SERVE_REQUEST_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_REQUEST_PARAMS_MAX 32u

typedef struct tt_param {
    const char *name;
    const char *value; /* decoded; any bytes but NUL */
} tt_param;

typedef struct tt_source tt_source;

typedef struct tt_request {
    tt_source *source;       /* the trace asked for; NULL where none is needed */
    tt_model *m;             /* of the source, this worker's own share: it may be walked */
    tt_source *other_source; /* named by the parameter `other`; NULL: none */
    tt_model *other;         /* likewise */
    uint32_t n_params;
    tt_param params[TT_REQUEST_PARAMS_MAX];
} tt_request;

/* The value of a parameter, or NULL. */
const char *tt_request_text(const tt_request *q, const char *name);
/* Typed parameters. When it is not there *out gets `otherwise`. False, and *err says which
 * parameter must be what, when it is there and not a number in [least, most]. */
bool tt_request_u64(const tt_request *q, const char *name, uint64_t least, uint64_t most,
                    uint64_t otherwise, uint64_t *out, tt_error *err);
bool tt_request_double(const tt_request *q, const char *name, double least, double most,
                       double otherwise, double *out, tt_error *err);
/* One of n names (`names` ends with NULL); *out gets its place. */
bool tt_request_choice(const tt_request *q, const char *name, const char *const *names,
                       size_t otherwise, size_t *out, tt_error *err);

#endif
