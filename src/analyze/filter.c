#include "analyze/filter.h"

#include <fnmatch.h>
#include <strings.h>

bool tt_filter_batch(const tt_filter *f, const tt_model *m, uint32_t batch)
{
    if (f->has_token && batch == TT_NONE) return false;
    uint32_t token = f->has_token ? tt_model_token(m, batch) : 0;
    if (f->has_token && (token < f->token_first || token > f->token_last)) return false;
    return !f->phase || (batch != TT_NONE && m->batches[batch].phase == f->phase);
}

bool tt_filter_run(const tt_filter *f, const tt_model *m, const tt_run *run)
{
    if (!tt_filter_batch(f, m, run->batch)) return false;
    if (f->has_to && tt_model_ns(m, run->begin_ticks) > f->to_ns) return false;
    return !(f->has_from && run->ended && tt_model_ns(m, run->end_ticks) < f->from_ns);
}

static bool op_passes(const tt_filter *f, const tt_op *op)
{
    if (strcasecmp(f->op, op->op) == 0) return true;
    for (uint32_t i = 0; i < op->n_nodes; i++) {
        const tt_tensor *t = &op->graph->tensors[op->nodes[i]];
        if (strcasecmp(f->op, t->op_name) == 0 || strcasecmp(f->op, t->op_desc) == 0) return true;
    }
    return false;
}

static bool tensor_passes(const tt_filter *f, const tt_op *op)
{
    for (uint32_t i = 0; i < op->n_nodes; i++)
        if (fnmatch(f->tensor, op->graph->tensors[op->nodes[i]].name, 0) == 0) return true;
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_tensor *t = &op->graph->tensors[op->sources[i].tensor];
        if (fnmatch(f->tensor, t->name, 0) == 0) return true;
        if (t->root < op->graph->n_tensors &&
            fnmatch(f->tensor, op->graph->tensors[t->root].name, 0) == 0)
            return true;
    }
    return false;
}

bool tt_filter_op(const tt_filter *f, const tt_op *op)
{
    if (f->has_layer && op->place.layer_id != f->layer) return false;
    if (f->op && !op_passes(f, op)) return false;
    if (f->tensor && !tensor_passes(f, op)) return false;
    if (f->origin == TT_ORIGIN_UNKNOWN) return true;
    for (uint32_t i = 0; i < op->n_sources; i++)
        if (op->graph->tensors[op->sources[i].tensor].origin == f->origin) return true;
    return false;
}

bool tt_filter_time(const tt_filter *f, double start_ns)
{
    return !(f->has_from && start_ns < f->from_ns) && !(f->has_to && start_ns > f->to_ns);
}
