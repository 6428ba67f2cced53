/* How much memory weights may take: what is there, less a reserve, asked again and again, so that
 * memory is given back before the kernel takes it. */
#ifndef TT_BOOST_BUDGET_H
#define TT_BOOST_BUDGET_H

#include "boost/weights.h"

/* What a pool that holds present_bytes now may hold; UINT64_MAX: nothing limits it. A part is left
 * for the process's own growth and for pages of files: with none the kernel reclaims all the time,
 * which costs more than what a larger pool saves. */
uint64_t tt_budget_now(uint64_t present_bytes);

typedef struct tt_budget_watch tt_budget_watch;

/* Starts a thread that takes no signals; ten times a second it sets the weights' budget to what
 * there is: at once to less, to more when that has been there for two seconds. Freed with
 * tt_budget_end, before weights and pool. NULL: it cannot be started. */
tt_budget_watch *tt_budget_begin(tt_pagepool *pool, tt_weights *weights);
void tt_budget_end(tt_budget_watch *b);

#endif
