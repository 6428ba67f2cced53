/* The recorder as producers use it: many threads into rings, a drain beside them, full
 * rings, a process that is killed, a file that is cut anywhere. */
#include "tests.h"

#include "base/clock.h"
#include "format/detail.h"
#include "format/meta.h"
#include "format/ops.h"
#include "read/trace.h"
#include "record/area.h"
#include "record/detail_writer.h"
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
    uint64_t written, dropped;
    uint64_t details, details_dropped;
    bool paced;    /* waits for room instead of dropping */
    bool detailed; /* writes details of each op */
} producer;

static void wait_for_room(const producer *p, tt_ring *ring)
{
    uint64_t size = p->map->area->ring_records;
    while (p->paced && atomic_load_explicit(&ring->head, memory_order_relaxed) -
                               atomic_load_explicit(&ring->tail, memory_order_acquire) >=
                           size)
        (void)usleep(200);
}

static tt_detail make_detail(uint32_t run, uint32_t node, uint32_t lane)
{
    tt_detail d = {.run = run};
    if (node % 2) {
        d.faults = (tt_detail_faults){node, run, (uint64_t)run << 20 | node, UINT64_MAX};
        d.place = tt_detail_place(node, lane, TT_DETAIL_FAULTS);
    } else {
        d.experts = (tt_detail_experts){.token = run, .n = 2, .expert = {(uint16_t)node, 7}};
        d.place = tt_detail_place(node, lane, TT_DETAIL_EXPERTS);
    }
    return d;
}

static void produce_detail(producer *p, tt_detail_writer *w, uint32_t run, uint32_t node)
{
    wait_for_room(p, w->ring);
    tt_detail *slot = tt_detail_next(w);
    if (!slot) {
        p->details_dropped++;
        return;
    }
    tt_detail d = make_detail(run, node, p->thread);
    slot->run = run;
    slot->experts = d.experts; /* the largest: all of the payload */
    tt_detail_complete(slot, d.place);
    p->details++;
}

static void *produce(void *argument)
{
    producer *p = argument;
    tt_ring *ring = tt_area_claim(p->map, p->thread);
    tt_detail_writer w = {0};
    uint32_t index = (uint32_t)(ring - p->map->rings);
    uint64_t head = atomic_load(&ring->head), size = p->map->area->ring_records;
    uint64_t room = 0, dropped_at = 0, now = tt_ticks();
    if (p->detailed && !tt_detail_writer_begin(&w, p->map, index)) abort();
    for (uint32_t run = 1; run <= p->runs; run++) {
        for (uint32_t node = 0; node < NODES; node++) {
            if (p->detailed) produce_detail(p, &w, run, node);
            wait_for_room(p, ring);
            if (head >= room && !tt_ring_make_room(ring, head, size, &room, &dropped_at)) {
                p->dropped++;
                continue;
            }
            tt_op_record *r = &tt_area_slots(p->map, index)[head & (size - 1)];
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
    uint64_t details, details_counted, details_dropped, detail_losses;
    bool contiguous;
    bool ascending;
} content;

static void read_count(tt_span name, uint64_t value, content *c)
{
    const struct {
        const char *name;
        uint64_t *to;
    } known[] = {{"ops_dropped", &c->ops_dropped},
                 {"details", &c->details_counted},
                 {"details_dropped", &c->details_dropped}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (name.size == strlen(known[i].name) && memcmp(name.data, known[i].name, name.size) == 0)
            *known[i].to = value;
}

static void read_meta(tt_span payload, content *c)
{
    tt_cursor at = tt_cursor_of(payload.data, payload.size);
    uint8_t type;
    tt_span record;
    while (tt_meta_next(&at, &type, &record)) {
        tt_cursor r = tt_cursor_of(record.data, record.size);
        uint32_t n;
        tt_meta_loss loss;
        c->meta_records++;
        c->strings += type == TT_META_STRING;
        if ((type == TT_META_LOSS || type == TT_META_DETAIL_LOSS) && tt_meta_get_loss(&r, &loss))
            *(type == TT_META_LOSS ? &c->losses : &c->detail_losses) += loss.dropped;
        if (type != TT_META_COUNTS || !tt_meta_get_count(&r, &n, 2)) continue;
        for (uint32_t i = 0; i < n; i++) {
            tt_span name = tt_cursor_str(&r);
            uint64_t value = tt_cursor_varint(&r);
            read_count(name, value, c);
        }
    }
    assert_false(at.failed);
}

static void read_ops(const tt_chunk_header *h, tt_span payload, content *c)
{
    tt_ops_block block;
    tt_error err;
    if (tt_ops_decode(payload, h->count, true, &block, &err) != TT_OK) fail_msg("%s", err.message);
    for (size_t k = 0; k < block.n; k++)
        if (block.start[k] > block.arrive[k] || block.arrive[k] > block.release[k])
            c->ascending = false;
    c->ops += block.n;
    tt_ops_block_free(&block);
}

/* As produce_detail wrote them. */
static void read_details(const tt_index_entry *e, tt_span payload, content *c)
{
    tt_detail *d;
    size_t n;
    tt_error err;
    if (tt_detail_decode(payload, e->count, &d, &n, &err) != TT_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < n; i++) {
        tt_detail is = make_detail(d[i].run, tt_detail_node(&d[i]), tt_detail_lane(&d[i]));
        assert_memory_equal(&d[i], &is, sizeof is);
    }
    if (n > 0) assert_true(e->run_min == d[0].run && e->run_max == d[n - 1].run);
    c->details += n;
    free(d);
}

static content read_trace(const char *path)
{
    tt_trace t;
    tt_error err;
    tt_unpacker u;
    content c = {.contiguous = true, .ascending = true};
    uint64_t next[2][TT_AREA_RINGS] = {{0}};
    if (tt_trace_open(&t, path, &err) != TT_OK) fail_msg("%s", err.message);
    assert_true(t.complete);
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t.n_chunks; i++) {
        tt_chunk_header h;
        tt_span payload;
        if (tt_trace_chunk(&t, i, SIZE_MAX, &u, &h, &payload, &err) != TT_OK)
            fail_msg("%s", err.message);
        if (h.type == TT_CHUNK_META) read_meta(payload, &c);
        if (h.type != TT_CHUNK_OPS && h.type != TT_CHUNK_DETAIL) continue;
        uint64_t *at = &next[h.type == TT_CHUNK_DETAIL][h.stream - 1];
        if (h.position != *at) c.contiguous = false;
        *at = h.position + h.count;
        if (h.type == TT_CHUNK_OPS)
            read_ops(&h, payload, &c);
        else
            read_details(&t.chunks[i], payload, &c);
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
    tt_meta_put_string(&payload,
                       &(tt_meta_string){id, (tt_span){(const uint8_t *)text, (size_t)n}});
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
    producer p[4] = {{.runs = 2000, .paced = true, .detailed = true},
                     {.runs = 1500, .paced = true},
                     {.runs = 1000, .paced = true, .detailed = true},
                     {.runs = 500, .paced = true, .detailed = true}};
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
    assert_int_equal(c.details, 3500u * NODES); /* many times around the ring */
    assert_int_equal(c.details_counted, c.details);
    assert_int_equal(c.strings, 200);
    assert_int_equal(c.ops_dropped + c.details_dropped, 0);
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
    producer p[2] = {{.runs = 20000, .detailed = true}, {.runs = 20000}};
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
    assert_int_equal(c.details, p[0].details);
    assert_int_equal(c.details_dropped, p[0].details_dropped);
    assert_int_equal(c.detail_losses, c.details_dropped);
    assert_int_equal(c.details + c.details_dropped, 20000u * NODES);
    assert_true(c.details_dropped > 0);
}

static void test_a_limit_is_kept(void **state)
{
    char path[256];
    tt_recorder *r;
    tt_error err;
    producer p[1] = {{.runs = 20000, .detailed = true}};
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
    assert_int_equal(c.details + c.details_dropped, 20000u * NODES);
    assert_int_equal(c.detail_losses, c.details_dropped);
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

/* A child that records until it kills itself; returns what it had written. */
static producer record_and_die(const char *path, uint32_t runs)
{
    int ends[2];
    producer p = {.runs = runs, .paced = true, .thread = 1, .detailed = true};
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        tt_recorder *r;
        tt_recorder_options o = {.path = path, .replace = true, .ring_bytes = 64 << 10};
        if (tt_recorder_open(&r, &o, NULL) != TT_OK) _exit(1);
        push_string(r, 1);
        p.map = tt_recorder_area(r);
        (void)produce(&p);
        push_string(r, 2);
        (void)!write(ends[1], &p, sizeof p);
        (void)kill(getpid(), SIGKILL);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &p, sizeof p), (ssize_t)sizeof p);
    (void)close(ends[0]);
    (void)waitpid(pid, NULL, 0);
    return p;
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
        producer p = record_and_die(path, runs);
        if (tt_recover(part, TT_RECOVER_REPLACE, &report, &err) != TT_OK)
            fail_msg("%s", err.message);
        assert_true(report.area_found);
        content c = read_trace(path);
        assert_int_equal(c.ops, p.written);
        assert_int_equal(c.details, p.details);
        assert_int_equal(c.details_counted, p.details);
        assert_int_equal(c.strings, 2);
        assert_true(c.contiguous);
        /* Once is enough. */
        assert_int_equal(tt_recover(path, 0, &report, &err), TT_E_EXISTS);
    }
}

/* Killed at any moment: of the details the one under way is missing, and nothing else. */
static void test_a_kill_in_the_middle_of_a_detail(void **state)
{
    char path[256], part[300];
    tt_recover_report report;
    tt_error err;
    (void)state;
    path_in(path, "midway.ttrace");
    (void)snprintf(part, sizeof part, "%s.part", path);
    for (useconds_t wait_us = 200; wait_us < 100000; wait_us *= 3) {
        int ends[2];
        char byte = 0;
        assert_int_equal(pipe(ends), 0);
        pid_t pid = fork();
        if (pid == 0) {
            tt_recorder *r;
            tt_recorder_options o = {.path = path, .replace = true, .ring_bytes = 64 << 10};
            producer p = {.runs = UINT32_MAX, .paced = true, .thread = 1, .detailed = true};
            if (tt_recorder_open(&r, &o, NULL) != TT_OK) _exit(1);
            (void)!write(ends[1], &byte, 1);
            p.map = tt_recorder_area(r);
            (void)produce(&p);
        }
        assert_int_equal(read(ends[0], &byte, 1), 1);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)usleep(wait_us);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        if (tt_recover(part, TT_RECOVER_REPLACE, &report, &err) != TT_OK)
            fail_msg("%s", err.message);
        content c = read_trace(path);
        assert_true(c.contiguous);
        /* An op follows its detail: they differ by what was under way. */
        assert_true(c.details_counted - c.ops <= 1 && c.details_counted - c.details <= 1);
    }
}

/* A slot that was taken but not completed hides what the lap before left in it. */
static void test_an_unfinished_detail_is_left_out(void **state)
{
    char path[256];
    tt_recorder *r;
    tt_error err;
    tt_detail_writer w;
    const uint32_t slots = TT_AREA_RING_BYTES_MIN / sizeof(tt_detail);
    (void)state;
    path_in(path, "unfinished.ttrace");
    tt_recorder_options o = {.path = path, .ring_bytes = TT_AREA_RING_BYTES_MIN};
    assert_int_equal(tt_recorder_open(&r, &o, &err), TT_OK);
    producer p = {.map = tt_recorder_area(r), .thread = 1, .paced = true};
    tt_ring *ring = tt_area_claim(p.map, p.thread);
    uint32_t index = (uint32_t)(ring - p.map->rings);
    assert_null(tt_area_detail_ring(p.map, index));
    assert_true(tt_detail_writer_begin(&w, p.map, index));
    for (uint32_t i = 0; i < slots + 5; i++)
        produce_detail(&p, &w, 1 + i / NODES, i % NODES);
    wait_for_room(&p, w.ring);
    assert_non_null(tt_detail_next(&w));
    close_and_free(r, false);
    content c = read_trace(path);
    assert_int_equal(c.details, slots + 5);
    assert_int_equal(c.details_counted, slots + 6);
    assert_true(c.contiguous);
}

static void test_no_memory_for_details(void **state)
{
    tt_area_map map;
    tt_error err;
    tt_detail_writer w;
    const uint8_t id[16] = {5, 2, 3, (uint8_t)getpid(), (uint8_t)(getpid() >> 8)};
    (void)state;
    if (tt_area_create(&map, 0, id, dir, &err) != TT_OK) fail_msg("%s", err.message);
    assert_int_equal(unlink(map.path), 0);
    assert_ptr_equal(tt_area_claim(&map, 1), &map.rings[0]);
    assert_ptr_equal(tt_area_claim(&map, 2), &map.rings[1]);
    assert_true(tt_detail_writer_begin(&w, &map, 0));
    atomic_store(&map.area->details_refused, 1);
    assert_false(tt_detail_writer_begin(&w, &map, 1));
    assert_null(w.ring);
    assert_null(tt_area_detail_ring(&map, 1));
    assert_true(tt_detail_writer_begin(&w, &map, 0)); /* has its memory already */
    assert_non_null(w.ring);
    tt_area_unmap(&map);
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
        if (tt_recover(copy, TT_RECOVER_REPLACE, &report, &err) != TT_OK)
            fail_msg("cut at %zu: %s", cut, err.message);
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
    producer p[1] = {{.runs = 3000, .detailed = true}};
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
    assert_true(t.content.ops_dropped > 0 && t.content.details_dropped > 0);
    write_file(t.part, t.bytes, (size_t)t.index_at);
    if (tt_recover(t.part, 0, &report, &err) != TT_OK) fail_msg("%s", err.message);
    assert_true(report.area_found);
    content c = read_trace(t.path);
    assert_true(c.contiguous);
    assert_int_equal(c.ops, t.content.ops);
    assert_int_equal(c.ops_dropped, t.content.ops_dropped);
    assert_int_equal(c.losses, t.content.losses);
    assert_int_equal(c.details, t.content.details);
    assert_int_equal(c.details_dropped, t.content.details_dropped);
    assert_int_equal(c.detail_losses, t.content.detail_losses);
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
    assert_int_equal(
        tt_chunk_header_decode(t.bytes + 64, t.size - 64, 64, tt_load_u64(t.bytes + 16), &h, &err),
        TT_OK);
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
        records[i] = (tt_op_record){
            .start = i, .arrive = i, .run = 1, .place = tt_op_place((uint32_t)i, 0, 0)};
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
    static const uint8_t run_id[16] = {7};
    char path[256];
    tt_session *ours, *theirs;
    tt_error err;
    int lock;
    (void)state;
    assert_int_equal(tt_session_create(&ours, path, sizeof path, true, &lock, &err), TT_OK);
    theirs = tt_session_open(path);
    assert_non_null(theirs);
    assert_int_equal(theirs->replace, 1);
    for (uint32_t i = 0; i < TT_SESSION_FILES; i++)
        assert_non_null(tt_session_add(theirs, "x", run_id, i));
    assert_null(tt_session_add(theirs, "one too many", run_id, 1));
    tt_session_problem(theirs, "first");
    tt_session_problem(theirs, "second");
    assert_string_equal(ours->problem, "first");
    tt_session_close(theirs);
    tt_session_close(ours);
    (void)close(lock);
    (void)unlink(path);
    assert_null(tt_session_open(path));
    assert_null(tt_session_open("/dev/null"));
}

/* What the hook library of one build does with the session of another. */
static void test_a_session_of_another_build(void **state)
{
    char path[256];
    tt_session *ours;
    tt_error err;
    int lock;
    (void)state;
    assert_int_equal(tt_session_create(&ours, path, sizeof path, false, &lock, &err), TT_OK);
    assert_false(tt_session_is_other_build(path));
    assert_int_equal(atomic_load(&ours->other_builds), 0);
    ours->magic[6]++;
    assert_null(tt_session_open(path));
    assert_int_equal(atomic_load(&ours->other_builds), 0);
    assert_true(tt_session_is_other_build(path));
    assert_int_equal(atomic_load(&ours->other_builds), 1);
    /* Of another size as well. */
    assert_int_equal(truncate(path, (off_t)sizeof *ours + 1), 0);
    ours->magic[6]--;
    assert_null(tt_session_open(path));
    assert_true(tt_session_is_other_build(path));
    assert_int_equal(atomic_load(&ours->other_builds), 2);
    /* No session at all: it is not written to. */
    ours->magic[0]++;
    assert_null(tt_session_open(path));
    assert_false(tt_session_is_other_build(path));
    assert_int_equal(atomic_load(&ours->other_builds), 2);
    tt_session_close(ours);
    (void)close(lock);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_lose_nothing),
        cmocka_unit_test(test_full_rings_are_counted),
        cmocka_unit_test(test_a_limit_is_kept),
        cmocka_unit_test(test_existing_files_are_kept),
        cmocka_unit_test(test_a_killed_process_loses_nothing),
        cmocka_unit_test(test_a_kill_in_the_middle_of_a_detail),
        cmocka_unit_test(test_an_unfinished_detail_is_left_out),
        cmocka_unit_test(test_no_memory_for_details),
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
        cmocka_unit_test(test_a_session_of_another_build),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
