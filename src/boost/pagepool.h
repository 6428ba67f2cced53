/* Parts of mapped files kept in memory of our own, at the addresses where the program expects them.
 *
 * A region is a file that the program has mapped, read-only and shared. A unit is a range of it
 * that is loaded and evicted as one. Whatever is not present is the program's own file mapping:
 * loading reads into other memory, and maps that over the file when it is complete; evicting maps
 * the file over it, and only then may others be read into that memory. Each is one system call, so
 * that the region's addresses always hold the file's bytes, for all threads. If anything fails, the
 * kernel's paging stays in use.
 *
 * The program must not unmap a region, or map something over it, except between tt_pagepool_lock
 * and tt_pagepool_unlock, after tt_pagepool_leave.
 *
 * Functions marked (locked) are called between tt_pagepool_lock and tt_pagepool_unlock. */
#ifndef TT_BOOST_PAGEPOOL_H
#define TT_BOOST_PAGEPOOL_H

#include "base/status.h"
#include "boost/report.h"
#include "format/meta.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    uint64_t waited_ticks; /* by the first waiting thread, until the read ended */
    uint32_t first_waiter; /* thread, if there are waiters */
    uint16_t waiters;      /* threads that waited at the start of an op */
    uint8_t cause;         /* enum tt_read_cause */
    uint8_t flags;         /* TT_READ_FAILED, TT_READ_DISCARDED */
} tt_pagepool_read;

/* Starts the reading threads, which block all signals: one with an io_uring if `uring` and the
 * kernel allows it, else `readers` threads. report: counts are added to it; must stay valid. *out
 * is freed with tt_pagepool_free. TT_E_UNSUPPORTED: the page size is not TT_PAGEPOOL_PAGE bytes. */
tt_status tt_pagepool_new(uint32_t readers, bool uring, tt_boost_report *report, tt_pagepool **out,
                          tt_error *err);
/* Ends the threads; present units stay mapped. */
void tt_pagepool_free(tt_pagepool *p);

void tt_pagepool_lock(tt_pagepool *p);
void tt_pagepool_unlock(tt_pagepool *p);
/* False: another thread holds it. */
bool tt_pagepool_try_lock(tt_pagepool *p);

/* Adds a region: `bytes` of the file from `offset` on, mapped at `at` (read-only, shared). fd:
 * stays the program's; it is duplicated. The region's number; TT_NONE on failure. */
uint32_t tt_pagepool_adopt(tt_pagepool *p, void *at, uint64_t bytes, int fd, uint64_t offset);
/* (locked) Whether the n bytes are in a region that may have units: its number, and the offset in
 * it. */
bool tt_pagepool_find(const tt_pagepool *p, const void *at, uint64_t n, uint32_t *region,
                      uint64_t *from);
/* (locked) A new unit, of the region's bytes from .. from + n. Pages at its ends that it shares
 * with its neighbours are loaded with it and never evicted. TT_NONE if out of memory. */
uint32_t tt_pagepool_unit(tt_pagepool *p, uint32_t region, uint64_t from, uint64_t n);
/* (locked) The unit is loaded and evicted together with `with` (and those that joined it): they
 * share memory. False: it stays separate, as it does once one of them was loaded. */
bool tt_pagepool_join(tt_pagepool *p, uint32_t with, uint32_t unit);
/* (locked) Number of units that may be added. Dead ones count. */
uint32_t tt_pagepool_units_left(const tt_pagepool *p);
/* Also without the lock. */
enum tt_unit_state tt_pagepool_state(const tt_pagepool *p, uint32_t unit);
/* (locked) Bytes that evicting it frees. */
uint64_t tt_pagepool_unit_bytes(const tt_pagepool *p, uint32_t unit);
/* Without the lock: the pool's size, including ongoing reads. */
uint64_t tt_pagepool_bytes(const tt_pagepool *p);
/* Without the lock: what was read so far. */
uint64_t tt_pagepool_read_bytes(const tt_pagepool *p);
/* (locked) Size of all regions. */
uint64_t tt_pagepool_region_bytes(const tt_pagepool *p);
/* (locked) Size of the pages that are never evicted, once the units so far have been loaded. */
uint64_t tt_pagepool_edge_bytes(const tt_pagepool *p);
/* (locked) Requests the unit, unless it is present. False: it will not be loaded. */
bool tt_pagepool_request(tt_pagepool *p, uint32_t unit, enum tt_read_cause cause);
/* (locked) From now on at most so many bytes are read ahead at once with an io_uring: half of what
 * may be requested ahead. Never more than memory is kept for (TT_SLOTS_FREE_BYTES), as at first. */
void tt_pagepool_stream(tt_pagepool *p, uint64_t bytes);
/* (locked) Evicts it; if it is being loaded, the read is discarded. */
void tt_pagepool_drop(tt_pagepool *p, uint32_t unit);
/* Without the lock: notes in the unit's read, if it is being loaded, that the calling thread waits
 * for it since `ticks`. */
void tt_pagepool_will_wait(tt_pagepool *p, uint32_t unit, uint64_t ticks);
/* Without the lock: sleeps while the unit is being loaded; the time, in ns. */
uint64_t tt_pagepool_wait(tt_pagepool *p, uint32_t unit);
/* (locked) Returns the memory of evicted units to the kernel, which is kept for later ones. */
void tt_pagepool_trim(tt_pagepool *p);
/* (locked) Sleeps until nothing is being loaded. */
void tt_pagepool_wait_all(tt_pagepool *p);
/* (locked) The program is about to unmap these addresses, to map something over them, or to change
 * them: makes them the file's mapping again, for good. False: that failed for some. */
bool tt_pagepool_leave(tt_pagepool *p, const void *at, uint64_t n);
/* Whether the addresses touch a region. Without the lock: a hint that is right for mappings that
 * the calling thread knows. */
bool tt_pagepool_touches(const tt_pagepool *p, const void *at, uint64_t n);
/* (locked) Checks whether the files have changed since they were mapped; returns changed ones to
 * the kernel's paging, and takes those up again that have since stayed the same for a second, with
 * their size of before. */
void tt_pagepool_check_files(tt_pagepool *p);
/* (locked) Increases whenever units die: then stored unit numbers may be invalid. */
uint64_t tt_pagepool_deaths(const tt_pagepool *p);

/* (locked) From now on, keeps reads until they are taken, at most 65,536; or keeps none. */
void tt_pagepool_keep_reads(tt_pagepool *p, bool keep);
/* (locked) The reads finished since the last call, valid until the lock is released; their number,
 * and the number of those that did not fit. */
uint32_t tt_pagepool_take_reads(tt_pagepool *p, const tt_pagepool_read **reads, uint64_t *lost);
/* (locked) The region's file, even after it was unmapped. */
void tt_pagepool_file_of(const tt_pagepool *p, uint32_t region, uint64_t *device, uint64_t *inode);

/* In a forked child, whose parent held the lock: all units are the file's mapping again, since the
 * parent goes on reading into their memory; there are no readers, and nothing changes any more. */
void tt_pagepool_in_child(tt_pagepool *p);

#endif
