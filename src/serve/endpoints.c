#include "serve/endpoint.h"

#include "serve/endpoints.h"

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"state", true, tt_answer_state, "", true},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {0},
};
