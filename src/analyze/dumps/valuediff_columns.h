/* The rows of a comparison of values. */
#ifndef TT_ANALYZE_VALUEDIFF_COLUMNS_H
#define TT_ANALYZE_VALUEDIFF_COLUMNS_H

#include "analyze/dumps/valuediff.h"
#include "table/table.h"

/* Its rows; the comparison must outlive them. */
extern const tt_schema tt_valuediff_item_schema;
tt_rowset tt_valuediff_items(const tt_valuediff *d, const tt_valuediff_item *items, size_t n);
tt_rowset tt_valuediff_inputs(const tt_valuediff_input *inputs, size_t n);
tt_rowset tt_valuediff_steps(const tt_valuediff *d);
tt_rowset tt_valuediff_depths(const tt_valuediff *d);
tt_rowset tt_valuediff_rows(const tt_valuediff *d, bool stages); /* by layer, or by stage */
/* Writes the number of values per verdict, as an object. */
void tt_valuediff_json_counts(tt_json *j, const uint64_t counts[TT_VALUE_VERDICTS]);

#endif
