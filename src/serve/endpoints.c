#include "serve/endpoint.h"

#include "serve/endpoints.h"
#include "serve/log_filter.h"
#include "serve/request.h"

/* Faults outside of ops are of no op. */
#define PAGES_FILTER "batch batch_to phase layer tensor from_ns to_ns"

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"buffers", true, tt_answer_buffers, "limit", false},
    {"buffers_curve", true, tt_answer_buffers_curve, "from_ns to_ns points", false},
    {"counters", true, tt_answer_counters, "from_ns to_ns buckets", false},
    {"diff", true, tt_answer_diff, "other threshold level", false},
    {"diff/pair", true, tt_answer_diff_pair, "other side batch name name_b", false},
    {"diff/tokens", true, tt_answer_diff_tokens, "other threshold level", false},
    {"diff/values", true, tt_answer_diff_values, "other items", false},
    {"experts", true, tt_answer_experts, "batch batch_to phase", false},
    {"find", true, tt_answer_find, "q limit", false},
    {"graph", true, tt_answer_graph, "batch run", false},
    {"graph/dot", true, tt_answer_graph_dot, "batch run color collapse", false},
    {"graph/search", true, tt_answer_graph_search, "batch run q", false},
    {"log/count", true, tt_answer_log_count, TT_LOG_FILTER_PARAMS, false},
    {"log/export", true, tt_answer_log_export, TT_LOG_FILTER_PARAMS " format", false},
    {"log/locate", true, tt_answer_log_locate, TT_LOG_FILTER_PARAMS " run node time_ns", false},
    {"log/rows", true, tt_answer_log_rows, TT_LOG_FILTER_PARAMS " first n", false},
    {"machine", false, tt_answer_machine, "measure threads", false},
    {"memory", true, tt_answer_memory, "", false},
    {"memory/faults", true, tt_answer_memory_faults, "batch batch_to phase layer op tensor", false},
    {"memory/heat", true, tt_answer_memory_heat, TT_REQUEST_FILTER_PARAMS, false},
    {"memory/loading", true, tt_answer_memory_loading, "", false},
    {"memory/loading/bins", true, tt_answer_memory_loading_bins, "spans", false},
    {"memory/pages", true, tt_answer_memory_pages, PAGES_FILTER, false},
    {"memory/pages/bins", true, tt_answer_memory_pages_bins, "spans " PAGES_FILTER, false},
    {"memory/pages/faults", true, tt_answer_memory_pages_faults, "spans limit " PAGES_FILTER,
     false},
    {"memory/region", true, tt_answer_memory_region, "region", false},
    {"memory/residency", true, tt_answer_memory_residency, "batch_to to_ns", false},
    {"op", true, tt_answer_op, "run node", false},
    {"roofline", true, tt_answer_roofline, "", false},
    {"series", true, tt_answer_series, "by limit points with " TT_REQUEST_FILTER_PARAMS, false},
    {"state", true, tt_answer_state, "", true},
    {"stats", true, tt_answer_stats, "by columns limit sort " TT_REQUEST_FILTER_PARAMS, false},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {"timeline", true, tt_answer_timeline, "from_ns to_ns buckets tracks layer tensor layers",
     false},
    {"timeline/aggregate", true, tt_answer_timeline_aggregate, "from_ns to_ns tracks", false},
    {"timeline/overview", true, tt_answer_timeline_overview, "from_ns to_ns buckets", false},
    {"values", true, tt_answer_values, "", false},
    {"values/bad", true, tt_answer_values_bad, "", false},
    {"values/first", true, tt_answer_values_first, "", false},
    {"values/grid", true, tt_answer_values_grid, "place name " TT_REQUEST_FILTER_PARAMS, false},
    {"values/list", true, tt_answer_values_list,
     "which name samples offset limit " TT_REQUEST_FILTER_PARAMS, false},
    {"values/op", true, tt_answer_values_op, "run node", false},
    {0},
};
