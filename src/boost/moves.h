/* Measures what it takes to move experts to their places and others away, besides reading. */
#ifndef TT_BOOST_MOVES_H
#define TT_BOOST_MOVES_H

#include "boost/pagepool.h"

#include <stdbool.h>

/* What is known of the reads, as in tt_disk_speed. */
typedef struct tt_boost_reads {
    double byte_ns, latency_ns, request_ns;
    double begin_ns, group_ns;
    bool grouped;
} tt_boost_reads;

/* The experts that are measured with: slices of three kinds (gate, up and down), which share
 * memory.
 */
#define TT_BOOST_KINDS 3u
#define TT_BOOST_UNIT_BYTES (UINT64_C(5) << 18)
#define TT_BOOST_EXPERT_BYTES (TT_BOOST_KINDS * TT_BOOST_UNIT_BYTES)

/* (locked) The units of an expert, whose slices are consecutive in the region, from `at` on. False:
 * there is no memory. */
bool tt_boost_expert(tt_pagepool *p, uint32_t region, uint64_t at, uint32_t *units);

/* The time of a step of three ops that compute for plain_ns in all, if only reading `missing`
 * experts were added. */
double tt_boost_moves_expected(const tt_boost_reads *r, uint32_t missing, double plain_ns);

/* Acts like an engine with one layer of 24 experts (fewer in a file of less than 90 MiB) and a pool
 * for half of them. Each step evicts and requests two at random; then one thread for each processor
 * that this thread may use (at most 16) waits for its slices, reads them, and spins until all have.
 * *mib_ns: how much longer than its reads, and than the same with ordinary memory, a step takes
 * for each MiB that was missing; at least 0. Takes up to 1.5 s; reads 400 MiB. False: not measured,
 * as a read failed, the disk is too slow, or memory is missing. The region is mapped at `at`; its
 * units must be absent, and are afterwards. */
bool tt_boost_moves_measure(tt_pagepool *p, uint32_t region, const uint8_t *at, uint64_t bytes,
                            const tt_boost_reads *reads, double *mib_ns);

#endif
