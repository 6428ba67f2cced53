#include "adapter/program/thread.h"

#include "adapter/ggml/lane.h"
#include "adapter/program/describe.h"
#include "adapter/program/engine.h"
#include "base/clock.h"

#include <string.h>

__thread tt_program_thread tt_program_self __attribute__((tls_model("initial-exec")));
_Atomic uint32_t tt_program_era = 1;

void tt_program_threads_reset(void)
{
    atomic_fetch_add(&tt_program_era, 1);
}

void tt_program_thread_renew(tt_recorder *r)
{
    /* The thread's ring belonged to another recorder. */
    memset(&tt_program_self, 0, sizeof tt_program_self);
    memset(&tt_lane_self, 0, sizeof tt_lane_self);
    tt_program_self.era = atomic_load(&tt_program_era);
    tt_program_describe(r);
}

tt_program_batch *tt_program_thread_batch(tt_program_thread *self)
{
    if (self->batch && atomic_load(&self->batch->generation) != self->generation)
        self->batch = NULL;
    return self->batch;
}

void tt_program_thread_end_batch(tt_recorder *r, tt_program_thread *self, uint64_t ticks,
                                 int status)
{
    tt_program_batch *b = tt_program_thread_batch(self);
    if (b) tt_program_batch_end(r, b, ticks, status);
    self->batch = NULL;
}

static tt_program_batch *begin_loose(tt_recorder *r, tt_program_thread *self, int64_t position)
{
    tt_meta_batch m = {.n_tokens = 1};
    int32_t at = (int32_t)position;
    tt_program_batch *b = tt_program_batch_begin(r, tt_program_engine(), 1, 0);
    if (!b) return NULL;
    tt_program_batch_describe(r, b, &m, NULL, position >= 0 && position <= INT32_MAX ? &at : NULL);
    b->is_loose = true;
    b->position = position;
    self->batch = b;
    self->generation = atomic_load(&b->generation);
    return b;
}

tt_program_batch *tt_program_thread_batch_for(tt_recorder *r, tt_program_thread *self, uint64_t key,
                                              int64_t position)
{
    tt_program_batch *b = tt_program_thread_batch(self);
    uint32_t node = 0;
    if (self->left_out) return NULL;
    /* A batch of an engine has ended: what follows is the program's own. */
    if (b && !b->is_loose && b->engine == tt_program_engine()) return b;
    if (b && !b->is_loose) tt_program_thread_end_batch(r, self, 0, 0);
    b = tt_program_thread_batch(self);
    if (b && b->position == position) (void)tt_program_batch_find(b, key, &node);
    if (b && b->position == position && !node) return b;
    tt_program_thread_end_batch(r, self, 0, 0);
    return begin_loose(r, self, position);
}

void tt_program_thread_open(tt_program_thread *self, tt_program_batch *b, uint32_t run,
                            uint32_t node, unsigned lane)
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

void tt_program_thread_close(tt_program_thread *self, uint64_t ticks)
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
