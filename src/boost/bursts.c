#include "boost/bursts.h"

#include "base/clock.h"
#include "base/order.h"
#include "boost/mapping.h"
#include "boost/moves.h"
#include "boost/pagepool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define EXPERTS 2u /* whose units of a kind are a group */
#define UNITS (EXPERTS * TT_BOOST_KINDS)
#define BURST_BYTES (EXPERTS * TT_BOOST_EXPERT_BYTES)
#define TURN_BYTES (3u * BURST_BYTES + TT_BOOST_EXPERT_BYTES)
#define PLAIN_BYTES (UINT64_C(8) << 20)
#define HUGE_BYTES (UINT64_C(2) << 20)
#define TOTAL_NS 500000000u
#define READERS 8u
/* Of a group's plain time: reads one after the other end half of it apart. */
#define TOGETHER 0.25

/* What a burst has read, which the next of its kind evicts. */
typedef struct loaded {
    uint32_t units[UNITS];
    uint32_t n;
} loaded;

typedef struct bursts {
    tt_pagepool *pool;
    int fd;         /* direct, if the file system has that */
    uint8_t *plain; /* memory of one request */
    uint32_t region;
    loaded group, all;
} bursts;

/* The time of one request; 0: it failed. */
static double read_plainly(const bursts *b, uint64_t at, uint32_t n)
{
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    if (pread(b->fd, b->plain, n * TT_BOOST_UNIT_BYTES, (off_t)at) !=
        (ssize_t)(n * TT_BOOST_UNIT_BYTES))
        return 0;
    return (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin);
}

static void drop(bursts *b, loaded *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        tt_pagepool_drop(b->pool, l->units[i]);
    l->n = 0;
}

/* Two experts' units in the order in which they are read: gates, ups, downs. False: out of memory.
 */
static bool make_units(bursts *b, uint64_t at, uint32_t *units)
{
    for (uint32_t e = 0; e < EXPERTS; e++) {
        uint32_t own[TT_BOOST_KINDS];
        if (!tt_boost_expert(b->pool, b->region, at + e * TT_BOOST_EXPERT_BYTES, own)) return false;
        for (uint32_t k = 0; k < TT_BOOST_KINDS; k++)
            units[k * EXPERTS + e] = own[k];
    }
    return true;
}

/* The time until the thread that waits for them runs with the first n units of two experts; 0: it
 * failed. first_ns: until it runs with the first one. */
static double read_burst(bursts *b, uint64_t at, uint32_t n, loaded *l, double *first_ns)
{
    uint32_t units[UNITS];
    tt_pagepool_lock(b->pool);
    bool ok = make_units(b, at, units);
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    drop(b, l);
    for (uint32_t i = 0; ok && i < n; i++)
        ok = tt_pagepool_request(b->pool, units[i], TT_READ_CHOSEN);
    tt_pagepool_unlock(b->pool);
    for (uint32_t i = 0; ok && i < n; i++) {
        tt_pagepool_wait(b->pool, units[i]);
        ok = tt_pagepool_state(b->pool, units[i]) == TT_UNIT_PRESENT;
        if (i == 0) *first_ns = (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin);
    }
    const uint64_t end = tt_clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; ok && i < n; i++)
        l->units[l->n++] = units[i];
    return ok ? (double)(end - begin) : 0;
}

/* False: a read failed. */
static bool take_turn(bursts *b, uint64_t at, tt_boost_turn *t)
{
    double first_ns;
    t->group_ns = read_burst(b, at, EXPERTS, &b->group, &t->first_ns);
    t->plain_ns = read_plainly(b, at + BURST_BYTES, EXPERTS);
    t->groups_ns =
        read_burst(b, at + BURST_BYTES + TT_BOOST_EXPERT_BYTES, UNITS, &b->all, &first_ns);
    t->plain_all_ns = read_plainly(b, at + 2 * BURST_BYTES + TT_BOOST_EXPERT_BYTES, UNITS);
    return t->group_ns > 0 && t->plain_ns > 0 && t->groups_ns > 0 && t->plain_all_ns > 0;
}

void tt_boost_bursts_judge(const tt_boost_turn *turns, uint32_t n, double request_ns,
                           tt_boost_bursts *b)
{
    /* A plain read is one request. */
    const double of_first = (EXPERTS - 1) * request_ns;
    const double of_further = EXPERTS * request_ns;
    double begin[TT_BOOST_TURNS_MAX], further[TT_BOOST_TURNS_MAX], later[TT_BOOST_TURNS_MAX];
    for (uint32_t i = 0; i < n; i++) {
        const tt_boost_turn *t = &turns[i];
        begin[i] = t->group_ns - t->plain_ns;
        further[i] = (t->groups_ns - t->plain_all_ns - begin[i]) / (TT_BOOST_KINDS - 1);
        later[i] = (t->group_ns - t->first_ns) / t->plain_ns;
    }
    const double begin_ns = tt_median(begin, n) - of_first;
    const double group_ns = tt_median(further, n) - of_further;
    *b = (tt_boost_bursts){.n = n, .grouped = tt_median(later, n) < TOGETHER};
    if (begin_ns > 0) b->begin_ns = begin_ns;
    if (b->grouped && group_ns > 0) b->group_ns = group_ns;
}

/* Of places spread over the file, each read once: what reads it again may find it in a cache. */
static void measure(bursts *b, uint64_t size, double request_ns, tt_boost_bursts *result)
{
    tt_boost_turn turns[TT_BOOST_TURNS_MAX];
    const uint64_t places = size / TURN_BYTES, until = tt_clock_ns(CLOCK_MONOTONIC) + TOTAL_NS;
    const uint64_t step = places / TT_BOOST_TURNS_MAX ? places / TT_BOOST_TURNS_MAX : 1;
    uint32_t n = 0;
    for (uint64_t at = 0; n < TT_BOOST_TURNS_MAX && at < places; at += step) {
        if (n > 1 && tt_clock_ns(CLOCK_MONOTONIC) > until) break;
        if (!take_turn(b, at * TURN_BYTES, &turns[n])) break;
        n++;
    }
    /* The first turn's memory is new. */
    if (n > 1)
        tt_boost_bursts_judge(turns + 1, n - 1, request_ns, result);
    else
        result->problem = "the file has less than 53 MiB, or cannot be read past the page cache";
}

static void measure_moves(const bursts *b, const uint8_t *at, uint64_t size,
                          const tt_boost_reads *disk, tt_boost_bursts *result)
{
    tt_boost_reads reads = *disk;
    reads.begin_ns = result->begin_ns;
    reads.group_ns = result->group_ns;
    reads.grouped = result->grouped;
    result->has_moves =
        tt_boost_moves_measure(b->pool, b->region, at, size, &reads, &result->move_ns);
}

void tt_boost_bursts_measure(const char *path, const tt_boost_reads *disk, tt_boost_bursts *result)
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
        if (b.pool && b.region != TT_NONE)
            measure(&b, (uint64_t)st.st_size, disk->request_ns, result);
        if (b.pool) {
            tt_pagepool_lock(b.pool);
            drop(&b, &b.group);
            drop(&b, &b.all);
            tt_pagepool_unlock(b.pool);
        }
        if (result->n) measure_moves(&b, at, (uint64_t)st.st_size, disk, result);
        tt_pagepool_free(b.pool);
    }
    if (at) tt_unmap(at, (uint64_t)st.st_size);
    free(b.plain);
    if (b.fd >= 0 && b.fd != fd) (void)close(b.fd);
    if (fd >= 0) (void)close(fd);
    free(report);
}
