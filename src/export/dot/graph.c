/* A graph in Graphviz's language: every node and leaf, layers as clusters. */
#include "analyze/collapse.h"
#include "analyze/ops.h"
#include "base/units.h"
#include "export/dot/dot.h"
#include "export/dot/graph_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t tt_graph_layer(const tt_topology *t, uint32_t tensor)
{
    if (tensor < t->graph->n_nodes) return t->nodes[tensor].layer_id;
    return t->graph->tensors[tensor].place.layer_id;
}

bool tt_graph_view_choose(tt_graph_view *v)
{
    const tt_graph *g = v->t->graph;
    tt_edge edges[TT_EDGES_MAX];
    v->shown = calloc((size_t)g->n_tensors + 1, 1);
    if (!v->shown) return false;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (!v->has_layer || tt_layer_passes(v->layer, tt_graph_layer(v->t, i)))
            v->shown[i] = TT_GRAPH_SHOW_ASKED;
    for (uint32_t i = 0; i < g->n_tensors && v->has_layer; i++) {
        uint32_t n = tt_topology_edges(g, i, edges);
        for (uint32_t k = 0; k < n; k++) {
            uint8_t *source = &v->shown[edges[k].source], *target = &v->shown[i];
            if (*target == TT_GRAPH_SHOW_ASKED && *source == TT_GRAPH_SHOW_NOT)
                *source = TT_GRAPH_SHOW_NEIGHBOUR;
            if (*source == TT_GRAPH_SHOW_ASKED && *target == TT_GRAPH_SHOW_NOT)
                *target = TT_GRAPH_SHOW_NEIGHBOUR;
        }
    }
    return true;
}

void tt_graph_view_free(tt_graph_view *v)
{
    free(v->shown);
    v->shown = NULL;
}

char *tt_graph_shape(const tt_tensor *t, char *out, size_t room)
{
    uint32_t n = TT_DIMS;
    size_t used = 0;
    out[0] = '\0';
    while (n > 1 && t->ne[n - 1] == 1)
        n--;
    for (uint32_t i = 0; i < n; i++) {
        int length = snprintf(out + used, room - used, "%s%" PRIu64, i ? " x " : "", t->ne[i]);
        if (length > 0) used += (size_t)length < room - used ? (size_t)length : room - used - 1;
    }
    return out;
}

/* A graph in Graphviz's language, collapsed: one node per layer, and what passes between them. */

static void put_part(const tt_collapse *c, uint32_t i, const tt_dot_scale *scale, FILE *out)
{
    const tt_topology *t = c->t;
    const tt_collapse_part *p = &c->parts[i];
    char text[TT_UNITS_TEXT];
    (void)fprintf(out, "  p%" PRIu32 " [label=\"", i);
    if (p->layer_id >= 0)
        (void)fprintf(out, "layer %s", tt_layer_text((char[TT_LAYER_TEXT]){0}, p->layer_id));
    else
        (void)fputs(p->behind ? "output" : "input", out);
    if (p->n_ops)
        (void)fprintf(out, "\\n%" PRIu32 " op%s", p->n_ops, p->n_ops == 1 ? "" : "s");
    else
        (void)fprintf(out, "\\n%" PRIu32 " to execute", p->n_executed);
    if (p->timed && t->m->clock.known) {
        (void)fprintf(out, ", %s", tt_units_ns(text, tt_model_span_ns(t->m, p->ticks)));
        if (t->total.ticks)
            (void)fprintf(out, " (%.1f %%)", 100 * (double)p->ticks / (double)t->total.ticks);
    }
    if (p->weight_bytes)
        (void)fprintf(out, "\\nreads %s%s of weights", p->at_most ? "at most " : "",
                      tt_units_bytes(text, p->weight_bytes));
    (void)fputs("\"", out);
    if (scale->color == TT_COLOR_TIME || scale->color == TT_COLOR_BYTES)
        tt_dot_fill(out, scale, "", scale->color == TT_COLOR_TIME ? p->ticks : p->weight_bytes,
                    p->n_ops && (p->timed || scale->color == TT_COLOR_BYTES));
    (void)fputs("];\n", out);
}

/* Writes passages[from] and the next ones with the same ends; returns their number. */
static size_t put_passage(const tt_collapse *c, size_t from, FILE *out)
{
    const tt_graph *g = c->t->graph;
    const tt_passage *p = &c->passages[from];
    size_t n = 0;
    uint64_t bytes = 0;
    char size[TT_UNITS_TEXT];
    for (; from + n < c->n_passages && p[n].from == p->from && p[n].to == p->to; n++) {
        if (__builtin_add_overflow(bytes, g->tensors[p[n].tensor].size_bytes, &bytes))
            bytes = UINT64_MAX;
    }
    (void)fprintf(out, "  p%" PRIu32 " -> p%" PRIu32 " [label=\" ", p->from, p->to);
    if (n == 1)
        tt_dot_text(out, g->tensors[p->tensor].name, 24);
    else
        (void)fprintf(out, "%zu tensors", n);
    (void)fprintf(out, ", %s\"];\n", tt_units_bytes(size, bytes));
    return n;
}

bool tt_graph_print_collapsed(const tt_graph_view *v, FILE *out)
{
    tt_collapse c;
    tt_dot_scale scale = {.color = v->color == TT_COLOR_OP ? TT_COLOR_NONE : v->color};
    bool ok = tt_collapse_make(v->t, &c, NULL) == TT_OK;
    for (uint32_t i = 0; i < c.n_parts && ok; i++) {
        uint64_t value = scale.color == TT_COLOR_TIME ? c.parts[i].ticks : c.parts[i].weight_bytes;
        if (value > scale.most) scale.most = value;
    }
    if (ok) {
        tt_dot_begin(out, v, &scale,
                     "one box a layer; edges: values computed in one, used in the other");
        for (uint32_t i = 0; i < c.n_parts; i++)
            put_part(&c, i, &scale, out);
        for (size_t i = 0; i < c.n_passages;)
            i += put_passage(&c, i, out);
        (void)fputs("}\n", out);
        ok = fflush(out) == 0 && !ferror(out);
    }
    tt_collapse_free(&c);
    return ok;
}

#define NAME_SHOWN 36u

/* In painter.copied, before any copy is made. */
#define COPIES_ONLY (-2)    /* the leaf is only used by layers */
#define NO_COPIES_ONLY (-3) /* it is also, or only, used outside of them */

typedef struct painter {
    const tt_graph_view *v;
    FILE *out;
    tt_dot_scale scale;
    uint32_t *order; /* shown tensors, by layer, then by number */
    uint32_t n;
    int32_t *copied; /* by tensor: the last layer with a copy of it, see is_shared */
    int indent;
} painter;

static uint64_t value_of(const painter *p, const tt_topology_node *n)
{
    return p->scale.color == TT_COLOR_TIME ? n->ticks : n->weight_bytes;
}

static tt_dot_scale find_scale(const tt_graph_view *v)
{
    painter p = {.v = v, .scale = {.color = v->color}};
    for (uint32_t i = 0; i < v->t->graph->n_nodes; i++) {
        uint64_t value = value_of(&p, &v->t->nodes[i]);
        if (v->shown[i] == TT_GRAPH_SHOW_ASKED && value > p.scale.most) p.scale.most = value;
    }
    return p.scale;
}

/* --- one tensor --- */

static void put_time(const painter *p, const tt_topology_node *n)
{
    char text[TT_UNITS_TEXT];
    if (n->timed && p->v->t->m->clock.known)
        (void)fprintf(p->out, "\\n%s", tt_units_ns(text, tt_model_span_ns(p->v->t->m, n->ticks)));
}

/* The time of a fused op is shown at its frame. */
static void put_node(const painter *p, uint32_t i)
{
    const tt_topology *t = p->v->t;
    const tt_tensor *x = &t->graph->tensors[i];
    const tt_topology_node *n = &t->nodes[i];
    const tt_topology_node *op = n->op == TT_NONE ? n : &t->nodes[n->op];
    bool executes = x->flags & TT_TENSOR_EXECUTES;
    char shape[96];
    (void)fprintf(p->out, "%*sn%" PRIu32 " [label=\"", p->indent, "", i);
    tt_dot_text(p->out, x->name[0] ? x->name : "(no name)", NAME_SHOWN);
    (void)fputs("\\n", p->out);
    tt_dot_text(p->out, x->op_desc[0] ? x->op_desc : x->op_name, NAME_SHOWN);
    (void)fprintf(p->out, "  %s", tt_graph_shape(x, shape, sizeof shape));
    if (n->n_nodes == 1) put_time(p, n);
    (void)fputs("\"", p->out);
    if (!executes)
        (void)fputs(", style=\"filled,dashed\", fontcolor=\"#666666\", color=\"#888888\"", p->out);
    else if (p->v->shown[i] == TT_GRAPH_SHOW_NEIGHBOUR)
        (void)fputs(", color=\"#aaaaaa\", fontcolor=\"#777777\"", p->out);
    else
        tt_dot_fill(p->out, &p->scale, t->graph->tensors[n->op == TT_NONE ? i : n->op].op_name,
                    value_of(p, op),
                    n->op != TT_NONE && (n->timed || p->v->color != TT_COLOR_TIME));
    if (x->flags & TT_TENSOR_OUTPUT) (void)fputs(", peripheries=2", p->out);
    (void)fputs("];\n", p->out);
}

static const char *leaf_shape(const tt_tensor *x)
{
    if (x->weight != TT_NONE) return "shape=note, fillcolor=\"#eeeeee\"";
    if (strncmp(x->name, "cache_", 6) == 0) return "shape=cylinder, fillcolor=\"#eeeeee\"";
    return x->flags & TT_TENSOR_INPUT ? "shape=parallelogram, fillcolor=\"#eeeeee\""
                                      : "style=\"filled,rounded\", fillcolor=\"#eeeeee\"";
}

/* A tensor that all layers use, such as the positions, would be connected to each by lines across
 * the whole drawing (which also makes Graphviz slow): instead each layer gets a copy. */
static bool is_shared(const painter *p, uint32_t source, uint32_t target)
{
    const tt_topology *t = p->v->t;
    return !p->v->has_layer && source >= t->graph->n_nodes && tt_graph_layer(t, source) < 0 &&
           tt_graph_layer(t, target) >= 0;
}

/* The drawing's name of a tensor as a source of another. */
static void put_source(const painter *p, uint32_t source, uint32_t target)
{
    (void)fprintf(p->out, "n%" PRIu32, source);
    if (is_shared(p, source, target))
        (void)fprintf(p->out, "_%" PRId32, tt_graph_layer(p->v->t, target));
}

static void put_leaf_label(const painter *p, uint32_t i)
{
    const tt_tensor *x = &p->v->t->graph->tensors[i];
    char shape[96], size[TT_UNITS_TEXT];
    (void)fputs(" [label=\"", p->out);
    tt_dot_text(p->out, x->name[0] ? x->name : "(no name)", NAME_SHOWN);
    (void)fputs("\\n", p->out);
    tt_dot_text(p->out, x->type_name, 16);
    (void)fprintf(p->out, "  %s\\n%s\", %s, fontsize=9%s];\n",
                  tt_graph_shape(x, shape, sizeof shape), tt_units_bytes(size, x->size_bytes),
                  leaf_shape(x),
                  p->v->shown[i] == TT_GRAPH_SHOW_NEIGHBOUR ? ", fontcolor=\"#777777\"" : "");
}

static void put_leaf(const painter *p, uint32_t i)
{
    (void)fprintf(p->out, "%*sn%" PRIu32, p->indent, "", i);
    put_leaf_label(p, i);
}

/* Once for each layer: nodes are sorted by layer. */
static void put_copies(painter *p, uint32_t node)
{
    tt_edge edges[TT_EDGES_MAX];
    uint32_t n = tt_topology_edges(p->v->t->graph, node, edges);
    int32_t layer = tt_graph_layer(p->v->t, node);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t source = edges[k].source;
        if (!is_shared(p, source, node) || p->copied[source] == layer) continue;
        p->copied[source] = layer;
        (void)fprintf(p->out, "%*s", p->indent, "");
        put_source(p, source, node);
        put_leaf_label(p, source);
    }
}

/* The nodes of a fused op in a frame with its name and time. */
static void put_fused(painter *p, uint32_t first)
{
    const tt_topology *t = p->v->t;
    const tt_topology_node *n = &t->nodes[first];
    char text[TT_UNITS_TEXT] = "";
    tt_op op;
    tt_op_describe(t->m, t->graph, first, n->n_nodes - 1, &op);
    if (n->timed && t->m->clock.known) tt_units_ns(text, tt_model_span_ns(t->m, n->ticks));
    (void)fprintf(p->out, "%*ssubgraph cluster_op_%" PRIu32 " {\n", p->indent, "", first);
    p->indent += 2;
    (void)fprintf(p->out, "%*slabel=\"one op: ", p->indent, "");
    tt_dot_text(p->out, op.op, 60);
    (void)fprintf(p->out,
                  "%s%s\"; style=\"rounded\"; color=\"#444444\"; bgcolor=white; "
                  "fontsize=9; labeljust=l;\n",
                  text[0] ? "  " : "", text);
    for (uint32_t i = 0; i < op.n_nodes; i++)
        if (t->nodes[op.nodes[i]].op == first && p->v->shown[op.nodes[i]] != TT_GRAPH_SHOW_NOT)
            put_node(p, op.nodes[i]);
    p->indent -= 2;
    (void)fprintf(p->out, "%*s}\n", p->indent, "");
}

static void put_tensor(painter *p, uint32_t i)
{
    const tt_topology *t = p->v->t;
    if (i >= t->graph->n_nodes) {
        put_leaf(p, i);
        return;
    }
    put_copies(p, i);
    const tt_topology_node *n = &t->nodes[i];
    /* A frame is drawn with its first node, if that is shown. */
    bool framed = n->op != TT_NONE && n->n_nodes > 1 && p->v->shown[n->op] == p->v->shown[i];
    if (framed && n->op == i) put_fused(p, i);
    if (!framed) put_node(p, i);
}

/* --- clusters --- */

static int by_layer(const void *a, const void *b, void *view)
{
    const tt_graph_view *v = view;
    const uint32_t *x = a, *y = b;
    int32_t of_x = tt_graph_layer(v->t, *x), of_y = tt_graph_layer(v->t, *y);
    if (of_x != of_y) return of_x < of_y ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* Neighbours are outside of the requested layer. */
static bool in_cluster(const painter *p, uint32_t i)
{
    return tt_graph_layer(p->v->t, i) >= 0 && p->v->shown[i] == TT_GRAPH_SHOW_ASKED;
}

static void put_layers(painter *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (!in_cluster(p, p->order[i]) && p->copied[p->order[i]] != COPIES_ONLY)
            put_tensor(p, p->order[i]);
    for (uint32_t i = 0; i < p->n;) {
        int32_t layer = tt_graph_layer(p->v->t, p->order[i]);
        uint32_t end = i;
        bool open = false;
        for (; end < p->n && tt_graph_layer(p->v->t, p->order[end]) == layer; end++) {
            if (!in_cluster(p, p->order[end])) continue;
            if (!open) {
                (void)fprintf(p->out,
                              "  subgraph cluster_layer_%" PRId32 " {\n    label=\"layer %" PRId32
                              "\"; style=\"filled,rounded\"; color=\"#cccccc\"; "
                              "fillcolor=\"#f7f7f7\"; labeljust=l;\n",
                              layer, layer);
                p->indent = 4;
                open = true;
            }
            put_tensor(p, p->order[end]);
        }
        if (open) (void)fputs("  }\n", p->out);
        p->indent = 2;
        i = end;
    }
}

static void put_edges(const painter *p)
{
    const tt_graph *g = p->v->t->graph;
    tt_edge edges[TT_EDGES_MAX];
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        uint32_t n = p->v->shown[i] == TT_GRAPH_SHOW_NOT ? 0 : tt_topology_edges(g, i, edges);
        for (uint32_t k = 0; k < n; k++) {
            const tt_edge *e = &edges[k];
            uint8_t from = p->v->shown[e->source];
            /* Edges between two neighbours are not shown. */
            if (from == TT_GRAPH_SHOW_NOT ||
                (from == TT_GRAPH_SHOW_NEIGHBOUR && p->v->shown[i] == TT_GRAPH_SHOW_NEIGHBOUR))
                continue;
            (void)fputs("  ", p->out);
            put_source(p, e->source, i);
            (void)fprintf(p->out, " -> n%" PRIu32 " [label=\"", i);
            if (e->slot == TT_NONE)
                (void)fputs("view", p->out);
            else
                (void)fprintf(p->out, "src %" PRIu32, e->slot);
            (void)fprintf(p->out, "\"%s%s];\n", e->is_view ? ", style=dashed" : "",
                          e->source >= g->n_nodes ? ", color=\"#999999\"" : "");
        }
    }
}

/* Finds the leafs that are only used by layers. */
static void find_copies(painter *p)
{
    const tt_graph *g = p->v->t->graph;
    tt_edge edges[TT_EDGES_MAX];
    for (uint32_t i = 0; i < g->n_tensors; i++)
        p->copied[i] = TT_LAYER_NONE;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        uint32_t n = tt_topology_edges(g, i, edges);
        for (uint32_t k = 0; k < n; k++) {
            int32_t *copied = &p->copied[edges[k].source];
            if (!is_shared(p, edges[k].source, i))
                *copied = NO_COPIES_ONLY;
            else if (*copied != NO_COPIES_ONLY)
                *copied = COPIES_ONLY;
        }
    }
}

bool tt_graph_print_dot(const tt_graph_view *v, FILE *out)
{
    const tt_graph *g = v->t->graph;
    painter p = {.v = v, .out = out, .scale = find_scale(v), .indent = 2};
    p.order = calloc((size_t)g->n_tensors + 1, sizeof *p.order);
    p.copied = calloc((size_t)g->n_tensors + 1, sizeof *p.copied);
    if (!p.order || !p.copied) {
        free(p.order);
        free(p.copied);
        return false;
    }
    find_copies(&p);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (v->shown[i] != TT_GRAPH_SHOW_NOT) p.order[p.n++] = i;
    qsort_r(p.order, p.n, sizeof *p.order, by_layer, (void *)v);
    tt_dot_begin(out, v, &p.scale,
                 v->t->n_ops
                     ? "sheet: weight; drum: KV cache; slanted: input, once a layer; dashed: view; "
                       "frame: one op computes several nodes"
                     : "sheet: weight; drum: KV cache; slanted: input, once a layer; dashed: view; "
                       "no op was recorded, so fusions are not known");
    put_layers(&p);
    put_edges(&p);
    (void)fputs("}\n", out);
    free(p.order);
    free(p.copied);
    return fflush(out) == 0 && !ferror(out);
}
