/* The machine besides its processor: memory and limits, the disks of model files, and where the
 * files are on them. Read when recording begins and when a model file is opened. */
#ifndef TT_ADAPTER_GGML_STORAGE_H
#define TT_ADAPTER_GGML_STORAGE_H

#include "record/recorder.h"

/* Records memory and limits, and the model files of a parent before a fork. */
void tt_storage_begin(tt_recorder *r);
/* Records the memory available now. */
void tt_storage_end(tt_recorder *r);
/* Records disk and extents of the model files that are new since the last call: up to a tenth of a
 * second for each. tt_process_lock is held. */
void tt_storage_models(tt_recorder *r);
void tt_storage_reset(void);

#endif
