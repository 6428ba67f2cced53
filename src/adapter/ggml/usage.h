/* The kernel's counts for the process and its devices, at a batch's start and end. */
#ifndef TT_ADAPTER_GGML_USAGE_H
#define TT_ADAPTER_GGML_USAGE_H

#include "format/meta.h"
#include "record/recorder.h"

#include <stdint.h>

/* Records a USAGE; batch is 0 at the start and end of recording. tt_process_lock is held. */
void tt_usage_record(tt_recorder *r, uint32_t batch, enum tt_moment moment);
/* The same around a batch, and what quotas of processor time withheld. Unless ops are counted,
 * batches within a few milliseconds of the previous one have none, because a reading takes about 20
 * us. */
void tt_usage_record_batch(tt_recorder *r, uint32_t batch, enum tt_moment moment);
/* Finds the control groups that have a quota of processor time; whether there are any. */
void tt_usage_find_quotas(void);
bool tt_usage_has_quotas(void);
/* Records a THROTTLED. tt_process_lock is held. */
void tt_usage_record_throttled(tt_recorder *r, uint32_t batch, enum tt_moment moment);
/* Sets flags, faults, CPU time and bytes read to the process's current ones. tt_process_lock is
 * held. */
void tt_usage_read_process(tt_recorder *r, tt_meta_usage *u);
/* In a forked child: the open counters are the parent's. */
void tt_usage_reset(void);

#endif
