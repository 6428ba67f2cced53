/* Writing Graphviz's language: texts from a trace, colours, legends. */
#ifndef TT_EXPORT_DOT_DOT_H
#define TT_EXPORT_DOT_DOT_H

#include "export/dot/graph_view.h"
#include "export/export.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A folder of the pictures below: docs/dot.md. */
extern const tt_export_format tt_format_dot;

/* The text as part of a quoted label: at most `most` characters, the rest as "..."; whatever
 * has a meaning in the language is escaped, control bytes and what is not UTF-8 become '?'. */
void tt_dot_text(FILE *out, const char *text, size_t most);
/* The same inside a label made of <TABLE ...>. */
void tt_dot_html(FILE *out, const char *text, size_t most);
/* The same inside a label of fields, {a|b}. */
void tt_dot_record(FILE *out, const char *text, size_t most);

/* How nodes are coloured: values from 0 to `most` in steps, or kinds of ops. */
typedef struct tt_dot_scale {
    tt_graph_color color;
    uint64_t most;
} tt_dot_scale;

/* The attributes of a filled node for an op of that name and value (ticks or bytes), with a comma
 * in front; nothing without colours, or when the value is not `known`. */
void tt_dot_fill(FILE *out, const tt_dot_scale *scale, const char *op, uint64_t value, bool known);

/* The head of a picture up to its first node: its title and the legend of the scale. */
void tt_dot_begin(FILE *out, const tt_graph_view *v, const tt_dot_scale *scale, const char *note);

/* A graph, every node and leaf, layers as clusters; collapsed: a node a layer. Each false (with
 * errno set) when memory ran out or the output failed. */
bool tt_graph_print_dot(const tt_graph_view *v, FILE *out);
bool tt_graph_print_collapsed(const tt_graph_view *v, FILE *out);
/* All of a graph as ggml dumps it, likewise: docs/dot.md. */
bool tt_graph_print_ggml(const tt_graph *g, FILE *out);

#endif
