/* uftrace: a call of an empty function that is compiled with -pg. Its entry and its exit are the
 * two boundaries. Run it under `uftrace record`. */
#define COST_NAME "uftrace"
#define COST_HALVES 0
#include "harness.h"
#include "nothing.h"

void uftrace_target(uint32_t run, uint32_t node);

static inline void cost_first(cost_thread *t, uint32_t i)
{
    uftrace_target(t->round, i);
}

static inline void cost_second(cost_thread *t, uint32_t i)
{
    (void)t;
    (void)i;
}
