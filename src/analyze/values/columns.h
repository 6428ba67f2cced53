/* The rows of a trace's values, and the texts of their cells. */
#ifndef TT_ANALYZE_VALUES_COLUMNS_H
#define TT_ANALYZE_VALUES_COLUMNS_H

#include "analyze/values/first.h"
#include "analyze/values/grid.h"
#include "analyze/values/groups.h"
#include "analyze/values/values.h"
#include "model/model.h"
#include "table/table.h"

extern const tt_schema tt_values_schema, tt_values_group_schema, tt_values_growth_schema,
    tt_values_summary_schema, tt_values_origin_schema, tt_values_spread_schema;

/* Outputs (tt_values_schema); samples: with their first elements and samples. */
tt_rowset tt_values_rowset(const tt_model *m, const tt_values_row *rows, size_t n, bool samples);
/* Outliers, with the reason for each. */
tt_rowset tt_values_outliers_rowset(const tt_model *m, const tt_values_outliers *o, bool samples);
/* The sources of a bad output. */
tt_rowset tt_values_sources_rowset(const tt_model *m, const tt_values_origin *b);
/* Rows of the groups; and of n layers: those that pass tt_values_growth_measured. */
tt_rowset tt_values_groups_rowset(const tt_model *m, const tt_values_groups *g);
tt_rowset tt_values_growth_rowset(const tt_model *m, const tt_values_growth *list, size_t n);
bool tt_values_growth_measured(const void *context, const void *row);

/* "128x5", without trailing dimensions of 1. Returns out. */
#define TT_VALUES_SHAPE_TEXT 96
const char *tt_values_shape_text(char out[TT_VALUES_SHAPE_TEXT], const uint64_t ne[4]);
/* "batch 3 (prompt)". Returns out. */
#define TT_VALUES_WHERE_TEXT 80
const char *tt_values_where_text(char out[TT_VALUES_WHERE_TEXT], const tt_model *m, uint32_t run);
/* The check of a weight in the model's file: "1 NaN and 0 infinite of 65,536 elements, the first at
 * [3, 5, 0, 0]", "all 65,536 elements are finite", "was not looked at: ...". Returns out. */
#define TT_VALUES_WEIGHT_TEXT 200
const char *tt_values_weight_text(char *out, size_t room, const tt_values_weight *w);

#endif
