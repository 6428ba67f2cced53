/* Measures what a thread loses that waits for weights, besides the time of a plain read. */
#ifndef TT_BOOST_BURSTS_H
#define TT_BOOST_BURSTS_H

#include "base/status.h"

#include <stdint.h>

typedef struct tt_boost_bursts {
    uint32_t n;          /* bursts that were measured; 0: none, begin_ns is unknown */
    double begin_ns;     /* the median */
    const char *problem; /* why there are none; NULL: there are */
} tt_boost_bursts;

/* By turns reads three ranges of the file at `path` through a pool, as of an expert that was just
 * chosen in a full cache, until the thread that waits for them runs; and as many bytes with one
 * request. begin_ns is how much longer the former takes. At least two bursts, then up to half a
 * second, and at most 360 MiB; nothing is written, and the page cache stays as it is where the file
 * system has O_DIRECT. */
void tt_boost_bursts_measure(const char *path, tt_boost_bursts *b);

#endif
