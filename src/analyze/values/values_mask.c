#include "analyze/values/values_mask.h"

#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0) return true;
    return false;
}

/* Of ops whose result is infinite where a source is, and else only where sums overflow. Empty ones
 * are among them: a view of a mask is one. */
static bool passes_on(const tt_tensor *t)
{
    static const char *const ops[] = {
        "CPY",      "CONT", "DUP",  "CONCAT", "REPEAT", "PAD",     "SET",     "SET_ROWS", "ACC",
        "GET_ROWS", "ADD",  "ADD1", "SCALE",  "VIEW",   "RESHAPE", "PERMUTE", "TRANSPOSE"};
    return is_one_of(t->op_name, ops, sizeof ops / sizeof *ops);
}

/* Floats that the program gives for each batch. */
static bool is_given(const tt_graph *g, uint32_t tensor)
{
    static const char *const floats[] = {"f32", "f16", "bf16"};
    const tt_tensor *t = &g->tensors[tensor];
    return tensor >= g->n_nodes && t->weight == TT_NONE && (t->flags & TT_TENSOR_INPUT) &&
           is_one_of(t->type_name, floats, sizeof floats / sizeof *floats);
}

static bool makes(const tt_graph *g, const tt_tensor *t)
{
    if (strcmp(t->op_name, "DIAG_MASK_INF") == 0 || strcmp(t->op_name, "FILL") == 0) return true;
    if (strcmp(t->op_name, "LOG") != 0 || t->n_src == 0 || t->src[0] == TT_NONE) return false;
    return strcmp(g->tensors[g->tensors[t->src[0]].root].op_desc, "STEP") == 0;
}

uint8_t *tt_values_mask_of(const tt_graph *g)
{
    uint8_t *may = calloc((size_t)g->n_tensors + 1, 1);
    for (uint32_t i = 0; may && i < g->n_nodes; i++) {
        const tt_tensor *t = &g->tensors[i];
        may[i] = makes(g, t);
        for (uint32_t s = 0; s < t->n_src && !may[i] && passes_on(t); s++) {
            if (t->src[s] == TT_NONE) continue;
            const uint32_t root = g->tensors[t->src[s]].root;
            may[i] = may[t->src[s]] || may[root] || is_given(g, root);
        }
    }
    return may;
}
