/* How `tensortrace graph` prints a graph (export/dot/graph_view.h); as a drawing:
 * export/dot/dot.h. */
#ifndef TT_CLI_GRAPH_H
#define TT_CLI_GRAPH_H

#include "export/dot/graph_view.h"

#include <stdbool.h>
#include <stdio.h>

/* False (with errno set) when memory ran out or the output failed. */
bool tt_graph_print_text(const tt_graph_view *v, FILE *out);

#endif
