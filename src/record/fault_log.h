/* The kernel's page fault events of this process (perf_event_open): per processor one ring for
 * minor and one for major faults, which also report mappings. Later threads inherit them; forked
 * processes do not. It costs nothing unless a page faults. */
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
    uint64_t ns;      /* FAULT: its end; LOST: when it was noticed */
    uint64_t address; /* FAULT, MAPPED */
    uint64_t size_bytes, file_offset_bytes, device, inode; /* MAPPED */
    const char *path;                                      /* MAPPED: valid until the visit
                                                              returns */
    uint64_t lost;     /* LOST: how many; 0: unknown, perhaps none */
    uint64_t since_ns; /* LOST: time of the ring's previous event; 0: none */
} tt_fault_event;

typedef struct tt_fault_events tt_fault_events;

/* Starts to observe all current and future threads of the process, except one running thread, the
 * tracer's (0: none). TT_E_UNSUPPORTED with the kernel's reason if it is not allowed or there is no
 * memory for the rings; then nothing stays open. */
tt_status tt_fault_events_open(tt_fault_events **out, uint32_t tracer, tt_error *err);
/* Visits all events, ring by ring, and empties the rings: only faults of this process, none of the
 * tracer's. One thread at a time. */
typedef void tt_fault_events_visit(void *context, const tt_fault_event *event);
void tt_fault_events_read(tt_fault_events *e, tt_fault_events_visit *visit, void *context);
/* How full the fullest ring is, in sixteenths. */
unsigned tt_fault_events_fullness(const tt_fault_events *e);
/* Changes when there is more to read. */
uint64_t tt_fault_events_activity(const tt_fault_events *e);
void tt_fault_events_close(tt_fault_events *e);
/* In a forked child, where the rings are not mapped: closes the descriptors; does not free e. */
void tt_fault_events_drop(tt_fault_events *e);

/* Turns the kernel's page fault events into records (MAPPING, PAGE_FAULTS and PAGE_FAULT_LOSS): in
 * time order, in ticks, each with its mapping. */

typedef struct tt_fault_log tt_fault_log;

/* Receives the records; false: it was dropped. */
typedef bool tt_fault_log_put(void *context, uint8_t type, const tt_bytes *payload);

/* Starts to observe the process; errors are those of tt_fault_events_open. Faults between `own` and
 * `own` + own_bytes, and in the file of this code, are counted as the tracer's. tracer: its thread;
 * 0: none. */
tt_status tt_fault_log_open(tt_fault_log **out, const void *own, uint64_t own_bytes,
                            uint32_t tracer, tt_error *err);
/* Reads the events and writes all but the most recent, as other processors may still report earlier
 * ones; `all`: those too. `even_empty`: writes a record even without faults. */
void tt_fault_log_write(tt_fault_log *log, bool all, bool even_empty, tt_fault_log_put *put,
                        void *context);
/* How full the fullest ring of events is, in sixteenths. */
unsigned tt_fault_log_fullness(const tt_fault_log *log);
/* Changes when there is more to write. */
uint64_t tt_fault_log_activity(const tt_fault_log *log);
/* Number of faults written, and of lost ones. */
void tt_fault_log_totals(const tt_fault_log *log, uint64_t *faults, uint64_t *lost);
void tt_fault_log_close(tt_fault_log *log);
/* In a forked child; does not free the log. */
void tt_fault_log_drop(tt_fault_log *log);

#endif
