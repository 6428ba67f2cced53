/* What one input may cost: memory, and time of the processor. In one source file of a program. */
#ifndef TT_FUZZ_LIMITS_H
#define TT_FUZZ_LIMITS_H

#include "../golden/allocations.h"

#include <time.h>

/* Besides what ARCHITECTURE.md promises of a trace: what a picture of the timeline, a table or a
 * page may hold, and what going through a model page by page may (cache/cache.h: 2^26 blocks). */
#define LIMITS_ANSWER_BYTES ((uint64_t)128 << 20)
#define LIMITS_PAGES_BYTES ((uint64_t)1 << 30)
/* Under sanitizers, of inputs of some KiB. */
#define LIMITS_SECONDS 2.0

static double limits_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double limits_since;

static void limits_begin(void)
{
    allocations_begin();
    limits_since = limits_now();
}

/* Dies when more memory was held at once since limits_begin, or more time went by. */
static void limits_check(uint64_t bytes)
{
    const double seconds = limits_now() - limits_since;
    allocations_check(bytes);
    if (seconds <= LIMITS_SECONDS) return;
    (void)fprintf(stderr, "%.1f s of the processor were used, %.1f are allowed\n", seconds,
                  LIMITS_SECONDS);
    abort();
}

#endif
