/* Writes Graphviz's language: texts from a trace, colours, legends. */
#ifndef TT_EXPORT_DOT_DOT_H
#define TT_EXPORT_DOT_DOT_H

#include "export/dot/graph_view.h"
#include "export/export.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A folder of the drawings below: docs/dot.md. */
extern const tt_export_format tt_format_dot;

/* The text as part of a quoted label: at most `most` characters, the rest as "..."; special
 * characters are escaped, control bytes and bytes that are not UTF-8 become '?'. */
void tt_dot_text(FILE *out, const char *text, size_t most);
/* The same inside an HTML-like label, <TABLE ...>. */
void tt_dot_html(FILE *out, const char *text, size_t most);
/* The same inside a record label, {a|b}. */
void tt_dot_record(FILE *out, const char *text, size_t most);

/* How nodes are coloured: values from 0 to `most` in steps, or kinds of ops. */
typedef struct tt_dot_scale {
    tt_graph_color color;
    uint64_t most;
} tt_dot_scale;

/* The attributes of a filled node for an op with that name and value (ticks or bytes), with a comma
 * in front; nothing without colours, or if the value is not `known`. */
void tt_dot_fill(FILE *out, const tt_dot_scale *scale, const char *op, uint64_t value, bool known);

/* The start of a drawing up to its first node: its title and the legend of the scale. */
void tt_dot_begin(FILE *out, const tt_graph_view *v, const tt_dot_scale *scale, const char *note);

/* A graph with every node and leaf, layers as clusters; collapsed: one node per layer. Each returns
 * false (with errno set) if memory ran out or the output failed. */
bool tt_graph_print_dot(const tt_graph_view *v, FILE *out);
bool tt_graph_print_collapsed(const tt_graph_view *v, FILE *out);
/* A whole graph as ggml dumps it, likewise: docs/dot.md. */
bool tt_graph_print_ggml(const tt_graph *g, FILE *out);

#endif
