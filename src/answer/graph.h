/* A graph as it was computed in one run, as JSON. */
#ifndef TT_ANSWER_GRAPH_H
#define TT_ANSWER_GRAPH_H

#include "analyze/collapse.h"
#include "analyze/critical.h"
#include "base/json.h"
#include "export/dot/graph_view.h"

#include <stdbool.h>

/* More nodes and leafs than anybody looks at: to be refused before. */
#define TT_GRAPH_COLUMNS_MAX 150000u

/* One object: what is shown of the graph; `tensortrace graph --json`. */
void tt_graph_json(tt_json *j, const tt_graph_view *v);
/* One object with columns, which the viewer draws: docs/api-http.md, "graph". False without memory;
 * then what was put is not whole. */
bool tt_graph_columns_json(tt_json *j, const tt_collapse *c, const tt_critical *critical);

#endif
