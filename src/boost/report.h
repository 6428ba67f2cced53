/* What a boosted process counts, in a file that the command which started it has mapped too: it is
 * there however the process ends. Several processes add to one. */
#ifndef TT_BOOST_REPORT_H
#define TT_BOOST_REPORT_H

#include <stdatomic.h>
#include <stdint.h>

/* Read by the preloaded library. Without TT_ENV_BOOST it changes nothing about a model's memory. */
#define TT_ENV_BOOST "TENSORTRACE_BOOST"               /* bytes that weights may take, or auto */
#define TT_ENV_BOOST_POLICY "TENSORTRACE_BOOST_POLICY" /* of the experts; default lru */
#define TT_ENV_BOOST_REPORT "TENSORTRACE_BOOST_REPORT" /* path of the file */
#define TT_ENV_BOOST_IO "TENSORTRACE_BOOST_IO" /* threads; default: io_uring if it can be had */

#define TT_BOOST_REPORT_MAGIC UINT64_C(0x31545342544f4f42)

typedef struct tt_boost_report {
    _Atomic uint64_t magic;
    _Atomic uint64_t regions;       /* model files whose mapping was taken over */
    _Atomic uint64_t weights_bytes; /* of weights that ops read out of them */
    _Atomic uint64_t graphs;        /* computations that read some */
    _Atomic uint64_t fits;          /* of them: all weights are within the budget, nothing to do */
    _Atomic uint64_t reads, read_bytes, read_ns; /* sums over the threads that read */
    _Atomic uint64_t evictions;
    _Atomic uint64_t urings;           /* processes that read by io_uring */
    _Atomic uint64_t waits, waited_ns; /* of compute threads, at the start of an op; sums */
    _Atomic uint64_t slices_used;      /* of experts, once an op */
    _Atomic uint64_t slices_read;      /* of these, were not there when they were asked for */
    _Atomic uint64_t slices_left;      /* of these, found no room: the kernel's paging */
    _Atomic uint64_t pool_bytes, pool_peak_bytes; /* present and being read */
    _Atomic uint64_t failed_reads;
    _Atomic uint64_t failed_places; /* memory that the kernel did not let lie where it should */
    _Atomic uint64_t handed_back;   /* regions left to the kernel's paging */
    _Atomic uint32_t has_problem;   /* `problem` is whole: the first one */
    char problem[252];
} tt_boost_report;

#endif
