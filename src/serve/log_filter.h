/* The filter of the log's rows in a request: the common filter, and more. */
#ifndef TT_SERVE_LOG_FILTER_H
#define TT_SERVE_LOG_FILTER_H

#include "analyze/filter.h"
#include "serve/request.h"

/* For the endpoint's row: */
#define TT_LOG_FILTER_PARAMS                                                                       \
    TT_REQUEST_FILTER_PARAMS " text thread origin min_duration_ns max_duration_ns lanes"

/* Its texts belong to the request. False: *err names the parameter and what it must be. */
bool tt_log_filter_of(const tt_request *q, tt_filter *f, bool *by_lane, tt_error *err);

#endif
