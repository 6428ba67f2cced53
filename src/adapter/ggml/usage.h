/* What the kernel counted for the process and its devices, at a batch's begin and end. */
#ifndef TT_ADAPTER_GGML_USAGE_H
#define TT_ADAPTER_GGML_USAGE_H

#include "format/meta.h"
#include "record/recorder.h"

#include <stdint.h>

/* Records a USAGE; batch is 0 at the begin and end of recording. tt_process_lock is held. */
void tt_usage_record(tt_recorder *r, uint32_t batch, enum tt_moment moment);
/* The same around a batch. Where ops are not counted one by one, batches that follow on another
 * within a few milliseconds have none: a reading takes some 20 us. */
void tt_usage_record_batch(tt_recorder *r, uint32_t batch, enum tt_moment moment);
/* Sets flags, faults, CPU time and bytes read as they are now for the process. tt_process_lock is
 * held. */
void tt_usage_read_process(tt_recorder *r, tt_meta_usage *u);
/* In a forked child: the counters that are open are the parent's. */
void tt_usage_reset(void);

#endif
