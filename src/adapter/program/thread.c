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
