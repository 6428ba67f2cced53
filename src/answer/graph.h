/* The graph of one run, as JSON. */
#ifndef TT_ANSWER_GRAPH_H
#define TT_ANSWER_GRAPH_H

#include "analyze/collapse.h"
#include "analyze/topology.h"
#include "base/json.h"
#include "export/dot/graph_view.h"
#include "table/table.h"

#include <stdbool.h>

/* Larger graphs (nodes and leafs) are refused as unreadable. */
#define TT_GRAPH_COLUMNS_MAX 150000u

/* The context of the columns of nodes and leafs. */
typedef struct tt_graph_context {
    const tt_model *m;
    const tt_topology *t;
    const tt_graph *g;
    const uint8_t *shown; /* of tt_graph_view */
    const tt_collapse *c; /* these two only for the viewer */
    struct tt_graph_words *words;
} tt_graph_context;

/* The nodes and leafs of a graph: all are rows of the set, which lives as long as the view. */
typedef struct tt_graph_nodes {
    tt_graph_context context;
    tt_rowset set;
} tt_graph_nodes;

extern const tt_schema tt_graph_node_schema;
void tt_graph_nodes_begin(tt_graph_nodes *n, const tt_graph_view *v);
/* Whether the row is one of the nodes that were asked for; or is in the drawing. */
bool tt_graph_is_listed(const void *context, const void *row);
bool tt_graph_is_shown(const void *context, const void *row);

/* Writes one object: the graph as `tensortrace graph --json` shows it, with that list of nodes. */
void tt_graph_json(tt_json *j, const tt_graph_view *v, const tt_listing *nodes);
/* Writes one object with columns for the viewer: docs/api-http.md, "graph". False without
 * memory; the output is then incomplete. */
bool tt_graph_columns_json(tt_json *j, const tt_collapse *c, const tt_critical *critical);

#endif
