/* Row numbers that a graph gathers or scatters by, read when it is about to run. */
#ifndef TT_ADAPTER_GGML_INDICES_H
#define TT_ADAPTER_GGML_INDICES_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

#include <stdint.h>

/* Records an INDICES for each leaf of row numbers of that graph, whose nodes these are.
 * tt_process_lock is held. */
void tt_indices_record(tt_recorder *r, const tt_engine *e, uint32_t run, uint32_t graph,
                       struct ggml_tensor *const *nodes);

#endif
