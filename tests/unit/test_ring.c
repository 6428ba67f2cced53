/* Containers that throw away their oldest chunks, what they carry over, the pages of long
 * indexes, copies without a hole, and what killed runs leave in /dev/shm. */
#include "tests.h"

#include "format/meta.h"
#include "read/trace.h"
#include "record/compact.h"
#include "record/recover.h"
#include "record/session.h"
#include "record/sink.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING_BYTES (256u << 10)
#define CHUNK_BYTES 3000u

static char dir[64], path[128];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/tt-ring-XXXXXX");
    if (!mkdtemp(dir)) return -1;
    (void)snprintf(path, sizeof path, "%s/x.ttrace", dir);
    return 0;
}

static int remove_dir(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static void begin(tt_sink *s, uint64_t ring_bytes)
{
    tt_file_header header = {.major = TT_FORMAT_MAJOR, .minor = TT_FORMAT_MINOR, .pid = 7};
    tt_error err;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(tt_sink_begin(s, fd, &header, 0, ring_bytes, &err), TT_OK);
}

/* Bytes that do not pack, of run `run`. */
static void put_ops(tt_sink *s, uint64_t position, uint64_t run)
{
    static uint8_t noise[CHUNK_BYTES];
    static uint32_t seed = 1;
    tt_error err;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    tt_index_entry e = {.type = TT_CHUNK_OPS, .stream = 1, .position = position, .count = 10};
    e.run_min = e.run_max = run;
    assert_int_equal(tt_sink_put(s, &e, (tt_span){noise, sizeof noise}, &err), TT_OK);
}

static void put(tt_bytes *out, uint8_t type, tt_bytes *payload)
{
    tt_meta_put_record(out, type, payload);
    tt_bytes_clear(payload);
}

static void put_string(tt_bytes *out, uint32_t id, const char *text)
{
    tt_bytes p;
    tt_bytes_init(&p, 256);
    tt_meta_put_string(&p, &(tt_meta_string){id, (tt_span){(const uint8_t *)text, strlen(text)}});
    put(out, TT_META_STRING, &p);
    tt_bytes_free(&p);
}

/* One node, in `buffer`. */
static void put_graph(tt_bytes *out, uint32_t id, uint64_t buffer)
{
    tt_bytes p;
    tt_meta_tensor t = {.op = 1, .flags = TT_TENSOR_EXECUTES, .ne = {1, 1, 1, 1}, .buffer = buffer};
    tt_bytes_init(&p, 4096);
    tt_meta_put_graph(&p, &(tt_meta_graph){id, 1, 1});
    tt_meta_put_tensor(&p, &t);
    tt_bytes_varint(&p, 0);
    put(out, TT_META_GRAPH, &p);
    tt_bytes_free(&p);
}

static void put_buffer(tt_bytes *out, uint64_t id)
{
    tt_bytes p;
    tt_bytes_init(&p, 256);
    tt_meta_put_buffer(&p, &(tt_meta_buffer){.id = id, .size_bytes = 64});
    put(out, TT_META_BUFFER, &p);
    tt_bytes_free(&p);
}

static void put_free(tt_bytes *out, uint64_t id)
{
    tt_bytes p;
    tt_bytes_init(&p, 64);
    tt_meta_put_buffer_free(&p, &(tt_meta_buffer_free){id, 1});
    put(out, TT_META_BUFFER_FREE, &p);
    tt_bytes_free(&p);
}

static void put_end(tt_bytes *out, uint8_t type, uint32_t id)
{
    tt_bytes p;
    tt_bytes_init(&p, 64);
    if (type == TT_META_GRAPHS_END)
        tt_meta_put_graphs_end(&p, &(tt_meta_graphs_end){id});
    else
        tt_meta_put_end(&p, &(tt_meta_end){id, 1, 0});
    put(out, type, &p);
    tt_bytes_free(&p);
}

static void put_extents(tt_bytes *out, uint32_t model)
{
    tt_bytes p;
    tt_bytes_init(&p, 256);
    tt_meta_put_extents(&p, &(tt_meta_extents){.model = model});
    put(out, TT_META_EXTENTS, &p);
    tt_bytes_free(&p);
}

static void put_load_step(tt_bytes *out, uint32_t model)
{
    tt_bytes p;
    tt_bytes_init(&p, 256);
    tt_meta_put_load_step(&p, &(tt_meta_load_step){.model = model});
    put(out, TT_META_LOAD_STEP, &p);
    tt_bytes_free(&p);
}

static void put_residency(tt_bytes *out, uint32_t model, enum tt_moment moment)
{
    tt_bytes p;
    tt_bytes_init(&p, 256);
    tt_meta_put_residency(&p, &(tt_meta_residency){.model = model, .moment = (uint8_t)moment});
    put(out, TT_META_RESIDENCY, &p);
    tt_bytes_free(&p);
}

static void put_pair(tt_bytes *out, const char *key, const char *value)
{
    tt_bytes p;
    tt_bytes_init(&p, 256);
    tt_meta_pair pair = {{(const uint8_t *)key, strlen(key)},
                         {(const uint8_t *)value, strlen(value)}};
    tt_meta_put_pairs(&p, &pair, 1);
    put(out, TT_META_ENVIRONMENT, &p);
    tt_bytes_free(&p);
}

/* "t:id" of each record, in order. */
static void describe(tt_span meta, char *out, size_t size)
{
    tt_cursor c = tt_cursor_of(meta.data, meta.size);
    uint8_t type;
    tt_span payload;
    size_t used = 0;
    out[0] = '\0';
    while (tt_meta_next(&c, &type, &payload)) {
        tt_cursor p = tt_cursor_of(payload.data, payload.size);
        int n = snprintf(out + used, size - used, "%u:%u ", type, (unsigned)tt_cursor_varint(&p));
        if (n > 0 && (size_t)n < size - used) used += (size_t)n;
    }
    assert_false(c.failed);
}

static void test_what_lasts(void **state)
{
    tt_retained l;
    tt_bytes in, out;
    char text[512], value[16];
    uint32_t n;
    (void)state;
    tt_bytes_init(&in, 1 << 20);
    tt_bytes_init(&out, 1 << 20);
    tt_retained_init(&l);
    put_pair(&in, "mode", "hook");
    put_string(&in, 1, "a");
    put_buffer(&in, 1);
    put_buffer(&in, 2);
    put_graph(&in, 1, 1);
    put_graph(&in, 2, 2);
    put_end(&in, TT_META_RUN_END, 5);
    put_extents(&in, 9);
    put_load_step(&in, 8);
    put_residency(&in, 7, TT_AT_BATCH_END); /* of a moment that is gone */
    put_residency(&in, 6, TT_AT_FIRST_BATCH);
    put_graph(&in, 3, 1);
    tt_retained_add(&l, (tt_span){in.data, in.size});
    tt_retained_put(&l, &out, &n);
    describe((tt_span){out.data, out.size}, text, sizeof text);
    assert_string_equal(text, "1:1 2:1 4:1 4:2 6:1 6:2 27:9 28:8 19:6 6:3 ");
    /* A buffer goes, and the graphs that were in it; a graph is forgotten; a value is replaced; of
     * a buffer that is described again and again the first and the last record stay. */
    tt_bytes_clear(&in);
    put_free(&in, 2);
    put_end(&in, TT_META_GRAPHS_END, 1);
    put_buffer(&in, 1);
    put_buffer(&in, 1);
    put_pair(&in, "mode", "callback");
    tt_retained_add(&l, (tt_span){in.data, in.size});
    tt_bytes_clear(&out);
    tt_retained_put(&l, &out, &n);
    describe((tt_span){out.data, out.size}, text, sizeof text);
    assert_string_equal(text, "2:1 4:1 27:9 28:8 19:6 6:3 4:1 1:1 ");
    assert_int_equal(n, 8);
    assert_true(tt_meta_find_environment((tt_span){out.data, out.size}, "mode", value, 16));
    assert_string_equal(value, "callback");
    tt_retained_free(&l);
    tt_bytes_free(&in);
    tt_bytes_free(&out);
}

/* A long run: names at the begin, ever new graphs and ops. */
static void fill(tt_sink *s, uint32_t chunks)
{
    tt_bytes meta;
    tt_error err;
    uint64_t position = 0;
    tt_bytes_init(&meta, 1 << 20);
    for (uint32_t i = 0; i < chunks; i++) {
        tt_bytes_clear(&meta);
        if (i == 0) put_string(&meta, 1, "the first of all");
        put_graph(&meta, i + 1, 0);
        if (i > 0) put_end(&meta, TT_META_GRAPHS_END, i);
        tt_index_entry e = {.type = TT_CHUNK_META, .position = position, .count = 2};
        assert_int_equal(tt_sink_put(s, &e, (tt_span){meta.data, meta.size}, &err), TT_OK);
        position += meta.size;
        put_ops(s, (uint64_t)i * 10, i + 1);
    }
    tt_bytes_free(&meta);
}

static uint64_t disk_bytes(void)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

static size_t count_type(const tt_trace *t, uint16_t type)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_chunks; i++)
        n += t->chunks[i].type == type;
    return n;
}

static void check_last_base(const tt_trace *t, uint32_t chunks)
{
    char text[512];
    tt_unpacker u;
    tt_chunk_header h;
    tt_span payload;
    tt_error err;
    size_t base = 0;
    for (size_t i = 0; i < t->n_chunks; i++)
        if (t->chunks[i].type == TT_CHUNK_BASE) base = i;
    tt_unpacker_init(&u);
    assert_int_equal(tt_trace_chunk(t, base, SIZE_MAX, &u, &h, &payload, &err), TT_OK);
    describe(payload, text, sizeof text);
    /* FRONT, the name, and the one graph that was not forgotten. */
    assert_int_equal(strncmp(text, "22:262144 2:1 6:", 16), 0);
    assert_null(strchr(text + 16, ':'));
    assert_true(strtoul(text + 16, NULL, 10) < chunks);
    tt_unpacker_free(&u);
}

static void test_the_last_is_kept(void **state)
{
    const uint32_t chunks = 3000;
    tt_sink s;
    tt_trace t;
    tt_error err;
    struct stat st;
    (void)state;
    begin(&s, RING_BYTES);
    fill(&s, chunks);
    assert_true(s.hole_end > (uint64_t)chunks * CHUNK_BYTES - 2 * RING_BYTES);
    assert_true(disk_bytes() <= RING_BYTES + RING_BYTES / 4);
    assert_true(s.n_index < 400);
    /* As it is, in the middle of it all. */
    assert_int_equal(tt_trace_open(&t, path, &err), TT_OK);
    assert_false(t.complete);
    assert_true(t.hole_bytes == s.hole_end - TT_FILE_HEADER_BYTES);
    assert_int_equal(t.cut.status, TT_E_TRUNCATED);
    assert_true(count_type(&t, TT_CHUNK_OPS) >= RING_BYTES * 3 / 4 / (CHUNK_BYTES + 200));
    const tt_index_entry *last = &t.chunks[t.n_chunks - 1];
    assert_int_equal(last->position, (chunks - 1) * 10);
    check_last_base(&t, chunks);
    size_t ops = count_type(&t, TT_CHUNK_OPS);
    tt_trace_close(&t);
    /* At its end the hole is closed. */
    s.hold = true;
    assert_int_equal(tt_compact(&s, path, &err), TT_OK);
    assert_int_equal(tt_sink_finish(&s, TT_END_NORMAL, &err), TT_OK);
    tt_sink_close(&s);
    assert_int_equal(stat(path, &st), 0);
    assert_true((uint64_t)st.st_size <= RING_BYTES + RING_BYTES / 4);
    assert_int_equal(tt_trace_open(&t, path, &err), TT_OK);
    assert_true(t.complete);
    assert_int_equal(t.hole_bytes, 0);
    assert_int_equal(t.chunks[0].type, TT_CHUNK_BASE);
    assert_int_equal(count_type(&t, TT_CHUNK_BASE), 1);
    assert_int_equal(count_type(&t, TT_CHUNK_OPS), ops);
    check_last_base(&t, chunks);
    tt_trace_close(&t);
}

static void test_nothing_goes_while_it_is_copied(void **state)
{
    tt_sink s;
    tt_copy copy;
    tt_trace t;
    tt_error err;
    bool done = false;
    char other[160];
    (void)state;
    (void)snprintf(other, sizeof other, "%s.copy", path);
    begin(&s, RING_BYTES);
    fill(&s, 300);
    uint64_t hole = s.hole_end;
    assert_true(hole > 0);
    s.hold = true;
    int fd = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(tt_copy_begin(&copy, &s, fd, &err), TT_OK);
    for (uint64_t i = 0; !done; i++) {
        assert_int_equal(tt_copy_step(&copy, 10000, &done, &err), TT_OK);
        for (uint64_t k = 0; k < 20; k++)
            put_ops(&s, 3000 + (i * 20 + k) * 10, 301);
    }
    assert_int_equal(s.hole_end, hole);
    assert_int_equal(tt_sink_finish(&copy.to, TT_END_SNAPSHOT, &err), TT_OK);
    tt_copy_end(&copy);
    s.hold = false;
    put_ops(&s, 1u << 20, 302);
    assert_true(s.hole_end > hole);
    tt_sink_close(&s);
    assert_int_equal(tt_trace_open(&t, other, &err), TT_OK);
    assert_true(t.complete);
    assert_int_equal(t.end_flags, TT_END_SNAPSHOT);
    assert_int_equal(t.chunks[t.n_chunks - 1].position, 2990);
    tt_trace_close(&t);
}

static void test_a_long_index_is_kept_in_the_file(void **state)
{
    const uint32_t chunks = 10000;
    tt_sink s;
    tt_trace t;
    tt_scan scan;
    tt_error err;
    const uint8_t byte = 1;
    (void)state;
    begin(&s, 0);
    for (uint32_t i = 0; i < chunks; i++) {
        tt_index_entry e = {.type = TT_CHUNK_OPS, .stream = 1, .position = i, .count = 1};
        e.run_min = e.run_max = i;
        assert_int_equal(tt_sink_put(&s, &e, (tt_span){&byte, 1}, &err), TT_OK);
        assert_true(s.n_index <= 4096);
    }
    assert_int_equal(tt_sink_finish(&s, TT_END_NORMAL, &err), TT_OK);
    tt_sink_close(&s);
    assert_int_equal(tt_trace_open(&t, path, &err), TT_OK);
    assert_true(t.complete);
    assert_int_equal(count_type(&t, TT_CHUNK_OPS), chunks);
    assert_int_equal(count_type(&t, TT_CHUNK_PAGE), 2);
    assert_int_equal(tt_trace_scan(&t.source, &scan, &err), TT_OK);
    assert_int_equal(scan.n_chunks, t.n_chunks);
    for (size_t i = 0, op = 0; i < t.n_chunks; i++) {
        assert_int_equal(scan.chunks[i].offset, t.chunks[i].offset);
        if (t.chunks[i].type == TT_CHUNK_OPS) assert_int_equal(t.chunks[i].run_min, op++);
    }
    free(scan.chunks);
    tt_trace_close(&t);
}

static void test_left_sessions_go(void **state)
{
    tt_session *session;
    char name[256], gone[256] = "";
    int lock, ends[2];
    tt_error err;
    (void)state;
    assert_int_equal(tt_session_create(&session, name, sizeof name, true, &lock, &err), TT_OK);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        tt_session *theirs;
        int held;
        if (tt_session_create(&theirs, gone, sizeof gone, true, &held, NULL) != TT_OK) _exit(1);
        _exit(write(ends[1], gone, sizeof gone) != (ssize_t)sizeof gone);
    }
    assert_int_equal(read(ends[0], gone, sizeof gone), sizeof gone);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (strncmp(gone, "/dev/shm/", 9) != 0) skip();
    /* Any run on this machine may be the first to sweep. */
    (void)tt_sweep();
    assert_int_not_equal(access(gone, F_OK), 0);
    assert_int_equal(access(name, F_OK), 0); /* somebody is there */
    tt_session_close(session);
    (void)unlink(name);
    (void)close(lock);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_lasts),
        cmocka_unit_test(test_the_last_is_kept),
        cmocka_unit_test(test_nothing_goes_while_it_is_copied),
        cmocka_unit_test(test_a_long_index_is_kept_in_the_file),
        cmocka_unit_test(test_left_sessions_go),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
