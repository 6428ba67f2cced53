#include "serve/endpoint.h"

#include "serve/endpoints.h"

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"counters", true, tt_answer_counters, "from_ns to_ns buckets", false},
    {"diff", true, tt_answer_diff, "other threshold level", false},
    {"diff/pair", true, tt_answer_diff_pair, "other side token name name_b", false},
    {"diff/tokens", true, tt_answer_diff_tokens, "other threshold level", false},
    {"op", true, tt_answer_op, "run node", false},
    {"state", true, tt_answer_state, "", true},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {"timeline", true, tt_answer_timeline, "from_ns to_ns buckets tracks layer tensor layers",
     false},
    {"timeline/aggregate", true, tt_answer_timeline_aggregate, "from_ns to_ns tracks", false},
    {"timeline/overview", true, tt_answer_timeline_overview, "from_ns to_ns buckets", false},
    {0},
};
