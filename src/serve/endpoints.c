#include "serve/endpoint.h"

#include "serve/endpoints.h"

const tt_endpoint tt_endpoints[] = {
    {"", false, tt_answer_index, "", false},
    {"graph", true, tt_answer_graph, "token run", false},
    {"graph/dot", true, tt_answer_graph_dot, "token run color collapse", false},
    {"graph/search", true, tt_answer_graph_search, "token run q", false},
    {"state", true, tt_answer_state, "", true},
    {"summary", true, tt_answer_summary, "", false},
    {"tensors", true, tt_answer_tensors, "", false},
    {0},
};
