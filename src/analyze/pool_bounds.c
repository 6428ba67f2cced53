#include "analyze/pool_bounds.h"

#include "analyze/cache/whatif.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define BURST_BYTES (1u << 20)

/* Of boost's readers, as in `whatif --boost`. */

static bool is_generated(const tt_model *m, uint32_t batch)
{
    return batch != TT_NONE && m->batches[batch].phase == TT_PHASE_GENERATE;
}

/* The pauses of generated batches after the first, as far as the reads go. */
static double steady_pause_ns(const tt_model *m, const tt_reads *reads, const tt_pool_time *t)
{
    uint32_t first = TT_NONE, last = 0;
    double ns = 0;
    for (size_t i = 0; i < reads->n_ops; i++) {
        const uint32_t batch = reads->ops[i].batch;
        if (!is_generated(m, batch)) continue;
        first = batch < first ? batch : first;
        last = batch > last ? batch : last;
    }
    for (uint32_t i = 0; i < t->n_pauses; i++) {
        const tt_pool_pause *p = &t->pauses[i];
        const uint32_t batch = tt_model_batch_at(m, m->pool_reads[p->read].end_ticks);
        if (first != TT_NONE && is_generated(m, batch) && batch > first && batch <= last)
            ns += p->end_ns - p->begin_ns;
    }
    return ns;
}

/* 0: there is no burst. */
static tt_status find_disk_rate(const tt_pool_time *t, double *bytes_per_s, tt_error *err)
{
    double *rates = calloc((size_t)t->n_reads + 1, sizeof *rates);
    size_t n = 0;
    if (!rates) return tt_error_memory(err, "the rates of reads");
    for (uint32_t first = 0, end; first < t->n_reads; first = end) {
        const double begin_ns = t->reads[first].begin_ns;
        double bytes = 0;
        bool generated = true;
        for (end = first; end < t->n_reads; end++) {
            const tt_pool_read *r = &t->m->pool_reads[t->reads[end].read];
            if (end > first && t->reads[end].begin_ns > t->reads[end - 1].latest_ns) break;
            bytes += (double)r->size_bytes;
            generated &= is_generated(t->m, tt_model_batch_at(t->m, r->end_ticks));
        }
        const double ns = t->reads[end - 1].latest_ns - begin_ns;
        if (generated && bytes >= BURST_BYTES && ns > 0) rates[n++] = bytes / ns * 1e9;
    }
    qsort(rates, n, sizeof *rates, tt_by_f64);
    *bytes_per_s = n ? rates[(n - 1) * 9 / 10] : 0;
    free(rates);
    return TT_OK;
}

static double rate(const tt_whatif_part *p, double ns)
{
    return ns > 0 ? (double)p->timed_tokens / ns * 1e9 : 0;
}

tt_status tt_pool_bounds_find(tt_pool_bounds *b, const tt_reads *reads, const tt_pool_report *p,
                              const tt_pool_time *t, double disk_bytes_per_s, tt_error *err)
{
    tt_whatif_plan plan = {.unit = TT_WHATIF_EXPERT,
                           .page_bytes = TT_WHATIF_PAGE_BYTES,
                           .reader = TT_WHATIF_DIRECT,
                           .ahead_bytes = TT_WHATIF_AHEAD_BYTES,
                           .depth = TT_POLICY_READS_MAX,
                           .boost = true};
    tt_whatif *w = NULL;
    tt_whatif_result r = {0};
    *b = (tt_pool_bounds){.disk_bytes_per_s = disk_bytes_per_s, .disk_given = disk_bytes_per_s > 0};
    tt_status status = TT_OK;
    if (!(t->reading_ns > 0) || !p->total.read_bytes || !reads->n) return TT_OK;
    if (!b->disk_given) status = find_disk_rate(t, &b->disk_bytes_per_s, err);
    if (status == TT_OK && !(b->disk_bytes_per_s > 0))
        b->disk_bytes_per_s = (double)p->total.read_bytes / t->reading_ns * 1e9;
    plan.disk.bytes_per_s = b->disk_bytes_per_s;
    if (status == TT_OK) status = tt_whatif_new(p->m, reads, &plan, &w, err);
    if (status == TT_OK)
        status = tt_whatif_run(w, TT_POLICY_LRU, &p->total.budget_bytes, 1, &r, err);
    tt_whatif_free(w);
    const tt_whatif_part *s = &r.steady;
    if (status != TT_OK || !s->timed_tokens || !s->tokens) return status;
    const double pause_ns = fmin(steady_pause_ns(p->m, reads, t), s->compute_ns);
    const double overlap_ns = fmax(s->compute_ns - pause_ns, s->disk_ns);
    b->known = true;
    b->tokens = s->timed_tokens;
    b->rate = rate(s, s->compute_ns);
    b->overlap_rate = rate(s, overlap_ns);
    b->at_most_rate = rate(s, fmax(s->causal_ns - pause_ns, overlap_ns));
    b->predicted_bytes = (double)s->missed_bytes / (double)s->tokens;
    return TT_OK;
}
