#include "boost/bursts.h"

#include "base/clock.h"
#include "base/order.h"
#include "boost/mapping.h"
#include "boost/pagepool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BURSTS_MAX 48u
#define UNITS 3u /* gate, up and down */
#define UNIT_BYTES (UINT64_C(5) << 18)
#define BURST_BYTES (UNITS * UNIT_BYTES)
#define PLAIN_BYTES (UINT64_C(4) << 20)
#define HUGE_BYTES (UINT64_C(2) << 20)
#define TOTAL_NS 500000000u
#define READERS 8u
#define FIRST 1u /* bursts whose memory is new */

typedef struct bursts {
    tt_pagepool *pool;
    int fd;         /* direct, if the file system has that */
    uint8_t *plain; /* memory of one burst */
    uint32_t region;
    uint32_t last[UNITS]; /* the units that the next burst evicts */
    bool has_last;
} bursts;

/* The time of one request; 0: it failed. */
static double read_plainly(const bursts *b, uint64_t at)
{
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    if (pread(b->fd, b->plain, BURST_BYTES, (off_t)at) != (ssize_t)BURST_BYTES) return 0;
    return (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin);
}

static void drop_last(bursts *b)
{
    for (uint32_t i = 0; b->has_last && i < UNITS; i++)
        tt_pagepool_drop(b->pool, b->last[i]);
    b->has_last = false;
}

/* The time until the thread that waits for them runs with all units; 0: it failed. */
static double read_burst(bursts *b, uint64_t at)
{
    uint32_t units[UNITS];
    bool ok = true;
    tt_pagepool_lock(b->pool);
    for (uint32_t i = 0; i < UNITS; i++) {
        units[i] = tt_pagepool_unit(b->pool, b->region, at + i * UNIT_BYTES, UNIT_BYTES);
        ok = ok && units[i] != TT_NONE && (i == 0 || tt_pagepool_join(b->pool, units[0], units[i]));
    }
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    drop_last(b);
    for (uint32_t i = 0; ok && i < UNITS; i++)
        ok = tt_pagepool_request(b->pool, units[i], TT_READ_CHOSEN);
    tt_pagepool_unlock(b->pool);
    for (uint32_t i = 0; ok && i < UNITS; i++) {
        tt_pagepool_wait(b->pool, units[i]);
        ok = tt_pagepool_state(b->pool, units[i]) == TT_UNIT_PRESENT;
    }
    const uint64_t end = tt_clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < UNITS; i++)
        b->last[i] = units[i];
    b->has_last = ok;
    return ok ? (double)(end - begin) : 0;
}

/* Of places spread over the file, each read once: what reads it again may find it in a cache. */
static void measure(bursts *b, uint64_t size, tt_boost_bursts *result)
{
    double longer[BURSTS_MAX];
    const uint64_t places = size / BURST_BYTES, until = tt_clock_ns(CLOCK_MONOTONIC) + TOTAL_NS;
    const uint64_t step = places / BURSTS_MAX > 2 ? places / BURSTS_MAX : 2;
    uint32_t n = 0;
    for (uint64_t at = 0, i = 0; i < BURSTS_MAX && at + 1 < places; at += step, i++) {
        if (n && tt_clock_ns(CLOCK_MONOTONIC) > until) break;
        const double burst = read_burst(b, at * BURST_BYTES);
        const double plain = read_plainly(b, (at + 1) * BURST_BYTES);
        if (burst <= 0 || plain <= 0) break;
        if (i >= FIRST) longer[n++] = burst - plain;
    }
    result->problem =
        n ? NULL : "the file has less than 15 MiB, or cannot be read past the page cache";
    if (!n) return;
    const double median = tt_median(longer, n);
    result->n = n;
    result->begin_ns = median > 0 ? median : 0;
}

void tt_boost_bursts_measure(const char *path, tt_boost_bursts *result)
{
    tt_boost_report *report = calloc(1, sizeof *report);
    bursts b = {.fd = -1};
    tt_error err;
    struct stat st;
    void *at = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *result = (tt_boost_bursts){.problem = "it is no regular file, or cannot be mapped"};
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        at = tt_map(NULL, (uint64_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if ((b.plain = aligned_alloc(HUGE_BYTES, PLAIN_BYTES))) {
        (void)madvise(b.plain, PLAIN_BYTES, MADV_HUGEPAGE);
        memset(b.plain, 0, PLAIN_BYTES);
    }
    b.fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (b.fd < 0) b.fd = fd;
    if (at && b.plain && report) {
        result->problem = "boost cannot work here";
        if (tt_pagepool_new(READERS, true, report, &b.pool, &err) == TT_OK)
            b.region = tt_pagepool_adopt(b.pool, at, (uint64_t)st.st_size, fd, 0);
        if (b.pool && b.region != TT_NONE) measure(&b, (uint64_t)st.st_size, result);
        if (b.pool) {
            tt_pagepool_lock(b.pool);
            drop_last(&b);
            tt_pagepool_unlock(b.pool);
        }
        tt_pagepool_free(b.pool);
    }
    if (at) tt_unmap(at, (uint64_t)st.st_size);
    free(b.plain);
    if (b.fd >= 0 && b.fd != fd) (void)close(b.fd);
    if (fd >= 0) (void)close(fd);
    free(report);
}
