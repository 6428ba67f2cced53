/* Tables and analyses as Arrow streams, by the public calls. */
#include "tests.h"

#include "../golden/synth_trace.c"
#include "arrow_check.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_OUT "test_arrow.ttrace"
#define GOLDEN TT_SOURCE_DIR "/tests/golden"

/* Many parts: a table is cut where there are 131,072 rows and more. */
static void write_trace(uint32_t tokens)
{
    synth_plan p = synth_default();
    tt_bytes b;
    p.generate = tokens;
    tt_bytes_init(&b, SIZE_MAX / 2);
    assert_true(synth_build(&p, &b));
    FILE *f = fopen(PATH_OUT, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    assert_int_equal(fclose(f), 0);
    tt_bytes_free(&b);
}

static tt_reader *open_trace(const char *path)
{
    tt_reader *r;
    tt_error err;
    assert_int_equal(tt_reader_open(&r, path, &err), TT_OK);
    return r;
}

static struct ArrowArrayStream table_of(tt_reader *r, const char *name, const char *a,
                                        const char *b)
{
    const char *const options[] = {a, b, NULL};
    struct ArrowArrayStream s;
    tt_error err = {.status = TT_OK};
    const tt_status status = tt_arrow_table(r, name, options, &s, &err);
    if (status != TT_OK) fail_msg("%s: %s", name, err.message);
    return s;
}

static uint64_t count_rows(tt_reader *r, const char *name, const char *option)
{
    struct ArrowArrayStream s = table_of(r, name, option, NULL);
    const arrow_read all = arrow_read_all(&s, 0);
    assert_int_equal(all.error, 0);
    return all.rows;
}

/* --- threads and lifetimes --- */

static void threads_make_the_same(void **state)
{
    (void)state;
    write_trace(6000);
    tt_reader *r = open_trace(PATH_OUT);
    for (unsigned i = 0; i < 2; i++) {
        const char *name = i ? "lanes" : "ops";
        struct ArrowArrayStream s = table_of(r, name, "threads=1", NULL);
        const arrow_read one = arrow_read_all(&s, 0);
        s = table_of(r, name, "threads=3", NULL);
        const arrow_read three = arrow_read_all(&s, 0);
        assert_true(one.batches > 2 && one.rows > 100000);
        assert_true(one.rows == three.rows && one.sum == three.sum && one.batches == three.batches);
        /* Nobody takes the rest. */
        s = table_of(r, name, "threads=3", NULL);
        assert_int_equal(arrow_read_all(&s, 1).batches, 1);
        s = table_of(r, name, "threads=3", NULL);
        s.release(&s);
    }
    tt_reader_close(r);
}

static void what_is_handed_out_stays(void **state)
{
    struct ArrowArray batch, column;
    struct ArrowSchema schema;
    uint64_t sum = 0;
    (void)state;
    tt_reader *r = open_trace(PATH_OUT);
    struct ArrowArrayStream s = table_of(r, "ops", "columns=name,start_ns,op_id", "threads=2"),
                            other = table_of(r, "lanes", NULL, NULL);
    tt_reader_close(r);
    assert_int_equal(s.get_schema(&s, &schema), 0);
    assert_int_equal(s.get_next(&s, &batch), 0);
    s.release(&s);
    assert_true(arrow_check_batch(&schema, &batch, &sum) > 0);
    assert_int_equal(batch.n_children, 3);
    assert_string_equal(schema.children[0]->name, "name");
    /* A column moves out, and is the mover's. */
    column = *batch.children[0];
    batch.children[0]->release = NULL;
    batch.release(&batch);
    sum = arrow_check_column(schema.children[0], &column);
    column.release(&column);
    schema.release(&schema);
    assert_true(arrow_read_all(&other, 0).rows > 0);
}

static void *read_in_thread(void *stream)
{
    static arrow_read results[4];
    static int n;
    arrow_read *out = &results[__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED)];
    *out = arrow_read_all(stream, 0);
    return out;
}

static void streams_are_read_at_once(void **state)
{
    struct ArrowArrayStream streams[4];
    pthread_t threads[4];
    uint64_t sums[4];
    (void)state;
    tt_reader *r = open_trace(PATH_OUT);
    for (unsigned i = 0; i < 4; i++)
        streams[i] = table_of(r, "ops", i % 2 ? "threads=2" : "threads=1", NULL);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, &streams[i]), 0);
    tt_reader_close(r);
    for (unsigned i = 0; i < 4; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        sums[i] = ((arrow_read *)result)->sum;
    }
    assert_true(sums[0] == sums[1] && sums[0] == sums[2] && sums[0] == sums[3]);
    (void)unlink(PATH_OUT);
}

/* In a child the threads that make batches are not there: nothing waits for them. */
static void a_fork_has_no_threads(void **state)
{
    struct ArrowArray batch;
    int how = -1;
    (void)state;
    write_trace(6000);
    tt_reader *r = open_trace(PATH_OUT);
    struct ArrowArrayStream s = table_of(r, "lanes", "threads=2", NULL), fresh;
    assert_int_equal(s.get_next(&s, &batch), 0);
    batch.release(&batch);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(20);
        const bool refused = s.get_next(&s, &batch) == EINVAL && !batch.release &&
                             strstr(s.get_last_error(&s), "fork");
        s.release(&s);
        fresh = table_of(r, "tokens", NULL, NULL);
        _exit(refused && !s.release && arrow_read_all(&fresh, 0).rows > 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    assert_true(arrow_read_all(&s, 0).rows > 0);
    tt_reader_close(r);
    (void)unlink(PATH_OUT);
}

/* --- capsules --- */

static unsigned given_back;

static void *pointer_of(void *capsule, const char *name)
{
    (void)name;
    return capsule;
}

static void give_back(void *memory)
{
    (void)memory;
    given_back++;
}

static void capsules_release(void **state)
{
    (void)state;
    tt_reader *r = open_trace(GOLDEN "/good-faults.ttrace");
    struct ArrowArrayStream s = table_of(r, "ops", NULL, NULL);
    struct ArrowSchema schema;
    assert_int_equal(s.get_schema(&s, &schema), 0);
    tt_arrow_destructor *stream =
        tt_arrow_capsule_destructor("arrow_array_stream", pointer_of, give_back);
    tt_arrow_destructor *fields =
        tt_arrow_capsule_destructor("arrow_schema", pointer_of, give_back);
    assert_null(tt_arrow_capsule_destructor("arrow_array", pointer_of, give_back));
    /* Those that a reader took have been released, and are only freed. */
    for (unsigned i = 0; i < 2; i++) {
        stream(&s);
        fields(&schema);
        assert_true(!s.release && !schema.release);
    }
    assert_int_equal(given_back, 4);
    tt_reader_close(r);
}

/* --- what is asked for --- */

static void filters_leave_out(void **state)
{
    (void)state;
    write_trace(20);
    tt_reader *r = open_trace(PATH_OUT);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const tables[] = {"ops", "lanes", "sources"};
        const uint64_t all = count_rows(r, tables[i], NULL);
        const uint64_t first = count_rows(r, tables[i], "batch=0"),
                       rest = count_rows(r, tables[i], "batch=1..");
        assert_true(first > 0 && rest > 0 && first + rest == all);
        uint64_t layers = count_rows(r, tables[i], "layer=none");
        assert_true(layers > 0);
        for (unsigned layer = 0; layer < 10; layer++) {
            char option[16];
            (void)snprintf(option, sizeof option, "layer=%u", layer);
            layers += count_rows(r, tables[i], option);
        }
        assert_int_equal(layers, all);
        assert_true(count_rows(r, tables[i], "op=MUL_MAT") < all);
        assert_int_equal(count_rows(r, tables[i], "op=NO_SUCH_OP"), 0);
        assert_int_equal(count_rows(r, tables[i], "tensor=*"), all);
    }
    tt_reader_close(r);
}

static void options_are_checked(void **state)
{
    static const struct {
        const char *table, *option, *part;
    } cases[] = {
        {"ops", "columns=no_such", "no_such"},
        {"ops", "columns=", "columns"},
        {"ops", "columns=op,op", "twice"},
        {"ops", "columns=op,", "\"\""},
        {"ops", "layer=x", "layer"},
        {"ops", "layer=2147483648", "layer"},
        {"ops", "batch=2..1x", "batch"},
        {"ops", "phase=", "phase"},
        {"ops", "threads=-1", "threads"},
        {"ops", "threads=99999999999", "threads"},
        {"ops", "nonsense=1", "nonsense"},
        {"ops", "=", "option"},
        {"ops", "by=op", "by"},
        {"tensors", "batch=1", "batch"},
        {"tokens", "op=ADD", "op"},
        {"nonsense", NULL, "nonsense"},
        {NULL, NULL, "table"},
    };
    struct ArrowArrayStream s;
    (void)state;
    tt_reader *r = open_trace(PATH_OUT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const options[] = {cases[i].option, NULL};
        tt_error err = {.status = TT_OK};
        const tt_status status = tt_arrow_table(r, cases[i].table, options, &s, &err);
        if (status != err.status || (status != TT_E_USAGE && status != TT_E_NOT_FOUND) ||
            s.release || !strstr(err.message, cases[i].part))
            fail_msg("%s: %d, %s", cases[i].option ? cases[i].option : "-", status, err.message);
        assert_int_equal(tt_arrow_table(r, cases[i].table, options, &s, NULL), status);
    }
    const char *const twice[] = {"threads=1", "threads=2", NULL};
    assert_int_equal(tt_arrow_table(r, "ops", twice, &s, NULL), TT_E_USAGE);
    const char *const no_ram[] = {"unit=page", NULL};
    assert_int_equal(tt_arrow_analysis(r, "whatif", no_ram, &s, NULL), TT_E_USAGE);
    const char *const no_page[] = {"ram=1M", "page-size=0", "readahead=1M", NULL};
    assert_int_equal(tt_arrow_analysis(r, "whatif", no_page, &s, NULL), TT_E_USAGE);
    assert_int_equal(tt_arrow_analysis(r, "nonsense", NULL, &s, NULL), TT_E_NOT_FOUND);
    tt_reader_close(r);
    (void)unlink(PATH_OUT);
}

/* --- traces of every kind --- */

static void read_table(tt_reader *r, const char *name)
{
    struct ArrowArrayStream s = table_of(r, name, "threads=1", NULL);
    const arrow_read one = arrow_read_all(&s, 0);
    s = table_of(r, name, "threads=2", NULL);
    const arrow_read two = arrow_read_all(&s, 0);
    assert_true(one.sum == two.sum && one.rows == two.rows && one.error == two.error);
}

/* How many of its rows there were; what is refused has none. */
static uint64_t read_analysis(tt_reader *r, const char *name, const char *option)
{
    const char *const options[] = {option, NULL};
    struct ArrowArrayStream s;
    tt_error err = {.status = TT_OK};
    if (tt_arrow_analysis(r, name, options, &s, &err) == TT_OK) return arrow_read_all(&s, 0).rows;
    assert_true(err.status != TT_OK && err.message[0] && !s.release);
    return 0;
}

static void each_trace_is_read(void **state)
{
    const char *name;
    uint64_t rows = 0, traces = 0;
    (void)state;
    DIR *folder = opendir(GOLDEN);
    assert_non_null(folder);
    for (const struct dirent *e; (e = readdir(folder));) {
        char path[600];
        tt_reader *r;
        if (!strstr(e->d_name, ".ttrace") || strstr(e->d_name, "flight")) continue;
        (void)snprintf(path, sizeof path, GOLDEN "/%s", e->d_name);
        if (tt_reader_open(&r, path, NULL) != TT_OK) continue;
        traces++;
        for (uint32_t i = 0; (name = tt_arrow_table_name(i)); i++) {
            assert_non_null(tt_arrow_table_about(name));
            read_table(r, name);
        }
        for (uint32_t i = 0; (name = tt_arrow_analysis_name(i)); i++) {
            assert_non_null(tt_arrow_analysis_about(name));
            rows += read_analysis(r, name, strcmp(name, "whatif") == 0 ? "curve" : NULL);
        }
        rows += read_analysis(r, "faults", "pages") + read_analysis(r, "buffers", "kv");
        tt_reader_close(r);
    }
    (void)closedir(folder);
    assert_true(traces > 20 && rows > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_make_the_same),    cmocka_unit_test(what_is_handed_out_stays),
        cmocka_unit_test(streams_are_read_at_once), cmocka_unit_test(a_fork_has_no_threads),
        cmocka_unit_test(capsules_release),         cmocka_unit_test(filters_leave_out),
        cmocka_unit_test(options_are_checked),      cmocka_unit_test(each_trace_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
