/* META records on the physical side of memory: what the kernel counted for the process, and which
 * pages of a model file were in RAM. Specified in docs/format.md. */
#ifndef TT_FORMAT_USAGE_H
#define TT_FORMAT_USAGE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_USAGE_DEVICES_MAX 16u

/* The moment of an observation. */
enum tt_moment {
    TT_AT_BATCH_BEGIN = 0,
    TT_AT_BATCH_END = 1,
    TT_AT_BEGIN = 2, /* of recording; no batch */
    TT_AT_END = 3    /* of recording; no batch */
};

/* Which of the counters could be read. */
enum { TT_USAGE_FAULTS = 1, TT_USAGE_IO = 2, TT_USAGE_DEVICES = 4 };

/* A block device's totals since the machine started, over all its users. */
typedef struct tt_usage_device {
    uint64_t device; /* st_dev of the files on it */
    uint64_t read_bytes;
    uint64_t reads; /* requests completed */
} tt_usage_device;

/* Totals of the process since it started. */
typedef struct tt_meta_usage {
    uint32_t batch; /* id; 0: none */
    uint8_t moment; /* enum tt_moment */
    uint64_t ticks;
    uint8_t flags; /* TT_USAGE_* */
    /* With TT_USAGE_FAULTS (getrusage): */
    uint64_t minor;
    uint64_t major;
    uint64_t user_ns;
    uint64_t system_ns;
    /* With TT_USAGE_IO (/proc/self/io): */
    uint64_t read_bytes; /* fetched from a device on the process's behalf, page faults included */
    uint64_t rchar;      /* passed by read() and the like, from wherever */
    /* With TT_USAGE_DEVICES: */
    uint32_t n_devices;
    tt_usage_device devices[TT_USAGE_DEVICES_MAX];
} tt_meta_usage;

/* Pages of a model file in the page cache; behind it n_stretches varint lengths in pages, which
 * add up to n_pages: absent, present, absent, ... (the first may be 0). */
typedef struct tt_meta_residency {
    uint32_t model; /* id */
    uint32_t batch; /* id; 0: none */
    uint8_t moment; /* enum tt_moment */
    uint64_t begin_ticks;
    uint64_t end_ticks;
    uint32_t page_bytes;
    uint64_t first_page; /* of the file: a large file takes several records */
    uint64_t n_pages;
    uint32_t n_stretches;
} tt_meta_residency;

void tt_usage_put(tt_bytes *out, const tt_meta_usage *u);
bool tt_usage_get(tt_cursor *c, tt_meta_usage *u);

/* The head; then n_stretches varints. */
void tt_residency_put(tt_bytes *out, const tt_meta_residency *r);
/* Checks n_stretches against what is left. */
bool tt_residency_get(tt_cursor *c, tt_meta_residency *r);

#endif
