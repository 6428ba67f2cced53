#include "analyze/weight_places.h"

#include "analyze/access.h"
#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static int by_place(const void *a, const void *b, void *context)
{
    const tt_model *m = context;
    const tt_weight *x = &m->weights[*(const uint32_t *)a], *y = &m->weights[*(const uint32_t *)b];
    int order = tt_order(x->file, y->file);
    return order ? order : tt_order(x->offset_bytes, y->offset_bytes);
}

tt_status tt_weight_places_find(tt_weight_places *p, const tt_model *m, tt_error *err)
{
    p->m = m;
    p->order = malloc(((size_t)m->n_weights + 1) * sizeof *p->order);
    if (!p->order) return tt_error_memory(err, "the places of weights");
    for (uint32_t i = 0; i < m->n_weights; i++)
        p->order[i] = i;
    if (m->n_weights) qsort_r(p->order, m->n_weights, sizeof *p->order, by_place, (void *)m);
    return TT_OK;
}

void tt_weight_places_free(tt_weight_places *p)
{
    free(p->order);
    p->order = NULL;
}

static int32_t expert_at(const tt_weight *w, uint64_t offset)
{
    if (w->n_dims != 3 || w->ne[2] < 2 || w->ne[2] > INT32_MAX || !strstr(w->name, "_exps"))
        return TT_EXPERT_NONE;
    const uint64_t slice = w->size_bytes / w->ne[2];
    return slice && offset / slice < w->ne[2] ? (int32_t)(offset / slice) : TT_EXPERT_NONE;
}

tt_weight_place tt_weight_places_at(const tt_weight_places *p, uint32_t file,
                                    uint64_t file_offset_bytes)
{
    const tt_model *m = p->m;
    tt_weight_place found = {.weight = TT_NONE, .expert = TT_EXPERT_NONE};
    uint32_t at;
    /* The weight that begins last at that place or before. */
    tt_lower_bound(at, m->n_weights,
                   m->weights[p->order[at]].file < file ||
                       (m->weights[p->order[at]].file == file &&
                        m->weights[p->order[at]].offset_bytes <= file_offset_bytes));
    if (at == 0) return found;
    const tt_weight *w = &m->weights[p->order[at - 1]];
    if (w->file != file || file_offset_bytes - w->offset_bytes >= w->size_bytes) return found;
    found.weight = p->order[at - 1];
    found.offset_bytes = file_offset_bytes - w->offset_bytes;
    found.expert = expert_at(w, found.offset_bytes);
    return found;
}
