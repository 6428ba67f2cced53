/* Model files as the engine's GGUF loader reads them. */
#ifndef TT_ADAPTER_GGML_MODELS_H
#define TT_ADAPTER_GGML_MODELS_H

#include "format/meta.h"
#include "record/recorder.h"

#include <stdint.h>

#define TT_MODELS_MAX 256u

/* A model file in the trace. */
typedef struct tt_model_seen {
    tt_meta_model file; /* its identity when it was opened */
    const char *path;
} tt_model_seen;

/* Records a file that the engine has just opened. gguf: its struct gguf_context (not NULL);
 * tensors: the struct ggml_context with the tensors' shapes, or NULL; caller: a return address in
 * the engine. Looks up the engine's functions first and then takes tt_process_lock, because the
 * dynamic linker's lock must come first. */
void tt_models_opened(tt_recorder *r, const void *caller, const char *path, void *gguf,
                      void *tensors);

/* Writes a MODEL record's payload: m has id, path and identity; n_kv and data_offset_bytes are not
 * set. tt_process_lock is held. */
typedef void tt_models_put(tt_recorder *r, tt_meta_model *m, void *context, tt_bytes *payload);
/* Records the file at `path`, opened by this thread, unless it is in the trace. False if it cannot
 * be read. */
bool tt_models_add(tt_recorder *r, const char *path, tt_models_put *put, void *context);

/* The id of the last model that this thread opened; 0: none. */
uint32_t tt_models_last_opened(void);
/* How many times this process has opened a model file. */
uint64_t tt_models_opened_count(void);
/* The model files in the trace so far; returns their number. Entries never change. */
uint32_t tt_models_list(const tt_model_seen **list);
/* Records the GGUF file at `path` (all files of a split one), which the program opened before it
 * was observed, unless it is in the trace. type_name: the engine's. */
tt_status tt_models_read(tt_recorder *r, const char *path, const char *(*type_name)(int),
                         tt_error *err);
/* The text of a number or truth value of GGUF's type; "" for other types. */
void tt_models_scalar(int type, const void *p, char *out, size_t size);
/* A recording begins, after a time in which nothing was observed: nothing is in the trace.
 * tt_process_lock is held. */
void tt_models_forget(void);
/* Records whether the files have changed since they were opened. */
void tt_models_check(tt_recorder *r);

#endif
