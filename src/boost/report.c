#include "boost/report.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define BURST_BYTES (1u << 20)
/* Bounds of the counts, in MB/s: each doubling has eight. */
#define PARTS 8u

bool tt_boost_report_is(int fd)
{
    struct stat st;
    uint64_t magic;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(tt_boost_report) &&
           pread(fd, &magic, sizeof magic, 0) == (ssize_t)sizeof magic &&
           (magic == TT_BOOST_REPORT_NEW || magic == TT_BOOST_REPORT_MAGIC);
}

void tt_boost_report_problem(tt_boost_report *r, const char *text)
{
    if (r->problem[0]) return;
    (void)snprintf(r->problem, sizeof r->problem, "%s", text);
    atomic_store(&r->has_problem, 1);
}

void tt_boost_report_burst(tt_boost_report *r, uint64_t bytes, uint64_t ns)
{
    if (bytes < BURST_BYTES || bytes > UINT64_MAX / 1000 || !ns) return;
    const uint64_t rate = bytes * 1000 / ns + PARTS;
    const uint32_t doublings = 60u - (uint32_t)__builtin_clzll(rate);
    const uint32_t i = doublings * PARTS + (uint32_t)(rate >> doublings) - PARTS;
    (void)atomic_fetch_add(&r->bursts[i < TT_BOOST_BURSTS ? i : TT_BOOST_BURSTS - 1], bytes);
}

double tt_boost_report_disk(const tt_boost_report *r)
{
    uint64_t n = 0, below = 0; /* bytes */
    uint32_t i = 0;
    for (uint32_t k = 0; k < TT_BOOST_BURSTS; k++)
        n += atomic_load(&r->bursts[k]);
    if (!n) return 0;
    while ((below += atomic_load(&r->bursts[i])) <= n - 1 - n / 10)
        i++;
    return ((double)(PARTS + i % PARTS) + 0.5) * (double)(UINT64_C(1) << i / PARTS) * 1e6 -
           PARTS * 1e6;
}
