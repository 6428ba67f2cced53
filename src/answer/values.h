/* A trace's values: `tensortrace values --json` and the viewer's API. Each function writes one
 * object. */
#ifndef TT_ANSWER_VALUES_H
#define TT_ANSWER_VALUES_H

#include "analyze/values/columns.h"
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

/* {"file", "rows": [...], "rows_total", "summary"}; growth has "base_name" instead of "summary". A
 * page also has "offset", groups have "by", outliers "compared". */
void tt_values_json(tt_json *j, const tt_model *m, const tt_values_view *v);
/* The same for all rows of a set; sets v.rows. */
tt_status tt_values_rows_json(tt_json *j, const tt_model *m, const tt_rowset *set, tt_values_view v,
                              tt_error *err);
/* {"file", "found", "first": {...} or null, "origins": [...], "origins_total", "spread": {...},
 * "summary"} */
void tt_values_first_json(tt_json *j, const char *path, const tt_model *m,
                          const tt_values_first *f);

#endif
