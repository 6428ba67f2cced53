/* Which pages of the model files are in RAM: the page cache, read by mincore. It examines the
 * engine's own mapping of the file, which takes a hundredth of the time for pages that the engine
 * has touched; without one, a mapping of ours that is never touched. */
#ifndef TT_ADAPTER_GGML_RESIDENCY_H
#define TT_ADAPTER_GGML_RESIDENCY_H

#include "format/meta.h"
#include "record/recorder.h"

#include <stdint.h>

/* Records a RESIDENCY of each model file in the trace. tt_process_lock is held. */
void tt_residency_record(tt_recorder *r, uint32_t batch, enum tt_moment moment);
/* The same for one file (in tt_models_list) outside of batches, of at most 4,194,304 pages: of a
 * larger file evenly spread intervals. */
void tt_residency_look(tt_recorder *r, uint32_t model, enum tt_moment moment);
/* For model files that are new since the last call: their state before loading. If it cannot be
 * observed, the environment has the reason. tt_process_lock is held. */
void tt_residency_begin(tt_recorder *r);
/* In a forked child: the new trace has no pages yet; all model files are new. */
void tt_residency_reset(void);

#endif
