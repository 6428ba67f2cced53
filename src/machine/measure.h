/* Measures this machine's limits: how fast threads read memory, and how fast they compute. These
 * are the two limits of a roofline.
 *
 * Memory: each thread repeatedly reads its own part of a buffer from start to end, with the widest
 * loads available. The buffer is eight times the last cache (256 MiB to 1 GiB), so that almost none
 * of it comes from a cache.
 *
 * Computing: each thread multiplies and adds in registers only, in enough
 * independent chains to hide the latency: float32 fused multiply-adds, two FLOPs for each value of
 * a vector; and 8-bit integers multiplied and summed into 32 bits (with the processor's dot
 * product, if it has one), two operations for each byte.
 *
 * All threads do each for a fraction of a second, in chunks of about a millisecond (16 MiB). The
 * result is the best interval of one chunk: what all threads together did from its begin to its
 * end. Such an interval is short enough to fit between the work of other programs. Threads are
 * not pinned. */
#ifndef TT_MACHINE_MEASURE_H
#define TT_MACHINE_MEASURE_H

#include "base/status.h"

#include <stdint.h>

#define TT_MACHINE_THREADS_MAX 512u

typedef struct tt_machine {
    unsigned threads;
    double read_bytes_per_s; /* 0: not measured */
    double flops_per_s;      /* float32 */
    double int8_ops_per_s;   /* 0: no method for this processor */
    const char *vectors;     /* the vectors used: "AVX-512" */
    const char *int8;        /* "AVX-512 VNNI"; NULL: none */
    uint64_t buffer_bytes;   /* that were read */
    uint64_t cache_bytes;    /* of the last cache; 0: unknown */
    double took_ns;
} tt_machine;

/* Takes about a second. TT_E_MEMORY without enough free memory, or without a thread. */
tt_status tt_machine_measure(unsigned threads, tt_machine *machine, tt_error *err);

/* The largest cache of the first processor; 0: unknown. */
uint64_t tt_machine_cache_bytes(void);

#endif
