/* The filter in a request's parameters: which ops it is about. The same names and meanings
 * everywhere. */
#ifndef TT_SERVE_REQUEST_FILTER_H
#define TT_SERVE_REQUEST_FILTER_H

#include "analyze/filter.h"
#include "serve/request.h"

/* For tt_endpoint.params. token_to: the last of the tokens that begin with `token`; tensor: a
 * pattern of fnmatch; from_ns, to_ns: of ops' starts, since the trace's zero. */
#define TT_REQUEST_FILTER_PARAMS "token token_to phase layer op tensor from_ns to_ns"

/* Zero-filled and filled with what is there; texts are the request's. False, and *err says which
 * parameter must be what. */
bool tt_request_filter(const tt_request *q, tt_filter *out, tt_error *err);
/* Whether there is none of them. */
bool tt_request_is_unfiltered(const tt_request *q);

#endif
