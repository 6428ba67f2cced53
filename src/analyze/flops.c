#include "analyze/flops.h"

#include "base/saturate.h"
#include "gguf/types.h"

#include <string.h>

typedef enum formula {
    EACH,       /* factor x n(d) */
    EACH_INPUT, /* factor x n(s0) */
    MATMUL,
    OUTER,
    ATTENTION,
    SOFTMAX,
    ROWS_NORM, /* factor x n(d) + extra x rows */
    ROTATION,
    GATED,
    FUNCTION,
    CONVOLUTION,
    SCAN
} formula;

static const struct {
    const char *op;
    formula formula;
    unsigned factor, extra;
} formulas[] = {
    {"MUL_MAT", MATMUL, 0, 0},
    {"MUL_MAT_ID", MATMUL, 0, 0},
    {"OUT_PROD", OUTER, 0, 0},
    {"FLASH_ATTN_EXT", ATTENTION, 0, 0},
    {"SOFT_MAX", SOFTMAX, 0, 0},
    {"RMS_NORM", ROWS_NORM, 3, 3},
    {"L2_NORM", ROWS_NORM, 3, 3},
    {"NORM", ROWS_NORM, 6, 4},
    {"GROUP_NORM", ROWS_NORM, 6, 4},
    {"ROPE", ROTATION, 3, 0},
    {"GLU", GATED, 0, 0},
    {"UNARY", FUNCTION, 0, 0},
    {"SSM_CONV", CONVOLUTION, 0, 0},
    {"SSM_SCAN", SCAN, 0, 0},
    {"ADD", EACH, 1, 0},
    {"ADD1", EACH, 1, 0},
    {"ADD_ID", EACH, 1, 0},
    {"ACC", EACH, 1, 0},
    {"SUB", EACH, 1, 0},
    {"MUL", EACH, 1, 0},
    {"DIV", EACH, 1, 0},
    {"SQR", EACH, 1, 0},
    {"SQRT", EACH, 1, 0},
    {"LOG", EACH, 1, 0},
    {"SIN", EACH, 1, 0},
    {"COS", EACH, 1, 0},
    {"SCALE", EACH, 1, 0},
    {"CLAMP", EACH, 1, 0},
    {"LEAKY_RELU", EACH, 1, 0},
    {"DIAG_MASK_INF", EACH, 1, 0},
    {"SUM", EACH_INPUT, 1, 0},
    {"SUM_ROWS", EACH_INPUT, 1, 0},
    {"MEAN", EACH_INPUT, 1, 0},
    {"CUMSUM", EACH_INPUT, 1, 0},
    {"ARGMAX", EACH_INPUT, 1, 0},
    {"GET_ROWS", EACH, 0, 0},
    {"SET_ROWS", EACH, 0, 0},
    {"CPY", EACH, 0, 0},
    {"DUP", EACH, 0, 0},
    {"CONT", EACH, 0, 0},
    {"CONCAT", EACH, 0, 0},
    {"REPEAT", EACH, 0, 0},
    {"PAD", EACH, 0, 0},
    {"ROLL", EACH, 0, 0},
    {"FILL", EACH, 0, 0},
    {"ARANGE", EACH, 0, 0},
    {"SET", EACH, 0, 0},
    {"IM2COL", EACH, 0, 0},
    {"ARGSORT", EACH, 0, 0},
    {"TOP_K", EACH, 0, 0},
};

/* The FLOPs of functions of one value; gated ones also multiply by a second value. */
static const struct {
    const char *name;
    unsigned flops;
} functions[] = {
    {"ABS", 1},         {"SGN", 1},        {"NEG", 1},        {"STEP", 1},     {"TANH", 1},
    {"RELU", 1},        {"EXP", 1},        {"EXPM1", 1},      {"FLOOR", 1},    {"CEIL", 1},
    {"ROUND", 1},       {"TRUNC", 1},      {"SIGMOID", 3},    {"SOFTPLUS", 3}, {"ELU", 2},
    {"SILU", 4},        {"GELU", 8},       {"GELU_QUICK", 5}, {"GELU_ERF", 5}, {"HARDSWISH", 5},
    {"HARDSIGMOID", 4}, {"SWIGLU", 5},     {"REGLU", 2},      {"GEGLU", 9},    {"GEGLU_QUICK", 6},
    {"GEGLU_ERF", 6},   {"SWIGLU_OAI", 9},
};

static const tt_tensor *source(const tt_graph *g, const tt_tensor *t, uint32_t slot)
{
    return slot < t->n_src && t->src[slot] != TT_NONE ? &g->tensors[t->src[slot]] : NULL;
}

static tt_flops exactly(uint64_t flops)
{
    return (tt_flops){.known = true, .flops = flops};
}

static tt_flops of_attention(const tt_tensor *q, const tt_tensor *k, const tt_tensor *v, bool mask)
{
    if (!q || !k || !v || q->ne[0] == 0) return (tt_flops){0};
    uint64_t pairs = tt_times(tt_elements(q) / q->ne[0], k->ne[1]);
    uint64_t each = tt_plus(tt_plus(tt_times(2, q->ne[0]), tt_times(2, v->ne[0])), mask ? 6 : 5);
    return (tt_flops){.known = true, .at_most = mask, .flops = tt_times(pairs, each)};
}

static tt_flops of_function(const tt_tensor *d)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(d->op_desc, functions[i].name) == 0)
            return exactly(tt_times(functions[i].flops, tt_elements(d)));
    return (tt_flops){0};
}

static tt_flops of_scan(const tt_tensor *state, const tt_tensor *x, const tt_tensor *a)
{
    if (!state || !x || !a) return (tt_flops){0};
    return exactly(tt_times(tt_times(tt_elements(x), state->ne[0]), a->ne[0] > 1 ? 7 : 5));
}

static tt_flops evaluate(const tt_graph *g, const tt_tensor *d, size_t at)
{
    const tt_tensor *s0 = source(g, d, 0), *s1 = source(g, d, 1);
    const uint64_t n = tt_elements(d), factor = formulas[at].factor;
    const tt_flops unknown = {0};
    switch (formulas[at].formula) {
    case EACH:
        return exactly(tt_times(factor, n));
    case EACH_INPUT:
        return s0 ? exactly(tt_times(factor, tt_elements(s0))) : unknown;
    case MATMUL:
        return s0 ? exactly(tt_times(tt_times(2, s0->ne[0]), n)) : unknown;
    case OUTER:
        return s0 ? exactly(tt_times(tt_times(2, s0->ne[1]), n)) : unknown;
    case ATTENTION:
        return of_attention(s0, s1, source(g, d, 2), source(g, d, 3) != NULL);
    case SOFTMAX:
        return exactly(tt_times(s1 ? 7 : 6, n));
    case ROWS_NORM:
        return d->ne[0] ? exactly(tt_plus(tt_times(factor, n),
                                          tt_times(formulas[at].extra, n / d->ne[0])))
                        : exactly(0);
    case ROTATION:
        return (tt_flops){.known = true, .at_most = true, .flops = tt_times(factor, n)};
    case GATED:
    case FUNCTION:
        return of_function(d);
    case CONVOLUTION:
        return s1 ? exactly(tt_times(tt_times(2, s1->ne[0]), n)) : unknown;
    case SCAN:
        return of_scan(s0, s1, source(g, d, 3));
    }
    return unknown;
}

tt_flops tt_flops_of_node(const tt_graph *g, uint32_t node)
{
    const tt_tensor *d = &g->tensors[node];
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (strcmp(d->op_name, formulas[i].op) == 0) return evaluate(g, d, i);
    return (tt_flops){0};
}

/* Only of a tensor's elements: a view's range from its first to its last element may contain
 * others. */
static uint64_t packed_bytes(const tt_tensor *t)
{
    const tt_ggml_type *type = tt_ggml_type_parse(t->type_name);
    if (!type) return t->size_bytes;
    uint64_t bytes = tt_times(tt_elements(t) / type->block_elements, type->block_bytes);
    return bytes < t->size_bytes ? bytes : t->size_bytes;
}

static uint64_t written_bytes(const tt_graph *g, const tt_tensor *d)
{
    const tt_tensor *rows = strcmp(d->op_name, "SET_ROWS") == 0 ? source(g, d, 0) : NULL;
    const tt_ggml_type *type = tt_ggml_type_parse(d->type_name);
    if (!rows || !type) return packed_bytes(d);
    uint64_t bytes = tt_times(tt_elements(rows) / type->block_elements, type->block_bytes);
    return bytes < d->size_bytes ? bytes : d->size_bytes;
}

void tt_cost_of(const tt_op *op, tt_cost *cost)
{
    const tt_graph *g = op->graph;
    *cost = (tt_cost){.flops.known = true, .at_most = op->at_most};
    for (uint32_t i = 0; i < op->n_nodes; i++) {
        tt_flops f = tt_flops_of_node(g, op->nodes[i]);
        cost->flops.known &= f.known;
        cost->flops.at_most |= f.at_most;
        cost->flops.flops = tt_plus(cost->flops.flops, f.flops);
        cost->at_most |= strcmp(g->tensors[op->nodes[i]].op_name, "FLASH_ATTN_EXT") == 0;
    }
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_op_source *s = &op->sources[i];
        uint64_t all = packed_bytes(&g->tensors[s->tensor]);
        if (tt_op_writes_into(g, s->node, s->slot)) continue;
        cost->read_bytes = tt_plus(cost->read_bytes, s->read_bytes < all ? s->read_bytes : all);
        cost->at_most |= s->at_most;
    }
    cost->write_bytes = written_bytes(g, &g->tensors[op->nodes[op->n_nodes - 1]]);
}

bool tt_flops_in_integers(const tt_op *op)
{
    for (uint32_t i = 0; i < op->n_nodes; i++) {
        const tt_tensor *d = &op->graph->tensors[op->nodes[i]];
        const tt_tensor *matrix = source(op->graph, d, 0);
        if (strncmp(d->op_name, "MUL_MAT", 7) != 0 || !matrix) continue;
        const tt_ggml_type *type = tt_ggml_type_parse(matrix->type_name);
        return type && type->block_elements > 1;
    }
    return false;
}
