/* A request: a trace, and typed parameters from the query string.
 *
 * A request belongs to one worker thread until its reply is sent. */
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

/* A trace at one time (serve/generation.h). */
typedef struct tt_generation tt_generation;
/* All served traces (serve/traces.h). */
typedef struct tt_traces tt_traces;

typedef struct tt_request {
    tt_generation *source;       /* of the requested trace; NULL if none is needed */
    tt_model *m;                 /* this request's own share of the source, for walks */
    tt_generation *other_source; /* of the trace in the parameter `other`; NULL: none */
    tt_model *other;             /* likewise */
    uint32_t n_params;
    tt_param params[TT_REQUEST_PARAMS_MAX];
    tt_traces *traces;
    uint32_t trace_id, other_id;  /* TT_NONE: none */
    int client;                   /* the connection's descriptor; -1: none */
    const atomic_bool *is_ending; /* the server's; NULL: never */
    bool keeps_notes;             /* changes of notes are allowed */
    const char *body;             /* of a change; NULL: none */
    size_t body_size;
} tt_request;

/* Whether the client is gone (the page sent a newer request, or was closed) or the server ends.
 * Long computations poll this (a system call) and return TT_E_IO. */
bool tt_request_is_over(const tt_request *q);
/* Likewise, as a callback of walks. */
tt_over tt_request_over(tt_request *q);

/* The value of a parameter, or NULL. */
const char *tt_request_text(const tt_request *q, const char *name);
/* Typed parameters. *out gets `otherwise` if it is missing. False if it is no number in [least,
 * most]: *err names the parameter and the limits. */
bool tt_request_u64(const tt_request *q, const char *name, uint64_t least, uint64_t most,
                    uint64_t otherwise, uint64_t *out, tt_error *err);
/* The op in the required parameters run and node. TT_E_NOT_FOUND if there is no such run; the node
 * is not checked. */
tt_status tt_request_op(const tt_request *q, uint32_t *run, uint32_t *node, tt_error *err);
bool tt_request_double(const tt_request *q, const char *name, double least, double most,
                       double otherwise, double *out, tt_error *err);
/* A layer as tt_layer_read has it: TT_LAYER_NONE if it is not given. */
bool tt_request_layer(const tt_request *q, bool *given, int32_t *layer, tt_error *err);
/* One of n names (`names` ends with NULL); *out gets its index. */
bool tt_request_choice(const tt_request *q, const char *name, const char *const *names,
                       size_t otherwise, size_t *out, tt_error *err);

/* The filter of ops in a request's parameters, with the same names and meanings for all
 * endpoints. */

/* For tt_endpoint.params. token_to: the last of the tokens from `token` on; tensor: a pattern of
 * fnmatch; from_ns, to_ns: of ops' starts, since the trace's origin. */
#define TT_REQUEST_FILTER_PARAMS "batch batch_to phase layer op tensor from_ns to_ns model context"

/* Clears it and sets the given parameters; texts belong to the request. False: *err names the
 * parameter and what it must be. */
bool tt_request_filter(const tt_request *q, tt_filter *out, tt_error *err);
/* Whether it is empty. */
bool tt_request_is_unfiltered(const tt_request *q);

#endif
