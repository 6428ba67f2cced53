#include "serve/endpoint.h"

#include "serve/endpoints.h"
#include "serve/log_filter.h"

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"log/count", true, tt_answer_log_count, TT_LOG_FILTER_PARAMS, false},
    {"log/export", true, tt_answer_log_export, TT_LOG_FILTER_PARAMS " format", false},
    {"log/locate", true, tt_answer_log_locate, TT_LOG_FILTER_PARAMS " run node time_ns", false},
    {"log/rows", true, tt_answer_log_rows, TT_LOG_FILTER_PARAMS " first n", false},
    {"state", true, tt_answer_state, "", true},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {0},
};
