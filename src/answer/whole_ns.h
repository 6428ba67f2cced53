/* Times as whole numbers of ns: decimals of many would be most of a reply. */
#ifndef TT_ANSWER_WHOLE_NS_H
#define TT_ANSWER_WHOLE_NS_H

#include "base/json.h"

#include <math.h>
#include <stdbool.h>

/* A value; null when it is not known, or is more than any run takes (a damaged trace). */
static inline void tt_answer_whole_ns(tt_json *j, bool known, double ns)
{
    if (known && fabs(ns) < 9e18)
        tt_json_i64(j, (int64_t)llround(ns));
    else
        tt_json_null(j);
}

#endif
