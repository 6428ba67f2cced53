/* Model files: what the engine's GGUF loader found in them. */
#ifndef TT_ADAPTER_GGML_MODELS_H
#define TT_ADAPTER_GGML_MODELS_H

#include "format/meta.h"
#include "record/recorder.h"

#include <stdint.h>

#define TT_MODELS_MAX 256u

/* A model file that is in the trace. */
typedef struct tt_model_seen {
    tt_meta_model file; /* its identity when it was opened */
    const char *path;
} tt_model_seen;

/* Records the file that the engine has just opened: gguf is its struct gguf_context (not
 * NULL), tensors the struct ggml_context with the tensors' shapes, or NULL. caller: a
 * return address in the engine. Takes tt_process_lock, after it has looked up the engine's
 * functions: that takes the dynamic linker's lock, which must come first. */
void tt_models_opened(tt_recorder *r, const void *caller, const char *path, void *gguf,
                      void *tensors);

/* Writes a MODEL record's payload: m has its id, path and identity, and lacks n_kv and
 * data_offset_bytes. tt_process_lock is held. */
typedef void tt_models_put(tt_recorder *r, tt_meta_model *m, void *context, tt_bytes *payload);
/* Records the file at `path`, unless it is in the trace: this thread has opened it. False when it
 * cannot be read. */
bool tt_models_add(tt_recorder *r, const char *path, tt_models_put *put, void *context);

/* The id of the model that this thread has opened last; 0: none. */
uint32_t tt_models_last_opened(void);
/* How often a model file was opened in this process. */
uint64_t tt_models_opened_count(void);
/* The model files in the trace so far; returns how many. Entries never change. */
uint32_t tt_models_list(const tt_model_seen **list);
/* Records whether they are still what they were. */
void tt_models_check(tt_recorder *r);

#endif
