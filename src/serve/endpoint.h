/* The endpoints of the API, one file api_NOUN.c each; docs/api-http.md describes them. */
#ifndef TT_SERVE_ENDPOINT_H
#define TT_SERVE_ENDPOINT_H

#include "base/status.h"
#include "serve/reply.h"
#include "serve/request.h"

/* Fills the reply. TT_E_USAGE becomes status 400, TT_E_NOT_FOUND 404, errors of the trace 422
 * (api.c), others 500. Called on worker threads, several at a time. */
typedef tt_status tt_answer(tt_request *q, tt_reply *r, tt_error *err);

typedef struct tt_endpoint {
    const char *name; /* below /api/v1/traces/ID/ for endpoints of a trace, else below /api/v1/ */
    bool of_trace;
    tt_answer *answer;
    /* Its parameters, separated by spaces; others are refused. `other` is the id of a second trace,
     * which the request then holds too. */
    const char *params;
    bool early; /* also answers while the trace cannot be read yet; it never gets a model */
} tt_endpoint;

/* All of them, by name (endpoints.c); ends with a NULL name. */
extern const tt_endpoint tt_endpoints[];

#endif
