/* Ops that a program reports as in the batch before: nothing of the graph changes, and no lock is
 * taken. */
#ifndef TT_ADAPTER_PROGRAM_AGAIN_H
#define TT_ADAPTER_PROGRAM_AGAIN_H

#include "adapter/program/batch.h"
#include "tensortrace/record.h"

#include <stdint.h>

/* If *output is what the thread's batch has as its next node, adds that node: returns its number
 * + 1. Else 0. Only for the thread that began the batch; takes no lock. */
uint32_t tt_program_again(tt_program_batch *b, uint32_t generation, const tt_record_tensor *output);
/* The batch's newest node was added from *output: keeps what was reported. n_before: the batch's
 * tensors before. is_wanted: its output may have to be captured, in some batch. tt_process_lock is
 * held. */
void tt_program_keep(tt_program_batch *b, const tt_record_tensor *output, uint32_t n_before,
                     bool is_wanted);

#endif
