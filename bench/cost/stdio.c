/* What one writes first: clock_gettime and fwrite of 16 bytes at each boundary, a file a thread,
 * $COST_OUT, begun again now and then so that the disk does not fill. */
#define COST_NAME "clock_gettime + fwrite"
#define COST_HALVES 1
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_A_FILE 4096u

typedef struct record {
    uint64_t ns;
    uint32_t run, node;
} record;

static void cost_open(void)
{
}

static void cost_begin(cost_thread *t)
{
    char path[4096];
    const char *out = getenv("COST_OUT");
    (void)snprintf(path, sizeof path, "%s.%u", out ? out : "cost.out", (unsigned)t->index);
    t->own = fopen(path, "we");
    if (!t->own) exit(2);
}

static void cost_round(cost_thread *t)
{
    if (t->round % ROUNDS_A_FILE == 0) rewind(t->own);
}

static bool cost_has_room(cost_thread *t)
{
    (void)t;
    return true;
}

static inline void cost_first(cost_thread *t, uint32_t i)
{
    const record r = {tt_clock_ns(CLOCK_MONOTONIC), t->round, i};
    (void)fwrite(&r, sizeof r, 1, t->own);
}

static inline void cost_second(cost_thread *t, uint32_t i)
{
    cost_first(t, i);
}

static void cost_end(cost_thread *t)
{
    (void)fclose(t->own);
}

static uint64_t cost_close(void)
{
    return 0;
}
