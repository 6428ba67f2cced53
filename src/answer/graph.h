/* A graph as it was computed in one run: `tensortrace graph --json`. */
#ifndef TT_ANSWER_GRAPH_H
#define TT_ANSWER_GRAPH_H

#include "base/json.h"
#include "export/dot/graph_view.h"

/* Keys of the object under way: which graph it is, of which run, and its counts. */
void tt_graph_json_summary(tt_json *j, const tt_topology *t);
/* One object: what is shown of the graph. */
void tt_graph_json(tt_json *j, const tt_graph_view *v);

#endif
