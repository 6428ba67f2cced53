/* The kernel's page fault events of this process (perf_event_open): one ring a processor for minor
 * and one for major faults, which also tell what was mapped. Threads that begin later are in it by
 * inheritance; forked processes are not. Nothing is spent where nothing faults. */
#ifndef TT_RECORD_FAULT_LOG_H
#define TT_RECORD_FAULT_LOG_H

#include "base/bytes.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum tt_fault_event_kind { TT_EVENT_FAULT, TT_EVENT_MAPPED, TT_EVENT_LOST };

/* Times are ns of CLOCK_MONOTONIC. */
typedef struct tt_fault_event {
    enum tt_fault_event_kind kind;
    bool major;       /* FAULT */
    uint32_t thread;  /* FAULT */
    uint64_t ns;      /* FAULT: when it was over; LOST: when that was noticed */
    uint64_t address; /* FAULT, MAPPED */
    uint64_t size_bytes, file_offset_bytes, device, inode; /* MAPPED */
    const char *path;                                      /* MAPPED: until the visit returns */
    uint64_t lost;     /* LOST: how many; 0: not known, none maybe */
    uint64_t since_ns; /* LOST: of the ring's event before; 0: none */
} tt_fault_event;

typedef struct tt_fault_events tt_fault_events;

/* Begins to observe all threads of the process that there are and will be, but for one that runs
 * already, the tracer's (0: none). TT_E_UNSUPPORTED with
 * what the kernel said where it is not allowed, or has no memory for the rings; then nothing stays
 * open. */
tt_status tt_fault_events_open(tt_fault_events **out, uint32_t tracer, tt_error *err);
/* Hands over all that the rings hold, ring by ring, and empties them: faults of this process only,
 * none of the tracer's. One thread at a time. */
typedef void tt_fault_events_visit(void *context, const tt_fault_event *event);
void tt_fault_events_read(tt_fault_events *e, tt_fault_events_visit *visit, void *context);
/* Of the fullest ring: how many sixteenths are used. */
unsigned tt_fault_events_fullness(const tt_fault_events *e);
/* Changes when there is more to read. */
uint64_t tt_fault_events_activity(const tt_fault_events *e);
void tt_fault_events_close(tt_fault_events *e);
/* In a forked child, where the rings are not mapped: closes its descriptors; e stays allocated. */
void tt_fault_events_forget(tt_fault_events *e);

/* Page faults on their way from the kernel's events to the trace: in the order of time, in ticks,
 * each with the mapping that it hit (MAPPING, PAGE_FAULTS and PAGE_FAULT_LOSS records). */

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
