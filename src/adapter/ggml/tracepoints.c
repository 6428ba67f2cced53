#include "adapter/ggml/tracepoints.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define TRACEPOINTS_MAX 8192u
#define EXPERTS_MAX 65536
#define NEARBY 96u /* most nodes between a router's parts */

static bool is_type(const tt_engine *e, const struct ggml_tensor *t, const char *type)
{
    return strcmp(e->type_name(t->type), type) == 0;
}

static int64_t elements(const struct ggml_tensor *t)
{
    return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}

static void add(tt_tracepoints *tracepoints, const tt_tracepoint *point)
{
    if (tt_array_one_more_within(tracepoints->list, tracepoints->n, tracepoints->capacity,
                                 TRACEPOINTS_MAX * sizeof *tracepoints->list))
        tracepoints->list[tracepoints->n++] = *point;
}

/* The ids are a matrix of 32-bit numbers: ranks x tokens. */
static void add_experts(tt_tracepoints *tracepoints, const tt_engine *e,
                        struct ggml_tensor *const *nodes, uint32_t node)
{
    const struct ggml_tensor *ids = nodes[node]->src[2];
    if (!ids || !is_type(e, ids, "i32") || ids->nb[0] != sizeof(int32_t)) return;
    if (ids->ne[0] <= 0 || ids->ne[0] > UINT16_MAX || ids->ne[1] <= 0 || ids->ne[1] > INT32_MAX)
        return;
    for (uint32_t i = tracepoints->n; i-- > 0;)
        if (tracepoints->list[i].values == ids) return;
    add(tracepoints, &(tt_tracepoint){node, node, TT_DETAIL_EXPERTS, ids, (uint32_t)ids->ne[0],
                                      (uint32_t)ids->ne[1]});
}

/* Whether the node only changes the selected weights (normalises, scales, reshapes them). */
static bool carries_on(const tt_engine *e, const struct ggml_tensor *node,
                       const struct ggml_tensor *weights)
{
    return node->op != e->op_sum_rows && (node->src[0] == weights || node->view_src == weights) &&
           elements(node) == elements(weights);
}

static bool is_plain(const tt_engine *e, const struct ggml_tensor *t)
{
    return is_type(e, t, "f32") && t->nb[0] == sizeof(float) &&
           e->nbytes(t) == (size_t)elements(t) * sizeof(float);
}

/* The MUL that uses the weights selected by the GET_ROWS at `picked`, and those weights in their
 * final form; n_nodes if there is none nearby. */
static uint32_t find_use(const tt_engine *e, struct ggml_tensor *const *nodes, uint32_t n_nodes,
                         uint32_t picked, const struct ggml_tensor **weights)
{
    *weights = nodes[picked];
    for (uint32_t i = picked + 1; i < n_nodes && i < picked + NEARBY; i++) {
        const struct ggml_tensor *t = nodes[i];
        if (t->op == e->op_mul && (t->src[1] == *weights || t->src[0] == *weights)) return i;
        if (carries_on(e, t, *weights)) *weights = t;
    }
    return n_nodes;
}

/* The weights of the experts of `point` are computed near it. */
static void add_weights(tt_tracepoints *tracepoints, const tt_engine *e,
                        struct ggml_tensor *const *nodes, uint32_t n_nodes, tt_tracepoint point)
{
    uint32_t i = point.node > NEARBY ? point.node - NEARBY : 0;
    for (; i < n_nodes && i < point.node + NEARBY; i++) {
        const struct ggml_tensor *weights;
        if (nodes[i]->op != e->op_get_rows || nodes[i]->src[1] != point.values ||
            elements(nodes[i]) != (int64_t)point.ranks * point.tokens)
            continue;
        point.node = find_use(e, nodes, n_nodes, i, &weights);
        if (point.node == n_nodes || !is_plain(e, weights)) return;
        point.kind = TT_DETAIL_WEIGHTS_F32;
        point.values = weights;
        add(tracepoints, &point);
        return;
    }
}

static int by_node(const void *a, const void *b)
{
    const tt_tracepoint *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

void tt_tracepoints_find(tt_tracepoints *tracepoints, const tt_engine *e,
                         struct ggml_tensor *const *nodes, uint32_t n_nodes)
{
    tracepoints->n = 0;
    for (uint32_t i = 0; i < n_nodes; i++)
        if (nodes[i]->op == e->op_mul_mat_id) add_experts(tracepoints, e, nodes, i);
    for (uint32_t i = 0, n = tracepoints->n; i < n; i++)
        add_weights(tracepoints, e, nodes, n_nodes, tracepoints->list[i]);
    if (tracepoints->n)
        qsort(tracepoints->list, tracepoints->n, sizeof *tracepoints->list, by_node);
}

static bool copy_experts(const tt_tracepoint *point, const uint8_t *row, uint32_t rank,
                         tt_detail *d)
{
    tt_detail_experts *x = &d->experts;
    while (x->n < TT_DETAIL_EXPERTS_MAX && rank + x->n < point->ranks) {
        int32_t id;
        memcpy(&id, row + (rank + x->n) * sizeof id, sizeof id);
        /* Not an expert id: the row is unusable. */
        if (id < 0 || id >= EXPERTS_MAX) return false;
        x->expert[x->n++] = (uint16_t)id;
    }
    return true;
}

static void copy_weights(const tt_tracepoint *point, const uint8_t *row, uint32_t rank,
                         tt_detail *d)
{
    tt_detail_weights *w = &d->weights;
    for (; w->n < TT_DETAIL_WEIGHTS_MAX && rank + w->n < point->ranks; w->n++)
        memcpy(&w->weight[w->n], row + (rank + w->n) * sizeof(float), sizeof(float));
}

/* Copies one slot; returns how many ranks it holds, 0 if the ring is full. */
static uint32_t copy_slot(const tt_tracepoint *point, const uint8_t *row, uint32_t token,
                          uint32_t rank, uint32_t run, tt_detail_writer *w)
{
    tt_detail *d = tt_detail_next(w);
    bool ok = true;
    if (!d) return 0;
    d->run = run;
    d->experts = (tt_detail_experts){.token = token, .first_rank = (uint16_t)rank};
    if (point->kind == TT_DETAIL_EXPERTS)
        ok = copy_experts(point, row, rank, d);
    else
        copy_weights(point, row, rank, d);
    if (ok) tt_detail_complete(d, tt_detail_place(point->router, 0, point->kind));
    return point->kind == TT_DETAIL_EXPERTS ? TT_DETAIL_EXPERTS_MAX : TT_DETAIL_WEIGHTS_MAX;
}

void tt_tracepoint_copy(const tt_tracepoint *point, const void *values, size_t stride, uint32_t run,
                        tt_detail_writer *w)
{
    for (uint32_t token = 0; token < point->tokens; token++) {
        const uint8_t *row = (const uint8_t *)values + token * stride;
        for (uint32_t rank = 0, step; rank < point->ranks; rank += step)
            if ((step = copy_slot(point, row, token, rank, run, w)) == 0) return;
    }
}

size_t tt_tracepoint_stride(const tt_tracepoint *point)
{
    return point->kind == TT_DETAIL_EXPERTS ? point->values->nb[1] : point->ranks * sizeof(float);
}
