/* After loading: ids in records become indexes. */
#include "model/load.h"

#include "base/order.h"

#include <inttypes.h>
#include <stdlib.h>

void tt_link_files(tt_loader *l)
{
    tt_model *m = l->m;
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        tt_buffer *b = &m->buffers[i];
        uint32_t id = b->last_file;
        b->last_file = id ? tt_idmap_get(&m->file_by_id, id) : TT_NONE;
        if (id && b->last_file == TT_NONE)
            tt_loader_problem(
                l, "buffer %" PRIu64 " came after model file %" PRIu32 ", which is not there",
                b->id, id);
    }
}

TT_ORDER_BY(by_run_and_tensor, tt_indices, run, tensor)

/* Whether the row numbers belong to a tensor of a known run, whose id becomes its index. */
static bool link_one(tt_loader *l, tt_indices *x)
{
    tt_model *m = l->m;
    uint32_t run = tt_model_run(m, x->run);
    uint32_t graph = run == TT_NONE ? TT_NONE : m->runs[run].graph;
    if (run == TT_NONE)
        tt_loader_problem(l, "row numbers belong to run %" PRIu32 ", which is not there", x->run);
    else if (graph == TT_NONE || x->tensor >= m->graphs[graph].n_tensors)
        tt_loader_problem(l,
                          "row numbers of run %" PRIu32 " belong to tensor %" PRIu32
                          ", which its graph does not have",
                          x->run, x->tensor);
    else {
        x->run = run;
        return true;
    }
    return false;
}

static void link_indices(tt_loader *l)
{
    tt_model *m = l->m;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_indices; i++)
        if (link_one(l, &m->indices[i])) m->indices[n++] = m->indices[i];
    uint32_t sorted = 1;
    while (sorted < n && by_run_and_tensor(&m->indices[sorted - 1], &m->indices[sorted]) <= 0)
        sorted++;
    if (sorted < n) qsort(m->indices, n, sizeof *m->indices, by_run_and_tensor);
    m->n_indices = 0;
    for (uint32_t i = 0; i < n; i++) {
        const tt_indices *x = &m->indices[i];
        if (m->n_indices && by_run_and_tensor(x, &m->indices[m->n_indices - 1]) == 0)
            tt_loader_problem(
                l, "run %" PRIu32 ": the row numbers in tensor %" PRIu32 " are told twice",
                m->runs[x->run].id, x->tensor);
        else
            m->indices[m->n_indices++] = *x;
    }
}

static uint32_t link_batch(tt_loader *l, uint32_t id, const char *what)
{
    uint32_t at = id ? tt_model_batch(l->m, id) : TT_NONE;
    if (id && at == TT_NONE)
        tt_loader_problem(l, "%s belong to batch %" PRIu32 ", which is not there", what, id);
    return at;
}

static void link_residencies(tt_loader *l)
{
    tt_model *m = l->m;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_residencies; i++) {
        tt_residency *r = &m->residencies[i];
        uint32_t id = r->file;
        r->file = tt_idmap_get(&m->file_by_id, id);
        r->batch = link_batch(l, r->batch, "pages in RAM");
        if (r->file != TT_NONE)
            m->residencies[n++] = *r;
        else
            tt_loader_problem(
                l, "pages in RAM belong to model file %" PRIu32 ", which is not there", id);
    }
    m->n_residencies = n;
}

void tt_link_records(tt_loader *l)
{
    link_indices(l);
    for (uint32_t i = 0; i < l->m->n_usages; i++)
        l->m->usages[i].batch = link_batch(l, l->m->usages[i].batch, "counters of the kernel");
    link_residencies(l);
}
