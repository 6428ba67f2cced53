/* State of a thread of the program: its batch and current op. */
#ifndef TT_ADAPTER_PROGRAM_THREAD_H
#define TT_ADAPTER_PROGRAM_THREAD_H

#include "adapter/ggml/lane.h"
#include "adapter/ggml/process.h"
#include "adapter/program/batch.h"
#include "base/clock.h"

#include "tensortrace/record.h"

#include <stdbool.h>
#include <stdint.h>

/* An output to capture when its op ends. */
typedef struct tt_program_output {
    struct ggml_tensor tensor; /* with the program's own data */
    uint32_t run, node;
    bool wanted;
} tt_program_output;

typedef struct tt_program_thread {
    uint32_t era;
    tt_program_batch *batch;
    uint32_t generation; /* of the batch */
    bool left_out;       /* the batch that it began is not recorded */
    tt_op_record *open;  /* the current op; NULL: none */
    tt_program_batch *open_batch;
    tt_program_output output; /* of the current op */
} tt_program_thread;

extern __thread tt_program_thread tt_program_self __attribute__((tls_model("initial-exec")));
extern _Atomic uint32_t tt_program_era; /* which recorder threads' state belongs to */
void tt_program_thread_renew(tt_recorder *r);

/* The recorder, with this thread prepared for it; NULL: nothing is recorded. */
static inline tt_recorder *tt_program_recorder(tt_program_thread **self)
{
    tt_recorder *r = tt_process_recorder();
    if (!r) return NULL;
    const uint32_t era = atomic_load_explicit(&tt_program_era, memory_order_relaxed);
    if (__builtin_expect(tt_program_self.era != era, 0)) tt_program_thread_renew(r);
    *self = &tt_program_self;
    return r;
}
/* Call in a forked child and when recording begins: threads' state becomes invalid. */
void tt_program_threads_reset(void);

/* The thread's batch; NULL: none, or it has ended. tt_process_lock is held. */
tt_program_batch *tt_program_thread_batch(tt_program_thread *self);
/* Ends the thread's batch, if any. tt_process_lock is held. */
void tt_program_thread_end_batch(tt_recorder *r, tt_program_thread *self, uint64_t ticks,
                                 int status);
/* The batch for an op or value with that key: the thread's; if no batch was begun, a loose one
 * of that position that lacks the key. NULL: not recorded. tt_process_lock is held. */
tt_program_batch *tt_program_thread_batch_for(tt_recorder *r, tt_program_thread *self, uint64_t key,
                                              int64_t position);

/* Begin an op on this thread, and end it at `ticks`. Neither takes a lock. */
static inline void tt_program_thread_open(tt_program_thread *self, tt_program_batch *b,
                                          uint32_t run, uint32_t node, unsigned lane)
{
    tt_lane *l = &tt_lane_self;
    self->open = NULL;
    if (!tt_lane_claim(l)) {
        tt_lane_count_lost();
        return;
    }
    l->run = run;
    tt_lane_open(l, node, lane, 0, tt_ticks());
    self->open = l->open;
    self->open_batch = b;
    l->open = NULL;
}

static inline void tt_program_thread_close(tt_program_thread *self, uint64_t ticks)
{
    if (!self->open) return;
    __atomic_store_n(&self->open->arrive, ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&self->open->release, ticks, __ATOMIC_RELAXED);
    tt_program_batch *b = self->open_batch;
    self->open = NULL;
    if (b == self->batch) {
        atomic_store_explicit(&b->own_ticks, ticks, memory_order_relaxed);
        return;
    }
    uint64_t last = atomic_load_explicit(&b->last_ticks, memory_order_relaxed);
    while (last < ticks && !atomic_compare_exchange_weak(&b->last_ticks, &last, ticks))
        continue;
}

#endif
