/* Whether the experts that a batch read from disk had been chosen lately. */
#include "analyze/access.h"
#include "analyze/why/batch.h"
#include "base/array.h"
#include "base/order.h"
#include "model/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* An expert of a layer. */
typedef struct chosen {
    int32_t layer;
    uint32_t expert;
} chosen;

typedef struct chosen_list {
    chosen *list;
    size_t n, capacity;
} chosen_list;

TT_ORDER_BY(by_layer, chosen, layer, expert)

static int32_t layer_of(const tt_model *m, uint32_t run, uint32_t node)
{
    return m->graphs[m->runs[run].graph].tensors[node].place.layer_id;
}

/* The routers' nodes of a run whose ops, or those behind them in the same layer, read from disk. */
static tt_status layers_read(const tt_model *m, uint32_t run, chosen_list *out, tt_error *err)
{
    const tt_graph *g = m->runs[run].graph == TT_NONE ? NULL : &m->graphs[m->runs[run].graph];
    const tt_detail *faults;
    size_t n = 0;
    if (!g || !tt_model_has_faults(m)) return TT_OK;
    tt_status status = tt_model_faults_of_run(m, run, &faults, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        const tt_detail_faults *f = &faults[i].faults;
        const uint32_t node = tt_detail_node(&faults[i]);
        const bool read = f->major || (f->read_bytes && f->read_bytes != UINT64_MAX);
        if (!read || node >= g->n_nodes || tt_access_router(g, node) == TT_NONE) continue;
        chosen *c = tt_array_add(out->list, out->n, out->capacity);
        if (!c) return tt_error_memory(err, "the experts");
        *c = (chosen){layer_of(m, run, node), 0};
    }
    return status;
}

/* The experts chosen in a run. */
static tt_status choices_of(tt_accesses *a, const tt_model *m, uint32_t run, chosen_list *out,
                            tt_error *err)
{
    size_t n;
    if (m->runs[run].graph == TT_NONE) return TT_OK;
    tt_status status = tt_accesses_run(a, run, err);
    if (status != TT_OK) return status;
    const tt_graph *g = &m->graphs[m->runs[run].graph];
    const tt_choice *list = tt_accesses_choices(a, &n);
    for (size_t i = 0; i < n; i++) {
        if (list[i].node >= g->n_nodes) continue;
        chosen *c = tt_array_add(out->list, out->n, out->capacity);
        if (!c) return tt_error_memory(err, "the experts");
        *c = (chosen){layer_of(m, run, list[i].node), list[i].expert};
    }
    return TT_OK;
}

static bool holds(const chosen_list *l, chosen c, bool any_expert)
{
    size_t at;
    tt_lower_bound(at, l->n,
                   l->list[at].layer < c.layer || (l->list[at].layer == c.layer && !any_expert &&
                                                   l->list[at].expert < c.expert));
    return at < l->n && l->list[at].layer == c.layer &&
           (any_expert || l->list[at].expert == c.expert);
}

static void sort(chosen_list *l)
{
    size_t n = 0;
    if (l->n) qsort(l->list, l->n, sizeof *l->list, by_layer);
    for (size_t i = 0; i < l->n; i++)
        if (n == 0 || by_layer(&l->list[n - 1], &l->list[i]) != 0) l->list[n++] = l->list[i];
    l->n = n;
}

/* `now` is by layer. */
static void count(tt_evidence *e, const chosen_list *read, const chosen_list *now,
                  const chosen_list *lately)
{
    bool was_cold = false;
    for (size_t i = 0; i < now->n; i++) {
        const chosen c = now->list[i];
        const bool first = i == 0 || now->list[i - 1].layer != c.layer;
        if (!holds(read, c, true)) continue;
        if (first) e->layers_read++, was_cold = false;
        if (was_cold || holds(lately, c, false)) continue;
        was_cold = true;
        if (!e->layers_cold++)
            (void)snprintf(e->expert_name, sizeof e->expert_name, "expert %" PRIu32 " of layer %s",
                           c.expert, tt_layer_text((char[TT_LAYER_TEXT]){0}, c.layer));
    }
}

/* The runs of the batch, and of those before it. */
static tt_status collect(tt_accesses *a, const tt_evidence *e, chosen_list *read, chosen_list *now,
                         chosen_list *lately, tt_error *err)
{
    const tt_model *m = e->why->m;
    const uint32_t batch = e->why->batch;
    uint32_t batches = 0, last = TT_NONE;
    tt_status status = TT_OK;
    if (e->batch->last_run == TT_NONE) return TT_OK;
    for (uint32_t i = e->batch->last_run + 1; i-- > 0 && status == TT_OK;) {
        const tt_run *r = &m->runs[i];
        if (r->batch == TT_NONE || m->batches[r->batch].context != e->batch->context) continue;
        if (r->batch == batch) {
            status = layers_read(m, i, read, err);
            if (status == TT_OK) status = choices_of(a, m, i, now, err);
            continue;
        }
        if (r->batch != last && batches++ == TT_COLD_BATCHES) break;
        last = r->batch;
        status = choices_of(a, m, i, lately, err);
    }
    return status;
}

tt_status tt_why_find_cold(tt_evidence *e, tt_error *err)
{
    chosen_list read = {0}, now = {0}, lately = {0};
    tt_accesses *a = tt_accesses_new(e->why->m);
    if (!a) return tt_error_memory(err, "the experts");
    tt_status status = collect(a, e, &read, &now, &lately, err);
    sort(&read);
    sort(&now);
    sort(&lately);
    if (status == TT_OK) count(e, &read, &now, &lately);
    free(read.list);
    free(now.list);
    free(lately.list);
    tt_accesses_free(a);
    return status;
}
