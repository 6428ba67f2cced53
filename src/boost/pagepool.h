/* What a boosted process counts, in a file that the command which started it has mapped too: it is
 * there however the process ends. Several processes add to one. */
#ifndef TT_BOOST_PAGEPOOL_H
#define TT_BOOST_PAGEPOOL_H

#include "base/status.h"
#include "format/meta.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
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

/* Parts of mapped files kept in memory of our own, at the addresses where the program expects them.
 *
 * A region is a file that the program has mapped, read-only and shared. A unit is a range of it
 * that is loaded and evicted as one. What is not present is the program's own file mapping: loading
 * reads into memory elsewhere, and moves that over the mapping when it is whole; evicting maps the
 * file over it. Both are one system call, so that at any time and for any thread the region's
 * addresses hold the file's bytes. Whatever fails leaves the kernel's paging in force.
 *
 * The program must not unmap a region, or map something over it, but between tt_pagepool_lock and
 * tt_pagepool_unlock with tt_pagepool_leave called first.
 *
 * Functions marked (locked) are called between tt_pagepool_lock and tt_pagepool_unlock. */

#define TT_PAGEPOOL_PAGE 4096u

typedef struct tt_pagepool tt_pagepool;

enum tt_unit_state {
    TT_UNIT_ABSENT = 0, /* the file's mapping */
    TT_UNIT_QUEUED,
    TT_UNIT_LOADING,
    TT_UNIT_PRESENT,
    TT_UNIT_DEAD /* unmapped by the program */
};

typedef struct tt_pagepool_read {
    uint32_t region;
    uint64_t file_offset_bytes, size_bytes;
    uint64_t requested_ticks, begin_ticks, end_ticks;
    uint64_t waited_ticks; /* by the first thread that waited for it, until its end */
    uint32_t first_waiter; /* thread, when there are waiters */
    uint16_t waiters;      /* threads that waited at the start of an op */
    uint8_t cause;         /* enum tt_read_cause */
    uint8_t flags;         /* TT_READ_FAILED, TT_READ_DISCARDED */
} tt_pagepool_read;

/* Starts the threads that read, which take no signals: one with an io_uring if `uring` and the
 * kernel lets it, else `readers` of them. report: counted in; must stay. *out is freed with
 * tt_pagepool_free. TT_E_UNSUPPORTED: pages of this machine are not of TT_PAGEPOOL_PAGE bytes. */
tt_status tt_pagepool_new(uint32_t readers, bool uring, tt_boost_report *report, tt_pagepool **out,
                          tt_error *err);
/* Ends the threads; what is present stays mapped. */
void tt_pagepool_free(tt_pagepool *p);

void tt_pagepool_lock(tt_pagepool *p);
void tt_pagepool_unlock(tt_pagepool *p);

/* `bytes` of the file from `offset` on have been mapped at `at` (read-only, shared). fd: still the
 * program's; it is duplicated. The region's number, TT_NONE when it cannot be had. */
uint32_t tt_pagepool_adopt(tt_pagepool *p, void *at, uint64_t bytes, int fd, uint64_t offset);
/* (locked) Whether the n bytes lie in a region that may have units: its number, and where in it. */
bool tt_pagepool_find(const tt_pagepool *p, const void *at, uint64_t n, uint32_t *region,
                      uint64_t *from);
/* (locked) A new unit, of the region's bytes from .. from + n. Pages that it has only a part of are
 * loaded with it at first and stay for good: they belong to its neighbours too. TT_NONE without
 * memory. */
uint32_t tt_pagepool_unit(tt_pagepool *p, uint32_t region, uint64_t from, uint64_t n);
/* (locked) The unit comes and goes together with `with` (and those that joined it): they are read
 * into memory that they share. False: it stays alone; so it does once one of them was loaded. */
bool tt_pagepool_join(tt_pagepool *p, uint32_t with, uint32_t unit);
/* (locked) Of units. */
uint32_t tt_pagepool_n_units(const tt_pagepool *p);
enum tt_unit_state tt_pagepool_state(const tt_pagepool *p, uint32_t unit);
/* (locked) What evicting it gives back. */
uint64_t tt_pagepool_unit_bytes(const tt_pagepool *p, uint32_t unit);
/* Without the lock: what the pool holds, with what is being read. */
uint64_t tt_pagepool_bytes(const tt_pagepool *p);
/* (locked) Of all regions. */
uint64_t tt_pagepool_region_bytes(const tt_pagepool *p);
/* (locked) Of pages that stay for good, once the units so far have been loaded. */
uint64_t tt_pagepool_edge_bytes(const tt_pagepool *p);
/* (locked) To be loaded, unless it is. False: it is not going to be. */
bool tt_pagepool_request(tt_pagepool *p, uint32_t unit, enum tt_read_cause cause);
/* (locked) Evicts it; one that is being loaded is discarded when it comes. */
void tt_pagepool_drop(tt_pagepool *p, uint32_t unit);
/* (locked) The calling thread is about to wait for these units: reads of them say so. */
void tt_pagepool_wait_begin(tt_pagepool *p, const uint32_t *units, uint32_t n);
/* (locked; the lock is given up meanwhile) Sleeps while the unit is on its way. */
void tt_pagepool_wait(tt_pagepool *p, uint32_t unit);
/* (locked) Sleeps until nothing is on its way. */
void tt_pagepool_wait_all(tt_pagepool *p);
/* (locked) The program is about to unmap these addresses, to map something over them, or to change
 * what they are: they are the file's mapping again, and stay so. False: some are not. */
bool tt_pagepool_leave(tt_pagepool *p, const void *at, uint64_t n);
/* Whether the addresses touch a region. Without the lock: a hint that is right for what the calling
 * thread knows to be mapped. */
bool tt_pagepool_touches(const tt_pagepool *p, const void *at, uint64_t n);
/* (locked) Looks whether the files are what they were when they were mapped; hands back those that
 * are not. */
void tt_pagepool_check_files(tt_pagepool *p);
/* (locked) Counts up whenever units die: numbers of units kept elsewhere may be of such. */
uint64_t tt_pagepool_deaths(const tt_pagepool *p);

/* (locked) From now on each read is kept until it is taken, 65,536 at most; or none is. */
void tt_pagepool_keep_reads(tt_pagepool *p, bool keep);
/* (locked) Those that are over since the last call, valid until the lock is given up: how many, and
 * how many there was no room for. */
uint32_t tt_pagepool_take_reads(tt_pagepool *p, const tt_pagepool_read **reads, uint64_t *lost);
/* (locked) The region's file, also after it was unmapped. */
void tt_pagepool_file_of(const tt_pagepool *p, uint32_t region, uint64_t *device, uint64_t *inode);

/* In a forked child, whose parent held the lock: there are no readers, and all stays as it is. */
void tt_pagepool_in_child(tt_pagepool *p);

#endif
