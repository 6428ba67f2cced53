/* /api/v1/traces/ID/log/ops: when each op began and ended, in columns: what a film of a token
 * needs. */
#include "analyze/log/log.h"
#include "base/array.h"
#include "base/layer.h"
#include "serve/columns.h"
#include "serve/endpoints.h"
#include "serve/request.h"

#include <stdlib.h>

/* A token of a large model has some thousand. */
#define OPS_MAX 65536u

typedef struct moment {
    uint32_t run; /* in m->runs */
    uint32_t node;
    uint32_t weight; /* in m->weights, the first that it reads; TT_NONE: none */
    int32_t layer;
    uint64_t start, end; /* ticks */
    bool open;
} moment;

typedef struct moments {
    const tt_model *m;
    moment *list;
    size_t n, capacity;
    bool cut, no_memory;
} moments;

static bool add_op(void *context, const tt_log_op *row)
{
    moments *w = context;
    if (w->n == OPS_MAX) {
        w->cut = true;
        return false;
    }
    moment *one = tt_array_add(w->list, w->n, w->capacity);
    if (!one) {
        w->no_memory = true;
        return false;
    }
    *one = (moment){.run = (uint32_t)(row->run - w->m->runs),
                    .node = row->op->node,
                    .weight = TT_NONE,
                    .layer = row->op->place.layer_id,
                    .start = row->start_ticks,
                    .end = row->arrive_ticks,
                    .open = row->open};
    for (uint32_t i = 0; i < row->op->n_sources && one->weight == TT_NONE; i++)
        one->weight = row->op->sources[i].weight;
    return true;
}

TT_COLUMN_KNOWN(has_end, moment, one, !one->open)
TT_COLUMN_KNOWN(has_weight, moment, one, one->weight != TT_NONE)
TT_COLUMN_KNOWN(has_layer, moment, one, one->layer >= 0)
TT_COLUMN_VALUE(get_start, moment, one, f64, tt_model_ns(context, one->start))
TT_COLUMN_VALUE(get_end, moment, one, f64, tt_model_ns(context, one->end))
TT_COLUMN_VALUE(get_layer, moment, one, u64, (uint64_t)one->layer)

static const tt_column columns[] = {
    TT_FIELD("run", "", TT_MEMBER(moment, run)),
    TT_FIELD("node", "", TT_MEMBER(moment, node)),
    TT_FIELD("weight", "", TT_MEMBER(moment, weight), .known = has_weight),
    TT_FIELD(TT_LAYER_KEY, "", .type = TT_CELL_U32, .get = get_layer, .known = has_layer),
    TT_FIELD("start_relative_ns", "", .type = TT_CELL_F64, .get = get_start),
    TT_FIELD("end_relative_ns", "", .type = TT_CELL_F64, .get = get_end, .known = has_end),
};
static const tt_schema schema = TT_SCHEMA("ops", "an op", columns);
static const tt_column head_columns[] = {TT_FIELD("cut", "", TT_MEMBER(moments, cut))};
static const tt_schema head = TT_SCHEMA("ops", "of a part of the trace", head_columns);

tt_status tt_answer_log_ops(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_listing_wish all;
    tt_filter f;
    tt_columns c;
    moments w = {.m = q->m};
    if (!tt_request_filter(q, &f, err)) return TT_E_USAGE;
    tt_status status = tt_log_walk(q->m, &f, false, add_op, &w, err);
    if (w.no_memory) status = tt_error_memory(err, "ops of a token");
    if (status == TT_OK) {
        tt_columns_begin(&c, &TT_ROWSET(&head, 0, NULL, &w, 1));
        tt_columns_add_rows(&c, &TT_ROWSET(&schema, 0, q->m, w.list, w.n), &all);
        status = tt_columns_end(&c, r, err);
    }
    free(w.list);
    return status;
}
