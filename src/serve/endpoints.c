#include "serve/endpoint.h"

#include "serve/endpoints.h"
#include "serve/log_filter.h"
#include "serve/request_filter.h"

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"memory", true, tt_answer_memory, "", false},
    {"memory/faults", true, tt_answer_memory_faults, "token token_to phase layer op tensor", false},
    {"memory/heat", true, tt_answer_memory_heat, TT_REQUEST_FILTER_PARAMS, false},
    {"memory/region", true, tt_answer_memory_region, "region", false},
    {"memory/residency", true, tt_answer_memory_residency, "token_to to_ns", false},
    {"buffers", true, tt_answer_buffers, "limit", false},
    {"buffers_curve", true, tt_answer_buffers_curve, "from_ns to_ns points", false},
    {"experts", true, tt_answer_experts, "token token_to phase", false},
    {"machine", false, tt_answer_machine, "measure threads", false},
    {"roofline", true, tt_answer_roofline, "", false},
    {"series", true, tt_answer_series, "by limit points " TT_REQUEST_FILTER_PARAMS, false},
    {"find", true, tt_answer_find, "q limit", false},
    {"log/count", true, tt_answer_log_count, TT_LOG_FILTER_PARAMS, false},
    {"log/export", true, tt_answer_log_export, TT_LOG_FILTER_PARAMS " format", false},
    {"log/locate", true, tt_answer_log_locate, TT_LOG_FILTER_PARAMS " run node time_ns", false},
    {"log/rows", true, tt_answer_log_rows, TT_LOG_FILTER_PARAMS " first n", false},
    {"state", true, tt_answer_state, "", true},
    {"stats", true, tt_answer_stats, "by limit sort " TT_REQUEST_FILTER_PARAMS, false},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {0},
};
