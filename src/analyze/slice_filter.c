#include "analyze/slice_filter.h"

#include "analyze/ops.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

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

/* As a pattern without experts: "Kcur-[01]" ends with a number in brackets, too. */
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

tt_status tt_slice_filter_passes(tt_slice_filter *f, uint32_t run, uint32_t node, uint8_t covers,
                                 bool *passes, tt_error *err)
{
    size_t length, n;
    int32_t expert;
    tt_op op;
    const tt_access *list;
    *passes = true;
    if (!f->pattern || !tt_slice_name(f->pattern, &length, &expert)) return TT_OK;
    tt_op_describe(f->m, &f->m->graphs[f->m->runs[run].graph], node, covers, &op);
    if (matches_as_it_is(f->pattern, &op)) return TT_OK;
    tt_status status = enter(f, run, err);
    if (status == TT_OK) status = tt_accesses_of(f->accesses, &op, &list, &n, err);
    if (status != TT_OK) return status;
    *passes = false;
    for (size_t i = 0; i < n && !*passes; i++)
        *passes =
            (list[i].expert == expert || (list[i].expert == TT_EXPERT_NONE && list[i].at_most)) &&
            weight_matches(f->pattern, length, f->m->weights[list[i].weight].name);
    return TT_OK;
}

void tt_slice_filter_free(tt_slice_filter *f)
{
    tt_accesses_free(f->accesses);
    f->accesses = NULL;
    f->run_plus_1 = 0;
}
