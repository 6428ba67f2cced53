#include "analyze/filter.h"

#include "analyze/slice_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool tt_filter_batch(const tt_filter *f, const tt_model *m, uint32_t batch)
{
    uint32_t number = batch == TT_NONE ? TT_NONE : tt_model_token(m, batch);
    if (f->has_token && (batch == TT_NONE || number < f->token_first || number > f->token_last))
        return false;
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

static bool name_passes(const tt_filter *f, const char *name)
{
    return tt_slice_name_matches(f->tensor, name);
}

static bool tensor_passes(const tt_filter *f, const tt_op *op)
{
    for (uint32_t i = 0; i < op->n_nodes; i++)
        if (name_passes(f, op->graph->tensors[op->nodes[i]].name)) return true;
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_tensor *t = &op->graph->tensors[op->sources[i].tensor];
        if (name_passes(f, t->name)) return true;
        if (t->root < op->graph->n_tensors && name_passes(f, op->graph->tensors[t->root].name))
            return true;
    }
    return false;
}

static bool text_passes(const tt_filter *f, const tt_op *op)
{
    if (strcasestr(op->op, f->text)) return true;
    for (uint32_t i = 0; i < op->n_nodes; i++)
        if (strcasestr(op->graph->tensors[op->nodes[i]].name, f->text)) return true;
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_tensor *t = &op->graph->tensors[op->sources[i].tensor];
        if (strcasestr(t->name, f->text)) return true;
        if (t->root < op->graph->n_tensors && strcasestr(op->graph->tensors[t->root].name, f->text))
            return true;
    }
    return false;
}

bool tt_filter_op(const tt_filter *f, const tt_op *op)
{
    if (f->has_layer && op->place.layer_id != f->layer) return false;
    if (f->op && !op_passes(f, op)) return false;
    if (f->tensor && !tensor_passes(f, op)) return false;
    if (f->text && !text_passes(f, op)) return false;
    if (f->origin == TT_ORIGIN_UNKNOWN) return true;
    for (uint32_t i = 0; i < op->n_sources; i++)
        if (op->graph->tensors[op->sources[i].tensor].origin == f->origin) return true;
    return false;
}

bool tt_filter_time(const tt_filter *f, double start_ns)
{
    return !(f->has_from && start_ns < f->from_ns) && !(f->has_to && start_ns > f->to_ns);
}

bool tt_filter_duration(const tt_filter *f, bool open, double duration_ns)
{
    if (open) return !f->has_least && !f->has_most;
    return !(f->has_least && duration_ns < f->least_ns) &&
           !(f->has_most && duration_ns > f->most_ns);
}

uint8_t *tt_filter_ops_of(tt_filter_ops *f, uint32_t graph)
{
    const tt_filter *x = f->filter;
    if (!x->has_layer && !x->op && !x->tensor && !x->text && x->origin == TT_ORIGIN_UNKNOWN)
        return NULL;
    if (!f->of_graph) {
        f->of_graph = calloc((size_t)f->m->n_graphs + 1, sizeof *f->of_graph);
        f->n_graphs = f->m->n_graphs;
    }
    if (f->of_graph && !f->of_graph[graph])
        f->of_graph[graph] = calloc((size_t)f->m->graphs[graph].n_nodes + 1, 1);
    if (f->of_graph && f->of_graph[graph]) return f->of_graph[graph];
    f->failed = true;
    return NULL;
}

bool tt_filter_ops_judge(tt_filter_ops *f, uint8_t *verdicts, uint32_t graph, uint32_t node,
                         uint8_t covers)
{
    tt_op op;
    tt_op_describe(f->m, &f->m->graphs[graph], node, covers, &op);
    bool passes = tt_filter_op(f->filter, &op);
    verdicts[node] = (uint8_t)(1 | (passes ? 2 : 0) | covers << 2);
    return passes;
}

void tt_filter_ops_free(tt_filter_ops *f)
{
    for (uint32_t i = 0; f->of_graph && i < f->n_graphs; i++)
        free(f->of_graph[i]);
    free(f->of_graph);
    f->of_graph = NULL;
}
