/* Counters of a boosted process, in memory that the starting command has mapped too, so that they
 * survive the process. Several processes add to them. */
#ifndef TT_BOOST_REPORT_H
#define TT_BOOST_REPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Read by the preloaded library. Without TT_ENV_BOOST it leaves a model's memory alone. */
#define TT_ENV_BOOST "TENSORTRACE_BOOST"               /* bytes that weights may take, or auto */
#define TT_ENV_BOOST_POLICY "TENSORTRACE_BOOST_POLICY" /* of the experts; default lru */
#define TT_ENV_BOOST_REPORT "TENSORTRACE_BOOST_REPORT" /* path of the memory */
#define TT_ENV_BOOST_IO "TENSORTRACE_BOOST_IO" /* use threads; default: io_uring if available */

/* It begins with one of these: as its maker left it, and once a process has counted in it. */
#define TT_BOOST_REPORT_NEW UINT64_C(0x57454e42544f4f42)
#define TT_BOOST_REPORT_MAGIC UINT64_C(0x31545342544f4f42)

#define TT_BOOST_BURSTS 128u

typedef struct tt_boost_report {
    _Atomic uint64_t magic;
    _Atomic uint64_t regions;       /* model files whose mapping was taken over */
    _Atomic uint64_t weights_bytes; /* of weights in them that ops read */
    _Atomic uint64_t graphs;        /* computations that read weights */
    _Atomic uint64_t fits;          /* of them: all weights fit into the budget, nothing to do */
    _Atomic uint64_t reads, read_bytes, read_ns; /* summed over the reading threads */
    _Atomic uint64_t bursts[TT_BOOST_BURSTS];    /* tt_boost_report_burst: bytes, by their rate */
    /* Batches of one token that follow one of one token: the time of their graphs, what was read
     * from the end of the one before, and what the thread that computes them waited for reads. */
    _Atomic uint64_t tokens, token_ns, token_read_bytes, token_waited_ns;
    _Atomic uint64_t evictions;
    _Atomic uint64_t urings;           /* processes that read by io_uring */
    _Atomic uint64_t waits, waited_ns; /* of compute threads, at the start of an op; sums */
    _Atomic uint64_t slices_used;      /* of experts, once per op */
    _Atomic uint64_t slices_read;      /* of these, read for that use */
    _Atomic uint64_t slices_left;      /* of these, no space in the pool: left to the kernel's
                                          paging */
    _Atomic uint64_t pool_bytes, pool_peak_bytes; /* present and being read */
    _Atomic uint64_t failed_reads;
    _Atomic uint64_t failed_places; /* memory that the kernel did not move to its address */
    _Atomic uint64_t handed_back;   /* regions returned to the kernel's paging */
    _Atomic uint32_t has_problem;   /* `problem` is complete: the first one */
    char problem[252];
} tt_boost_report;

/* Whether the descriptor is of such memory: its path in /proc may mean another file by now, and
 * does in another namespace of processes. */
bool tt_boost_report_is(int fd);
/* Sets the problem, unless there is one already. One thread at a time. */
void tt_boost_report_problem(tt_boost_report *r, const char *text);
/* Counts what was read in the time in which something was, if it is 1 MiB or more. */
void tt_boost_report_burst(tt_boost_report *r, uint64_t bytes, uint64_t ns);
/* The disk's rate: the 90th percentile of these bytes, since slower ones had to wait for a
 * processor, to a part in sixteen; 0: none are counted. */
double tt_boost_report_disk(const tt_boost_report *r);

#endif
