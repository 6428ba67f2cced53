/* Counters over time, for plots, in buckets: sizes of buffers, tokens per second, the kernel's
 * counts for the process.
 *
 * The kernel's totals are known at some times only (start and end of batches): the counts between
 * two of them are spread evenly. */
#ifndef TT_ANALYZE_COUNTERS_H
#define TT_ANALYZE_COUNTERS_H

#include "base/status.h"
#include "model/model.h"

#include <stdint.h>

#define TT_COUNTERS_BUCKETS_MAX 4096u

typedef enum tt_counter {
    TT_COUNTER_ALLOCATED_BYTES, /* of buffers, the maximum of each bucket */
    TT_COUNTER_FILE_BYTES,      /* of buffers that map files, likewise */
    TT_COUNTER_RESIDENT_BYTES,  /* of the model's files in RAM, likewise */
    TT_COUNTER_TOKENS_PER_S,    /* between the first batch and the last one */
    TT_COUNTER_CPU_THREADS,     /* CPU time of the process per second */
    TT_COUNTER_MINOR_FAULTS_PER_S,
    TT_COUNTER_MAJOR_FAULTS_PER_S,
    TT_COUNTER_READ_BYTES_PER_S, /* from devices, page faults included */
    TT_COUNTERS
} tt_counter;

typedef struct tt_counters tt_counters;

/* Free *out with tt_counters_free; NULL on failure (TT_E_NOT_FOUND: no clock). It is immutable: any
 * thread may read it. */
tt_status tt_counters_new(const tt_model *m, tt_counters **out, tt_error *err);
void tt_counters_free(tt_counters *c);

/* "allocated_bytes" */
const char *tt_counter_name(tt_counter counter);
/* Whether it was observed at any time. */
bool tt_counters_has(const tt_counters *c, tt_counter counter);
/* n buckets (at most TT_COUNTERS_BUCKETS_MAX) from from_ns to to_ns (finite, from < to); NAN if not
 * observed. False if out of memory. */
bool tt_counters_get(const tt_counters *c, tt_counter counter, double from_ns, double to_ns,
                     uint32_t n, double *values);

#endif
