/* How a model is loaded: when its files are mapped, with which flags and advice, what the process
 * had read, and which pages were in RAM before and after. A call costs about 50 us; with residency
 * up to 0.3 s per file and moment (4,194,304 pages at up to 70 ns). */
#ifndef TT_ADAPTER_GGML_LOADING_H
#define TT_ADAPTER_GGML_LOADING_H

#include "format/meta.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call that the program is making. */
typedef struct tt_loading_call {
    tt_recorder *recorder; /* NULL: not recorded */
    uint32_t model;        /* index in tt_models_list */
    tt_meta_load_step step;
} tt_loading_call;

/* The program at `caller` is about to map the open file, or to give advice on it. Takes
 * tt_process_lock. Preserves errno. */
void tt_loading_file(tt_loading_call *c, enum tt_load_kind kind, int fd, const void *caller);
/* The same for advice on memory: of a mapping passed to tt_loading_mapped, until a batch begins. */
void tt_loading_memory(tt_loading_call *c, const void *address, const void *caller);
/* The call has returned: `error` is its errno, or 0. Does nothing without a recorder. Preserves
 * errno. */
void tt_loading_done(tt_loading_call *c, uint64_t file_offset_bytes, uint64_t size_bytes,
                     uint8_t what, int error);
/* The same for a mapping, which is now at `address`. */
void tt_loading_mapped(tt_loading_call *c, const void *address, uint64_t file_offset_bytes,
                       uint64_t size_bytes, uint8_t what, int error);

/* A batch begins, recorded or not: the first one since a model was mapped is a step.
 * tt_process_lock is held. */
void tt_loading_batch(tt_recorder *r);
/* Recording ends. tt_process_lock is held. */
void tt_loading_end(tt_recorder *r);
/* Another trace begins. */
void tt_loading_reset(void);

#endif
