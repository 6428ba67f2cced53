#include "analyze/expert_reads.h"

#include "analyze/faults.h"

#include <stdlib.h>

typedef struct walk {
    tt_expert_reads *out;
    size_t *first;       /* by weight: of its layer's experts, + 1; 0: none */
    uint32_t *n_experts; /* by weight */
} walk;

static bool visit(void *context, const tt_fault_op *op)
{
    walk *w = context;
    uint64_t before = 0;
    if (!op->passes || op->counts.observed_reads == 0) return true;
    for (size_t i = 0; i < op->n_accesses; i++) {
        const tt_access *a = &op->accesses[i];
        const uint64_t part =
            tt_faults_share(op->counts.read_bytes, before, a->size_bytes, op->accessed_bytes);
        before += a->size_bytes;
        if (a->expert < 0 || !w->first[a->weight] || (uint32_t)a->expert >= w->n_experts[a->weight])
            continue;
        w->out->observed = true;
        w->out->bytes[w->first[a->weight] - 1 + (uint32_t)a->expert] += part;
    }
    return true;
}

tt_status tt_expert_reads_measure(const tt_model *m, const tt_filter *filter,
                                  const tt_router_layer *layers, size_t n_layers,
                                  const tt_over *over, tt_expert_reads *out, tt_error *err)
{
    size_t n = 0;
    walk w = {.out = out};
    *out = (tt_expert_reads){0};
    for (size_t i = 0; i < n_layers; i++)
        n += layers[i].n_experts;
    out->bytes = calloc(n + 1, sizeof *out->bytes);
    w.first = calloc((size_t)m->n_weights + 1, sizeof *w.first);
    w.n_experts = calloc((size_t)m->n_weights + 1, sizeof *w.n_experts);
    tt_status status = TT_OK;
    if (!out->bytes || !w.first || !w.n_experts) status = tt_error_memory(err, "the experts");
    for (size_t i = 0; i < n_layers && status == TT_OK; i++)
        for (uint32_t k = 0; k < layers[i].n_slices; k++) {
            w.first[layers[i].slices[k].weight] = layers[i].first_count + 1;
            w.n_experts[layers[i].slices[k].weight] = layers[i].n_experts;
        }
    tt_faults_walker walker = {.filter = filter, .visit = visit, .context = &w};
    if (over) walker.over = *over;
    if (status == TT_OK) status = tt_faults_walk(m, &walker, err);
    free(w.first);
    free(w.n_experts);
    return status;
}
