/* The pool of weights: whatever is loaded, evicted, unmapped or fails, the addresses hold the
 * file's bytes. */
#include "tests.h"

#include "base/clock.h"
#include "boost/bursts.h"
#include "boost/uring.h"
#include "boost/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE TT_PAGEPOOL_PAGE
#define SIZE (8u << 20)
#define TAIL 1234u /* the file does not end with a page */

/* What the file holds there: no byte is 0, and no page is like another. */
static uint8_t content(uint64_t i)
{
    const uint64_t x = (i / 8 + 1) * 0x9e3779b97f4a7c15u;
    return (uint8_t)(x >> 40 | 1);
}

typedef struct mapped {
    char path[64];
    int fd;
    uint8_t *at;
    tt_pagepool *pool;
    tt_boost_report report;
    uint32_t region;
} mapped;

static bool by_uring; /* how the pools of the tests read */

static void map_file(mapped *m, uint32_t readers)
{
    uint8_t *bytes = malloc(SIZE + TAIL);
    tt_error err;
    memset(m, 0, sizeof *m);
    strcpy(m->path, "boost-XXXXXX");
    m->fd = mkstemp(m->path);
    assert_true(m->fd >= 0 && bytes);
    for (uint64_t i = 0; i < SIZE + TAIL; i++)
        bytes[i] = content(i);
    assert_int_equal(write(m->fd, bytes, SIZE + TAIL), SIZE + TAIL);
    assert_int_equal(fsync(m->fd), 0);
    free(bytes);
    m->at = mmap(NULL, SIZE + TAIL, PROT_READ, MAP_SHARED, m->fd, 0);
    assert_true(m->at != MAP_FAILED);
    assert_int_equal(tt_pagepool_new(readers, by_uring, &m->report, &m->pool, &err), TT_OK);
    assert_int_equal(atomic_load(&m->report.urings), by_uring);
    m->region = tt_pagepool_adopt(m->pool, m->at, SIZE + TAIL, m->fd, 0);
    assert_int_equal(m->region, 0);
}

static void unmap_file(mapped *m)
{
    tt_pagepool_free(m->pool);
    (void)munmap(m->at, SIZE + TAIL);
    (void)close(m->fd);
    (void)unlink(m->path);
}

static bool is_content(const mapped *m, uint64_t from, uint64_t n)
{
    for (uint64_t i = from; i < from + n; i++)
        if (m->at[i] != content(i)) return false;
    return true;
}

/* Whether the page is the file's in the page cache, or memory of the process: of the latter kind a
 * written file would not change it. */
static bool is_ours(const mapped *m, uint64_t i)
{
    FILE *f = fopen("/proc/self/smaps", "re");
    char line[512];
    const uintptr_t at = (uintptr_t)m->at + i;
    bool found = false;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        unsigned long low, high;
        char rights[8], rest[400] = "";
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %399s", &low, &high, rights, rest) < 3) continue;
        if (at < low || at >= high) continue;
        found = (rights[3] == 'p' || strstr(rest, "memfd:")) && !strstr(rest, "boost-");
        break;
    }
    (void)fclose(f);
    return found;
}

static uint32_t unit(mapped *m, uint64_t from, uint64_t n)
{
    tt_pagepool_lock(m->pool);
    const uint32_t u = tt_pagepool_unit(m->pool, m->region, from, n);
    tt_pagepool_unlock(m->pool);
    assert_int_not_equal(u, TT_NONE);
    return u;
}

static enum tt_unit_state load(mapped *m, uint32_t u)
{
    tt_pagepool_lock(m->pool);
    (void)tt_pagepool_request(m->pool, u, TT_READ_AHEAD);
    tt_pagepool_unlock(m->pool);
    tt_pagepool_wait(m->pool, u);
    return tt_pagepool_state(m->pool, u);
}

static void drop(mapped *m, uint32_t u)
{
    tt_pagepool_lock(m->pool);
    tt_pagepool_drop(m->pool, u);
    tt_pagepool_unlock(m->pool);
}

/* A file of whole bursts is measured; one without room for two, a folder and no file are not. */
static void bursts_are_measured(void **state)
{
    (void)state;
    mapped m;
    tt_boost_bursts b;
    const tt_boost_reads disk = {.byte_ns = 0.5, .latency_ns = 4e4, .request_ns = 1e4};
    map_file(&m, 1);
    tt_boost_bursts_measure(m.path, &disk, &b);
    assert_int_equal(b.n, 0);
    assert_non_null(b.problem);
    assert_int_equal(ftruncate(m.fd, 80 << 20), 0);
    tt_boost_bursts_measure(m.path, &disk, &b);
    assert_in_range(b.n, 1, 2);
    assert_null(b.problem);
    assert_true(b.begin_ns >= 0 && b.begin_ns < 1e9);
    assert_true(b.group_ns < 1e9);
    assert_true(b.move_ns >= 0 && b.move_ns < 1e9); /* 0: the machine was too busy to measure it */
    unmap_file(&m);
    tt_boost_bursts_measure(".", &disk, &b);
    assert_true(b.n == 0 && b.problem);
    tt_boost_bursts_measure("nowhere", &disk, &b);
    assert_true(b.n == 0 && b.problem);
}

/* Of ten bursts of a second the fastest has 10 of 55 parts of the bytes; what is small does not
 * count. */
static void disk_rate_is_that_of_the_fastest_tenth(void **state)
{
    (void)state;
    tt_boost_report r = {0};
    assert_true(tt_boost_report_disk(&r) == 0);
    tt_boost_report_burst(&r, 1000, 1);
    tt_boost_report_burst(&r, 1u << 20, 0);
    assert_true(tt_boost_report_disk(&r) == 0);
    for (uint64_t i = 1; i <= 10; i++)
        tt_boost_report_burst(&r, i * 300000000, 1000000000);
    const double rate = tt_boost_report_disk(&r);
    assert_true(rate > 3e9 * 15 / 16 && rate < 3e9 * 17 / 16);
    for (int i = 0; i < 8; i++)
        tt_boost_report_burst(&r, 2100000000, 1000000000);
    assert_true(tt_boost_report_disk(&r) > 2.7e9 * 15 / 16);
    assert_true(tt_boost_report_disk(&r) < 2.7e9 * 17 / 16);
    tt_boost_report slow = {0}, fast = {0};
    tt_boost_report_burst(&slow, 1u << 20, UINT64_C(3600000000000));
    assert_true(tt_boost_report_disk(&slow) < 1e6);
    tt_boost_report_burst(&fast, UINT64_C(1) << 60, 1);
    assert_true(tt_boost_report_disk(&fast) == 0); /* would overflow */
    tt_boost_report_burst(&fast, UINT64_C(1) << 50, 1);
    assert_true(tt_boost_report_disk(&fast) > 5e11);
}

/* A disk that reports both reads of a group together, and one that reports the first after half of
 * the time; each begins 150 us late, and has 40 us between groups, with the 10 us of each request.
 * One turn of three was disturbed. */
static void bursts_are_judged(void **state)
{
    (void)state;
    const tt_boost_turn together[] = {{750e3, 740e3, 600e3, 2030e3, 1800e3},
                                      {950e3, 700e3, 600e3, 9000e3, 1800e3},
                                      {750e3, 700e3, 600e3, 2030e3, 1800e3}};
    const tt_boost_turn single[] = {{750e3, 450e3, 600e3, 2030e3, 1800e3}};
    tt_boost_bursts b = {0};
    tt_boost_bursts_judge(together, 3, 10e3, &b);
    assert_true(b.n == 3 && b.grouped && !b.problem);
    assert_true(b.begin_ns == 150e3 - 10e3 && b.group_ns == 40e3 - 20e3);
    tt_boost_bursts_judge(single, 1, 0, &b);
    assert_true(b.n == 1 && !b.grouped && b.begin_ns == 150e3 && b.group_ns == 0);
}

static void loads_and_evicts(void **state)
{
    (void)state;
    mapped m;
    map_file(&m, 2);
    const uint32_t a = unit(&m, 100, 5 * PAGE), b = unit(&m, 100 + 5 * PAGE, 300);
    const uint32_t last = unit(&m, SIZE - PAGE, PAGE + TAIL);
    assert_int_equal(load(&m, a), TT_UNIT_PRESENT);
    assert_true(is_ours(&m, 2 * PAGE));
    assert_true(is_ours(&m, 0)); /* shared with what is before it */
    assert_false(is_ours(&m, 6 * PAGE));
    assert_true(is_content(&m, 0, 7 * PAGE));
    assert_int_equal(load(&m, b), TT_UNIT_PRESENT); /* no page of its own */
    assert_int_equal(load(&m, last), TT_UNIT_PRESENT);
    assert_true(is_ours(&m, SIZE));
    assert_true(is_content(&m, SIZE - PAGE, PAGE + TAIL));
    drop(&m, a);
    drop(&m, last);
    assert_false(is_ours(&m, 2 * PAGE));
    assert_true(is_ours(&m, 0));
    assert_true(is_content(&m, 0, SIZE + TAIL));
    /* Edges of a, and of last the page that the file ends in. */
    assert_int_equal(atomic_load(&m.report.pool_bytes), 3 * PAGE);
    assert_int_equal(load(&m, a), TT_UNIT_PRESENT);
    assert_true(is_content(&m, 0, 7 * PAGE));
    unmap_file(&m);
}

typedef struct looker {
    const mapped *m;
    _Atomic bool stop;
    _Atomic uint64_t wrong, looks;
} looker;

static void *look(void *context)
{
    looker *l = context;
    unsigned seed = 1;
    while (!atomic_load(&l->stop)) {
        const uint64_t i = (uint64_t)rand_r(&seed) % (SIZE + TAIL);
        if (((volatile uint8_t *)l->m->at)[i] != content(i)) atomic_fetch_add(&l->wrong, 1);
        atomic_fetch_add(&l->looks, 1);
    }
    return NULL;
}

typedef struct sleeper {
    mapped *m;
    const uint32_t *units;
    uint32_t n;
    unsigned seed;
    _Atomic bool *stop;
    pthread_t thread;
} sleeper;

static void *sleep_for_units(void *context)
{
    sleeper *s = context;
    while (!atomic_load(s->stop)) {
        const uint32_t u = s->units[(uint32_t)rand_r(&s->seed) % s->n];
        tt_pagepool_will_wait(s->m->pool, u, tt_ticks());
        tt_pagepool_wait(s->m->pool, u);
    }
    return NULL;
}

/* Threads wait for units that come, go before they have come, and are unmapped: all wake. */
static void wakes_whoever_waits(void **state)
{
    (void)state;
    enum { N = 32, THREADS = 4 };
    mapped m;
    sleeper sleepers[THREADS];
    uint32_t units[N];
    _Atomic bool stop = false;
    unsigned seed = 11;
    map_file(&m, 2);
    for (uint32_t i = 0; i < N; i++)
        units[i] = unit(&m, i * (SIZE / N), SIZE / N);
    tt_pagepool_lock(m.pool);
    tt_pagepool_keep_reads(m.pool, true);
    tt_pagepool_unlock(m.pool);
    (void)alarm(200); /* if a thread sleeps on */
    for (unsigned i = 0; i < THREADS; i++) {
        sleepers[i] = (sleeper){.m = &m, .units = units, .n = N, .seed = i + 1, .stop = &stop};
        assert_int_equal(pthread_create(&sleepers[i].thread, NULL, sleep_for_units, &sleepers[i]),
                         0);
    }
    for (int i = 0; i < 5000 || atomic_load(&m.report.waits) < 500; i++) {
        const uint32_t u = units[(uint32_t)rand_r(&seed) % N];
        tt_pagepool_lock(m.pool);
        if (rand_r(&seed) % 2)
            (void)tt_pagepool_request(m.pool, u, TT_READ_AT_OP);
        else
            tt_pagepool_drop(m.pool, u);
        tt_pagepool_unlock(m.pool);
        if (i % 64 == 0) tt_pagepool_wait(m.pool, u);
    }
    tt_pagepool_lock(m.pool);
    for (uint32_t i = 0; i < N; i++)
        (void)tt_pagepool_request(m.pool, units[i], TT_READ_AT_OP);
    assert_true(tt_pagepool_leave(m.pool, m.at, SIZE + TAIL));
    tt_pagepool_unlock(m.pool);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(sleepers[i].thread, NULL);
    (void)alarm(0);
    const tt_pagepool_read *reads;
    uint64_t lost;
    tt_pagepool_lock(m.pool);
    const uint32_t n = tt_pagepool_take_reads(m.pool, &reads, &lost);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(reads[i].waiters ? reads[i].first_waiter != 0 : reads[i].waited_ticks == 0);
        assert_true(reads[i].waited_ticks <= reads[i].end_ticks - reads[i].requested_ticks);
    }
    tt_pagepool_unlock(m.pool);
    assert_true(n > 100);
    unmap_file(&m);
}

/* Threads read all the time while units come and go. */
static void never_shows_anything_else(void **state)
{
    (void)state;
    enum { N = 64 };
    mapped m;
    pthread_t threads[2];
    looker l = {.m = &m};
    uint32_t units[N];
    unsigned seed = 7;
    map_file(&m, 3);
    for (uint32_t i = 0; i < N; i++)
        units[i] = unit(&m, i * (SIZE / N) + 77, SIZE / N);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look, &l), 0);
    for (int i = 0; i < 4000; i++) {
        const uint32_t u = units[(uint32_t)rand_r(&seed) % N];
        tt_pagepool_lock(m.pool);
        if (rand_r(&seed) % 2)
            (void)tt_pagepool_request(m.pool, u, TT_READ_AHEAD);
        else
            tt_pagepool_drop(m.pool, u);
        tt_pagepool_unlock(m.pool);
        if (i % 16 == 0) tt_pagepool_wait(m.pool, u);
    }
    atomic_store(&l.stop, true);
    for (int i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    assert_true(atomic_load(&l.looks) > 1000 && atomic_load(&m.report.evictions) > 50);
    assert_int_equal(atomic_load(&l.wrong), 0);
    assert_true(is_content(&m, 0, SIZE + TAIL));
    tt_pagepool_lock(m.pool);
    tt_pagepool_wait_all(m.pool);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < N; i++)
        if (tt_pagepool_state(m.pool, units[i]) == TT_UNIT_PRESENT)
            bytes += tt_pagepool_unit_bytes(m.pool, units[i]);
    bytes += tt_pagepool_edge_bytes(m.pool);
    tt_pagepool_unlock(m.pool);
    assert_int_equal(atomic_load(&m.report.pool_bytes), bytes);
    unmap_file(&m);
}

/* The program unmaps the model and maps something else there, while units are on their way. */
static void stays_out_of_other_memory(void **state)
{
    (void)state;
    mapped m;
    for (int round = 0; round < 40; round++) {
        map_file(&m, 4);
        for (uint32_t i = 0; i < 32; i++) {
            const uint32_t u = unit(&m, i * PAGE * 32 + 5, PAGE * 32);
            tt_pagepool_lock(m.pool);
            (void)tt_pagepool_request(m.pool, u, TT_READ_AHEAD);
            tt_pagepool_unlock(m.pool);
        }
        if (round % 4) (void)usleep((useconds_t)(round % 8) * 200);
        tt_pagepool_lock(m.pool);
        assert_true(tt_pagepool_leave(m.pool, m.at, SIZE + TAIL));
        uint8_t *at = mmap(m.at, SIZE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        tt_pagepool_unlock(m.pool);
        assert_ptr_equal(at, m.at);
        memset(at, 0, SIZE);
        tt_pagepool_lock(m.pool);
        tt_pagepool_wait_all(m.pool);
        uint32_t region;
        uint64_t from;
        assert_false(tt_pagepool_find(m.pool, m.at, PAGE, &region, &from));
        tt_pagepool_unlock(m.pool);
        for (uint64_t i = 0; i < SIZE; i++)
            if (at[i]) fail_msg("byte %lu of memory that is not ours", (unsigned long)i);
        assert_int_equal(atomic_load(&m.report.pool_bytes), 0);
        unmap_file(&m);
    }
}

static void keeps_what_is_not_unmapped(void **state)
{
    (void)state;
    mapped m;
    map_file(&m, 2);
    const uint32_t a = unit(&m, 0, 8 * PAGE), b = unit(&m, 8 * PAGE, 8 * PAGE);
    assert_int_equal(load(&m, a), TT_UNIT_PRESENT);
    assert_int_equal(load(&m, b), TT_UNIT_PRESENT);
    tt_pagepool_lock(m.pool);
    assert_true(tt_pagepool_leave(m.pool, m.at, PAGE));
    assert_true(is_content(&m, 0, SIZE));
    assert_false(is_ours(&m, 7 * PAGE));
    assert_int_equal(munmap(m.at, PAGE), 0);
    assert_int_equal(tt_pagepool_state(m.pool, a), TT_UNIT_DEAD);
    assert_int_equal(tt_pagepool_state(m.pool, b), TT_UNIT_PRESENT);
    assert_false(tt_pagepool_request(m.pool, a, TT_READ_AHEAD));
    uint32_t region;
    uint64_t from;
    assert_false(tt_pagepool_find(m.pool, m.at, PAGE, &region, &from));
    assert_true(tt_pagepool_find(m.pool, m.at + PAGE, PAGE, &region, &from));
    tt_pagepool_unlock(m.pool);
    assert_true(is_content(&m, PAGE, SIZE + TAIL - PAGE));
    unmap_file(&m);
}

/* Somebody writes to the file: what the program sees is what it would see without us. */
static void check_files(mapped *m)
{
    tt_pagepool_lock(m->pool);
    tt_pagepool_check_files(m->pool);
    tt_pagepool_unlock(m->pool);
}

static void hands_back_a_changed_file(void **state)
{
    (void)state;
    const uint8_t other[PAGE] = {0};
    for (int way = 0; way < 2; way++) {
        mapped m;
        map_file(&m, 2);
        const uint32_t a = unit(&m, 10, 8 * PAGE), b = unit(&m, 20 * PAGE, 8 * PAGE);
        assert_int_equal(load(&m, a), TT_UNIT_PRESENT);
        (void)usleep(20000); /* the clock of the file system ticks */
        assert_int_equal(pwrite(m.fd, other, PAGE, 0), PAGE);
        assert_int_equal(pwrite(m.fd, other, PAGE, 2 * PAGE), PAGE);
        if (way == 0) {
            assert_int_equal(load(&m, b), TT_UNIT_ABSENT);
        } else {
            check_files(&m);
        }
        assert_memory_equal(m.at, other, PAGE);
        assert_memory_equal(m.at + 2 * PAGE, other, PAGE);
        assert_true(is_content(&m, 3 * PAGE, SIZE + TAIL - 3 * PAGE));
        assert_int_equal(load(&m, b), TT_UNIT_ABSENT);
        assert_int_equal(atomic_load(&m.report.handed_back), 1);
        assert_non_null(strstr(m.report.problem, "changed"));
        assert_int_equal(atomic_load(&m.report.pool_bytes), 0);
        /* It is read again when it has not changed for a second, and its new bytes are. */
        check_files(&m);
        (void)sleep(1);
        (void)usleep(100000);
        check_files(&m);
        assert_int_equal(load(&m, a), TT_UNIT_PRESENT);
        assert_int_equal(load(&m, b), TT_UNIT_PRESENT);
        assert_true(is_ours(&m, 2 * PAGE) && is_ours(&m, 20 * PAGE));
        assert_memory_equal(m.at, other, PAGE);
        assert_memory_equal(m.at + 2 * PAGE, other, PAGE);
        assert_true(is_content(&m, 3 * PAGE, SIZE + TAIL - 3 * PAGE));
        /* One that has another size is not. */
        assert_int_equal(ftruncate(m.fd, SIZE + TAIL + PAGE), 0);
        check_files(&m);
        check_files(&m);
        (void)sleep(1);
        (void)usleep(100000);
        check_files(&m);
        assert_int_equal(load(&m, a), TT_UNIT_ABSENT);
        unmap_file(&m);
    }
}

/* A file that became shorter cannot be read whole. */
static void leaves_what_cannot_be_read(void **state)
{
    (void)state;
    mapped m;
    map_file(&m, 2);
    const uint32_t a = unit(&m, SIZE / 2, 8 * PAGE), b = unit(&m, 0, 8 * PAGE);
    assert_int_equal(ftruncate(m.fd, SIZE / 4), 0);
    assert_int_equal(load(&m, a), TT_UNIT_ABSENT);
    assert_int_equal(atomic_load(&m.report.failed_reads), 1);
    assert_int_equal(load(&m, b), TT_UNIT_ABSENT);
    assert_true(is_content(&m, 0, SIZE / 4));
    assert_int_equal(atomic_load(&m.report.pool_bytes), 0);
    unmap_file(&m);
}

/* Also while its parent reads other things into the memory that it had at the fork. */
/* From now on each preadv of this thread, and of those that it starts, fails with `error`. */
static bool fail_reads(uint32_t error)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_preadv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog all = {.len = sizeof steps / sizeof *steps, .filter = steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0) == 0;
}

/* A file system that answers "try again" for ever: the unit is left to the kernel. */
static void gives_up_a_read_that_never_ends(void **state)
{
    (void)state;
    const uint32_t errors[] = {EINTR, EAGAIN};
    for (int i = 0; i < 2 && !by_uring; i++) {
        int status;
        const pid_t pid = fork();
        if (pid == 0) {
            mapped m;
            (void)alarm(60);
            if (!fail_reads(errors[i])) _exit(2);
            map_file(&m, 1);
            const uint32_t a = unit(&m, 0, 8 * PAGE);
            const bool left = load(&m, a) == TT_UNIT_ABSENT && m.report.failed_reads == 1 &&
                              is_content(&m, 0, SIZE + TAIL);
            (void)unlink(m.path);
            _exit(left ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 2) skip(); /* no filters here */
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void child_sees_the_same(void **state)
{
    (void)state;
    mapped m;
    int status, go[2];
    uint32_t units[32];
    char word;
    map_file(&m, 2);
    assert_int_equal(pipe(go), 0);
    for (uint32_t i = 0; i < 32; i++)
        units[i] = unit(&m, i * 64 * PAGE + 9, 40 * PAGE);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(load(&m, units[i]), TT_UNIT_PRESENT);
    tt_pagepool_lock(m.pool);
    for (uint32_t i = 16; i < 20; i++)
        (void)tt_pagepool_request(m.pool, units[i], TT_READ_AHEAD);
    const pid_t pid = fork();
    if (pid == 0) {
        tt_pagepool_in_child(m.pool);
        tt_pagepool_lock(m.pool);
        bool right = !tt_pagepool_request(
            m.pool, tt_pagepool_unit(m.pool, 0, SIZE - 8 * PAGE, PAGE), TT_READ_AHEAD);
        tt_pagepool_wait_all(m.pool);
        tt_pagepool_unlock(m.pool);
        right &= read(go[0], &word, 1) == 1;
        _exit(right && is_content(&m, 0, SIZE + TAIL) ? 0 : 1);
    }
    tt_pagepool_unlock(m.pool);
    for (uint32_t i = 0; i < 16; i++) {
        drop(&m, units[i]);
        assert_int_equal(load(&m, units[16 + i]), TT_UNIT_PRESENT);
    }
    assert_int_equal(write(go[1], "g", 1), 1);
    (void)close(go[0]);
    (void)close(go[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(is_content(&m, 0, SIZE + TAIL));
    unmap_file(&m);
}

/* --- weights --- */

#define LAYERS 12u
#define MATRIX (300u << 10)
#define SLICES 8u
#define SLICE (20u << 10)

typedef struct weighed {
    mapped m;
    tt_weights *w;
    tt_weights_plan plan;
    tt_weight_step steps[LAYERS];
    uint32_t experts[LAYERS][2]; /* two weights whose slices are used together */
} weighed;

static void find_experts(weighed *x, uint32_t layer, const uint8_t *at)
{
    for (uint32_t k = 0; k < 2; k++) {
        x->experts[layer][k] =
            tt_weights_find(x->w, at + k * SLICES * SLICE / 2, SLICES * SLICE / 2, SLICES);
        assert_int_equal(tt_weights_slices(x->w, x->experts[layer][k]), SLICES);
    }
    tt_weights_together(x->w, x->experts[layer][0], x->experts[layer][1]);
}

static tt_budget of(uint64_t bytes)
{
    return (tt_budget){bytes, bytes};
}

static void weigh(weighed *x, uint64_t budget, bool experts)
{
    tt_error err;
    memset(x, 0, sizeof *x);
    map_file(&x->m, 4);
    assert_int_equal(
        tt_weights_new(x->m.pool, of(budget), TT_POLICY_LRU, &x->m.report, &x->w, &err), TT_OK);
    tt_pagepool_lock(x->m.pool);
    for (uint32_t i = 0; i < LAYERS; i++) {
        const uint8_t *at = x->m.at + 32 + i * (MATRIX + SLICES * SLICE + 32);
        x->steps[i] = (tt_weight_step){2 * i, tt_weights_find(x->w, at, MATRIX, 0), 0, MATRIX};
        assert_int_not_equal(x->steps[i].weight, TT_NONE);
        if (!experts) continue;
        find_experts(x, i, at + MATRIX);
    }
    tt_pagepool_unlock(x->m.pool);
}

static void weigh_no_more(weighed *x)
{
    tt_weights_free(x->w);
    free(x->plan.turns);
    free(x->plan.held);
    unmap_file(&x->m);
}

static void wait_for_weights(weighed *x)
{
    tt_pagepool_unlock(x->m.pool);
    tt_weights_wait(x->w, &x->plan);
    tt_pagepool_lock(x->m.pool);
}

/* A pass as an engine makes it; what each op reads is there when it is to be. */
static bool pass(weighed *x, bool experts, unsigned *seed, bool *all_there)
{
    tt_pagepool_lock(x->m.pool);
    const bool begun = tt_weights_begin(x->w, &x->plan, x->steps, LAYERS);
    for (uint32_t i = 0; begun && i < LAYERS; i++) {
        uint16_t slices[2] = {(uint16_t)(rand_r(seed) % 4), (uint16_t)(4 + rand_r(seed) % 4)};
        tt_weights_advance(x->w, &x->plan, 2 * i);
        tt_weights_look_ahead(x->w, &x->plan);
        for (int k = 0; experts && k < 2; k++)
            tt_weights_ahead(x->w, &x->plan, x->experts[i][k], 2 * i + 1, slices, 2);
        wait_for_weights(x);
        for (uint32_t k = 0; k < x->plan.n_now; k++)
            *all_there &= tt_pagepool_state(x->m.pool, x->plan.now[k]) == TT_UNIT_PRESENT;
        if (!experts) continue;
        tt_weights_advance(x->w, &x->plan, 2 * i + 1);
        tt_weights_look_ahead(x->w, &x->plan);
        for (int k = 0; k < 2; k++)
            tt_weights_use(x->w, &x->plan, x->experts[i][k], slices, 2);
        *all_there &= x->plan.n_now == 4;
        wait_for_weights(x);
        for (uint32_t k = 0; k < x->plan.n_now; k++)
            *all_there &= tt_pagepool_state(x->m.pool, x->plan.now[k]) == TT_UNIT_PRESENT;
    }
    if (begun) tt_weights_end(x->w, &x->plan);
    tt_pagepool_unlock(x->m.pool);
    return begun;
}

static void keeps_to_the_budget(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++) {
        const bool experts = way % 2;
        const uint64_t whole = LAYERS * (uint64_t)(MATRIX + (experts ? SLICES * SLICE : 0));
        const uint64_t budget = whole * (uint64_t)(50 + 10 * way) / 100;
        weighed x;
        unsigned seed = 3;
        bool all_there = true;
        weigh(&x, budget, experts);
        for (int i = 0; i < 12; i++)
            assert_true(pass(&x, experts, &seed, &all_there));
        assert_true(all_there);
        assert_true(atomic_load(&x.m.report.pool_peak_bytes) <= budget);
        assert_true(atomic_load(&x.m.report.pool_peak_bytes) > budget / 2);
        /* Part of it stays: each pass reads less than all. */
        assert_true(atomic_load(&x.m.report.read_bytes) < 12 * whole);
        assert_true(is_content(&x.m, 0, SIZE + TAIL));
        weigh_no_more(&x);
    }
}

/* Contexts that compute at the same time, and end and begin beside each other. */
static void plans_share_the_budget(void **state)
{
    enum { PLANS = 3, APART = 2, PASSES = 4 };
    const uint64_t budget = LAYERS * (uint64_t)MATRIX * 6 / 10;
    tt_weights_plan plans[PLANS] = {{.pass = 0}};
    uint32_t at[PLANS] = {0};
    weighed x;
    (void)state;
    weigh(&x, budget, false);
    tt_pagepool_lock(x.m.pool);
    for (uint32_t step = 0; step < PASSES * LAYERS + PLANS * APART; step++)
        for (uint32_t k = 0; k < PLANS; k++) {
            if (step < k * APART || at[k] == PASSES * LAYERS) continue;
            const uint32_t layer = at[k]++ % LAYERS;
            if (!layer) assert_true(tt_weights_begin(x.w, &plans[k], x.steps, LAYERS));
            tt_weights_advance(x.w, &plans[k], 2 * layer);
            tt_weights_look_ahead(x.w, &plans[k]);
            tt_pagepool_unlock(x.m.pool);
            tt_weights_wait(x.w, &plans[k]);
            tt_pagepool_lock(x.m.pool);
            if (layer + 1 == LAYERS) tt_weights_end(x.w, &plans[k]);
        }
    tt_pagepool_unlock(x.m.pool);
    assert_true(atomic_load(&x.m.report.pool_peak_bytes) <= budget);
    assert_true(atomic_load(&x.m.report.pool_peak_bytes) > budget / 2);
    assert_true(is_content(&x.m, 0, SIZE + TAIL));
    for (uint32_t k = 0; k < PLANS; k++) {
        free(plans[k].turns);
        free(plans[k].held);
    }
    weigh_no_more(&x);
}

/* Asks for the layers behind `node`, as far as there is room. */
static void stream(weighed *x, uint32_t layer, uint32_t streamed[LAYERS][2])
{
    for (uint32_t i = layer; i < LAYERS; i++)
        for (int k = 0; k < 2; k++) {
            streamed[i][k] =
                tt_weights_stream(x->w, &x->plan, x->experts[i][k], 2 * i + 1, streamed[i][k]);
            if (streamed[i][k] < SLICES) return;
        }
}

/* A pass of many tokens, which use all slices: those of a layer are asked for while others are
 * used, and none is left out or read twice. */
static void streams_whole_layers(void **state)
{
    (void)state;
    const uint64_t whole = LAYERS * (uint64_t)(MATRIX + SLICES * SLICE);
    uint16_t slices[SLICES];
    uint32_t streamed[LAYERS][2] = {0}, early = 0;
    weighed x;
    for (uint16_t i = 0; i < SLICES; i++)
        slices[i] = i;
    weigh(&x, whole * 6 / 10, true);
    tt_pagepool_lock(x.m.pool);
    assert_true(tt_weights_begin(x.w, &x.plan, x.steps, LAYERS));
    stream(&x, 0, streamed);
    assert_true(streamed[0][0] == SLICES);
    for (uint32_t i = 0; i < LAYERS; i++) {
        tt_weights_advance(x.w, &x.plan, 2 * i);
        tt_weights_look_ahead(x.w, &x.plan);
        wait_for_weights(&x); /* of the dense weight */
        tt_weights_advance(x.w, &x.plan, 2 * i + 1);
        tt_weights_look_ahead(x.w, &x.plan);
        for (int k = 0; k < 2; k++)
            tt_weights_use(x.w, &x.plan, x.experts[i][k], slices, SLICES);
        assert_int_equal(x.plan.n_now, 2 * SLICES);
        stream(&x, i + 1, streamed);
        wait_for_weights(&x);
        for (uint32_t k = 0; k < x.plan.n_now; k++)
            assert_int_equal(tt_pagepool_state(x.m.pool, x.plan.now[k]), TT_UNIT_PRESENT);
        early += i + 1 < LAYERS && streamed[i + 1][0] > 0;
    }
    tt_weights_end(x.w, &x.plan);
    tt_pagepool_wait_all(x.m.pool);
    tt_pagepool_unlock(x.m.pool);
    assert_int_equal(early, LAYERS - 1);
    assert_int_equal(atomic_load(&x.m.report.slices_read), 2 * LAYERS * SLICES);
    assert_int_equal(atomic_load(&x.m.report.slices_left), 0);
    assert_true(atomic_load(&x.m.report.pool_peak_bytes) <= whole * 6 / 10);
    assert_true(is_content(&x.m, 0, SIZE + TAIL));
    weigh_no_more(&x);
}

/* Other threads begin an op as soon as one has looked what it needs: by then it is on its way, even
 * if memory was given back just before. */
static void requests_first_what_an_op_needs(void **state)
{
    (void)state;
    const uint64_t whole = LAYERS * (uint64_t)MATRIX;
    weighed x;
    unsigned seed = 5;
    bool all_there = true;
    weigh(&x, whole * 7 / 10, false);
    for (int i = 0; i < 3; i++)
        assert_true(pass(&x, false, &seed, &all_there));
    tt_pagepool_lock(x.m.pool);
    assert_true(tt_weights_begin(x.w, &x.plan, x.steps, LAYERS));
    for (uint32_t i = 0; i < LAYERS; i++) {
        tt_weights_set_budget(x.w, of(whole * (70 - i) / 100));
        tt_weights_advance(x.w, &x.plan, 2 * i);
        assert_true(x.plan.n_now > 0);
        for (uint32_t k = 0; k < x.plan.n_now; k++)
            assert_int_not_equal(tt_pagepool_state(x.m.pool, x.plan.now[k]), TT_UNIT_ABSENT);
        wait_for_weights(&x);
        for (uint32_t k = 0; k < x.plan.n_now; k++)
            all_there &= tt_pagepool_state(x.m.pool, x.plan.now[k]) == TT_UNIT_PRESENT;
        tt_weights_look_ahead(x.w, &x.plan);
    }
    tt_weights_end(x.w, &x.plan);
    tt_pagepool_unlock(x.m.pool);
    assert_true(all_there);
    weigh_no_more(&x);
}

/* Less: at once, but for what an op waits for. More: used from then on. */
static void follows_the_budget(void **state)
{
    (void)state;
    for (int experts = 0; experts < 2; experts++) {
        const uint64_t whole = LAYERS * (uint64_t)(MATRIX + (experts ? SLICES * SLICE : 0));
        weighed x;
        unsigned seed = 3;
        bool all_there = true;
        weigh(&x, whole * 7 / 10, experts);
        for (int i = 0; i < 4; i++)
            assert_true(pass(&x, experts, &seed, &all_there));
        tt_pagepool_lock(x.m.pool);
        tt_pagepool_wait_all(x.m.pool);
        assert_true(tt_pagepool_bytes(x.m.pool) > whole * 4 / 10);
        tt_weights_set_budget(x.w, of(whole * 4 / 10));
        tt_pagepool_wait_all(x.m.pool);
        assert_true(tt_pagepool_bytes(x.m.pool) <= whole * 4 / 10);
        tt_pagepool_unlock(x.m.pool);
        for (int i = 0; i < 4; i++)
            assert_true(pass(&x, experts, &seed, &all_there));
        assert_true(tt_pagepool_bytes(x.m.pool) <= whole * 4 / 10);
        tt_pagepool_lock(x.m.pool);
        tt_weights_set_budget(x.w, of(16 * PAGE)); /* too small for anything */
        tt_pagepool_wait_all(x.m.pool);
        assert_true(tt_pagepool_bytes(x.m.pool) <= tt_pagepool_edge_bytes(x.m.pool));
        tt_pagepool_unlock(x.m.pool);
        assert_false(pass(&x, experts, &seed, &all_there));
        tt_pagepool_lock(x.m.pool);
        tt_weights_set_budget(x.w, of(whole * 9 / 10));
        tt_pagepool_unlock(x.m.pool);
        for (int i = 0; i < 6; i++)
            assert_true(pass(&x, experts, &seed, &all_there));
        tt_pagepool_lock(x.m.pool);
        tt_pagepool_wait_all(x.m.pool);
        assert_true(tt_pagepool_bytes(x.m.pool) > whole * 5 / 10);
        assert_true(tt_pagepool_bytes(x.m.pool) <= whole * 9 / 10);
        tt_weights_set_budget(x.w, of(2 * whole)); /* all fit */
        tt_pagepool_unlock(x.m.pool);
        for (int i = 0; i < 6; i++)
            (void)pass(&x, experts, &seed, &all_there);
        assert_true(all_there);
        assert_true(is_content(&x.m, 0, SIZE + TAIL));
        weigh_no_more(&x);
    }
}

/* Units that share memory while they are read: in any order, and when only some of them come. */
static void shares_memory_in_a_group(void **state)
{
    (void)state;
    enum { N = 6, GROUP = 3 };
    const uint64_t size = (1u << 20) + 51 * PAGE;
    uint32_t u[N];
    unsigned seed = 7;
    mapped m;
    map_file(&m, 3);
    for (int i = 0; i < N; i++)
        u[i] = unit(&m, (uint64_t)i * size + 100, size); /* neighbours share pages */
    tt_pagepool_lock(m.pool);
    for (int i = 0; i < N; i++)
        if (i % GROUP) assert_true(tt_pagepool_join(m.pool, u[i - i % GROUP], u[i]));
    assert_false(tt_pagepool_join(m.pool, u[0], u[1])); /* is in it */
    tt_pagepool_unlock(m.pool);
    for (int round = 0; round < 400; round++) {
        const uint32_t i = u[rand_r(&seed) % N];
        if (rand_r(&seed) % 3)
            (void)load(&m, i);
        else
            drop(&m, i);
        if (round % 20) continue;
        tt_pagepool_lock(m.pool);
        for (int k = 0; k < N; k++) {
            if (rand_r(&seed) % 2)
                (void)tt_pagepool_request(m.pool, u[k], TT_READ_CHOSEN);
            else
                tt_pagepool_drop(m.pool, u[k]);
        }
        tt_pagepool_unlock(m.pool);
        assert_true(is_content(&m, 0, N * size + 200));
    }
    tt_pagepool_lock(m.pool);
    tt_pagepool_wait_all(m.pool);
    uint64_t present = 0;
    for (int k = 0; k < N; k++)
        if (tt_pagepool_state(m.pool, u[k]) == TT_UNIT_PRESENT)
            present += tt_pagepool_unit_bytes(m.pool, u[k]);
    assert_int_equal(tt_pagepool_bytes(m.pool), present + tt_pagepool_edge_bytes(m.pool));
    tt_pagepool_unlock(m.pool);
    for (int k = 0; k < N; k++)
        drop(&m, u[k]);
    assert_int_equal(tt_pagepool_bytes(m.pool), tt_pagepool_edge_bytes(m.pool));
    assert_true(is_content(&m, 0, SIZE + TAIL));
    unmap_file(&m);
}

static bool is_expected(const tt_boost_reads *r, uint32_t missing, double plain_ns, double ns)
{
    return fabs(tt_boost_moves_expected(r, missing, plain_ns) - ns) < 1;
}

/* By hand: slices of 1.25 MiB take 1,000 us each, ops 300 us; two are read at a time. */
static void moves_are_what_is_left(void **state)
{
    (void)state;
    const double slice_ns = 1e6, op_ns = 3e5;
    tt_boost_reads r = {
        .byte_ns = slice_ns / (5 << 18), .latency_ns = 5e4, .request_ns = 1e4, .begin_ns = 2e5};
    const double whole = slice_ns + r.request_ns, begun = r.begin_ns + r.latency_ns;
    assert_true(is_expected(&r, 0, 3 * op_ns, 3 * op_ns));
    /* Each arrives by itself: the last op waits for the last one. */
    assert_true(is_expected(&r, 1, 3 * op_ns, begun + 3 * whole + op_ns));
    assert_true(is_expected(&r, 2, 3 * op_ns, begun + 6 * whole + op_ns));
    /* Gate and up arrive together; then down, or up alone of two experts. */
    r.grouped = true;
    r.group_ns = 1e5;
    assert_true(is_expected(&r, 1, 3 * op_ns, begun + 2 * whole + r.group_ns + whole + op_ns));
    assert_true(is_expected(&r, 2, 3 * op_ns, begun + 6 * whole + 2 * r.group_ns + op_ns));
    /* Computing takes longer than the disk. */
    r.grouped = false;
    assert_true(is_expected(&r, 1, 3 * 5e6, begun + whole + 3 * 5e6));
}

/* When the read began of the unit whose first page that is. */
static uint64_t begun(const tt_pagepool_read *reads, uint32_t n, uint64_t first_byte)
{
    for (uint32_t i = 0; i < n; i++)
        if (reads[i].file_offset_bytes == first_byte) return reads[i].begin_ticks;
    fail();
    return 0;
}

/* What was chosen does not wait for what is read ahead, also if it was requested ahead before, or
 * given up. */
static void reads_first_what_was_chosen(void **state)
{
    (void)state;
    const uint64_t part = SIZE / 4;
    const tt_pagepool_read *reads;
    uint64_t lost;
    uint32_t u[4];
    mapped m;
    map_file(&m, 1);
    for (uint32_t i = 0; i < 4; i++)
        u[i] = unit(&m, i * part, part);
    tt_pagepool_lock(m.pool);
    tt_pagepool_keep_reads(m.pool, true);
    tt_pagepool_stream(m.pool, 1);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(tt_pagepool_request(m.pool, u[i], TT_READ_AHEAD));
    tt_pagepool_drop(m.pool, u[1]);
    tt_pagepool_drop(m.pool, u[3]);
    assert_true(tt_pagepool_request(m.pool, u[3], TT_READ_CHOSEN));
    assert_true(tt_pagepool_request(m.pool, u[2], TT_READ_AT_OP));
    tt_pagepool_wait_all(m.pool);
    const uint32_t n = tt_pagepool_take_reads(m.pool, &reads, &lost);
    assert_int_equal(n, 3);
    assert_true(begun(reads, n, 3 * part) < begun(reads, n, 2 * part));
    assert_true(begun(reads, n, 2 * part) < begun(reads, n, 0));
    tt_pagepool_unlock(m.pool);
    assert_true(is_content(&m, 0, SIZE));
    unmap_file(&m);
}

/* Each read is told once, with what it was and who waited for it. */
static void keeps_what_was_read(void **state)
{
    (void)state;
    const tt_pagepool_read *reads;
    uint64_t lost, bytes = 0;
    mapped m;
    map_file(&m, 2);
    const uint32_t a = unit(&m, PAGE, 5 * PAGE), b = unit(&m, 9 * PAGE + 100, 4 * PAGE);
    assert_int_equal(load(&m, a), TT_UNIT_PRESENT);
    tt_pagepool_lock(m.pool);
    assert_int_equal(tt_pagepool_take_reads(m.pool, &reads, &lost), 0); /* nobody asked */
    tt_pagepool_keep_reads(m.pool, true);
    tt_pagepool_unlock(m.pool);
    drop(&m, a);
    tt_pagepool_lock(m.pool);
    assert_true(tt_pagepool_request(m.pool, a, TT_READ_CHOSEN));
    tt_pagepool_will_wait(m.pool, a, tt_ticks());
    tt_pagepool_unlock(m.pool);
    tt_pagepool_wait(m.pool, a);
    assert_int_equal(load(&m, b), TT_UNIT_PRESENT);
    tt_pagepool_lock(m.pool);
    assert_int_equal(tt_pagepool_take_reads(m.pool, &reads, &lost), 2);
    assert_int_equal(reads[0].file_offset_bytes, PAGE);
    assert_int_equal(reads[0].size_bytes, 5 * PAGE);
    assert_int_equal(reads[0].cause, TT_READ_CHOSEN);
    assert_int_equal(reads[0].waiters, 1);
    assert_int_equal(reads[0].first_waiter, gettid());
    assert_true(reads[0].waited_ticks > 0);
    assert_int_equal(reads[1].file_offset_bytes, 9 * PAGE);
    assert_int_equal(reads[1].size_bytes, 5 * PAGE); /* with the pages that it has a part of */
    assert_int_equal(reads[1].cause, TT_READ_AHEAD);
    for (int i = 0; i < 2; i++) {
        assert_true(reads[i].requested_ticks <= reads[i].begin_ticks);
        assert_true(reads[i].begin_ticks < reads[i].end_ticks);
        assert_int_equal(reads[i].flags, 0);
        bytes += reads[i].size_bytes;
    }
    assert_int_equal(bytes, 10 * PAGE);
    assert_int_equal(lost, 0);
    assert_int_equal(tt_pagepool_take_reads(m.pool, &reads, &lost), 0);
    tt_pagepool_unlock(m.pool);
    unmap_file(&m);
}

static void does_nothing_when_all_fits(void **state)
{
    (void)state;
    weighed x;
    unsigned seed = 3;
    bool all_there = true;
    weigh(&x, SIZE, true);
    assert_false(pass(&x, true, &seed, &all_there));
    assert_int_equal(atomic_load(&x.m.report.reads), 0);
    weigh_no_more(&x);
    /* So little that edges alone are more. */
    weigh(&x, 16 * PAGE, true);
    assert_false(pass(&x, true, &seed, &all_there));
    assert_int_equal(atomic_load(&x.m.report.reads), 0);
    assert_non_null(strstr(x.m.report.problem, "too small"));
    weigh_no_more(&x);
}

/* The model goes and comes again, elsewhere or where it was. */
static void begins_again_with_a_new_mapping(void **state)
{
    (void)state;
    weighed x;
    unsigned seed = 3;
    bool all_there = true;
    weigh(&x, 2 << 20, true);
    assert_true(pass(&x, true, &seed, &all_there));
    tt_pagepool_lock(x.m.pool);
    assert_true(tt_pagepool_leave(x.m.pool, x.m.at, SIZE + TAIL));
    void *at = mmap(x.m.at, SIZE + TAIL, PROT_READ, MAP_SHARED | MAP_FIXED, x.m.fd, 0);
    tt_pagepool_unlock(x.m.pool);
    assert_ptr_equal(at, x.m.at);
    assert_int_equal(tt_pagepool_adopt(x.m.pool, x.m.at, SIZE + TAIL, x.m.fd, 0), 1);
    tt_pagepool_lock(x.m.pool);
    tt_weights_refresh(x.w);
    for (uint32_t i = 0; i < LAYERS; i++) {
        const uint8_t *from = x.m.at + 32 + i * (MATRIX + SLICES * SLICE + 32);
        x.steps[i].weight = tt_weights_find(x.w, from, MATRIX, 0);
        find_experts(&x, i, from + MATRIX);
    }
    tt_pagepool_unlock(x.m.pool);
    for (int i = 0; i < 3; i++)
        assert_true(pass(&x, true, &seed, &all_there));
    assert_true(all_there);
    assert_true(is_content(&x.m, 0, SIZE + TAIL));
    weigh_no_more(&x);
}

/* Its descriptor of the io_uring is another file's from now on. */
static void take_the_ring(void)
{
    char path[64], target[64];
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int found = 0;
    for (int fd = 0; fd < 4096; fd++) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = 0;
        if (!strstr(target, "io_uring")) continue;
        assert_int_equal(dup2(null, fd), fd);
        found++;
    }
    (void)close(null);
    assert_int_equal(found, by_uring);
}

/* A tensor may be the last bytes of a file, which ends within the page. */
static void reads_a_part_of_the_last_page(void **state)
{
    (void)state;
    mapped m;
    map_file(&m, 2);
    assert_int_equal(load(&m, unit(&m, SIZE + 32, TAIL - 32)), TT_UNIT_PRESENT);
    assert_true(is_ours(&m, SIZE));
    assert_true(is_content(&m, SIZE, TAIL));
    assert_int_equal(load(&m, unit(&m, 0, 16 * PAGE)), TT_UNIT_PRESENT);
    assert_int_equal(atomic_load(&m.report.failed_reads), 0);
    unmap_file(&m);
}

#define ADJACENT 9u
#define STEP 2u /* of two weights next to each other the second is used four or five later */

/* Begins a pass over weights of n bytes each, without gaps, in another order than that of their
 * addresses. Under the lock. */
static void begin_over(mapped *m, tt_weights *w, tt_weights_plan *plan, uint64_t n)
{
    tt_weight_step steps[ADJACENT];
    for (uint32_t i = 0; i < ADJACENT; i++) {
        const uint8_t *at = m->at + 32 + i * STEP % ADJACENT * n;
        steps[i] = (tt_weight_step){i, tt_weights_find(w, at, n, 0), 0, n};
    }
    assert_true(tt_weights_begin(w, plan, steps, ADJACENT));
}

static void pass_over(mapped *m, tt_weights *w, tt_weights_plan *plan, uint64_t n)
{
    tt_pagepool_lock(m->pool);
    begin_over(m, w, plan, n);
    for (uint32_t i = 0; i < ADJACENT; i++) {
        tt_weights_advance(w, plan, i);
        tt_weights_look_ahead(w, plan);
        tt_pagepool_unlock(m->pool);
        tt_weights_wait(w, plan);
        tt_pagepool_lock(m->pool);
        assert_true(plan->n_now >= n / (2 << 20));
        for (uint32_t k = 0; k < plan->n_now; k++)
            assert_int_equal(tt_pagepool_state(m->pool, plan->now[k]), TT_UNIT_PRESENT);
        if (n < SIZE / ADJACENT) assert_true(is_content(m, 32 + i * STEP % ADJACENT * n, n));
    }
    tt_weights_end(w, plan);
    tt_pagepool_wait_all(m->pool);
    tt_pagepool_unlock(m->pool);
}

static void shares_chunks_of_weights(void **state)
{
    (void)state;
    const uint64_t n = 900 << 10, whole = ADJACENT * n;
    for (uint64_t part = 5; part < 9; part++) {
        const uint64_t budget = whole * part / 10;
        mapped m;
        tt_weights *w;
        tt_weights_plan plan = {0};
        tt_error err;
        map_file(&m, 4);
        assert_int_equal(tt_weights_new(m.pool, of(budget), TT_POLICY_LRU, &m.report, &w, &err),
                         TT_OK);
        pass_over(&m, w, &plan, n);
        pass_over(&m, w, &plan, n);
        const uint64_t before = atomic_load(&m.report.read_bytes);
        pass_over(&m, w, &plan, n);
        /* At most half is the window. What two weights share is read once. */
        const uint64_t read = atomic_load(&m.report.read_bytes) - before;
        assert_true(read <= whole - budget + budget / 2 + (128 << 10));
        assert_true(read >= whole - budget);
        assert_true(atomic_load(&m.report.pool_peak_bytes) <= budget);
        tt_weights_free(w);
        free(plan.turns);
        free(plan.held);
        unmap_file(&m);
    }
}

/* Another model is unmapped while a thread computes: its pass requests nothing more, as the weights
 * are divided anew. */
static void leaves_a_pass_of_an_older_division(void **state)
{
    (void)state;
    const uint64_t n = 900 << 10, budget = ADJACENT * n / 2;
    mapped m;
    tt_weights *w;
    tt_weights_plan old = {0}, plan = {0};
    tt_error err;
    map_file(&m, 4);
    assert_int_equal(tt_weights_new(m.pool, of(budget), TT_POLICY_LRU, &m.report, &w, &err), TT_OK);
    void *other = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, m.fd, 0);
    assert_true(other != MAP_FAILED);
    assert_int_equal(tt_pagepool_adopt(m.pool, other, SIZE, m.fd, 0), 1);
    tt_pagepool_lock(m.pool);
    assert_int_not_equal(tt_pagepool_unit(m.pool, 1, 0, 16 * PAGE), TT_NONE);
    begin_over(&m, w, &old, n);
    tt_weights_advance(w, &old, 0);
    assert_true(tt_pagepool_leave(m.pool, other, SIZE));
    tt_weights_refresh(w);
    tt_pagepool_unlock(m.pool);
    pass_over(&m, w, &plan, n);
    tt_pagepool_lock(m.pool);
    for (uint32_t i = 1; i < ADJACENT; i++) {
        tt_weights_advance(w, &old, i);
        tt_weights_look_ahead(w, &old);
    }
    tt_weights_end(w, &old);
    tt_pagepool_wait_all(m.pool);
    tt_pagepool_unlock(m.pool);
    assert_true(atomic_load(&m.report.pool_peak_bytes) <= budget);
    pass_over(&m, w, &plan, n);
    assert_true(is_content(&m, 0, SIZE + TAIL));
    tt_weights_free(w);
    free(old.turns);
    free(plan.turns);
    assert_int_equal(munmap(other, SIZE), 0);
    unmap_file(&m);
}

/* Mappings of the pool's memory in the file's, and how many of them begin at a huge page. */
static void count_places(const uint8_t *at, uint64_t n, unsigned *all, unsigned *huge)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    assert_non_null(f);
    *all = *huge = 0;
    while (fgets(line, sizeof line, f)) {
        unsigned long low;
        if (!strstr(line, "memfd:") || sscanf(line, "%lx-", &low) != 1) continue;
        if (low < (uintptr_t)at || low >= (uintptr_t)at + n) continue;
        ++*all;
        *huge += low % (2 << 20) == 0;
    }
    (void)fclose(f);
}

/* Chunks of large weights are where the kernel moves a huge page by one entry. */
static void places_chunks_at_huge_pages(void **state)
{
    (void)state;
    const uint64_t n = (15 << 20) + 96, whole = ADJACENT * n;
    unsigned all, huge;
    mapped m;
    tt_weights *w;
    tt_weights_plan plan = {0};
    tt_error err;
    map_file(&m, 4);
    assert_int_equal(ftruncate(m.fd, (off_t)(whole + PAGE)), 0);
    uint8_t *first = m.at;
    m.at = mmap(NULL, whole + PAGE, PROT_READ, MAP_SHARED, m.fd, 0);
    assert_true(m.at != MAP_FAILED);
    m.region = tt_pagepool_adopt(m.pool, m.at, whole + PAGE, m.fd, 0);
    assert_int_equal(m.region, 1);
    assert_int_equal(tt_weights_new(m.pool, of(80 << 20), TT_POLICY_LRU, &m.report, &w, &err),
                     TT_OK);
    pass_over(&m, w, &plan, n);
    count_places(m.at, whole, &all, &huge);
    assert_in_range(all, 20, 41);
    assert_true(huge + 1 >= all);
    tt_weights_free(w);
    free(plan.turns);
    free(plan.held);
    assert_int_equal(munmap(first, SIZE + TAIL), 0);
    tt_pagepool_free(m.pool);
    assert_int_equal(munmap(m.at, whole + PAGE), 0);
    (void)close(m.fd);
    (void)unlink(m.path);
}

static void goes_on_without_its_ring(void **state)
{
    (void)state;
    mapped m;
    map_file(&m, 2);
    const uint32_t a = unit(&m, 0, 16 * PAGE), b = unit(&m, 16 * PAGE, 16 * PAGE);
    assert_int_equal(load(&m, a), TT_UNIT_PRESENT);
    take_the_ring();
    /* What was asked for first is given up, and may come later. */
    if (load(&m, b) != TT_UNIT_PRESENT) assert_int_equal(load(&m, b), TT_UNIT_PRESENT);
    assert_true(is_ours(&m, 20 * PAGE));
    assert_true(is_content(&m, 0, 40 * PAGE));
    assert_int_equal(atomic_load(&m.report.handed_back), 0);
    unmap_file(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_are_measured),
        cmocka_unit_test(bursts_are_judged),
        cmocka_unit_test(disk_rate_is_that_of_the_fastest_tenth),
        cmocka_unit_test(moves_are_what_is_left),
        cmocka_unit_test(loads_and_evicts),
        cmocka_unit_test(wakes_whoever_waits),
        cmocka_unit_test(never_shows_anything_else),
        cmocka_unit_test(stays_out_of_other_memory),
        cmocka_unit_test(keeps_what_is_not_unmapped),
        cmocka_unit_test(hands_back_a_changed_file),
        cmocka_unit_test(leaves_what_cannot_be_read),
        cmocka_unit_test(gives_up_a_read_that_never_ends),
        cmocka_unit_test(child_sees_the_same),
        cmocka_unit_test(keeps_to_the_budget),
        cmocka_unit_test(plans_share_the_budget),
        cmocka_unit_test(streams_whole_layers),
        cmocka_unit_test(requests_first_what_an_op_needs),
        cmocka_unit_test(follows_the_budget),
        cmocka_unit_test(shares_memory_in_a_group),
        cmocka_unit_test(reads_first_what_was_chosen),
        cmocka_unit_test(keeps_what_was_read),
        cmocka_unit_test(does_nothing_when_all_fits),
        cmocka_unit_test(begins_again_with_a_new_mapping),
        cmocka_unit_test(reads_a_part_of_the_last_page),
        cmocka_unit_test(shares_chunks_of_weights),
        cmocka_unit_test(leaves_a_pass_of_an_older_division),
        cmocka_unit_test(places_chunks_at_huge_pages),
        cmocka_unit_test(goes_on_without_its_ring),
    };
    const int failed = cmocka_run_group_tests_name("threads", tests, NULL, NULL);
    tt_uring probe;
    if (!tt_uring_begin(&probe, 1)) {
        printf("this kernel allows no io_uring\n");
        return failed;
    }
    tt_uring_end(&probe);
    by_uring = true;
    return failed + cmocka_run_group_tests_name("io_uring", tests, NULL, NULL);
}
