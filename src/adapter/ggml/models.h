/* Model files: what the engine's GGUF loader found in them. */
#ifndef TT_ADAPTER_GGML_MODELS_H
#define TT_ADAPTER_GGML_MODELS_H

#include "record/recorder.h"

/* Records the file that the engine has just opened: gguf is its struct gguf_context (not
 * NULL), tensors the struct ggml_context with the tensors' shapes, or NULL. caller: a
 * return address in the engine. Takes tt_process_lock, after it has looked up the engine's
 * functions: that takes the dynamic linker's lock, which must come first. */
void tt_models_opened(tt_recorder *r, const void *caller, const char *path, void *gguf,
                      void *tensors);

#endif
