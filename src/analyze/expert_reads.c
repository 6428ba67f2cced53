#include "analyze/expert_reads.h"

#include "analyze/faults.h"

#include <stdlib.h>

tt_status tt_expert_reads_measure(const tt_model *m, const tt_filter *filter,
                                  const tt_router_layer *layers, size_t n_layers,
                                  const tt_over *over, tt_expert_reads *out, tt_error *err)
{
    size_t n = 0, n_rows = 0;
    *out = (tt_expert_reads){0};
    for (size_t i = 0; i < n_layers; i++)
        n += layers[i].n_experts;
    out->bytes = calloc(n + 1, sizeof *out->bytes);
    const tt_router_layer **of = calloc((size_t)m->n_weights + 1, sizeof(tt_router_layer *));
    tt_faults *f = tt_faults_new(m, TT_FAULTS_BY_EXPERT, filter);
    tt_status status = TT_OK;
    if (!out->bytes || !of || !f) status = tt_error_memory(err, "the experts");
    for (size_t i = 0; i < n_layers && status == TT_OK; i++)
        for (uint32_t k = 0; k < layers[i].n_slices; k++)
            of[layers[i].slices[k].weight] = &layers[i];
    if (f && over) tt_faults_until(f, *over);
    if (status == TT_OK) status = tt_faults_sum(f, NULL, NULL, err);
    const tt_faults_row *rows = status == TT_OK ? tt_faults_rows(f, &n_rows) : NULL;
    for (size_t i = 0; i < n_rows; i++) {
        const tt_faults_row *r = &rows[i];
        const tt_router_layer *layer = r->weight == TT_NONE ? NULL : of[r->weight];
        if (!layer || r->number < 0 || r->number >= layer->n_experts || !r->counts.observed_reads)
            continue;
        out->observed = true;
        out->bytes[layer->first_count + (size_t)r->number] += r->counts.read_bytes;
    }
    tt_faults_free(f);
    free(of);
    return status;
}
