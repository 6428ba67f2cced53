/* A graph as it was computed in one run: `tensortrace graph --json`. */
#ifndef TT_ANSWER_GRAPH_H
#define TT_ANSWER_GRAPH_H

#include "base/json.h"
#include "export/dot/graph_view.h"

/* One object: what is shown of the graph. */
void tt_graph_json(tt_json *j, const tt_graph_view *v);

#endif
