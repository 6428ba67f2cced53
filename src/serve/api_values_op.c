/* /api/v1/traces/ID/values/op: the outputs of one op. */
#include "analyze/join.h"
#include "analyze/ops.h"
#include "analyze/values/groups.h"
#include "answer/values.h"
#include "serve/endpoints.h"

#include <stdlib.h>
#include <string.h>

typedef struct op_values {
    tt_request *q;
    uint32_t run, op; /* op: its first node, or TT_NONE: not recorded */
    uint8_t covers;   /* further executing nodes of the op */
    tt_outputs outputs;
    uint8_t masking[TT_OP_NODES_MAX]; /* of the outputs */
} op_values;

/* The first node of the op of the joined run that computed `node`, or TT_NONE. */
static uint32_t op_of(const tt_join *j, uint32_t node)
{
    /* Without records there is no table of ops. */
    if (!j->graph || j->n_touched == 0 || node >= j->graph->n_nodes) return TT_NONE;
    uint32_t executing = 0;
    for (uint32_t at = node;; at--) {
        if (j->ops[at].stamp == j->stamp) return j->ops[at].covers >= executing ? at : TT_NONE;
        executing += (j->graph->tensors[at].flags & TT_TENSOR_EXECUTES) != 0;
        if (at == 0 || executing == TT_OP_NODES_MAX) return TT_NONE;
    }
}

/* Keeps the outputs of that op only. */
static tt_status find(op_values *v, uint32_t node, tt_error *err)
{
    tt_join join = {0};
    tt_outputs *all = &v->outputs;
    tt_status status = tt_join_run(&join, v->q->m, v->run, err);
    if (status == TT_OK) v->op = op_of(&join, node);
    if (v->op != TT_NONE) v->covers = join.ops[v->op].covers;
    if (status == TT_OK) status = tt_outputs_of_run(all, v->q->m, v->run, err);
    size_t kept = 0;
    for (size_t i = 0; status == TT_OK && i < all->n && kept < TT_OP_NODES_MAX; i++) {
        const uint32_t by = v->op == TT_NONE ? TT_NONE : op_of(&join, all->list[i].node);
        if (v->op == TT_NONE ? all->list[i].node == node : by == v->op)
            all->list[kept++] = all->list[i];
    }
    all->n = kept;
    tt_join_free(&join);
    return status;
}

/* Whether infinities come from a mask depends on all earlier computations. */
static tt_status evaluate(op_values *v, tt_error *err)
{
    const tt_model *m = v->q->m;
    const uint32_t batch = m->runs[v->run].batch;
    const tt_over over = tt_request_over(v->q);
    tt_values_query masks = {.which = TT_VALUES_MASKING};
    tt_values_page page = {0};
    bool needed = false;
    for (size_t i = 0; i < v->outputs.n; i++)
        needed |= v->outputs.list[i].print.n_inf > 0 && v->outputs.list[i].print.n_nan == 0;
    if (!needed) return TT_OK;
    if (batch != TT_NONE) {
        masks.filter.has_batch = true;
        masks.filter.batch_first = masks.filter.batch_last = tt_model_batch_number(m, batch);
    }
    tt_status status = tt_values_list(m, &masks, &over, &page, err);
    for (size_t k = 0; status == TT_OK && k < page.n; k++)
        for (size_t i = 0; i < v->outputs.n; i++)
            v->masking[i] |=
                page.rows[k].run == v->run && page.rows[k].node == v->outputs.list[i].node;
    tt_values_page_free(&page);
    return status;
}

static void put(tt_json *j, const op_values *v)
{
    const tt_model *m = v->q->m;
    tt_values_row rows[TT_OP_NODES_MAX];
    char place[TT_VALUES_KEY_TEXT];
    for (size_t i = 0; i < v->outputs.n; i++) {
        const uint32_t node = v->outputs.list[i].node;
        rows[i] = (tt_values_row){.run = v->run,
                                  .node = node,
                                  .first = v->op == TT_NONE ? node : v->op,
                                  .covers = v->covers,
                                  .masking = v->masking[i],
                                  .print = v->outputs.list[i].print};
    }
    const tt_rowset set = tt_values_rowset(m, rows, v->outputs.n, true);
    tt_json_object(j);
    tt_json_kv_u64(j, "run", v->run);
    tt_json_kv_u64_or_null(j, "op", v->op != TT_NONE, v->op);
    tt_json_key(j, "base_names");
    tt_json_array(j);
    for (size_t i = 0; i < v->outputs.n; i++) {
        const tt_tensor *t = &v->outputs.graph->tensors[v->outputs.list[i].node];
        tt_json_string(j, tt_values_base_name(t, place));
    }
    tt_json_array_end(j);
    tt_rowset_json_rows(j, "outputs", &set, NULL);
    tt_json_object_end(j);
}

tt_status tt_answer_values_op(tt_request *q, tt_reply *r, tt_error *err)
{
    uint32_t run, node;
    tt_status status = tt_request_op(q, &run, &node, err);
    if (status != TT_OK) return status;
    op_values v = {.q = q, .run = run, .op = TT_NONE};
    status = find(&v, node, err);
    if (status == TT_OK) status = evaluate(&v, err);
    if (status == TT_OK) put(tt_reply_json(r), &v);
    tt_outputs_free(&v.outputs);
    return status;
}
