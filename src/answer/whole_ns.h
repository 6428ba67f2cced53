/* Times as whole ns, because decimals would be most of a reply. */
#ifndef TT_ANSWER_WHOLE_NS_H
#define TT_ANSWER_WHOLE_NS_H

#include "base/json.h"

#include <math.h>
#include <stdbool.h>

/* Writes a value; null when unknown, or longer than any run (a damaged trace). */
static inline void tt_answer_whole_ns(tt_json *j, bool known, double ns)
{
    if (known && fabs(ns) < 9e18)
        tt_json_i64(j, (int64_t)llround(ns));
    else
        tt_json_null(j);
}

#endif
