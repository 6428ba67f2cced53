/* A graph as it was computed in one run, as columns: what the viewer draws. */
#ifndef TT_ANSWER_GRAPH_COLUMNS_H
#define TT_ANSWER_GRAPH_COLUMNS_H

#include "analyze/collapse.h"
#include "analyze/critical.h"
#include "base/json.h"

#include <stdbool.h>

/* More nodes and leafs than anybody looks at: to be refused before. */
#define TT_GRAPH_COLUMNS_MAX 150000u

/* One object: docs/api-http.md, "graph". False without memory; then what was put is not whole. */
bool tt_graph_columns_json(tt_json *j, const tt_collapse *c, const tt_critical *critical);

#endif
