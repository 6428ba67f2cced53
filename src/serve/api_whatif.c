/* /api/v1/traces/ID/whatif: what a cache of whole tensors and single experts would read again, by
 * its size. */
#include "analyze/cache/whatif_columns.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <stdlib.h>

#define STEPS_DEFAULT 16u
#define STEPS_MAX 64u

static const tt_filter all;

static tt_status collect(tt_reads *reads, tt_model *m, tt_error *err)
{
    return tt_reads_collect(m, &all, reads, NULL, NULL, err);
}

TT_SOURCE_MEMO(memo, tt_reads, "the reads of weights", collect, tt_reads_free)

/* The given size, or `steps` up to all bytes that are read. Returns how many. */
static size_t choose_sizes(const tt_whatif *w, uint64_t ram, uint64_t steps, uint64_t *sizes)
{
    if (ram) {
        sizes[0] = ram;
        return 1;
    }
    tt_whatif_curve(w, steps, sizes);
    return steps;
}

static tt_status write(tt_request *q, tt_reply *r, tt_whatif_view *v, tt_error *err)
{
    const tt_rowset set = TT_ROWSET(&tt_whatif_schema, 0, v, v->results, v->n_results);
    const tt_listing_wish wish = {0};
    tt_listing rows;
    v->path = tt_traces_path(q->traces, q->trace_id);
    tt_status status = tt_listing_make(&rows, &set, &wish, err);
    if (status == TT_OK) tt_whatif_json(tt_reply_json(r), v, &rows);
    tt_listing_free(&rows);
    return status;
}

static tt_status simulate(tt_request *q, tt_reply *r, const tt_reads *reads, tt_policy policy,
                          uint64_t ram, uint64_t steps, tt_error *err)
{
    /* Warm: what a run reads first, it reads in any case. */
    const tt_whatif_plan plan = {.unit = TT_WHATIF_EXPERT,
                                 .page_bytes = TT_WHATIF_PAGE_BYTES,
                                 .warm = true,
                                 .reader = TT_WHATIF_DIRECT,
                                 .depth = 1};
    tt_whatif_result results[STEPS_MAX] = {0};
    uint64_t sizes[STEPS_MAX];
    tt_whatif *w = NULL;
    tt_status status = tt_whatif_new(q->m, reads, &plan, &w, err);
    if (status != TT_OK) return status;
    const size_t n = choose_sizes(w, ram, steps, sizes);
    status = tt_whatif_run(w, policy, sizes, n, results, err);
    if (status == TT_OK) {
        tt_whatif_view v = tt_whatif_look(q->m, &all, reads, &plan, w);
        v.results = results;
        v.n_results = n;
        status = write(q, r, &v, err);
    }
    tt_whatif_free(w);
    return status;
}

tt_status tt_answer_whatif(tt_request *q, tt_reply *r, tt_error *err)
{
    const char *names[TT_POLICIES + 1] = {NULL};
    const void *reads = NULL;
    uint64_t ram, steps;
    size_t policy;
    for (size_t i = 0; i < TT_POLICIES; i++)
        names[i] = tt_policies[i].name;
    if (!tt_request_choice(q, "policy", names, TT_POLICY_LRU, &policy, err) ||
        !tt_request_u64(q, "ram_bytes", 1, INT64_MAX, 0, &ram, err) ||
        !tt_request_u64(q, "steps", 1, STEPS_MAX, STEPS_DEFAULT, &steps, err))
        return TT_E_USAGE;
    tt_status status = tt_source_get(q, &memo, &reads, err);
    return status == TT_OK ? simulate(q, r, reads, (tt_policy)policy, ram, steps, err) : status;
}
