/* The analysis `values`: outputs of the ops. */
#include "arrow/analyses.h"

#include "analyze/lacking.h"
#include "analyze/values/columns.h"

#include <stdlib.h>
#include <string.h>

typedef struct word {
    const char *name;
    int value;
} word;

/* `none` when nothing is said. False: it is none of them. */
static bool find_word(const word *words, size_t n, const char *name, int none, int *value)
{
    *value = none;
    for (size_t i = 0; name && i < n; i++)
        if (strcmp(words[i].name, name) == 0) {
            *value = words[i].value;
            return true;
        }
    return !name;
}

static tt_status list(const tt_model *m, const tt_values_query *q, const tt_arrow_options *o,
                      tt_arrow_listed *l, tt_error *err)
{
    tt_values_page p = {0};
    tt_status status = tt_values_list(m, q, NULL, &p, err);
    if (status == TT_OK) {
        const tt_rowset set = tt_values_rowset(m, p.rows, p.n, o->samples);
        status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    }
    tt_values_page_free(&p);
    return status;
}

static tt_status groups(const tt_model *m, const tt_values_query *q, tt_values_by by,
                        const tt_arrow_options *o, tt_arrow_listed *l, tt_error *err)
{
    tt_values_groups g = {0};
    tt_status status = tt_values_groups_make(m, q, by, NULL, &g, err);
    if (status == TT_OK) {
        const tt_rowset set = tt_values_groups_rowset(m, &g);
        status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    }
    tt_values_groups_free(&g);
    return status;
}

static tt_status outliers(const tt_model *m, const tt_values_query *q, const tt_arrow_options *o,
                          tt_arrow_listed *l, tt_error *err)
{
    tt_values_outliers x = {0};
    tt_status status = tt_values_outliers_make(m, q, NULL, &x, err);
    if (status == TT_OK) {
        const tt_rowset set = tt_values_outliers_rowset(m, &x, o->samples);
        status = tt_arrow_list(l, m, &set, o, NULL, NULL, err);
    }
    tt_values_outliers_free(&x);
    return status;
}

static tt_status growth(const tt_model *m, const tt_values_query *q, const tt_arrow_options *o,
                        tt_arrow_listed *l, tt_error *err)
{
    tt_values_grid g = {0};
    size_t n = 0;
    tt_status status = tt_values_grid_make(m, q, o->base_name, NULL, &g, err);
    tt_values_growth *rows = status == TT_OK ? tt_values_growth_list(m, &g, &n) : NULL;
    if (status == TT_OK && !rows) status = tt_error_memory(err, "the layers");
    if (status == TT_OK) {
        const tt_rowset set = tt_values_growth_rowset(m, rows, n);
        status = tt_arrow_list(l, m, &set, o, NULL, tt_values_growth_measured, err);
    }
    free(rows);
    tt_values_grid_free(&g);
    return status;
}

tt_status tt_arrow_values(const tt_model *m, const tt_arrow_options *o, tt_arrow_listed *l,
                          tt_error *err)
{
    static const word dimensions[] = {{"tensor", TT_VALUES_BY_TENSOR},
                                      {"base_name", TT_VALUES_BY_BASE_NAME},
                                      {"op", TT_VALUES_BY_OP},
                                      {"layer", TT_VALUES_BY_LAYER},
                                      {"batch", TT_VALUES_BY_BATCH}};
    static const word which[] = {{"bad", TT_VALUES_BAD},
                                 {"mask", TT_VALUES_MASKING},
                                 {"constant", TT_VALUES_CONSTANT},
                                 {"zero", TT_VALUES_ZERO}};
    int by, only;
    if (!find_word(dimensions, 5, o->by, 0, &by))
        return tt_arrow_no_value("by", o->by, "tensor, base_name, op, layer or batch", err);
    if (!find_word(which, 4, o->only, TT_VALUES_ALL, &only))
        return tt_arrow_no_value("only", o->only, "bad, mask, constant or zero", err);
    if (!!o->by + !!o->only + o->outliers + o->growth > 1 || (o->base_name && !o->growth))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "values: one of by, only, outliers, growth; base_name with growth");
    if (!tt_outputs_any(m))
        return tt_error_set(
            err, TT_E_NOT_FOUND, TT_NO_OFFSET, "values were not recorded: %s",
            tt_lacking_how(m, "--values=stats (or hash, full)", (char[TT_LACKING_TEXT]){0}));
    const tt_values_query q = {
        .filter = o->filter, .name = o->name, .which = (tt_values_which)only};
    return o->outliers ? outliers(m, &q, o, l, err)
           : o->growth ? growth(m, &q, o, l, err)
           : o->by     ? groups(m, &q, (tt_values_by)by, o, l, err)
                       : list(m, &q, o, l, err);
}
