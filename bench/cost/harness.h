/* What every program of bench/cost shares: it measures one way of recording.
 *
 * An event is one op on one lane, with two boundaries: the thread arrives at the op's end (which
 * begins the op's record, if need be), and it is released. A program defines, before it includes
 * this file, COST_NAME and COST_HALVES (0: a boundary cannot be recorded by itself), and behind it
 *
 *   static void cost_open(void);                          once, before any thread
 *   static void cost_begin(cost_thread *t);               in each thread
 *   static void cost_round(cost_thread *t);               before each round, not timed
 *   static bool cost_has_room(cost_thread *t);            of COST_ROUND ops, where that can be
 * known static inline void cost_first(cost_thread *t, uint32_t i);    the two boundaries static
 * inline void cost_second(cost_thread *t, uint32_t i); static void cost_end(cost_thread *t); static
 * uint64_t cost_close(void);                     once: ops that were lost
 *
 * A round is: some ops to warm up; COST_BATCH ops timed as a whole, for the mean; COST_SINGLES ops
 * timed one by one, and as many boundaries, for the percentiles; and the same with nothing in
 * between, which is what the clock itself costs and is subtracted. Single times are taken behind
 * an lfence, so that what came before has been done; the fence and the clock are part of what is
 * subtracted, a store that still waits in the store buffer is not seen.
 *
 * Rounds come at a given rate, with a busy wait in between, as ops of a model do. Without a rate
 * they come as fast as there is room, and are only timed as a whole: then the CPU time of the
 * process, with that of whatever thread writes the file, is that of recording alone. */
#ifndef BENCH_COST_HARNESS_H
#define BENCH_COST_HARNESS_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

#define COST_WARM 32u
#define COST_BATCH 512u
#define COST_SINGLES 64u
#define COST_ROUND (COST_WARM + COST_BATCH + 2 * COST_SINGLES)
#define COST_ROUNDS_MAX (1u << 17)

/* Ticks, as measured. */
typedef struct cost_samples {
    uint32_t *ticks;
    uint32_t n, capacity;
    uint32_t next; /* when they are full, the oldest gives way */
} cost_samples;

typedef struct cost_thread {
    uint32_t index;
    uint32_t round;
    void *own; /* the program's */
    uint64_t n_ops;
    cost_samples batches, ops, boundaries, clocks;
} cost_thread;

/* The rest of a program: options, threads, statistics, one line of CSV. */
typedef struct cost_program {
    const char *name;
    bool has_halves;
    void (*open)(void);
    void (*run)(cost_thread *t); /* one thread's rounds */
    uint64_t (*close)(void);
} cost_program;

int cost_main(int argc, char **argv, const cost_program *program);
/* Waits for the next round's turn. False: the time is up. */
bool cost_next(const cost_thread *t);
/* There is no room for a round: lets some time pass. */
void cost_wait(void);
/* Whether single ops are to be timed, too. */
bool cost_wants_singles(void);

static inline void cost_add(cost_samples *s, uint64_t ticks)
{
    s->ticks[s->next] = ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks;
    s->next = s->next + 1 < s->capacity ? s->next + 1 : 0;
    if (s->n < s->capacity) s->n++;
}

/* What must not be moved by the compiler stays on its side of this. */
#define COST_COMPILER_FENCE() __asm__ volatile("" ::: "memory")

static inline uint64_t cost_now(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
    uint64_t now = tt_ticks();
    COST_COMPILER_FENCE();
    return now;
}

#endif

#ifdef COST_NAME

static void cost_open(void);
static void cost_begin(cost_thread *t);
static void cost_round(cost_thread *t);
static bool cost_has_room(cost_thread *t);
static inline void cost_first(cost_thread *t, uint32_t i);
static inline void cost_second(cost_thread *t, uint32_t i);
static void cost_end(cost_thread *t);
static uint64_t cost_close(void);

static inline void cost_op(cost_thread *t, uint32_t i)
{
    cost_first(t, i);
    COST_COMPILER_FENCE();
    cost_second(t, i);
    COST_COMPILER_FENCE();
}

static void cost_batch(cost_thread *t, uint32_t from)
{
    uint64_t begin = cost_now();
    for (uint32_t i = from; i < from + COST_BATCH; i++)
        cost_op(t, i);
    cost_add(&t->batches, cost_now() - begin);
}

static void cost_singles(cost_thread *t, uint32_t from)
{
    for (uint32_t i = from; i < from + COST_SINGLES; i++) {
        uint64_t begin = cost_now();
        cost_op(t, i);
        uint64_t end = cost_now();
        cost_add(&t->ops, end - begin);
        begin = cost_now();
        end = cost_now();
        cost_add(&t->clocks, end - begin);
    }
}

static void cost_halves(cost_thread *t, uint32_t from)
{
    for (uint32_t i = from; i < from + COST_SINGLES; i++) {
        uint64_t begin = cost_now();
        cost_first(t, i);
        uint64_t middle = cost_now();
        cost_second(t, i);
        uint64_t end = cost_now();
        cost_add(&t->boundaries, middle - begin);
        cost_add(&t->boundaries, end - middle);
    }
}

static void cost_run(cost_thread *t)
{
    cost_begin(t);
    while (cost_next(t)) {
        if (!cost_has_room(t)) {
            cost_wait();
            continue;
        }
        cost_round(t);
        for (uint32_t i = 0; i < COST_WARM; i++)
            cost_op(t, i);
        cost_batch(t, COST_WARM);
        t->n_ops += COST_WARM + COST_BATCH;
        t->round++;
        if (!cost_wants_singles()) continue;
        cost_singles(t, COST_WARM + COST_BATCH);
        if (COST_HALVES) cost_halves(t, COST_WARM + COST_BATCH + COST_SINGLES);
        t->n_ops += COST_HALVES ? 2 * COST_SINGLES : COST_SINGLES;
    }
    cost_end(t);
}

int main(int argc, char **argv)
{
    const cost_program program = {COST_NAME, COST_HALVES, cost_open, cost_run, cost_close};
    return cost_main(argc, argv, &program);
}

#endif
