/* Identifies the engine: its libraries and version. */
#ifndef TT_ADAPTER_GGML_LIBRARIES_H
#define TT_ADAPTER_GGML_LIBRARIES_H

#include "adapter/ggml/engine.h"
#include "record/recorder.h"

/* Puts engine_* into the ENVIRONMENT at the first call of a trace, and again after a library was
 * loaded. tt_process_lock is held. */
void tt_libraries_describe(tt_recorder *r, const tt_engine *e);

#endif
