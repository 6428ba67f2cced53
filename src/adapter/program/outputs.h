/* The data of what ops put out, and of values by themselves. */
#ifndef TT_ADAPTER_PROGRAM_OUTPUTS_H
#define TT_ADAPTER_PROGRAM_OUTPUTS_H

#include "adapter/ggml/engine.h"
#include "adapter/program/thread.h"
#include "value/select.h"

#include <stdbool.h>
#include <stdint.h>

/* Which tt_value()s are wanted when nothing was said of values. */
void tt_program_outputs_begin(bool values_were_told);
/* Whether outputs like t are wanted. tt_process_lock is held. */
bool tt_program_output_is_wanted(const tt_program_batch *b, const struct ggml_tensor *t);
/* In a forked child: the lock of another thread may have been held. */
void tt_program_outputs_reset(void);
/* Takes it on this thread, wherever its engine has it. */
void tt_program_output_take(const tt_program_output *o);
/* The same for a device's, by the engine that knows how to copy it. */
void tt_program_output_take_of(const tt_engine *e, const struct ggml_tensor *t, uint32_t run,
                               uint32_t node, tt_value_level level);

#endif
