/* Finding tensors of a graph by words. */
#ifndef TT_ANALYZE_GRAPH_SEARCH_H
#define TT_ANALYZE_GRAPH_SEARCH_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

#define TT_GRAPH_SEARCH_WORDS_MAX 8u

/* Puts the tensors, ascending, into out (at most `room` of them) in which every word of `text`
 * (words divided by blanks; the first TT_GRAPH_SEARCH_WORDS_MAX count) occurs: in the name, the
 * op, the component or the type, large and small ASCII letters alike. Nothing is found for a text
 * without words. Returns how many there are, also beyond `room`. */
uint32_t tt_graph_search(const tt_graph *g, const char *text, uint32_t *out, size_t room);

#endif
