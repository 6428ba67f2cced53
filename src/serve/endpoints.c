#include "serve/endpoint.h"

#include "serve/endpoints.h"

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"diff", true, tt_answer_diff, "other threshold level", false},
    {"diff/pair", true, tt_answer_diff_pair, "other side token name name_b", false},
    {"diff/tokens", true, tt_answer_diff_tokens, "other threshold level", false},
    {"state", true, tt_answer_state, "", true},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {0},
};
