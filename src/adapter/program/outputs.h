/* Data of op outputs, and of separate values. */
#ifndef TT_ADAPTER_PROGRAM_OUTPUTS_H
#define TT_ADAPTER_PROGRAM_OUTPUTS_H

#include "adapter/ggml/engine.h"
#include "adapter/program/thread.h"
#include "value/select.h"

#include <stdbool.h>
#include <stdint.h>

/* values_given: the captured values were selected; otherwise all tt_value()s are captured. */
void tt_program_outputs_begin(bool values_given);
/* Whether outputs like t are captured in some batch. tt_process_lock is held. */
bool tt_program_output_may_be_wanted(const tt_program_batch *b, const struct ggml_tensor *t);
/* Whether outputs like t are captured. tt_process_lock is held. */
bool tt_program_output_is_wanted(const tt_program_batch *b, const struct ggml_tensor *t);
/* Call in a forked child: another thread may have held the lock. */
void tt_program_outputs_reset(void);
/* Captures the output on this thread, wherever its engine has it. */
void tt_program_output_take(const tt_program_output *o);
/* The same for an output on a device, which that engine can copy. */
void tt_program_output_take_of(const tt_engine *e, const struct ggml_tensor *t, uint32_t run,
                               uint32_t node, tt_value_level level);

#endif
