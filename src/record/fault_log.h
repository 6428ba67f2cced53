/* Page faults on their way from the kernel's events to the trace: in the order of time, in ticks,
 * each with the mapping that it hit (MAPPING, PAGE_FAULTS and PAGE_FAULT_LOSS records). */
#ifndef TT_RECORD_FAULT_LOG_H
#define TT_RECORD_FAULT_LOG_H

#include "base/bytes.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_fault_log tt_fault_log;

/* Where the records go; false: it was not taken. */
typedef bool tt_fault_log_put(void *context, uint8_t type, const tt_bytes *payload);

/* Begins to observe the process (tt_fault_events_open, whose errors it has). Faults between `own`
 * and `own` + own_bytes are the tracer's, and those in the file that this code is from. tracer: its
 * thread; 0: none. */
tt_status tt_fault_log_open(tt_fault_log **out, const void *own, uint64_t own_bytes,
                            uint32_t tracer, tt_error *err);
/* Reads the events, and writes all but those of the last moment, which may be on their way on
 * another processor; `all`: those too. `even_empty`: also that there were none. */
void tt_fault_log_write(tt_fault_log *log, bool all, bool even_empty, tt_fault_log_put *put,
                        void *context);
/* How full the fullest ring of events is, in sixteenths. */
unsigned tt_fault_log_fullness(const tt_fault_log *log);
/* Changes when there is more to write. */
uint64_t tt_fault_log_activity(const tt_fault_log *log);
/* Of what was written: faults, and those that were lost. */
void tt_fault_log_totals(const tt_fault_log *log, uint64_t *faults, uint64_t *lost);
void tt_fault_log_close(tt_fault_log *log);
/* In a forked child; the log stays allocated. */
void tt_fault_log_forget(tt_fault_log *log);

#endif
