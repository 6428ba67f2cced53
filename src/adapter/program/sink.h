/* Values that the program keeps in memory: tt_value_sink of tensortrace/record.h. */
#ifndef TT_ADAPTER_PROGRAM_SINK_H
#define TT_ADAPTER_PROGRAM_SINK_H

#include "bitnet/record.h"
#include "tensortrace/record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t tt_program_n_sinks;
/* This thread's op has an output for them. */
extern __thread bool tt_program_sink_holds __attribute__((tls_model("initial-exec")));

/* Whether any sink is open; takes no lock. */
static inline bool tt_program_sinks_open(void)
{
    return atomic_load_explicit(&tt_program_n_sinks, memory_order_relaxed) != 0;
}
/* Whether a sink wants a value of that name. */
bool tt_program_sinks_want(const char *name);
/* Passes it to the sinks that want it. */
void tt_program_sinks_take(const tt_record_tensor *value, const tt_bitnet_record *record,
                           int32_t layer, int64_t position);

/* The calls of a thread, for sinks: an op's output is captured when it ends, at the latest when the
 * next op or a batch begins. Each does nothing if no sink is open. */
void tt_program_sink_batch(const tt_record_batch *batch);
void tt_program_sink_take(void);
void tt_program_sink_hold(const tt_record_tensor *output);
static inline void tt_program_sink_end(void)
{
    if (tt_program_sink_holds) tt_program_sink_take();
}
static inline void tt_program_sink_begin(const tt_record_tensor *output)
{
    tt_program_sink_end();
    if (tt_program_sinks_open()) tt_program_sink_hold(output);
}
/* A position, or that of the thread's batch. */
int64_t tt_program_sink_position(int64_t position);

#endif
