/* What the machine at hand can do at most, measured: how fast threads read memory, and how fast
 * they compute. The two edges of a roofline.
 *
 * Memory: each thread reads its own part of a buffer from begin to end, with the widest loads
 * there are, again and again. The buffer is eight times the last cache (256 MiB to 1 GiB), so
 * that next to nothing of it comes out of a cache.
 *
 * Computing: each thread multiplies and adds in registers, without memory, in as many independent
 * chains as hide the latency: float32 fused multiply-adds, two FLOPs for each value of a vector;
 * and 8-bit integers multiplied and summed into 32 bits (the processor's dot product, if it has
 * one), two operations for each byte.
 *
 * Each is done for a fraction of a second in chunks of about a millisecond (16 MiB), by all
 * threads at the same time. What counts is the best interval of one chunk: what all threads
 * together did from its begin to its end. Others may use the machine, too, and such an interval is
 * short enough to lie between them. Nothing is pinned. */
#ifndef TT_MACHINE_MEASURE_H
#define TT_MACHINE_MEASURE_H

#include "base/status.h"

#include <stdint.h>

#define TT_MACHINE_THREADS_MAX 512u

typedef struct tt_machine {
    unsigned threads;
    double read_bytes_per_s; /* 0: not measured */
    double flops_per_s;      /* float32 */
    double int8_ops_per_s;   /* 0: there is no way known for this processor */
    const char *vectors;     /* what computed: "AVX-512" */
    const char *int8;        /* "AVX-512 VNNI"; NULL: none */
    uint64_t buffer_bytes;   /* that was read */
    uint64_t cache_bytes;    /* the last cache's; 0: not known */
    double took_ns;
} tt_machine;

/* About a second. TT_E_MEMORY when there is not enough memory that nobody uses, or no thread. */
tt_status tt_machine_measure(unsigned threads, tt_machine *machine, tt_error *err);

/* The largest cache of the first processor; 0: not known. */
uint64_t tt_machine_cache_bytes(void);

#endif
