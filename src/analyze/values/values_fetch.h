/* The fingerprints of some outputs of a trace, whatever their order: so that sorting many need not
 * hold them all. */
#ifndef TT_ANALYZE_VALUES_FETCH_H
#define TT_ANALYZE_VALUES_FETCH_H

#include "analyze/values/values.h"

typedef struct tt_values_ref {
    uint32_t run, node;
} tt_values_ref;

/* rows[i], of n, becomes what refs[i] names, which q lets pass. Time: one walk. */
tt_status tt_values_fetch(const tt_model *m, const tt_values_query *q, const tt_values_ref *refs,
                          size_t n, const tt_over *over, tt_values_row *rows, tt_error *err);

#endif
