#include "serve/endpoint.h"

#include "serve/endpoints.h"

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"memory", true, tt_answer_memory, "", false},
    {"memory/faults", true, tt_answer_memory_faults, "token_first token_last layer op", false},
    {"memory/heat", true, tt_answer_memory_heat, "token_first token_last from_ns to_ns layer op",
     false},
    {"memory/region", true, tt_answer_memory_region, "region", false},
    {"memory/residency", true, tt_answer_memory_residency, "token_last to_ns", false},
    {"state", true, tt_answer_state, "", true},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {0},
};
