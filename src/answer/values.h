/* A trace's values: `tensortrace values --json` and the viewer's API. Each function writes one
 * object. */
#ifndef TT_ANSWER_VALUES_H
#define TT_ANSWER_VALUES_H

#include "analyze/values/first.h"
#include "analyze/values/grid.h"
#include "analyze/values/groups.h"
#include "analyze/values/values.h"
#include "base/json.h"
#include "model/model.h"
#include "table/table.h"

/* Rows, and their source: one of the four is not NULL. */
typedef struct tt_values_view {
    const char *path;
    const tt_listing *rows;
    const tt_values_page *page;
    const tt_values_groups *groups;
    const tt_values_outliers *outliers;
    const tt_values_grid *grid; /* its growth */
    uint64_t offset;            /* of the page */
} tt_values_view;

/* {"file", "rows": [...], "rows_total", "summary"}; growth has "place" instead of "summary". A
 * page also has "offset", groups have "by", outliers "compared". */
void tt_values_json(tt_json *j, const tt_model *m, const tt_values_view *v);
/* The same for all rows of a set; sets v.rows. */
tt_status tt_values_rows_json(tt_json *j, const tt_model *m, const tt_rowset *set, tt_values_view v,
                              tt_error *err);
/* {"file", "found", "first": {...} or null, "births": [...], "births_total", "spread": {...},
 * "summary"} */
void tt_values_first_json(tt_json *j, const char *path, const tt_model *m,
                          const tt_values_first *f);

extern const tt_schema tt_values_schema, tt_values_group_schema, tt_values_growth_schema,
    tt_values_summary_schema, tt_values_birth_schema, tt_values_spread_schema;

/* Outputs (tt_values_schema); samples: with their first elements and samples. */
tt_rowset tt_values_rowset(const tt_model *m, const tt_values_row *rows, size_t n, bool samples);
/* Outliers, with the reason for each. */
tt_rowset tt_values_outliers_rowset(const tt_model *m, const tt_values_outliers *o, bool samples);
/* The sources of a bad output. */
tt_rowset tt_values_sources_rowset(const tt_model *m, const tt_values_birth *b);
/* Rows of the groups; and of n layers: those that pass tt_values_growth_measured. */
tt_rowset tt_values_groups_rowset(const tt_values_groups *g);
tt_rowset tt_values_growth_rowset(const tt_values_growth *list, size_t n);
bool tt_values_growth_measured(const void *context, const void *row);

/* "128x5", without trailing dimensions of 1. Returns out. */
#define TT_VALUES_SHAPE_TEXT 96
const char *tt_values_shape_text(char out[TT_VALUES_SHAPE_TEXT], const uint64_t ne[4]);
/* "batch 3 (prompt)". Returns out. */
#define TT_VALUES_WHERE_TEXT 80
const char *tt_values_where_text(char out[TT_VALUES_WHERE_TEXT], const tt_model *m, uint32_t run);
/* The check of a weight in the model's file: "1 NaN and 0 infinite of 65,536 elements, the first
 * at [3, 5, 0, 0]", "all 65,536 elements are finite", "was not looked at: ...". Returns out. */
#define TT_VALUES_WEIGHT_TEXT 200
const char *tt_values_weight_text(char *out, size_t room, const tt_values_weight *w);

#endif
