/* The rows of a comparison of two runs, and the texts of their cells. */
#ifndef TT_ANALYZE_DIFF_COLUMNS_H
#define TT_ANALYZE_DIFF_COLUMNS_H

#include "analyze/diff/diff.h"
#include "table/table.h"

extern const tt_schema tt_diff_row_schema;
/* The rows of a phase's times; the phase must outlive them, as below. */
tt_rowset tt_diff_rowset(const tt_diff_phase *p, tt_diff_family family);
/* n phases from the i-th on; with time columns if the i-th has any. */
tt_rowset tt_diff_phases(const tt_diff *d, size_t i, size_t n);
/* Data besides the ops. Buffers: those that pass tt_diff_has_buffers. Faults: the first row is the
 * total. */
tt_rowset tt_diff_settings(const tt_diff_around *x);
tt_rowset tt_diff_buffers(const tt_diff_around *x);
tt_rowset tt_diff_faults(const tt_diff_around *x);
tt_rowset tt_diff_routing(const tt_diff_around *x);
bool tt_diff_has_buffers(const void *context, const void *row);
bool tt_diff_buffers_differ(const void *context, const void *row);

/* "generate", "prompt"; "unknown phase" */
const char *tt_diff_phase_title(unsigned phase);
/* "+12.3 %", "2.31 x"; "" for NAN */
#define TT_DIFF_PERCENT 24
#define TT_DIFF_TIMES_FROM 1.0 /* from this change on written as "2.31 x" */
#define TT_DIFF_TIMES_MOST 1e4 /* more is "any number of times" */
char *tt_diff_percent(char out[TT_DIFF_PERCENT], double change);
/* Describes a node's change: "type f16 -> q8_0, fused differently". */
char *tt_diff_write_change(const tt_diff_change *c, char *out, size_t room);

#endif
