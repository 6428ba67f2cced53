/* The recorder as producers use it: many threads into rings, a drain beside them, full
 * rings, a process that is killed, a file that is cut anywhere. */
#include "tests.h"

#include "base/clock.h"
#include "format/meta.h"
#include "format/ops.h"
#include "read/trace.h"
#include "record/area.h"
#include "record/place.h"
#include "record/recorder.h"
#include "record/recover.h"
#include "record/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODES 50u

static char dir[64];

static void path_in(char out[256], const char *name)
{
    (void)snprintf(out, 256, "%s/%s", dir, name);
}

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/tt-record-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

/* --- a producer, as a compute thread is one --- */

typedef struct producer {
    tt_area_map *map;
    uint32_t thread;
    uint32_t runs;
    uint64_t written;
    uint64_t dropped;
    bool paced; /* waits for room instead of dropping */
} producer;

/* Opens a record; the one before becomes final. */
static tt_op_record *begin(producer *p, tt_ring *ring, uint64_t *head)
{
    uint64_t size = p->map->area->ring_records;
    while (*head - atomic_load_explicit(&ring->tail, memory_order_acquire) >= size) {
        if (!p->paced) {
            uint32_t n = atomic_load(&ring->n_losses);
            atomic_fetch_add(&ring->dropped, 1);
            if (n < TT_AREA_LOSSES) {
                ring->losses[n] = (tt_area_loss){*head, 0};
                atomic_store(&ring->n_losses, ++n);
            }
            ring->losses[n - 1].dropped++;
            p->dropped++;
            return NULL;
        }
        (void)usleep(200);
    }
    uint32_t index = (uint32_t)(ring - p->map->rings);
    return &tt_area_slots(p->map, index)[*head & (size - 1)];
}

static void *produce(void *argument)
{
    producer *p = argument;
    tt_ring *ring = tt_area_claim(p->map, p->thread);
    uint64_t head = atomic_load(&ring->head);
    uint64_t now = tt_ticks();
    for (uint32_t run = 1; run <= p->runs; run++) {
        for (uint32_t node = 0; node < NODES; node++) {
            tt_op_record *r = begin(p, ring, &head);
            if (!r) continue;
            *r = (tt_op_record){.start = now, .run = run, .place = tt_op_place(node, p->thread, 0)};
            atomic_store_explicit(&ring->head, ++head, memory_order_release);
            __atomic_store_n(&r->arrive, now + 100 + node * 7, __ATOMIC_RELAXED);
            now += 120 + node * 8;
            __atomic_store_n(&r->release, now, __ATOMIC_RELAXED);
            p->written++;
        }
    }
    atomic_store_explicit(&ring->owner, 0, memory_order_release);
    return NULL;
}

/* --- what a finished trace holds --- */

typedef struct content {
    uint64_t ops, meta_records, ops_dropped, losses, strings;
    bool contiguous;
    bool ascending;
} content;

static void read_meta(tt_span payload, content *c)
{
    tt_cursor at = tt_cursor_of(payload.data, payload.size);
    uint8_t type;
    tt_span record;
    while (tt_meta_next(&at, &type, &record)) {
        tt_cursor r = tt_cursor_of(record.data, record.size);
        uint32_t ring, n;
        uint64_t position, dropped;
        c->meta_records++;
        c->strings += type == TT_META_STRING;
        if (type == TT_META_LOSS && tt_meta_get_loss(&r, &ring, &position, &dropped)) c->losses += dropped;
        if (type != TT_META_COUNTS || !tt_meta_get_count(&r, &n, 2)) continue;
        for (uint32_t i = 0; i < n; i++) {
            tt_span name = tt_cursor_str(&r);
            uint64_t value = tt_cursor_varint(&r);
            if (name.size == 11 && memcmp(name.data, "ops_dropped", 11) == 0) c->ops_dropped = value;
        }
    }
    assert_false(at.failed);
}

static content read_trace(const char *path)
{
    tt_trace t;
    tt_error err;
    tt_unpacker u;
    content c = {.contiguous = true, .ascending = true};
    uint64_t next[TT_AREA_RINGS] = {0};
    if (tt_trace_open(&t, path, &err) != TT_OK) fail_msg("%s", err.message);
    assert_true(t.complete);
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t.n_chunks; i++) {
        tt_chunk_header h;
        tt_span payload;
        if (tt_trace_chunk(&t, i, SIZE_MAX, &u, &h, &payload, &err) != TT_OK) fail_msg("%s", err.message);
        if (h.type == TT_CHUNK_META) read_meta(payload, &c);
        if (h.type != TT_CHUNK_OPS) continue;
        tt_ops_block block;
        if (tt_ops_decode(payload, h.count, true, &block, &err) != TT_OK) fail_msg("%s", err.message);
        if (h.position != next[h.stream - 1]) c.contiguous = false;
        next[h.stream - 1] = h.position + h.count;
        for (size_t k = 0; k < block.n; k++)
            if (block.start[k] > block.arrive[k] || block.arrive[k] > block.release[k]) c.ascending = false;
        c.ops += block.n;
        tt_ops_block_free(&block);
    }
    tt_unpacker_free(&u);
    tt_trace_close(&t);
    return c;
}

static void push_string(tt_recorder *r, uint32_t id)
{
    char text[64];
    tt_bytes payload;
    int n = snprintf(text, sizeof text, "string number %u", id);
    tt_bytes_init(&payload, 256);
    tt_meta_put_string(&payload, id, (tt_span){(const uint8_t *)text, (size_t)n});
    assert_true(tt_recorder_meta(r, TT_META_STRING, &payload));
    tt_bytes_free(&payload);
}

static void run_producers(tt_recorder *r, producer *p, size_t n)
{
    pthread_t threads[8];
    for (size_t i = 0; i < n; i++) {
        p[i].map = tt_recorder_area(r);
        p[i].thread = (uint32_t)i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &p[i]), 0);
    }
    for (uint32_t i = 1; i <= 200; i++)
        push_string(r, i);
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
}

static void close_and_free(tt_recorder *r, bool discard)
{
    tt_error err;
    if (tt_recorder_close(r, discard, &err) != TT_OK) fail_msg("%s", err.message);
    tt_recorder_free(r);
}

static void test_threads_lose_nothing(void **state)
{
    char path[256];
    tt_recorder *r;
    tt_error err;
    producer p[4] = {{.runs = 2000, .paced = true}, {.runs = 1500, .paced = true},
                     {.runs = 1000, .paced = true}, {.runs = 500, .paced = true}};
    struct stat st;
    (void)state;
    path_in(path, "threads.ttrace");
    tt_recorder_options o = {.path = path, .ring_bytes = 64 << 10};
    if (tt_recorder_open(&r, &o, &err) != TT_OK) fail_msg("%s", err.message);
    run_producers(r, p, 4);
    char area[TT_AREA_PATH_MAX];
    (void)snprintf(area, sizeof area, "%s", tt_recorder_area(r)->path);
    close_and_free(r, false);
    content c = read_trace(path);
    assert_int_equal(c.ops, 5000u * NODES);
    assert_int_equal(c.strings, 200);
    assert_int_equal(c.ops_dropped, 0);
    assert_true(c.contiguous && c.ascending);
    assert_int_equal(access(area, F_OK), -1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600); /* traces hold people's prompts */
}

static void test_full_rings_are_counted(void **state)
{
    char path[256];
    tt_recorder *r;
    tt_error err;
    producer p[2] = {{.runs = 20000}, {.runs = 20000}};
    (void)state;
    path_in(path, "full.ttrace");
    tt_recorder_options o = {.path = path, .ring_bytes = TT_AREA_RING_BYTES_MIN};
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    run_producers(r, p, 2);
    close_and_free(r, false);
    content c = read_trace(path);
    assert_int_equal(c.ops, p[0].written + p[1].written);
    assert_int_equal(c.ops_dropped, p[0].dropped + p[1].dropped);
    assert_int_equal(c.losses, c.ops_dropped);
    assert_int_equal(c.ops + c.ops_dropped, 2u * 20000u * NODES);
    assert_true(c.ops_dropped > 0);
}

static void test_a_limit_is_kept(void **state)
{
    char path[256];
    tt_recorder *r;
    tt_error err;
    producer p[1] = {{.runs = 20000}};
    struct stat st;
    (void)state;
    path_in(path, "limit.ttrace");
    tt_recorder_options o = {.path = path, .ring_bytes = 64 << 10, .limit_bytes = 100 << 10};
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    run_producers(r, p, 1);
    close_and_free(r, false);
    content c = read_trace(path);
    assert_int_equal(c.ops + c.ops_dropped, 20000u * NODES);
    assert_int_equal(c.losses, c.ops_dropped);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < (100 << 10) + (32 << 10));
}

static void test_existing_files_are_kept(void **state)
{
    char path[256], numbered[256];
    tt_recorder *r;
    tt_error err;
    FILE *f;
    (void)state;
    path_in(path, "kept.ttrace");
    path_in(numbered, "kept-2.ttrace");
    tt_recorder_options o = {.path = path};
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    /* It appears while we record. */
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("precious", f);
    (void)fclose(f);
    assert_int_equal(tt_recorder_close(r, false, &err), TT_OK);
    assert_string_equal(tt_recorder_path(r), numbered);
    tt_recorder_free(r);
    (void)read_trace(numbered);
    char text[16] = "";
    f = fopen(path, "r");
    (void)!fread(text, 1, 8, f);
    (void)fclose(f);
    assert_string_equal(text, "precious");
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_E_EXISTS);
    o.replace = true;
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    close_and_free(r, false);
    (void)read_trace(path);
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    close_and_free(r, true);
}

/* A child that records until it kills itself; returns the records it had written. */
static uint64_t record_and_die(const char *path, uint32_t runs)
{
    int ends[2];
    uint64_t written = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        tt_recorder *r;
        tt_recorder_options o = {.path = path, .replace = true, .ring_bytes = 64 << 10};
        producer p = {.runs = runs, .paced = true, .thread = 1};
        if (tt_recorder_open(&r, &o, NULL) != TT_OK) _exit(1);
        push_string(r, 1);
        p.map = tt_recorder_area(r);
        (void)produce(&p);
        push_string(r, 2);
        (void)!write(ends[1], &p.written, sizeof p.written);
        (void)kill(getpid(), SIGKILL);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &written, sizeof written), (ssize_t)sizeof written);
    (void)close(ends[0]);
    (void)waitpid(pid, NULL, 0);
    return written;
}

static void test_a_killed_process_loses_nothing(void **state)
{
    char path[256], part[300];
    tt_recover_report report;
    tt_error err;
    (void)state;
    path_in(path, "killed.ttrace");
    (void)snprintf(part, sizeof part, "%s.part", path);
    for (uint32_t runs = 1; runs <= 3000; runs = runs * 5 + 1) {
        uint64_t written = record_and_die(path, runs);
        if (tt_recover(part, TT_RECOVER_REPLACE, &report, &err) != TT_OK) fail_msg("%s", err.message);
        assert_true(report.area_found);
        content c = read_trace(path);
        assert_int_equal(c.ops, written);
        assert_int_equal(c.strings, 2);
        assert_true(c.contiguous);
        /* Once is enough. */
        assert_int_equal(tt_recover(path, 0, &report, &err), TT_E_EXISTS);
    }
}

/* A file cut at any byte, with the area there or gone, is finished without losing a whole
 * chunk, and never twice the same. */
static void test_a_cut_file_is_finished(void **state)
{
    char path[256], part[300], copy[256];
    tt_recover_report report;
    tt_error err;
    (void)state;
    path_in(path, "cut.ttrace");
    path_in(copy, "copy.ttrace.part");
    (void)snprintf(part, sizeof part, "%s.part", path);
    (void)record_and_die(path, 4000);
    FILE *f = fopen(part, "r");
    static uint8_t bytes[4 << 20];
    size_t n = fread(bytes, 1, sizeof bytes, f);
    (void)fclose(f);
    assert_true(n > 1000 && n < sizeof bytes);
    /* The area goes first: what is left is the file alone. */
    assert_int_equal(tt_recover(part, TT_RECOVER_REPLACE, &report, &err), TT_OK);
    for (size_t cut = 64; cut < n; cut += n / 40 + 1) {
        f = fopen(copy, "w");
        (void)fwrite(bytes, 1, cut, f);
        (void)fclose(f);
        if (tt_recover(copy, TT_RECOVER_REPLACE, &report, &err) != TT_OK) fail_msg("cut at %zu: %s", cut, err.message);
        assert_false(report.area_found);
        content c = read_trace(report.path);
        assert_true(c.contiguous);
    }
    for (size_t cut = 0; cut < 64; cut += 9) {
        f = fopen(copy, "w");
        (void)fwrite(bytes, 1, cut, f);
        (void)fclose(f);
        assert_int_not_equal(tt_recover(copy, TT_RECOVER_REPLACE, &report, &err), TT_OK);
    }
}

/* Programs that become daemons close every descriptor, and open their own files next. */
static void test_a_closed_descriptor_is_not_written_to(void **state)
{
    char path[256], part[300], theirs[256];
    tt_recorder *r;
    tt_recover_report report;
    tt_error err;
    struct stat st;
    producer p[1] = {{.runs = 10, .paced = true}};
    (void)state;
    path_in(path, "closed.ttrace");
    path_in(theirs, "theirs");
    (void)snprintf(part, sizeof part, "%s.part", path);
    tt_recorder_options o = {.path = path};
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    FILE *f = fopen(theirs, "w");
    for (int fd = 512; fd < 600; fd++)
        (void)dup2(fileno(f), fd);
    run_producers(r, p, 1);
    assert_int_not_equal(tt_recorder_close(r, false, &err), TT_OK);
    tt_recorder_free(r);
    assert_int_equal(fstat(fileno(f), &st), 0);
    assert_int_equal(st.st_size, 0);
    (void)fclose(f);
    for (int fd = 512; fd < 600; fd++)
        (void)close(fd);
    if (tt_recover(part, 0, &report, &err) != TT_OK) fail_msg("%s", err.message);
    assert_int_equal(read_trace(path).ops, 10 * NODES);
}

/* --- deaths at the worst moments, made up from a trace that ended well --- */

typedef struct finished {
    char path[256], part[300];
    uint8_t *bytes;
    size_t size;
    uint64_t index_at; /* of the INDEX chunk */
    content content;
} finished;

static void write_file(const char *path, const uint8_t *bytes, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void read_finished(finished *t)
{
    struct stat st;
    assert_int_equal(stat(t->path, &st), 0);
    t->size = (size_t)st.st_size;
    t->bytes = malloc(t->size);
    FILE *f = fopen(t->path, "r");
    assert_non_null(f);
    assert_int_equal(fread(t->bytes, 1, t->size, f), t->size);
    (void)fclose(f);
    assert_true(tt_tail_decode(t->bytes + t->size - TT_TAIL_BYTES, &t->index_at));
    t->content = read_trace(t->path);
    assert_int_equal(unlink(t->path), 0);
}

/* Records into a small ring, so that some is lost. The area stays, as the end left it. */
static void record_finished(finished *t, const char *name, bool keep_area)
{
    tt_recorder *r;
    tt_error err;
    producer p[1] = {{.runs = 3000}};
    char area[TT_AREA_PATH_MAX], kept[TT_AREA_PATH_MAX + 8];
    path_in(t->path, name);
    (void)snprintf(t->part, sizeof t->part, "%s.part", t->path);
    tt_recorder_options o = {.path = t->path, .ring_bytes = TT_AREA_RING_BYTES_MIN};
    if (tt_recorder_open(&r, &o, &err) != TT_OK) fail_msg("%s", err.message);
    (void)snprintf(area, sizeof area, "%s", tt_recorder_area(r)->path);
    (void)snprintf(kept, sizeof kept, "%s.kept", area);
    tt_bytes environment;
    tt_bytes_init(&environment, 4096);
    tt_bytes_varint(&environment, 1);
    tt_bytes_str(&environment, "area", 4);
    tt_bytes_str(&environment, area, strlen(area));
    assert_true(tt_recorder_meta(r, TT_META_ENVIRONMENT, &environment));
    tt_bytes_free(&environment);
    run_producers(r, p, 1);
    assert_int_equal(link(area, kept), 0);
    close_and_free(r, false);
    if (keep_area)
        assert_int_equal(rename(kept, area), 0);
    else
        assert_int_equal(unlink(kept), 0);
    read_finished(t);
}

static void test_an_index_without_its_tail_is_enough(void **state)
{
    finished t;
    tt_recover_report report;
    tt_error err;
    (void)state;
    for (size_t missing = 0; missing <= TT_TAIL_BYTES; missing += 4) {
        record_finished(&t, "tail.ttrace", true);
        write_file(t.part, t.bytes, t.size - missing);
        if (tt_recover(t.part, 0, &report, &err) != TT_OK) fail_msg("%s", err.message);
        assert_string_equal(report.path, t.path);
        finished again = t;
        read_finished(&again);
        assert_int_equal(again.size, t.size);
        assert_memory_equal(again.bytes, t.bytes, t.size);
        free(again.bytes);
        free(t.bytes);
    }
}

/* Between the chunk of the totals and the INDEX. */
static void test_totals_are_written_once(void **state)
{
    finished t;
    tt_recover_report report;
    tt_error err;
    (void)state;
    record_finished(&t, "totals.ttrace", true);
    assert_true(t.content.ops_dropped > 0);
    write_file(t.part, t.bytes, (size_t)t.index_at);
    if (tt_recover(t.part, 0, &report, &err) != TT_OK) fail_msg("%s", err.message);
    assert_true(report.area_found);
    content c = read_trace(t.path);
    assert_true(c.contiguous);
    assert_int_equal(c.ops, t.content.ops);
    assert_int_equal(c.ops_dropped, t.content.ops_dropped);
    assert_int_equal(c.losses, t.content.losses);
    assert_int_equal(c.meta_records, t.content.meta_records + 1); /* a CLOCK */
    /* Without the area the totals that are there stay. */
    write_file(t.part, t.bytes, (size_t)t.index_at);
    assert_int_equal(tt_recover(t.part, TT_RECOVER_REPLACE, &report, &err), TT_OK);
    assert_false(report.area_found);
    c = read_trace(t.path);
    assert_int_equal(c.meta_records, t.content.meta_records);
    assert_int_equal(c.losses, t.content.losses);
    free(t.bytes);
}

static void test_damage_in_the_middle_is_not_cut_silently(void **state)
{
    finished t;
    tt_recover_report report;
    tt_error err;
    tt_chunk_header h;
    (void)state;
    record_finished(&t, "middle.ttrace", false);
    assert_int_equal(tt_chunk_header_decode(t.bytes + 64, t.size - 64, 64, &h, &err), TT_OK);
    t.bytes[64 + TT_CHUNK_HEADER_BYTES] ^= 1;
    write_file(t.part, t.bytes, (size_t)t.index_at);
    assert_int_equal(tt_recover(t.part, TT_RECOVER_REPLACE, &report, &err), TT_E_FORMAT);
    assert_non_null(strstr(err.message, "--force"));
    if (tt_recover(t.part, TT_RECOVER_CUT, &report, &err) != TT_OK) fail_msg("%s", err.message);
    assert_int_equal(report.cut_bytes, t.index_at - 64);
    free(t.bytes);
}

/* --- forks, locks, limits --- */

static void test_a_fork_lets_go(void **state)
{
    char path[256], part[300];
    tt_recorder *r;
    tt_recover_report report;
    tt_error err;
    producer p[1] = {{.runs = 50, .paced = true}};
    int ends[2], gone[2], code = -1;
    char byte = 0;
    (void)state;
    path_in(path, "fork.ttrace");
    (void)snprintf(part, sizeof part, "%s.part", path);
    tt_recorder_options o = {.path = path};
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    run_producers(r, p, 1);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(gone), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[1]);
        tt_recorder_forget(r);
        (void)!write(gone[1], &byte, 1);
        (void)!read(ends[0], &byte, 1); /* outlives the parent's recording */
        _exit(0);
    }
    (void)close(ends[0]);
    assert_int_equal(read(gone[0], &byte, 1), 1);
    (void)close(gone[0]);
    (void)close(gone[1]);
    assert_int_equal(tt_recover(part, 0, &report, &err), TT_E_USAGE);
    assert_non_null(strstr(err.message, "still being written"));
    close_and_free(r, false);
    assert_int_equal(tt_recover(path, 0, &report, &err), TT_E_EXISTS);
    (void)close(ends[1]);
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_int_equal(code, 0);
    assert_int_equal(read_trace(path).ops, 50 * NODES);
}

static void test_a_recorder_that_cannot_open_leaves_nothing(void **state)
{
    char path[256];
    int code = -1;
    (void)state;
    path_in(path, "none/x.ttrace");
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(mkdir(path, 0700), 0);
    *slash = '/';
    pid_t pid = fork();
    if (pid == 0) {
        /* SIGXFSZ would kill. */
        struct rlimit small = {1 << 20, 1 << 20};
        tt_recorder *r;
        tt_recorder_options o = {.path = path};
        (void)setrlimit(RLIMIT_FSIZE, &small);
        int before = dup(0);
        bool failed = tt_recorder_open(&r, &o, NULL) == TT_E_IO && !r;
        int after = dup(0);
        _exit(failed && after == before + 1 && fcntl(512, F_GETFD) < 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_int_equal(code, 0);
    *slash = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void test_a_limit_of_the_system_does_not_kill(void **state)
{
    char path[256], part[300];
    tt_recover_report report;
    tt_error err;
    int code = -1;
    (void)state;
    path_in(path, "fsize.ttrace");
    (void)snprintf(part, sizeof part, "%s.part", path);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit small = {100, 100};
        tt_recorder *r;
        tt_recorder_options o = {.path = path};
        producer p = {.runs = 50, .thread = 1, .paced = true};
        if (tt_recorder_open(&r, &o, NULL) != TT_OK) _exit(1);
        (void)setrlimit(RLIMIT_FSIZE, &small);
        p.map = tt_recorder_area(r);
        (void)produce(&p);
        _exit(tt_recorder_close(r, false, NULL) == TT_E_IO ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_int_equal(code, 0);
    if (tt_recover(part, 0, &report, &err) != TT_OK) fail_msg("%s", err.message);
    assert_int_equal(read_trace(path).ops, 50 * NODES);
}

static void test_unusable_rings_are_not_claimed(void **state)
{
    tt_area_map map;
    tt_error err;
    const uint8_t id[16] = {1, 2, 3, (uint8_t)getpid(), (uint8_t)(getpid() >> 8)};
    (void)state;
    if (tt_area_create(&map, 0, id, dir, &err) != TT_OK) fail_msg("%s", err.message);
    assert_int_equal(unlink(map.path), 0);
    tt_area_prepare_spares(&map, 2);
    assert_int_equal(map.rings[1].reserved, 1);
    assert_int_equal(map.rings[2].reserved, 0);
    atomic_store(&map.area->n_usable, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_ptr_equal(tt_area_claim(&map, i + 1), &map.rings[i]);
    assert_null(tt_area_claim(&map, 4));
    tt_area_prepare_spares(&map, 2);
    assert_int_equal(map.rings[3].owner, 0);
    tt_area_unmap(&map);
}

/* Nothing in common between any two ops: as many sequences as records. */
static void test_many_sequences_are_packed_in_time(void **state)
{
    size_t n = TT_OPS_CHUNK_RECORDS_MAX;
    tt_op_record *records = calloc(n, sizeof *records);
    tt_bytes out;
    tt_ops_block block;
    tt_error err;
    (void)state;
    for (size_t i = 0; i < n; i++)
        records[i] = (tt_op_record){.start = i, .arrive = i, .run = 1, .place = tt_op_place((uint32_t)i, 0, 0)};
    tt_bytes_init(&out, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(&out, records, n, 0));
    if (tt_ops_decode((tt_span){out.data, out.size}, n, true, &block, &err) != TT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(block.n_segments, n);
    for (size_t i = 0; i < n; i++)
        if (block.node[i] != i || block.start[i] != i) fail_msg("record %zu differs", i);
    tt_ops_block_free(&block);
    tt_bytes_free(&out);
    free(records);
}

static void test_places(void **state)
{
    char out[64];
    (void)state;
    assert_int_equal(tt_place_numbered(out, sizeof out, "a.b/run.ttrace", 7, NULL), TT_OK);
    assert_string_equal(out, "a.b/run-7.ttrace");
    assert_int_equal(tt_place_numbered(out, sizeof out, "a.b/run", 7, NULL), TT_OK);
    assert_string_equal(out, "a.b/run-7");
    assert_int_equal(tt_place_numbered(out, sizeof out, "dir/.hidden", 7, NULL), TT_OK);
    assert_string_equal(out, "dir/.hidden-7");
    tt_place_dir(out, sizeof out, "/x");
    assert_string_equal(out, "/");
    tt_place_dir(out, sizeof out, "x");
    assert_string_equal(out, ".");
    assert_int_equal(tt_place_part(out, 8, "much too long", NULL), TT_E_USAGE);
}

static void test_sessions(void **state)
{
    char path[256];
    tt_session *ours, *theirs;
    tt_error err;
    (void)state;
    assert_int_equal(tt_session_create(&ours, path, sizeof path, true, &err), TT_OK);
    theirs = tt_session_open(path);
    assert_non_null(theirs);
    assert_int_equal(theirs->replace, 1);
    for (uint32_t i = 0; i < TT_SESSION_FILES; i++)
        assert_non_null(tt_session_add(theirs, "x", i));
    assert_null(tt_session_add(theirs, "one too many", 1));
    tt_session_problem(theirs, "first");
    tt_session_problem(theirs, "second");
    assert_string_equal(ours->problem, "first");
    tt_session_close(theirs);
    tt_session_close(ours);
    (void)unlink(path);
    assert_null(tt_session_open(path));
    assert_null(tt_session_open("/dev/null"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_lose_nothing),
        cmocka_unit_test(test_full_rings_are_counted),
        cmocka_unit_test(test_a_limit_is_kept),
        cmocka_unit_test(test_existing_files_are_kept),
        cmocka_unit_test(test_a_killed_process_loses_nothing),
        cmocka_unit_test(test_a_cut_file_is_finished),
        cmocka_unit_test(test_a_closed_descriptor_is_not_written_to),
        cmocka_unit_test(test_an_index_without_its_tail_is_enough),
        cmocka_unit_test(test_totals_are_written_once),
        cmocka_unit_test(test_damage_in_the_middle_is_not_cut_silently),
        cmocka_unit_test(test_a_fork_lets_go),
        cmocka_unit_test(test_a_recorder_that_cannot_open_leaves_nothing),
        cmocka_unit_test(test_a_limit_of_the_system_does_not_kill),
        cmocka_unit_test(test_unusable_rings_are_not_claimed),
        cmocka_unit_test(test_many_sequences_are_packed_in_time),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_sessions),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
