/* The step of a clock: many time-stamp counters advance by several ticks at once (a counter of 100
 * MHz shown as one of 2.6 GHz advances by 25.96). */
#ifndef BENCH_SIZE_STEP_H
#define BENCH_SIZE_STEP_H

#include <stddef.h>
#include <stdint.h>

typedef struct clock_step {
    double ticks; /* 1: no step was found */
    uint64_t origin;
} clock_step;

/* From times in ascending order. */
clock_step clock_step_find(const uint64_t *times, size_t n);
/* The number of the step at `time`; *rest: what the step's own time differs by. */
int64_t clock_step_number(const clock_step *s, uint64_t time, int64_t *rest);

#endif
