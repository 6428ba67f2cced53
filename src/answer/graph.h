/* The graph of one run, as JSON. */
#ifndef TT_ANSWER_GRAPH_H
#define TT_ANSWER_GRAPH_H

#include "analyze/collapse.h"
#include "analyze/topology.h"
#include "base/json.h"
#include "export/dot/graph_view.h"

#include <stdbool.h>

/* Larger graphs (nodes and leafs) are refused as unreadable. */
#define TT_GRAPH_COLUMNS_MAX 150000u

/* Writes one object: the graph as `tensortrace graph --json` shows it. */
void tt_graph_json(tt_json *j, const tt_graph_view *v);
/* Writes one object with columns for the viewer: docs/api-http.md, "graph". False without
 * memory; the output is then incomplete. */
bool tt_graph_columns_json(tt_json *j, const tt_collapse *c, const tt_critical *critical);

#endif
