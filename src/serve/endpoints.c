#include "serve/endpoint.h"

#include "serve/endpoints.h"
#include "serve/log_filter.h"
#include "serve/request_filter.h"

#define VALUES_PARAMS "name " TT_REQUEST_FILTER_PARAMS

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"buffers", true, tt_answer_buffers, "limit", false},
    {"buffers_curve", true, tt_answer_buffers_curve, "from_ns to_ns points", false},
    {"counters", true, tt_answer_counters, "from_ns to_ns buckets", false},
    {"diff", true, tt_answer_diff, "other threshold level", false},
    {"diff/pair", true, tt_answer_diff_pair, "other side token name name_b", false},
    {"diff/tokens", true, tt_answer_diff_tokens, "other threshold level", false},
    {"diff/values", true, tt_answer_diff_values, "other items", false},
    {"experts", true, tt_answer_experts, "token token_to phase", false},
    {"find", true, tt_answer_find, "q limit", false},
    {"graph", true, tt_answer_graph, "token run", false},
    {"graph/dot", true, tt_answer_graph_dot, "token run color collapse", false},
    {"graph/search", true, tt_answer_graph_search, "token run q", false},
    {"log/count", true, tt_answer_log_count, TT_LOG_FILTER_PARAMS, false},
    {"log/export", true, tt_answer_log_export, TT_LOG_FILTER_PARAMS " format", false},
    {"log/locate", true, tt_answer_log_locate, TT_LOG_FILTER_PARAMS " run node time_ns", false},
    {"log/rows", true, tt_answer_log_rows, TT_LOG_FILTER_PARAMS " first n", false},
    {"machine", false, tt_answer_machine, "measure threads", false},
    {"memory", true, tt_answer_memory, "", false},
    {"memory/faults", true, tt_answer_memory_faults, "token token_to phase layer op tensor", false},
    {"memory/heat", true, tt_answer_memory_heat, TT_REQUEST_FILTER_PARAMS, false},
    {"memory/region", true, tt_answer_memory_region, "region", false},
    {"memory/residency", true, tt_answer_memory_residency, "token_to to_ns", false},
    {"op", true, tt_answer_op, "run node", false},
    {"roofline", true, tt_answer_roofline, "", false},
    {"series", true, tt_answer_series, "by limit points with " TT_REQUEST_FILTER_PARAMS, false},
    {"state", true, tt_answer_state, "", true},
    {"stats", true, tt_answer_stats, "by limit sort " TT_REQUEST_FILTER_PARAMS, false},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {"timeline", true, tt_answer_timeline, "from_ns to_ns buckets tracks layer tensor layers",
     false},
    {"timeline/aggregate", true, tt_answer_timeline_aggregate, "from_ns to_ns tracks", false},
    {"timeline/overview", true, tt_answer_timeline_overview, "from_ns to_ns buckets", false},
    {"values", true, tt_answer_values, "", false},
    {"values/bad", true, tt_answer_values_bad, "", false},
    {"values/first", true, tt_answer_values_first, "", false},
    {"values/grid", true, tt_answer_values_grid, "place " VALUES_PARAMS, false},
    {"values/list", true, tt_answer_values_list, "which samples offset limit " VALUES_PARAMS,
     false},
    {"values/op", true, tt_answer_values_op, "run node", false},
    {0},
};
