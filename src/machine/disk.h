/* Measures how fast a file is read from its disk, by request size, requests at a time, and order;
 * and how fast through a mapping, as engines read their models.
 *
 * Each combination is a cell: `depth` threads read requests of one size with pread, at random or
 * sequentially. The disk then has `depth` requests at a time, as far as the file system passes them
 * on. With O_DIRECT, the page cache is bypassed; where the file system lacks it, cached pages are
 * read from there, and `is_direct` is false. Nothing is written or evicted from the cache. Requests
 * read into 128 MiB of memory one after the other, which is in huge pages where the kernel has some.
 *
 * All cells together take at most TT_DISK_TOTAL_NS plus the active requests' time (a few
 * seconds) and read at most TT_DISK_READ_BYTES_MAX. A cell is not measured when no time is left,
 * or when its requests are larger than the file. */
#ifndef TT_MACHINE_DISK_H
#define TT_MACHINE_DISK_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_DISK_SIZES 7u
#define TT_DISK_DEPTHS 6u
#define TT_DISK_MAPPED 2u
#define TT_DISK_CELLS (2u * TT_DISK_SIZES * TT_DISK_DEPTHS + TT_DISK_MAPPED)
#define TT_DISK_CELL_NS 50000000u
#define TT_DISK_CELL_BYTES ((uint64_t)256 << 20)
#define TT_DISK_TOTAL_NS 6000000000u /* no cell starts later */
#define TT_DISK_READ_BYTES_MAX ((uint64_t)16 << 30)

typedef struct tt_disk_cell {
    bool is_random; /* else sequential */
    bool is_mapped; /* by page faults: a "request" is a range that all threads read together */
    uint64_t request_bytes;
    uint32_t depth;    /* requests at one time; threads, if is_mapped */
    uint64_t requests; /* that were read; 0: not measured, and all values below unknown */
    uint32_t samples;  /* intervals over which the rate is the median */
    double bytes_per_s;
    double latency_ns, latency_p99_ns; /* of a request: median and 99th percentile */
} tt_disk_cell;

typedef struct tt_disk_rates {
    uint64_t file_bytes;
    bool is_direct;
    uint64_t read_bytes; /* in total */
    double took_ns;
    uint32_t n;
    tt_disk_cell cells[TT_DISK_CELLS]; /* sequential, then random, by size, by depth; then mapped */
    double mapped_bytes[TT_DISK_MAPPED],
        mapped_ns[TT_DISK_MAPPED]; /* total, and the time it took */
    const char *mapped_unknown;    /* why it was not measured; NULL: it was */
} tt_disk_rates;

/* A model of the measured rates with three numbers: a request of n bytes takes request_ns + n /
 * bytes_per_s of the disk's time, and arrives latency_ns later. */
typedef struct tt_disk_fit {
    double bytes_per_s, latency_ns, request_ns;
} tt_disk_fit;

/* Measures the file or block device at `path`. TT_E_IO if it cannot be read; TT_E_USAGE if it is
 * neither, or smaller than the smallest request. */
tt_status tt_disk_measure(const char *path, tt_disk_rates *rates, tt_error *err);

/* Measures the mapped cells, in half a second and with at most 512 MiB: as many threads as the
 * process has CPUs touch ranges of the file that are not in the page cache, each range in pieces,
 * and spin at a barrier after each, as ggml's threads do between two ops. Pages read are then
 * evicted from the page cache. If too little of the file is uncached, nothing is measured and
 * r->mapped_unknown has the reason. For tt_disk_measure. */
void tt_disk_measure_mapped(const char *path, tt_disk_rates *r);

/* bytes_per_s: of the order and size whose median over 4 and more requests at a time is the highest.
 * False if too little was measured. */
bool tt_disk_fit_requests(const tt_disk_rates *r, tt_disk_fit *fit);
/* request_ns is 0: in a mapping, the kernel chooses the requests. */
bool tt_disk_fit_mapped(const tt_disk_rates *r, tt_disk_fit *fit);

#endif
