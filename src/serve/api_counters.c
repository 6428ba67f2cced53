/* /api/v1/traces/ID/counters: buffers, tokens and kernel counters over time. */
#include "analyze/counters.h"
#include "serve/endpoints.h"
#include "serve/source.h"
#include "serve/timeline_memo.h"

#include <stdlib.h>

#define BUCKETS_DEFAULT 512u

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    tt_counters *c;
    tt_status status = tt_counters_new(m, &c, err);
    *out = c;
    return status;
}

static void drop(void *made)
{
    tt_counters_free(made);
}

static bool put_series(tt_json *j, const tt_counters *c, double from, double to, uint32_t n,
                       double *values)
{
    for (int k = 0; k < TT_COUNTERS; k++) {
        const tt_counter counter = (tt_counter)k;
        if (!tt_counters_has(c, counter)) continue;
        if (!tt_counters_get(c, counter, from, to, n, values)) return false;
        tt_json_key(j, tt_counter_name(counter));
        tt_json_array(j);
        for (uint32_t i = 0; i < n; i++)
            tt_json_double(j, values[i]); /* NAN: null */
        tt_json_array_end(j);
    }
    return true;
}

tt_status tt_answer_counters(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_source_memo memo = {make, drop};
    const tt_timeline *t;
    const void *c = NULL;
    double from, to;
    uint64_t n;
    tt_status status = tt_timeline_of_request(q, &t, err);
    if (status == TT_OK) status = tt_timeline_window(q, t, &from, &to, err);
    if (status == TT_OK) status = tt_source_get(q, &memo, &c, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "buckets", 1, TT_COUNTERS_BUCKETS_MAX, BUCKETS_DEFAULT, &n, err))
        return TT_E_USAGE;
    double *values = calloc((size_t)n, sizeof *values);
    bool ok = values != NULL;
    if (ok) {
        tt_json *j = tt_reply_json(r);
        tt_json_object(j);
        tt_json_kv_double(j, "from_ns", from);
        tt_json_kv_double(j, "to_ns", to);
        tt_json_kv_u64(j, "buckets", n);
        tt_json_key(j, "counters");
        tt_json_object(j);
        ok = put_series(j, c, from, to, (uint32_t)n, values);
        tt_json_object_end(j);
        tt_json_object_end(j);
    }
    free(values);
    return ok ? TT_OK : tt_error_memory(err, "the counters");
}
