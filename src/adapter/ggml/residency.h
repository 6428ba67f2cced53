/* Which pages of the model files are in RAM: the page cache, asked by mincore. Where the engine has
 * mapped the file itself, its mapping is asked, as that takes a hundredth of the time for pages
 * that it has touched; else one of our own, which is never touched. */
#ifndef TT_ADAPTER_GGML_RESIDENCY_H
#define TT_ADAPTER_GGML_RESIDENCY_H

#include "format/meta.h"
#include "record/recorder.h"

#include <stdint.h>

/* Records a RESIDENCY of each model file that is known by now. tt_process_lock is held. */
void tt_residency_record(tt_recorder *r, uint32_t batch, enum tt_moment moment);
/* The same of one file (in tt_models_list) outside of batches, of 4,194,304 pages at most: of a
 * larger file stretches that are evenly spread. */
void tt_residency_look(tt_recorder *r, uint32_t model, enum tt_moment moment);
/* For model files that are new since the last call: how they are before they are loaded. When
 * their pages cannot be told, the environment says why. tt_process_lock is held. */
void tt_residency_begin(tt_recorder *r);
/* In a forked child: the new trace has no pages yet, all model files are new. */
void tt_residency_reset(void);

#endif
