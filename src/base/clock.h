/* Time stamps. Ticks are the processor's own counter: the cheapest clock there
 * is (10 ns on x86-64); CLOCK records in a trace relate ticks to nanoseconds. */
#ifndef TT_BASE_CLOCK_H
#define TT_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tt_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

/* Ticks a second, as the processor says; 0: it does not. On AArch64 firmware sets it. */
static inline uint64_t tt_ticks_hz(void)
{
    uint64_t hz = 0;
#if defined(__aarch64__)
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
#endif
    return hz;
}

static inline uint64_t tt_clock_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
