/* Why something took as long as it did, and the run at a glance: the columns of `tensortrace why`,
 * of its JSON and of the API. The context of all rows is the tt_model. */
#ifndef TT_ANALYZE_WHY_COLUMNS_H
#define TT_ANALYZE_WHY_COLUMNS_H

#include "analyze/overview.h"
#include "analyze/why/why.h"
#include "table/table.h"

/* Kinds of parts: against the usual, or alone. */
enum { TT_PARTS_COMPARED = 1, TT_PARTS_ALONE = 2 };

extern const tt_schema tt_why_schema;      /* a tt_why */
extern const tt_schema tt_overview_schema; /* a tt_overview */

extern const tt_schema tt_why_part_schema, tt_why_op_schema, tt_why_fault_schema;
extern const tt_schema tt_overview_slow_schema, tt_overview_tensor_schema;

#endif
