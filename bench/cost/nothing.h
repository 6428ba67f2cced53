/* For programs that have nothing to prepare and lose nothing. */
#ifndef BENCH_COST_NOTHING_H
#define BENCH_COST_NOTHING_H

static void cost_open(void)
{
}

static void cost_begin(cost_thread *t)
{
    (void)t;
}

static void cost_round(cost_thread *t)
{
    (void)t;
}

static bool cost_has_room(cost_thread *t)
{
    (void)t;
    return true;
}

static void cost_end(cost_thread *t)
{
    (void)t;
}

static uint64_t cost_close(void)
{
    return 0;
}

#endif
