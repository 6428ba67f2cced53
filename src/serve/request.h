/* What was asked: a trace, and typed parameters from the query string.
 *
 * A request belongs to one worker thread from the moment it is answered until its reply is sent. */
#ifndef TT_SERVE_REQUEST_H
#define TT_SERVE_REQUEST_H

#include "analyze/filter.h"
#include "analyze/over.h"
#include "model/model.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_REQUEST_PARAMS_MAX 32u

typedef struct tt_param {
    const char *name;
    const char *value; /* decoded; any bytes but NUL */
} tt_param;

/* A trace as it was at one moment (serve/generation.h). */
typedef struct tt_generation tt_generation;
/* All that are served (serve/traces.h). */
typedef struct tt_traces tt_traces;

typedef struct tt_request {
    tt_generation *source;       /* of the trace asked for; NULL where none is needed */
    tt_model *m;                 /* of the source, this request's own share: it may be walked */
    tt_generation *other_source; /* of the one named by the parameter `other`; NULL: none */
    tt_model *other;             /* likewise */
    uint32_t n_params;
    tt_param params[TT_REQUEST_PARAMS_MAX];
    tt_traces *traces;
    uint32_t trace_id, other_id;  /* TT_NONE: none */
    int client;                   /* the connection's descriptor; -1: none */
    const atomic_bool *is_ending; /* the server's; NULL: never */
} tt_request;

/* Whether nobody waits for the answer any more: the page asked for something newer, or was closed,
 * or the server ends. Long computations ask now and then (a system call), and return TT_E_IO. */
bool tt_request_is_over(const tt_request *q);
/* The same, for what walks on its behalf. */
tt_over tt_request_over(tt_request *q);

/* The value of a parameter, or NULL. */
const char *tt_request_text(const tt_request *q, const char *name);
/* Typed parameters. When it is not there *out gets `otherwise`. False, and *err says which
 * parameter must be what, when it is there and not a number in [least, most]. */
bool tt_request_u64(const tt_request *q, const char *name, uint64_t least, uint64_t most,
                    uint64_t otherwise, uint64_t *out, tt_error *err);
/* The op that the parameters run and node, which must be there, name. TT_E_NOT_FOUND when there is
 * no such run; whether there is such a node is not known yet. */
tt_status tt_request_op(const tt_request *q, uint32_t *run, uint32_t *node, tt_error *err);
bool tt_request_double(const tt_request *q, const char *name, double least, double most,
                       double otherwise, double *out, tt_error *err);
/* One of n names (`names` ends with NULL); *out gets its place. */
bool tt_request_choice(const tt_request *q, const char *name, const char *const *names,
                       size_t otherwise, size_t *out, tt_error *err);

/* The filter in a request's parameters: which ops it is about. The same names and meanings
 * everywhere. */

/* For tt_endpoint.params. token_to: the last of the tokens that begin with `token`; tensor: a
 * pattern of fnmatch; from_ns, to_ns: of ops' starts, since the trace's zero. */
#define TT_REQUEST_FILTER_PARAMS "batch batch_to phase layer op tensor from_ns to_ns"

/* Zero-filled and filled with what is there; texts are the request's. False, and *err says which
 * parameter must be what. */
bool tt_request_filter(const tt_request *q, tt_filter *out, tt_error *err);
/* Whether there is none of them. */
bool tt_request_is_unfiltered(const tt_request *q);

#endif
