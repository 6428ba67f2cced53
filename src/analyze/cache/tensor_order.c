#include "analyze/cache/tensor_order.h"

#include "base/layer.h"
#include "base/order.h"

#include <stdlib.h>

#define ALIGNMENT 32u /* GGUF's, where the file has none of its own */

const char *const tt_tensor_orders[TT_TENSOR_ORDERS] = {
    [TT_TENSORS_AS_IN_FILE] = "file", [TT_TENSORS_BY_USE] = "use", [TT_TENSORS_BY_LAYER] = "layer"};

typedef struct placed {
    uint32_t weight, file;
    uint64_t key, offset_bytes;
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    const int by_file = tt_order(x->file, y->file), by_key = tt_order(x->key, y->key);
    return by_file ? by_file : by_key ? by_key : tt_order(x->offset_bytes, y->offset_bytes);
}

static uint64_t alignment_of(const tt_model_file *f)
{
    const tt_file_kv *kv = tt_model_kv_of_file(f, "general.alignment");
    const uint64_t said = kv ? strtoull(kv->value, NULL, 10) : 0;
    return said && said <= 1u << 20 ? said : ALIGNMENT;
}

static void set_keys(const tt_model *m, const tt_reads *reads, tt_tensor_order order, placed *list)
{
    uint64_t first_of_layers = UINT64_MAX;
    for (uint32_t i = 0; i < m->n_weights; i++)
        list[i] = (placed){i, m->weights[i].file, UINT64_MAX, m->weights[i].offset_bytes};
    for (size_t i = reads->n; i-- > 0;)
        list[reads->ranges[reads->order[i]].weight].key = i;
    if (order != TT_TENSORS_BY_LAYER) return;
    for (uint32_t i = 0; i < m->n_weights; i++)
        if (m->weights[i].place.layer_id != TT_LAYER_NONE && list[i].key < first_of_layers)
            first_of_layers = list[i].key;
    for (uint32_t i = 0; i < m->n_weights; i++) {
        const int32_t layer = m->weights[i].place.layer_id;
        list[i].key = layer != TT_LAYER_NONE          ? (uint64_t)(uint32_t)layer + 1
                      : list[i].key < first_of_layers ? 0
                                                      : UINT64_MAX;
    }
}

uint64_t *tt_tensor_order_places(const tt_model *m, const tt_reads *reads, tt_tensor_order order)
{
    uint64_t *places = calloc((size_t)m->n_weights + 1, sizeof *places);
    placed *list = calloc((size_t)m->n_weights + 1, sizeof *list);
    uint64_t *at = calloc((size_t)m->n_files + 1, sizeof *at); /* by file */
    for (uint32_t i = 0; at && i < m->n_files; i++)
        at[i] = UINT64_MAX;
    for (uint32_t i = 0; places && at && i < m->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        places[i] = w->offset_bytes;
        if (tt_reads_has_place(m, w) && w->offset_bytes < at[w->file]) at[w->file] = places[i];
    }
    if (places && list && at && order != TT_TENSORS_AS_IN_FILE) {
        set_keys(m, reads, order, list);
        if (m->n_weights) qsort(list, m->n_weights, sizeof *list, by_place);
        for (uint32_t i = 0; i < m->n_weights; i++) {
            const tt_weight *w = &m->weights[list[i].weight];
            /* Weights of a damaged trace may lie over each other, and not fit behind each other. */
            if (!tt_reads_has_place(m, w) || at[w->file] > TT_READS_FILE_MAX - w->size_bytes)
                continue;
            const uint64_t alignment = alignment_of(&m->files[w->file]);
            places[list[i].weight] = at[w->file];
            at[w->file] += (w->size_bytes + alignment - 1) / alignment * alignment;
        }
    }
    const bool done = places && list && at;
    free(list);
    free(at);
    if (done) return places;
    free(places);
    return NULL;
}
