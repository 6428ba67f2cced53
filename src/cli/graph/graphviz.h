/* Graphviz's `dot`, when it is on the PATH. */
#ifndef TT_CLI_GRAPHVIZ_H
#define TT_CLI_GRAPHVIZ_H

#include "base/status.h"

/* Runs `dot -Tsvg` from one open file to another, without a shell. `in` is read from its
 * beginning. TT_E_NOT_FOUND: there is no dot; TT_E_IO: it failed, and said why on stderr. */
tt_status tt_graphviz_svg(int in, int out, tt_error *err);

#endif
