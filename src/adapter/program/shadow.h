/* What is remembered of an engine's buffers: graphs are described when they have been computed, and
 * by then a program may have freed them. */
#ifndef TT_ADAPTER_PROGRAM_SHADOW_H
#define TT_ADAPTER_PROGRAM_SHADOW_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

/* The engine, but for its buffers: their functions take what tt_program_shadow_of returns. */
const tt_engine *tt_program_shadow_engine(const tt_engine *e);
/* The shadow of the tensor's buffer, which exists now; NULL without one. tt_process_lock is held.
 */
void *tt_program_shadow_of(tt_recorder *r, const tt_engine *e, const struct ggml_tensor *t);

#endif
