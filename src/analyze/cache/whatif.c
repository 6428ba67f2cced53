#include "analyze/cache/whatif.h"

#include "analyze/slices.h"

#include <stdlib.h>
#include <string.h>

struct tt_whatif {
    const tt_model *m;
    tt_whatif_plan plan;
    tt_stream stream;
    tt_extent *extents;
    uint64_t *layout; /* of pages: where the files begin */
    uint32_t *order;  /* NULL: the reads' own */
    tt_section *sections;
    uint64_t *asked, *read, *first; /* by group: batch, the last one outside any */
    uint64_t touched;               /* in blocks of the stream */
    uint32_t first_generated;       /* batch, or TT_NONE */
};

void tt_whatif_free(tt_whatif *w)
{
    if (!w) return;
    free(w->layout);
    free(w->extents);
    free(w->order);
    free(w->sections);
    free(w->asked);
    free(w->read);
    free(w->first);
    free(w);
}

/* *beyond: a range has no pages in the layout of the files, which whoever replays relies on. */
static bool make_pages(tt_whatif *w, const tt_reads *reads, bool *beyond)
{
    const uint64_t page = w->plan.page_bytes;
    uint64_t *layout = w->layout = tt_reads_layout(w->m, page);
    w->extents = calloc(reads->n_ranges + 1, sizeof *w->extents);
    for (size_t i = 0; layout && w->extents && i < reads->n_ranges; i++) {
        const tt_read_range *r = &reads->ranges[i];
        const uint32_t file = w->m->weights[r->weight].file;
        const uint64_t base = layout[file];
        w->extents[i].begin = base + r->offset_bytes / page;
        w->extents[i].end = base + (r->offset_bytes + r->size_bytes - 1) / page + 1;
        *beyond |= w->extents[i].end > layout[file + 1];
    }
    w->stream.n_extents = (uint32_t)reads->n_ranges;
    w->stream.order = reads->order;
    w->stream.n = reads->n;
    return layout && w->extents && !*beyond;
}

/* The slices of an op's reads; a slice like the one before is left out (rows of one tensor). */
static size_t units_of_op(const tt_whatif *w, const tt_reads *reads, const tt_slices *slices,
                          size_t op, uint32_t *out)
{
    size_t n = 0;
    uint32_t last_unit = TT_NONE;
    for (size_t i = reads->ops[op].first; i < reads->ops[op + 1].first; i++) {
        uint32_t first, last;
        tt_slices_of(slices, w->m, &reads->ranges[reads->order[i]], &first, &last);
        for (; first < last; first++) {
            if (first == last_unit) continue;
            last_unit = first;
            if (out) out[n] = first;
            n++;
        }
    }
    return n;
}

/* Also says where each op's begin now. */
static bool make_wholes(tt_whatif *w, const tt_reads *reads, size_t *first)
{
    tt_slices s;
    size_t n = 0;
    bool ok = tt_slices_make(w->m, reads, w->plan.unit == TT_WHATIF_EXPERT, &s);
    for (size_t k = 0; ok && k < reads->n_ops; k++) {
        first[k] = n;
        n += units_of_op(w, reads, &s, k, NULL);
    }
    if (ok) {
        w->extents = calloc((size_t)s.n + 1, sizeof *w->extents);
        w->order =
            n > TT_MODEL_MEMORY_MAX / sizeof *w->order ? NULL : calloc(n + 1, sizeof *w->order);
    }
    ok = ok && w->extents && w->order;
    for (uint32_t i = 0; ok && i < s.n; i++)
        w->extents[i] = (tt_extent){s.list[i].begin, s.list[i].begin + s.list[i].size};
    for (size_t k = 0; ok && k < reads->n_ops; k++)
        (void)units_of_op(w, reads, &s, k, w->order + first[k]);
    w->stream.n_extents = s.n;
    w->stream.order = w->order;
    w->stream.n = n;
    tt_slices_free(&s);
    return ok;
}

static bool make_stream(tt_whatif *w, const tt_reads *reads, bool *beyond)
{
    const uint32_t outside = w->m->n_batches;
    size_t *first = calloc(reads->n_ops + 1, sizeof *first);
    w->sections = calloc(reads->n_ops + 1, sizeof *w->sections);
    bool ok = first && w->sections;
    if (ok && w->plan.unit == TT_WHATIF_PAGE) {
        ok = make_pages(w, reads, beyond);
        for (size_t k = 0; k < reads->n_ops; k++)
            first[k] = reads->ops[k].first;
    } else if (ok) {
        ok = make_wholes(w, reads, first);
    }
    for (size_t k = 0; ok && k < reads->n_ops; k++) {
        uint32_t group = reads->ops[k].batch == TT_NONE ? outside : reads->ops[k].batch;
        size_t n = w->stream.n_sections;
        if (n == 0 || w->sections[n - 1].group != group)
            w->sections[w->stream.n_sections++] = (tt_section){first[k], group};
        for (size_t i = reads->ops[k].first; i < reads->ops[k + 1].first; i++)
            w->asked[group] += reads->ranges[reads->order[i]].size_bytes;
    }
    w->stream.extents = w->extents;
    w->stream.sections = w->sections;
    w->stream.n_groups = outside + 1;
    free(first);
    return ok;
}

/* Sums up demand; `touched` is asked of a cold start, whatever the plan. */
static bool make_demand(tt_whatif *w)
{
    if (!tt_cache_demand(&w->stream, w->read, w->first)) return false;
    for (uint32_t i = 0; i < w->stream.n_groups; i++)
        w->touched += w->first[i];
    w->stream.twice = w->plan.warm;
    return !w->plan.warm || tt_cache_demand(&w->stream, w->read, w->first);
}

tt_status tt_whatif_new(const tt_model *m, const tt_reads *reads, const tt_whatif_plan *plan,
                        tt_whatif **out, tt_error *err)
{
    const size_t groups = (size_t)m->n_batches + 1;
    tt_whatif *w = calloc(1, sizeof *w);
    *out = w;
    bool ok = w != NULL, beyond = false;
    if (ok) {
        w->m = m;
        w->plan = *plan;
        w->asked = calloc(groups, sizeof *w->asked);
        w->read = calloc(groups, sizeof *w->read);
        w->first = calloc(groups, sizeof *w->first);
        ok = w->asked && w->read && w->first && make_stream(w, reads, &beyond) && make_demand(w);
    }
    if (!ok) {
        tt_whatif_free(w);
        *out = NULL;
        if (beyond)
            return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                                "a read lies outside of the weights of its model file");
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to replay all reads");
    }
    if (plan->readahead_bytes && w->layout[m->n_files] > TT_CACHE_AHEAD_BLOCKS_MAX) {
        tt_whatif_free(w);
        *out = NULL;
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the model has too many pages to replay reading ahead; larger pages "
                            "(--page-size) make fewer");
    }
    w->first_generated = TT_NONE;
    for (uint32_t i = m->n_batches; i-- > 0;)
        if (m->batches[i].phase == TT_PHASE_GENERATE && w->read[i] > 0) w->first_generated = i;
    return TT_OK;
}

static uint64_t block_bytes(const tt_whatif *w)
{
    return w->plan.unit == TT_WHATIF_PAGE ? w->plan.page_bytes : 1;
}

uint64_t tt_whatif_touched(const tt_whatif *w)
{
    return w->touched * block_bytes(w);
}

const tt_stream *tt_whatif_stream(const tt_whatif *w)
{
    return &w->stream;
}

static void add_batch(const tt_whatif *w, uint32_t group, uint64_t missed, double disk,
                      tt_whatif_part *p)
{
    const tt_batch *b = group < w->m->n_batches ? &w->m->batches[group] : NULL;
    const uint64_t block = block_bytes(w);
    p->batches += b != NULL;
    p->tokens += b ? b->n_tokens : 0;
    p->asked_bytes += w->asked[group];
    p->read_bytes += w->read[group] * block;
    p->first_bytes += w->first[group] * block;
    p->missed_bytes += missed * block;
    if (!b || !b->ended || b->end_ticks <= b->begin_ticks || !w->m->clock.known) return;
    double compute_ns = tt_model_span_ns(w->m, b->end_ticks - b->begin_ticks);
    double disk_ns = (double)(missed * block) / disk * 1e9;
    p->timed_tokens += b->n_tokens;
    p->compute_ns += compute_ns;
    p->disk_ns += disk_ns;
    p->overlap_ns += compute_ns > disk_ns ? compute_ns : disk_ns;
}

static void sum_up(const tt_whatif *w, const uint64_t *missed, double disk, tt_whatif_result *r)
{
    for (uint32_t i = 0; i < w->stream.n_groups; i++) {
        if (w->read[i] == 0) continue;
        unsigned phase = i < w->m->n_batches ? w->m->batches[i].phase : TT_PHASE_UNKNOWN;
        add_batch(w, i, missed[i], disk, &r->total);
        add_batch(w, i, missed[i], disk, &r->of_phase[phase < TT_PHASES ? phase : 0]);
        if (phase == TT_PHASE_GENERATE && i != w->first_generated)
            add_batch(w, i, missed[i], disk, &r->steady);
    }
}

tt_status tt_whatif_run(tt_whatif *w, tt_policy policy, const uint64_t *ram_bytes, size_t n,
                        double disk_bytes_per_s, tt_whatif_result *results, tt_error *err)
{
    const size_t groups = w->stream.n_groups;
    uint64_t *capacities = calloc(n + 1, sizeof *capacities);
    uint64_t *missed = calloc(n * groups + 1, sizeof *missed);
    bool ok = capacities && missed;
    for (size_t i = 0; ok && i < n; i++)
        capacities[i] = ram_bytes[i] / block_bytes(w);
    const tt_cache_job job = {.stream = &w->stream,
                              .policy = policy,
                              .whole = w->plan.unit != TT_WHATIF_PAGE,
                              .ahead = (uint32_t)(w->plan.readahead_bytes / block_bytes(w)),
                              .files = w->layout,
                              .n_files = w->m->n_files,
                              .capacities = capacities,
                              .n = n,
                              .missed = missed};
    ok = ok && tt_cache_run(&job);
    for (size_t i = 0; ok && i < n; i++) {
        results[i] = (tt_whatif_result){.policy = policy, .ram_bytes = ram_bytes[i]};
        sum_up(w, missed + i * groups, disk_bytes_per_s, &results[i]);
    }
    free(capacities);
    free(missed);
    if (ok) return TT_OK;
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to replay all reads");
}

double tt_whatif_compute_ns(const tt_whatif_part *p)
{
    return p->timed_tokens ? p->compute_ns / (double)p->timed_tokens : 0;
}

double tt_whatif_disk_ns(const tt_whatif_part *p)
{
    return p->timed_tokens ? p->disk_ns / (double)p->timed_tokens : 0;
}

double tt_whatif_rate_apart(const tt_whatif_part *p)
{
    return p->timed_tokens ? (double)p->timed_tokens / (p->compute_ns + p->disk_ns) * 1e9 : 0;
}

double tt_whatif_rate_overlap(const tt_whatif_part *p)
{
    return p->timed_tokens ? (double)p->timed_tokens / p->overlap_ns * 1e9 : 0;
}
