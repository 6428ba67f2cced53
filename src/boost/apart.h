/* Keeps the threads that compute a graph on processors of their own. The kernel sometimes puts two
 * threads on one that slept until reads ended, or that the engine has just started, though another
 * is idle (Linux looks for idle ones less, the busier they are: with two threads on two processors
 * it did so in half of the graphs). Each then spins at the barrier until the other has its turn: a
 * tick, 4 ms. So a thread that begins an op where another one began its last goes to a processor
 * that it may use, on which none of them is. Any thread; no locks. */
#ifndef TT_BOOST_APART_H
#define TT_BOOST_APART_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#define TT_APART_MAX 256u /* threads; others are left alone */

/* The threads of a graph. */
typedef struct tt_apart {
    _Atomic uint32_t n;
    _Atomic int32_t processor[TT_APART_MAX]; /* on which the thread began its last op */
} tt_apart;

/* One of them; all zero at first. */
typedef struct tt_apart_self {
    tt_apart *of; /* which it has joined */
    uint32_t i;
    int32_t processor;
    uint64_t moved_ns; /* when it last left a processor */
} tt_apart_self;

/* Before any thread joins. */
void tt_apart_begin(tt_apart *a);
/* The calling thread, before its first op; it leaves those that it had joined. */
void tt_apart_join(tt_apart *a, tt_apart_self *self);
/* The calling thread, which has joined, waits until n have, or for a quarter of a millisecond: it
 * would spin at the first barrier, and those that the engine has just started may be waiting for
 * its processor. */
void tt_apart_wait(tt_apart *a, tt_apart_self *self, uint32_t n);
/* It was at another processor before. */
void tt_apart_moved(tt_apart *a, tt_apart_self *self, int32_t processor);

/* The calling thread begins an op. */
static inline void tt_apart_op(tt_apart *a, tt_apart_self *self)
{
    const int32_t processor = sched_getcpu();
    if (__builtin_expect(processor != self->processor, 0)) tt_apart_moved(a, self, processor);
}

#endif
