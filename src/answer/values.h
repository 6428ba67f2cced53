/* What is said of the values of a trace: `tensortrace values --json` and the viewer's API.
 * Each function writes one object. */
#ifndef TT_ANSWER_VALUES_H
#define TT_ANSWER_VALUES_H

#include "analyze/values/values.h"
#include "analyze/values/values_first.h"
#include "analyze/values/values_grid.h"
#include "analyze/values/values_groups.h"
#include "base/json.h"
#include "model/model.h"
#include "table/table.h"

typedef struct tt_values_view {
    const char *path;
    const tt_values_query *query;
    bool samples; /* rows with their prefix and samples */
} tt_values_view;

/* {"file", "rows": [...], "offset", "rows_total", "summary": {...}} */
void tt_values_list_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                         const tt_values_page *p);
/* {"file", "found", "first": {...} or null, "births": [...], "births_total", "spread": {...},
 * "summary"} */
void tt_values_first_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                          const tt_values_first *f);
/* {"file", "place", "phases": [{"phase", "batches", "layers": [{"layer_id", "rms", "ratio",
 * ...}]}]} False without memory. */
bool tt_values_growth_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                           const tt_values_grid *g);
/* {"file", "by", "rows": [...], "rows_total", "summary"} */
void tt_values_groups_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                           const tt_values_groups *g);
/* {"file", "rows": [...], "rows_total", "compared", "summary"} */
void tt_values_outliers_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                             const tt_values_outliers *o);
/* One output, as in the rows of a list: {"batch_id", "run", "node", "name", "op", "layer_id",
 * "type", "shape", "elements", "n_nan", "n_inf", "first_bad", "first_bad_at", "masking", "min",
 * "max", "mean", "rms", "hash", "blake3", ["prefix", "samples"]}. */
void tt_values_row_json(tt_json *j, const tt_model *m, const tt_values_row *r, bool samples);

/* Rows of the groups, and of n layers: those that pass tt_values_growth_measured. */
tt_rowset tt_values_groups_rowset(const tt_values_groups *g);
tt_rowset tt_values_growth_rowset(const tt_values_growth *list, size_t n);
bool tt_values_growth_measured(const void *context, const void *row);

/* What was seen of a weight in the model's file: "1 NaN and 0 infinite of 65,536 elements, the
 * first at [3, 5, 0, 0]", "all 65,536 elements are finite", "was not looked at: ...". Returns out.
 */
#define TT_VALUES_WEIGHT_TEXT 200
const char *tt_values_weight_text(char *out, size_t room, const tt_values_weight *w);

#endif
