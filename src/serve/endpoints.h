/* What stands in the table of endpoints; each is described in docs/api-http.md. */
#ifndef TT_SERVE_ENDPOINTS_H
#define TT_SERVE_ENDPOINTS_H

#include "serve/endpoint.h"

tt_answer tt_answer_graph, tt_answer_graph_dot, tt_answer_graph_search;
tt_answer tt_answer_index, tt_answer_state, tt_answer_summary, tt_answer_tensors;

#endif
