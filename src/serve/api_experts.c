/* /api/v1/traces/ID/experts: the chosen experts, of all tokens or of some. */
#include "answer/routing.h"
#include "model/faults.h"
#include "serve/endpoints.h"
#include "serve/request.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <stdlib.h>

typedef struct choices {
    tt_routing_view view;
    tt_expert_reads reads;
    bool has_reads;
} choices;

static void drop(void *made)
{
    choices *c = made;
    tt_routers_free(c->view.routers);
    tt_routing_rows_free(&c->view.rows);
    free(c->reads.bytes);
    free(c);
}

static tt_status walk(choices *c, tt_model *m, const tt_filter *filter, const tt_over *over,
                      tt_error *err)
{
    c->view.routers = tt_routers_new(m, filter, TT_PHASE_PROMPT);
    if (!c->view.routers) return TT_E_MEMORY;
    if (over) tt_routers_until(c->view.routers, *over);
    tt_status status = tt_routers_walk(c->view.routers, NULL, NULL, err);
    if (status != TT_OK) return status;
    if (!tt_routing_sum_up(&c->view)) return TT_E_MEMORY;
    if (c->view.n_layers == 0 || !m->clock.known || !tt_model_has_faults(m)) return TT_OK;
    c->has_reads = true;
    return tt_expert_reads_measure(m, filter, c->view.layers, c->view.n_layers, over, &c->reads,
                                   err);
}

/* over: NULL for the shared memo. */
static tt_status make_some(tt_model *m, const tt_filter *filter, const tt_over *over, void **out,
                           tt_error *err)
{
    choices *c = calloc(1, sizeof *c);
    (void)tt_error_memory(err, "the experts");
    if (!c) return TT_E_MEMORY;
    tt_status status = walk(c, m, filter, over, err);
    if (status != TT_OK)
        drop(c);
    else
        *out = c;
    return status;
}

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    const tt_filter all = {0};
    return make_some(m, &all, NULL, out, err);
}

tt_status tt_answer_experts(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_source_memo memo = {make, drop};
    const void *shared = NULL;
    void *own = NULL;
    tt_filter filter;
    const tt_over over = tt_request_over(q);
    if (!tt_request_filter(q, &filter, err)) return TT_E_USAGE;
    tt_status status = tt_request_is_unfiltered(q) ? tt_source_get(q, &memo, &shared, err)
                                                   : make_some(q->m, &filter, &over, &own, err);
    if (status != TT_OK) return status;
    const choices *c = own ? own : shared;
    tt_routing_view v = c->view;
    v.m = q->m;
    v.path = tt_traces_path(q->traces, q->trace_id);
    tt_experts_json(tt_reply_json(r), &v, c->has_reads ? &c->reads : NULL);
    if (own) drop(own);
    return status;
}
