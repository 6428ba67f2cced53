#include "analyze/filter.h"

#include "analyze/ops.h"
#include "base/path.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 512u /* of a pattern; names of tensors are shorter */

bool tt_slice_name(const char *text, size_t *length, int32_t *expert)
{
    size_t n = strlen(text), first;
    if (n < 4 || text[n - 1] != ']') return false;
    first = n - 1;
    while (first > 0 && text[first - 1] >= '0' && text[first - 1] <= '9')
        first--;
    if (first == n - 1 || n - 1 - first > 6 || first < 2 || text[first - 1] != '[') return false;
    *length = first - 1;
    *expert = atoi(text + first);
    return true;
}

tt_slice_filter tt_slice_filter_of(const tt_model *m, const tt_filter *filter)
{
    size_t length;
    int32_t expert;
    const bool wanted = filter->tensor && tt_slice_name(filter->tensor, &length, &expert);
    return (tt_slice_filter){.m = m, .pattern = wanted ? filter->tensor : NULL};
}

static bool weight_matches(const char *pattern, size_t length, const char *name)
{
    char before[NAME_MAX_BYTES];
    if (length >= sizeof before) return false;
    memcpy(before, pattern, length);
    before[length] = '\0';
    return fnmatch(before, name, 0) == 0;
}

bool tt_slice_name_matches(const char *pattern, const char *name)
{
    size_t length;
    int32_t expert;
    if (fnmatch(pattern, name, 0) == 0) return true;
    return tt_slice_name(pattern, &length, &expert) && weight_matches(pattern, length, name);
}

/* As a pattern without experts: "Kcur-[01]" also ends with a number in brackets. */
static bool matches_as_it_is(const char *pattern, const tt_op *op)
{
    for (uint32_t i = 0; i < op->n_nodes; i++)
        if (fnmatch(pattern, op->graph->tensors[op->nodes[i]].name, 0) == 0) return true;
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_tensor *t = &op->graph->tensors[op->sources[i].tensor];
        if (fnmatch(pattern, t->name, 0) == 0) return true;
        if (t->root < op->graph->n_tensors &&
            fnmatch(pattern, op->graph->tensors[t->root].name, 0) == 0)
            return true;
    }
    return false;
}

static tt_status enter(tt_slice_filter *f, uint32_t run, tt_error *err)
{
    if (f->run_plus_1 == run + 1) return TT_OK;
    if (!f->accesses) f->accesses = tt_accesses_new(f->m);
    if (!f->accesses) return tt_error_memory(err, "the experts of a run");
    f->run_plus_1 = 0;
    tt_status status = tt_accesses_run(f->accesses, run, err);
    if (status == TT_OK) f->run_plus_1 = run + 1;
    return status;
}

tt_status tt_slice_filter_look(tt_slice_filter *f, uint32_t run, uint32_t node, uint8_t covers,
                               bool *passes, tt_error *err)
{
    size_t length, n;
    int32_t expert;
    tt_op op;
    const tt_access *list;
    if (!tt_slice_name(f->pattern, &length, &expert)) return TT_OK;
    tt_op_describe(f->m, &f->m->graphs[f->m->runs[run].graph], node, covers, &op);
    if (matches_as_it_is(f->pattern, &op)) return TT_OK;
    tt_status status = enter(f, run, err);
    if (status == TT_OK) status = tt_accesses_of(f->accesses, &op, &list, &n, err);
    if (status != TT_OK) return status;
    *passes = false;
    for (size_t i = 0; i < n && !*passes; i++)
        *passes = (list[i].expert == expert ||
                   (list[i].expert == TT_EXPERT_NONE && !tt_access_is_placed(&list[i]))) &&
                  weight_matches(f->pattern, length, f->m->weights[list[i].weight].name);
    return TT_OK;
}

void tt_slice_filter_free(tt_slice_filter *f)
{
    tt_accesses_free(f->accesses);
    f->accesses = NULL;
    f->run_plus_1 = 0;
}

bool tt_filter_batch(const tt_filter *f, const tt_model *m, uint32_t batch)
{
    uint32_t number = batch == TT_NONE ? TT_NONE : tt_model_batch_number(m, batch);
    if (f->has_batch && (batch == TT_NONE || number < f->batch_first || number > f->batch_last))
        return false;
    if (f->has_context && (batch == TT_NONE || m->batches[batch].context != f->context))
        return false;
    if (f->model && batch != TT_NONE && m->batches[batch].last_run != TT_NONE &&
        !tt_filter_graph(f, m, m->runs[m->batches[batch].last_run].graph))
        return false;
    return !f->phase || (batch != TT_NONE && m->batches[batch].phase == f->phase);
}

bool tt_filter_file(const char *pattern, const tt_model_file *file)
{
    return fnmatch(pattern, file->path, 0) == 0 ||
           fnmatch(pattern, tt_base_name(file->path), 0) == 0;
}

/* Whether one of the model's files is asked for. */
static bool model_passes(const tt_filter *f, const tt_model *m, uint32_t model)
{
    for (uint32_t i = 0; i < m->n_files; i++)
        if (m->files[i].model == model && tt_filter_file(f->model, &m->files[i])) return true;
    return false;
}

bool tt_filter_graph(const tt_filter *f, const tt_model *m, uint32_t graph)
{
    if (!f->model) return true;
    return graph != TT_NONE && m->graphs[graph].model != TT_NONE &&
           model_passes(f, m, m->graphs[graph].model);
}

bool tt_filter_weight(const tt_filter *f, const tt_model *m, const tt_weight *w)
{
    if (f->has_layer && !tt_layer_passes(f->layer, w->place.layer_id)) return false;
    if (f->model && !model_passes(f, m, m->files[w->file].model)) return false;
    return !f->tensor || tt_slice_name_matches(f->tensor, w->name);
}

bool tt_filter_run(const tt_filter *f, const tt_model *m, const tt_run *run)
{
    if (!tt_filter_batch(f, m, run->batch) || !tt_filter_graph(f, m, run->graph)) return false;
    if (f->has_to && tt_model_ns(m, run->begin_ticks) > f->to_ns) return false;
    return !(f->has_from && run->ended && tt_model_ns(m, run->end_ticks) < f->from_ns);
}

bool *tt_filter_graphs(const tt_filter *f, const tt_model *m)
{
    bool *list = calloc((size_t)m->n_graphs + 1, sizeof *list);
    for (uint32_t i = 0; list && i < m->n_runs; i++)
        if (m->runs[i].graph != TT_NONE && tt_filter_run(f, m, &m->runs[i]))
            list[m->runs[i].graph] = true;
    return list;
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
    if (f->has_layer && !tt_layer_passes(f->layer, op->place.layer_id)) return false;
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

bool tt_filter_span(const tt_filter *f, double start_ns, double end_ns)
{
    if (!f->overlaps) return tt_filter_time(f, start_ns);
    /* Ops that touch the range only with an end are beside it, but for one without a duration. */
    return !(f->has_from && end_ns <= f->from_ns && start_ns < f->from_ns) &&
           !(f->has_to && start_ns >= f->to_ns && !(f->has_from && start_ns <= f->from_ns));
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

bool tt_filter_ops_decide(tt_filter_ops *f, uint8_t *verdicts, uint32_t graph, uint32_t node,
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
