#include "boost/apart.h"

#include "base/clock.h"

#include <stdbool.h>
#include <time.h>

#define PAUSE_NS 500000u   /* between two moves of a thread: what the others noted may be old */
#define STARTING_NS 40000u /* for a thread to start on an idle processor */
#define WAIT_NS 250000u
#define NAP_NS 1000 /* the kernel adds 50 us */

static uint32_t count(const tt_apart *a)
{
    const uint32_t n = atomic_load(&a->n);
    return n < TT_APART_MAX ? n : TT_APART_MAX;
}

void tt_apart_begin(tt_apart *a)
{
    for (uint32_t i = 0; i < TT_APART_MAX; i++)
        atomic_store_explicit(&a->processor[i], -1, memory_order_relaxed);
    atomic_store(&a->n, 0);
}

void tt_apart_join(tt_apart *a, tt_apart_self *self)
{
    if (self->of && self->i < TT_APART_MAX) atomic_store(&self->of->processor[self->i], -1);
    self->of = a;
    self->i = atomic_fetch_add(&a->n, 1);
    self->processor = -1;
}

static bool is_alone(const tt_apart *a, const tt_apart_self *self)
{
    for (uint32_t i = 0; i < count(a); i++)
        if (i != self->i && atomic_load(&a->processor[i]) == self->processor) return false;
    return true;
}

static void note(tt_apart *a, tt_apart_self *self, int32_t processor)
{
    self->processor = processor;
    atomic_store(&a->processor[self->i], processor);
}

/* The thread may use the same processors in the end. */
static void leave(tt_apart *a, tt_apart_self *self)
{
    cpu_set_t allowed, others;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    others = allowed;
    for (uint32_t i = 0; i < count(a); i++) {
        const int32_t taken = atomic_load(&a->processor[i]);
        if (taken >= 0 && taken < CPU_SETSIZE) CPU_CLR((size_t)taken, &others);
    }
    if (!CPU_COUNT(&others) || sched_setaffinity(0, sizeof others, &others) != 0) return;
    note(a, self, sched_getcpu());
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
}

void tt_apart_wait(tt_apart *a, tt_apart_self *self, uint32_t n)
{
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    tt_apart_op(a, self);
    while (atomic_load(&a->n) < n) {
        const uint64_t passed = tt_clock_ns(CLOCK_MONOTONIC) - begin;
        if (passed > WAIT_NS) return;
        if (passed > STARTING_NS) (void)nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

void tt_apart_moved(tt_apart *a, tt_apart_self *self, int32_t processor)
{
    if (self->i >= TT_APART_MAX) return;
    note(a, self, processor);
    if (is_alone(a, self)) return;
    const uint64_t now_ns = tt_clock_ns(CLOCK_MONOTONIC);
    self->processor = -1; /* unless it leaves, it looks again */
    if (now_ns - self->moved_ns < PAUSE_NS) return;
    self->moved_ns = now_ns;
    leave(a, self);
}
