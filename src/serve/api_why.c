/* /api/v1/traces/ID/overview and /why. */
#include "analyze/why/columns.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/source.h"

/* --- the run at a glance, memoised --- */

static tt_status find_overview(tt_overview *o, const tt_model *m, tt_error *err)
{
    return tt_overview_make(m, NULL, NULL, NULL, NULL, o, err);
}

TT_SOURCE_MEMO(overview_memo, tt_overview, "the overview", find_overview, tt_overview_free)

tt_status tt_answer_overview(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made = NULL;
    const tt_status status = tt_source_get(q, &overview_memo, &made, err);
    if (status == TT_OK) tt_row_json(tt_reply_json(r), NULL, &tt_overview_schema, q->m, made);
    return status;
}

/* --- why --- */

/* TT_NONE if no batch was asked for. */
static tt_status asked_batch(tt_request *q, uint32_t *batch, tt_error *err)
{
    uint64_t number;
    *batch = TT_NONE;
    if (!tt_request_u64(q, "batch", 0, UINT32_MAX - 1, UINT32_MAX, &number, err)) return TT_E_USAGE;
    return number == UINT32_MAX ? TT_OK : tt_why_find_batch(q->m, (uint32_t)number, batch, err);
}

static tt_status answer(tt_request *q, uint32_t batch, tt_why *why, tt_error *err)
{
    const tt_over over = tt_request_over(q);
    const char *name = tt_request_text(q, "name");
    uint32_t run, node;
    tt_filter f;
    if (!tt_request_filter(q, &f, err)) return TT_E_USAGE;
    if (name) return tt_why_op_named(q->m, name, &f, batch, &over, why, err);
    if (tt_request_text(q, "run") || tt_request_text(q, "node")) {
        const tt_status status = tt_request_op(q, &run, &node, err);
        return status == TT_OK ? tt_why_op_at(q->m, run, node, &over, why, err) : status;
    }
    if (f.has_layer) return tt_why_layer(q->m, &f, batch, &over, why, err);
    if (batch != TT_NONE) return tt_why_batch(q->m, batch, &over, why, err);
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "why needs a batch, a layer, a run and a node, or a name");
}

tt_status tt_answer_why(tt_request *q, tt_reply *r, tt_error *err)
{
    uint32_t batch;
    tt_why why = {0};
    tt_status status = asked_batch(q, &batch, err);
    if (status == TT_OK) status = answer(q, batch, &why, err);
    if (status == TT_OK) tt_row_json(tt_reply_json(r), NULL, &tt_why_schema, q->m, &why);
    tt_why_free(&why);
    return status;
}
