/* A graph in Graphviz's language, collapsed: one node a layer, and what passes between them. */
#include "base/units.h"
#include "export/dot/dot.h"

#include <inttypes.h>
#include <stdlib.h>

/* A layer, or what stands before the first or behind it. */
typedef struct part {
    int32_t layer; /* TT_LAYER_NONE: see `behind` */
    bool behind;
    uint32_t n_nodes, n_executed, n_ops;
    uint64_t ticks, weight_bytes;
    uint64_t timed;
    bool at_most;
} part;

/* A tensor computed in one part and used in another. */
typedef struct passage {
    uint32_t from, to;
    uint32_t tensor;
} passage;

typedef struct collapsed {
    const tt_graph_view *v;
    uint32_t *part_of; /* by node */
    part *parts;
    uint32_t n_parts;
    passage *passages;
    size_t n_passages;
} collapsed;

static int by_part(const void *a, const void *b)
{
    const part *x = a, *y = b;
    /* Before the layers, the layers, behind them. */
    if (x->behind != y->behind) return x->behind ? 1 : -1;
    return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static part key_of(const tt_topology *t, uint32_t node, bool layers_begun)
{
    int32_t layer = tt_graph_layer(t, node);
    return (part){.layer = layer < 0 ? TT_LAYER_NONE : layer, .behind = layer < 0 && layers_begun};
}

static void count_node(part *to, const tt_topology *t, uint32_t i)
{
    const tt_topology_node *n = &t->nodes[i];
    to->n_nodes++;
    to->n_executed += (t->graph->tensors[i].flags & TT_TENSOR_EXECUTES) != 0;
    if (n->op != i) return;
    to->n_ops++;
    to->timed += n->timed;
    to->ticks += n->ticks;
    to->at_most |= n->at_most;
    if (__builtin_add_overflow(to->weight_bytes, n->weight_bytes, &to->weight_bytes))
        to->weight_bytes = UINT64_MAX;
}

static bool find_parts(collapsed *c)
{
    const tt_topology *t = c->v->t;
    uint32_t n = t->graph->n_nodes, kept = 0;
    part *all = calloc((size_t)n + 1, sizeof *all);
    c->parts = calloc((size_t)n + 1, sizeof *c->parts);
    c->part_of = calloc((size_t)n + 1, sizeof *c->part_of);
    bool begun = false, ok = all && c->parts && c->part_of;
    for (uint32_t i = 0; i < n && ok; i++) {
        all[i] = key_of(t, i, begun);
        begun |= all[i].layer >= 0;
        c->parts[i] = all[i];
    }
    if (ok && n) qsort(c->parts, n, sizeof *c->parts, by_part);
    for (uint32_t i = 0; i < n && ok; i++)
        if (i == 0 || by_part(&c->parts[kept - 1], &c->parts[i]) != 0)
            c->parts[kept++] = c->parts[i];
    c->n_parts = kept;
    for (uint32_t i = 0; i < n && ok; i++) {
        part *p = bsearch(&all[i], c->parts, kept, sizeof *c->parts, by_part);
        c->part_of[i] = (uint32_t)(p - c->parts);
        count_node(p, t, i);
    }
    free(all);
    return ok;
}

static int by_ends(const void *a, const void *b)
{
    const passage *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static bool find_passages(collapsed *c)
{
    const tt_graph *g = c->v->t->graph;
    tt_edge edges[TT_EDGES_MAX];
    c->passages = calloc((size_t)c->v->t->n_edges + 1, sizeof *c->passages);
    if (!c->passages) return false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t n = tt_topology_edges(g, i, edges);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t from = edges[k].source;
            if (from >= g->n_nodes || c->part_of[from] == c->part_of[i]) continue;
            c->passages[c->n_passages++] = (passage){c->part_of[from], c->part_of[i], from};
        }
    }
    qsort(c->passages, c->n_passages, sizeof *c->passages, by_ends);
    return true;
}

static void put_part(const collapsed *c, uint32_t i, const tt_dot_scale *scale, FILE *out)
{
    const tt_topology *t = c->v->t;
    const part *p = &c->parts[i];
    char text[TT_UNITS_TEXT];
    (void)fprintf(out, "  p%" PRIu32 " [label=\"", i);
    if (p->layer >= 0)
        (void)fprintf(out, "layer %" PRId32, p->layer);
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

/* passages[from] and those behind it with the same ends; returns how many. */
static size_t put_passage(const collapsed *c, size_t from, FILE *out)
{
    const tt_graph *g = c->v->t->graph;
    const passage *p = &c->passages[from];
    size_t n = 0;
    uint32_t tensors = 0;
    uint64_t bytes = 0;
    char size[TT_UNITS_TEXT];
    for (; from + n < c->n_passages && p[n].from == p->from && p[n].to == p->to; n++) {
        if (n > 0 && p[n].tensor == p[n - 1].tensor) continue;
        tensors++;
        if (__builtin_add_overflow(bytes, g->tensors[p[n].tensor].size_bytes, &bytes))
            bytes = UINT64_MAX;
    }
    (void)fprintf(out, "  p%" PRIu32 " -> p%" PRIu32 " [label=\" ", p->from, p->to);
    if (tensors == 1)
        tt_dot_text(out, g->tensors[p->tensor].name, 24);
    else
        (void)fprintf(out, "%" PRIu32 " tensors", tensors);
    (void)fprintf(out, ", %s\"];\n", tt_units_bytes(size, bytes));
    return n;
}

bool tt_graph_print_collapsed(const tt_graph_view *v, FILE *out)
{
    collapsed c = {.v = v};
    tt_dot_scale scale = {.color = v->color == TT_COLOR_OP ? TT_COLOR_NONE : v->color};
    bool ok = find_parts(&c) && find_passages(&c);
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
    free(c.part_of);
    free(c.parts);
    free(c.passages);
    return ok;
}
