#include "adapter/ggml/taps.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define TAPS_MAX 8192u
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

static void add(tt_taps *taps, const tt_tap *tap)
{
    if (tt_array_one_more_within(taps->list, taps->n, taps->capacity,
                                 TAPS_MAX * sizeof *taps->list))
        taps->list[taps->n++] = *tap;
}

/* The ids are a matrix of 32-bit numbers: ranks x tokens. */
static void add_experts(tt_taps *taps, const tt_engine *e, struct ggml_tensor *const *nodes,
                        uint32_t node)
{
    const struct ggml_tensor *ids = nodes[node]->src[2];
    if (!ids || !is_type(e, ids, "i32") || ids->nb[0] != sizeof(int32_t)) return;
    if (ids->ne[0] <= 0 || ids->ne[0] > UINT16_MAX || ids->ne[1] <= 0 || ids->ne[1] > INT32_MAX)
        return;
    for (uint32_t i = taps->n; i-- > 0;)
        if (taps->list[i].values == ids) return;
    add(taps,
        &(tt_tap){node, node, TT_DETAIL_EXPERTS, ids, (uint32_t)ids->ne[0], (uint32_t)ids->ne[1]});
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
 * final form; n_nodes when there is none nearby. */
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

/* The weights of the experts of `tap` are computed near it. */
static void add_weights(tt_taps *taps, const tt_engine *e, struct ggml_tensor *const *nodes,
                        uint32_t n_nodes, tt_tap tap)
{
    uint32_t i = tap.node > NEARBY ? tap.node - NEARBY : 0;
    for (; i < n_nodes && i < tap.node + NEARBY; i++) {
        const struct ggml_tensor *weights;
        if (nodes[i]->op != e->op_get_rows || nodes[i]->src[1] != tap.values ||
            elements(nodes[i]) != (int64_t)tap.ranks * tap.tokens)
            continue;
        tap.node = find_use(e, nodes, n_nodes, i, &weights);
        if (tap.node == n_nodes || !is_plain(e, weights)) return;
        tap.kind = TT_DETAIL_WEIGHTS_F32;
        tap.values = weights;
        add(taps, &tap);
        return;
    }
}

static int by_node(const void *a, const void *b)
{
    const tt_tap *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

void tt_taps_find(tt_taps *taps, const tt_engine *e, struct ggml_tensor *const *nodes,
                  uint32_t n_nodes)
{
    taps->n = 0;
    for (uint32_t i = 0; i < n_nodes; i++)
        if (nodes[i]->op == e->op_mul_mat_id) add_experts(taps, e, nodes, i);
    for (uint32_t i = 0, n = taps->n; i < n; i++)
        add_weights(taps, e, nodes, n_nodes, taps->list[i]);
    if (taps->n) qsort(taps->list, taps->n, sizeof *taps->list, by_node);
}

static bool copy_experts(const tt_tap *tap, const uint8_t *row, uint32_t rank, tt_detail *d)
{
    tt_detail_experts *x = &d->experts;
    while (x->n < TT_DETAIL_EXPERTS_MAX && rank + x->n < tap->ranks) {
        int32_t id;
        memcpy(&id, row + (rank + x->n) * sizeof id, sizeof id);
        /* Not an expert id: the row is unusable. */
        if (id < 0 || id >= EXPERTS_MAX) return false;
        x->expert[x->n++] = (uint16_t)id;
    }
    return true;
}

static void copy_weights(const tt_tap *tap, const uint8_t *row, uint32_t rank, tt_detail *d)
{
    tt_detail_weights *w = &d->weights;
    for (; w->n < TT_DETAIL_WEIGHTS_MAX && rank + w->n < tap->ranks; w->n++)
        memcpy(&w->weight[w->n], row + (rank + w->n) * sizeof(float), sizeof(float));
}

/* Copies one slot; returns how many ranks it took, 0 when the ring is full. */
static uint32_t copy_slot(const tt_tap *tap, const uint8_t *row, uint32_t token, uint32_t rank,
                          uint32_t run, tt_detail_writer *w)
{
    tt_detail *d = tt_detail_next(w);
    bool ok = true;
    if (!d) return 0;
    d->run = run;
    d->experts = (tt_detail_experts){.token = token, .first_rank = (uint16_t)rank};
    if (tap->kind == TT_DETAIL_EXPERTS)
        ok = copy_experts(tap, row, rank, d);
    else
        copy_weights(tap, row, rank, d);
    if (ok) tt_detail_complete(d, tt_detail_place(tap->router, 0, tap->kind));
    return tap->kind == TT_DETAIL_EXPERTS ? TT_DETAIL_EXPERTS_MAX : TT_DETAIL_WEIGHTS_MAX;
}

void tt_tap_copy(const tt_tap *tap, const void *values, size_t stride, uint32_t run,
                 tt_detail_writer *w)
{
    for (uint32_t token = 0; token < tap->tokens; token++) {
        const uint8_t *row = (const uint8_t *)values + token * stride;
        for (uint32_t rank = 0, step; rank < tap->ranks; rank += step)
            if ((step = copy_slot(tap, row, token, rank, run, w)) == 0) return;
    }
}

size_t tt_tap_stride(const tt_tap *tap)
{
    return tap->kind == TT_DETAIL_EXPERTS ? tap->values->nb[1] : tap->ranks * sizeof(float);
}
