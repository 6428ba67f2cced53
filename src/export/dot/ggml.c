/* A graph as ggml's own ggml_graph_dump_dot writes it, for its readers. */
#include "export/dot/dot.h"

#include "analyze/ops.h"
#include "export/ggml_op.h"

#include <inttypes.h>

/* Values of leafs that ggml indicates, by a "#" each. */
#define SHOWN_ELEMENTS_MAX 4u
#define NAME_SHOWN 4096u

/* ggml identifies tensors by address, which a trace lacks: here by number. */
static void put_id(FILE *out, uint32_t tensor)
{
    (void)fprintf(out, "\"0x%" PRIx64 "\"", (uint64_t)tensor + 1);
}

static void begin_box(FILE *out, uint32_t tensor, const char *color)
{
    (void)fputs("  ", out);
    put_id(out, tensor);
    (void)fprintf(out, " [ style = filled; fillcolor = %s; shape = record; label=\"", color);
}

static void put_name(FILE *out, const tt_tensor *t)
{
    tt_dot_record(out, t->name, NAME_SHOWN);
    (void)fputs(t->name[0] ? " (" : "(", out);
    tt_dot_record(out, t->type_name, NAME_SHOWN);
    (void)fputs(")|", out);
}

static void put_node(FILE *out, const tt_graph *g, uint32_t i)
{
    const tt_tensor *t = &g->tensors[i];
    begin_box(out, i, "white");
    put_name(out, t);
    (void)fprintf(out, "%" PRIu32 " [%" PRIu64 ", %" PRIu64, i, t->ne[0], t->ne[1]);
    if (t->ne[2] != 1 || t->ne[3] != 1) (void)fprintf(out, ", %" PRIu64, t->ne[2]);
    (void)fprintf(out, "] | <x>%s\"; ]\n", tt_ggml_op_symbol(t->op_name));
}

static void put_leaf(FILE *out, const tt_graph *g, uint32_t i)
{
    const tt_tensor *t = &g->tensors[i];
    const uint64_t n = tt_elements(t);
    begin_box(out, i, "pink");
    (void)fputs("<x>", out);
    put_name(out, t);
    (void)fprintf(out, "CONST %" PRIu32 " [%" PRIu64 ", %" PRIu64 "]", i - g->n_nodes, t->ne[0],
                  t->ne[1]);
    if (n <= SHOWN_ELEMENTS_MAX && (t->buffer != TT_NONE || t->location != 0)) {
        (void)fputs(" | (", out);
        for (uint64_t k = 0; k < n; k++)
            (void)fputs(k ? ", #" : "#", out);
        (void)fputs(")", out);
    }
    (void)fputs("\"; ]\n", out);
}

static void put_edges(FILE *out, const tt_graph *g, uint32_t i)
{
    for (uint32_t k = 0; k < g->tensors[i].n_src; k++) {
        if (g->tensors[i].src[k] == TT_NONE) continue;
        (void)fputs("  ", out);
        put_id(out, g->tensors[i].src[k]);
        (void)fputs(" -> ", out);
        put_id(out, i);
        (void)fprintf(out, " [ %slabel = \"src %" PRIu32 "\"; ]\n",
                      i < g->n_nodes ? "arrowhead = vee; style = solid; " : "", k);
    }
}

bool tt_graph_print_ggml(const tt_graph *g, FILE *out)
{
    (void)fputs("digraph G {\n  newrank = true;\n  rankdir = TB;\n", out);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        (i < g->n_nodes ? put_node : put_leaf)(out, g, i);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        put_edges(out, g, i);
    (void)fputs("}\n", out);
    return fflush(out) == 0 && !ferror(out);
}
