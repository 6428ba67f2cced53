/* What a thread of the program is at: its batch, the op under way. */
#ifndef TT_ADAPTER_PROGRAM_THREAD_H
#define TT_ADAPTER_PROGRAM_THREAD_H

#include "adapter/program/batch.h"

#include "tensortrace/record.h"

#include <stdbool.h>
#include <stdint.h>

/* An output that is wanted when its op ends. */
typedef struct tt_program_output {
    struct ggml_tensor tensor; /* with the program's own data */
    uint32_t run, node;
    bool wanted;
} tt_program_output;

typedef struct tt_program_thread {
    uint32_t era;
    tt_program_batch *batch;
    uint32_t generation; /* of it */
    bool left_out;       /* the batch that it began is not recorded */
    tt_op_record *open;  /* the op under way; NULL: none */
    tt_program_batch *open_batch;
    tt_program_output output; /* of that op */
} tt_program_thread;

/* The recorder, and this thread made ready for it; NULL: nothing is recorded. */
tt_recorder *tt_program_recorder(tt_program_thread **self);
/* In a forked child and when recording begins: what threads know holds no more. */
void tt_program_threads_reset(void);

/* The thread's batch; NULL: it has none, or that has ended. tt_process_lock is held. */
tt_program_batch *tt_program_thread_batch(tt_program_thread *self);
/* Ends it, if it has one. tt_process_lock is held. */
void tt_program_thread_end_batch(tt_recorder *r, tt_program_thread *self, uint64_t ticks,
                                 int status);
/* The batch that something of that key is to be told of: the thread's, or, when nobody began one,
 * a loose one of that position, which does not have it already. NULL: it is not recorded.
 * tt_process_lock is held. */
tt_program_batch *tt_program_thread_batch_for(tt_recorder *r, tt_program_thread *self, uint64_t key,
                                              int64_t position);

/* Begins an op on this thread, and ends it at `ticks`; neither with a lock. */
void tt_program_thread_open(tt_program_thread *self, tt_program_batch *b, uint32_t run,
                            uint32_t node, unsigned lane);
void tt_program_thread_close(tt_program_thread *self, uint64_t ticks);

#endif
