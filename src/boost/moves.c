#include "boost/moves.h"

#include "base/clock.h"
#include "base/order.h"
#include "base/threads.h"
#include "boost/mapping.h"
#include "policy/policy.h"

#include <pthread.h>
#include <string.h>

#define EXPERTS_MAX 24u
#define CHOSEN 2u
#define PLAIN_BYTES (UINT64_C(60) << 20) /* more than most caches hold */
#define STEPS 96u
#define STEPS_MIN 16u
/* Between rounds, in which each expert is used once on average: with more layers it takes a token
 * until one is used again, and some kernels look meanwhile which pages are used. */
#define ROUND 12u
#define PAUSE_NS 100000000L
#define TOTAL_NS UINT64_C(1500000000)
#define THREADS_MAX 16u
#define TRIM 8u /* such a part of the samples is left out at each end */
#define MIB 1048576.0

typedef struct play play;

typedef struct part {
    play *play;
    uint32_t k;
    pthread_t thread;
    uint64_t sum; /* so that the compiler keeps the reads */
} part;

struct play {
    tt_pagepool *pool;
    const tt_boost_reads *reads;
    const uint8_t *at;
    uint8_t *plain;
    uint32_t units[EXPERTS_MAX][TT_BOOST_KINDS];
    uint32_t used[EXPERTS_MAX]; /* in which step, from 1 on; 0: it is not in the pool */
    uint32_t n, n_in_pool;
    uint64_t random;
    part parts[THREADS_MAX];
    uint32_t n_parts;
    pthread_mutex_t gate; /* held until all threads were started */
    tt_barrier turn;      /* spins, as in the engine */
    /* What they read in this turn: */
    const uint8_t *from[CHOSEN]; /* TT_BOOST_UNIT_BYTES each; NULL: they end */
    uint32_t unit[CHOSEN];       /* to wait for, or TT_NONE */
};

/* A word of each cache line. */
static void read_part(part *p)
{
    const play *y = p->play;
    const uint64_t words = TT_BOOST_UNIT_BYTES / y->n_parts / sizeof(uint64_t),
                   line = 64 / sizeof(uint64_t);
    uint64_t sum = 0;
    for (uint32_t i = CHOSEN; i-- > 0;)
        if (y->unit[i] != TT_NONE) tt_pagepool_wait(y->pool, y->unit[i]);
    for (uint32_t i = 0; i < CHOSEN; i++) {
        const uint64_t *from = (const uint64_t *)(const void *)y->from[i] + words * p->k;
        /* Of a file that was shortened meanwhile the mapping cannot be read. */
        if (y->unit[i] != TT_NONE && tt_pagepool_state(y->pool, y->unit[i]) != TT_UNIT_PRESENT)
            continue;
        for (uint64_t k = 0; k < words; k += line)
            sum += from[k];
    }
    p->sum = sum;
}

static void *read_parts(void *context)
{
    part *p = context;
    play *y = p->play;
    (void)pthread_mutex_lock(&y->gate);
    (void)pthread_mutex_unlock(&y->gate);
    for (;;) {
        tt_barrier_wait(&y->turn, y->n_parts);
        if (!y->from[0]) return NULL;
        read_part(p);
        tt_barrier_wait(&y->turn, y->n_parts);
    }
}

static void read_all(play *y)
{
    tt_barrier_wait(&y->turn, y->n_parts);
    read_part(&y->parts[0]);
    tt_barrier_wait(&y->turn, y->n_parts);
}

static void begin_threads(play *y)
{
    const uint32_t all = tt_processors(), most = all < THREADS_MAX ? all : THREADS_MAX;
    (void)pthread_mutex_init(&y->gate, NULL);
    (void)pthread_mutex_lock(&y->gate);
    for (uint32_t k = 0; k < THREADS_MAX; k++)
        y->parts[k] = (part){.play = y, .k = k};
    /* The first one is the calling thread's. */
    for (y->n_parts = 1; y->n_parts < most; y->n_parts++) {
        part *p = &y->parts[y->n_parts];
        if (pthread_create(&p->thread, NULL, read_parts, p) != 0) break;
    }
    (void)pthread_mutex_unlock(&y->gate);
}

static void end_threads(play *y)
{
    y->from[0] = NULL;
    tt_barrier_wait(&y->turn, y->n_parts);
    for (uint32_t k = 1; k < y->n_parts; k++)
        (void)pthread_join(y->parts[k].thread, NULL);
    (void)pthread_mutex_destroy(&y->gate);
}

static void choose(play *y, uint32_t *chosen)
{
    for (uint32_t i = 0; i < CHOSEN; i++) {
        y->random = y->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        chosen[i] = (uint32_t)((y->random >> 33) % y->n);
    }
    if (chosen[1] == chosen[0]) chosen[1] = (chosen[0] + 1) % y->n;
}

static void drop_expert(play *y, uint32_t e)
{
    for (uint32_t k = 0; k < TT_BOOST_KINDS; k++)
        tt_pagepool_drop(y->pool, y->units[e][k]);
    y->used[e] = 0;
    y->n_in_pool--;
}

/* The least recently used one that this step does not need; the pool has one. */
static void drop_one(play *y, uint32_t step)
{
    uint32_t oldest = y->n;
    for (uint32_t e = 0; e < y->n; e++)
        if (y->used[e] && y->used[e] < step && (oldest == y->n || y->used[e] < y->used[oldest]))
            oldest = e;
    drop_expert(y, oldest);
}

/* How many of them are missing. */
static uint32_t request(play *y, const uint32_t *chosen, uint32_t step)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < CHOSEN; i++) {
        missing += !y->used[chosen[i]];
        y->used[chosen[i]] = step;
    }
    y->n_in_pool += missing;
    tt_pagepool_lock(y->pool);
    while (y->n_in_pool > y->n / 2)
        drop_one(y, step);
    for (uint32_t k = 0; k < TT_BOOST_KINDS; k++)
        for (uint32_t i = 0; i < CHOSEN; i++)
            (void)tt_pagepool_request(y->pool, y->units[chosen[i]][k], TT_READ_CHOSEN);
    tt_pagepool_unlock(y->pool);
    return missing;
}

/* False: something was not read from the disk. */
static bool read_chosen(play *y, const uint32_t *chosen)
{
    bool ok = true;
    for (uint32_t k = 0; k < TT_BOOST_KINDS; k++) {
        for (uint32_t i = 0; i < CHOSEN; i++) {
            y->from[i] = y->at + chosen[i] * TT_BOOST_EXPERT_BYTES + k * TT_BOOST_UNIT_BYTES;
            y->unit[i] = y->units[chosen[i]][k];
        }
        read_all(y);
        for (uint32_t i = 0; i < CHOSEN; i++)
            ok &= tt_pagepool_state(y->pool, y->unit[i]) == TT_UNIT_PRESENT;
    }
    return ok;
}

/* The same with ordinary memory; its time. */
static double read_plain(play *y, uint32_t step)
{
    const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    for (uint32_t k = 0; k < TT_BOOST_KINDS; k++) {
        for (uint32_t i = 0; i < CHOSEN; i++) {
            const uint64_t at =
                (step * CHOSEN + i) * TT_BOOST_EXPERT_BYTES + k * TT_BOOST_UNIT_BYTES;
            y->from[i] = y->plain + at % PLAIN_BYTES;
            y->unit[i] = TT_NONE;
        }
        read_all(y);
    }
    return (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin);
}

double tt_boost_moves_expected(const tt_boost_reads *r, uint32_t missing, double plain_ns)
{
    const uint32_t n = missing * TT_BOOST_KINDS;
    double disk_ns = r->begin_ns, now_ns = 0, arrived[TT_BOOST_KINDS] = {0};
    for (uint32_t first = 0, end; first < n; first = end) {
        uint64_t bytes = 0;
        for (end = first; end < n; end++) {
            if (r->grouped ? !tt_policy_may_read(end - first, bytes) : end > first) break;
            bytes += TT_BOOST_UNIT_BYTES;
        }
        disk_ns += (end - first) * r->request_ns + (double)bytes * r->byte_ns;
        /* The next group begins when this one is there. */
        if (r->grouped) disk_ns += first ? r->group_ns : r->latency_ns;
        for (uint32_t i = first; i < end; i++)
            arrived[i / missing] = disk_ns + (r->grouped ? 0 : r->latency_ns);
    }
    for (uint32_t k = 0; k < TT_BOOST_KINDS; k++)
        now_ns = (now_ns > arrived[k] ? now_ns : arrived[k]) + plain_ns / TT_BOOST_KINDS;
    return now_ns;
}

/* Without the largest and the smallest. */
static double trimmed_mean(double *values, uint32_t n)
{
    double sum = 0;
    qsort(values, n, sizeof *values, tt_by_f64);
    for (uint32_t i = n / TRIM; i < n - n / TRIM; i++)
        sum += values[i];
    return sum / (n - n / TRIM * 2);
}

static bool act(play *y, double *mib_ns)
{
    const struct timespec pause = {0, PAUSE_NS};
    double more[STEPS];
    uint32_t n = 0;
    bool ok = true;
    const uint64_t until = tt_clock_ns(CLOCK_MONOTONIC) + TOTAL_NS;
    begin_threads(y);
    for (uint32_t step = 1; ok && step <= STEPS && tt_clock_ns(CLOCK_MONOTONIC) < until; step++) {
        const bool full = y->n_in_pool == y->n / 2;
        uint32_t chosen[CHOSEN];
        const double plain_ns = read_plain(y, step);
        choose(y, chosen);
        const uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
        const uint32_t missing = request(y, chosen, step);
        ok = read_chosen(y, chosen);
        const double took_ns = (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin);
        if (full && missing)
            more[n++] = (took_ns - tt_boost_moves_expected(y->reads, missing, plain_ns)) /
                        (missing * TT_BOOST_EXPERT_BYTES / MIB);
        if (step % ROUND == 0) (void)nanosleep(&pause, NULL);
    }
    end_threads(y);
    if (!ok || n < STEPS_MIN) return false;
    const double mean = trimmed_mean(more, n);
    *mib_ns = mean > 0 ? mean : 0;
    return true;
}

bool tt_boost_expert(tt_pagepool *p, uint32_t region, uint64_t at, uint32_t *units)
{
    for (uint32_t k = 0; k < TT_BOOST_KINDS; k++) {
        units[k] = tt_pagepool_unit(p, region, at + k * TT_BOOST_UNIT_BYTES, TT_BOOST_UNIT_BYTES);
        if (units[k] == TT_NONE || (k && !tt_pagepool_join(p, units[0], units[k]))) return false;
    }
    return true;
}

bool tt_boost_moves_measure(tt_pagepool *p, uint32_t region, const uint8_t *at, uint64_t bytes,
                            const tt_boost_reads *reads, double *mib_ns)
{
    play y = {.pool = p, .reads = reads, .at = at, .random = 1};
    y.n = bytes / TT_BOOST_EXPERT_BYTES < EXPERTS_MAX ? (uint32_t)(bytes / TT_BOOST_EXPERT_BYTES)
                                                      : EXPERTS_MAX;
    y.plain = tt_map(NULL, PLAIN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *mib_ns = 0;
    if (!y.plain) return false;
    /* Like the pages of a file, usually. */
    (void)syscall(SYS_madvise, y.plain, PLAIN_BYTES, MADV_NOHUGEPAGE);
    memset(y.plain, 1, PLAIN_BYTES);
    tt_pagepool_lock(p);
    bool ok = y.n >= 2 * CHOSEN;
    for (uint32_t e = 0; ok && e < y.n; e++)
        ok = tt_boost_expert(p, region, e * TT_BOOST_EXPERT_BYTES, y.units[e]);
    tt_pagepool_unlock(p);
    ok = ok && act(&y, mib_ns);
    tt_pagepool_lock(p);
    tt_pagepool_wait_all(p);
    for (uint32_t e = 0; e < y.n; e++)
        if (y.used[e]) drop_expert(&y, e);
    tt_pagepool_unlock(p);
    tt_unmap(y.plain, PLAIN_BYTES);
    return ok;
}
