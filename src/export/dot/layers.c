/* A graph in Graphviz's language, collapsed: one node a layer, and what passes between them. */
#include "analyze/collapse.h"
#include "base/units.h"
#include "export/dot/dot.h"

#include <inttypes.h>

static void put_part(const tt_collapse *c, uint32_t i, const tt_dot_scale *scale, FILE *out)
{
    const tt_topology *t = c->t;
    const tt_collapse_part *p = &c->parts[i];
    char text[TT_UNITS_TEXT];
    (void)fprintf(out, "  p%" PRIu32 " [label=\"", i);
    if (p->layer_id >= 0)
        (void)fprintf(out, "layer %" PRId32, p->layer_id);
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
