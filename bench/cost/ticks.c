/* The bare time-stamp read, once a boundary: what every way of recording pays at least. */
#define COST_NAME "time stamp"
#define COST_HALVES 1
#include "harness.h"
#include "nothing.h"

static inline void cost_first(cost_thread *t, uint32_t i)
{
    (void)t;
    (void)i;
    uint64_t now = tt_ticks();
    __asm__ volatile("" ::"r"(now));
}

static inline void cost_second(cost_thread *t, uint32_t i)
{
    cost_first(t, i);
}
