/* Threads that work at the same time. */
#ifndef TT_BASE_THREADS_H
#define TT_BASE_THREADS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

/* Processors that the calling thread may use, at least 1; needs _GNU_SOURCE. */
static inline uint32_t tt_processors(void)
{
    cpu_set_t set;
    /* With more than the set has room for, all of them. */
    const long n = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0
                       ? CPU_COUNT(&set)
                       : sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/* Of n threads; all zero at first. */
typedef struct tt_barrier {
    _Atomic uint32_t arrived, passed;
} tt_barrier;

/* Spins until all have arrived, like ggml_barrier. */
static inline void tt_barrier_wait(tt_barrier *b, uint32_t n)
{
    const uint32_t passed = atomic_load(&b->passed);
    if (atomic_fetch_add(&b->arrived, 1) + 1 == n) {
        atomic_store(&b->arrived, 0);
        atomic_fetch_add(&b->passed, 1);
        return;
    }
    while (atomic_load(&b->passed) == passed) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

#endif
