/* An amount that was observed, in part, or not at all; sums of such amounts. All zero: the empty
 * sum, of which nothing is known. */
#ifndef TT_BASE_AMOUNT_H
#define TT_BASE_AMOUNT_H

#include "base/saturate.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_amount {
    uint64_t value; /* of what was observed; 0 unless known */
    bool known;     /* something was observed */
    bool at_least;  /* something was not: the whole is not less than `value` */
} tt_amount;

static inline tt_amount tt_amount_of(bool observed, uint64_t value)
{
    return (tt_amount){observed ? value : 0, observed, !observed};
}

static inline void tt_amount_add(tt_amount *sum, tt_amount a)
{
    sum->value = tt_plus(sum->value, a.value);
    sum->known |= a.known;
    sum->at_least |= a.at_least;
}

/* Observed as a whole, and nothing. */
static inline bool tt_amount_is_zero(tt_amount a)
{
    return a.known && !a.at_least && a.value == 0;
}

/* Before the number of a known amount. */
static inline const char *tt_amount_bound(tt_amount a)
{
    return a.at_least ? "at least " : "";
}

#endif
