/* Cancellation of a long walk whose result is not needed any more. */
#ifndef TT_ANALYZE_OVER_H
#define TT_ANALYZE_OVER_H

#include "base/status.h"

#include <stdbool.h>

/* Checked occasionally, between runs; zero-filled: never cancelled. */
typedef struct tt_over {
    bool (*is_over)(void *context);
    void *context;
} tt_over;

/* TT_E_IO if cancelled. NULL: never. */
static inline tt_status tt_over_check(const tt_over *o, tt_error *err)
{
    if (!o || !o->is_over || !o->is_over(o->context)) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "nobody waits for the answer any more");
}

#endif
