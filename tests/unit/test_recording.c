/* tensortrace/record.h, by programs that record themselves: each is a child process, whose trace is
 * then read by tensortrace/read.h and by the model. */
#include "tests.h"

#include "analyze/dumps/dump.h"
#include "analyze/verify/verify.h"
#include "record/recover.h"
#include "tensortrace/read.h"
#include "tensortrace/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64], second[64];

static int fresh_path(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof path, "recording-%d.ttrace", (int)getpid());
    (void)snprintf(second, sizeof second, "recording-%d-second.ttrace", (int)getpid());
    char part[80];
    (void)snprintf(part, sizeof part, "%s.part", path);
    (void)unlink(path);
    (void)unlink(part);
    (void)unlink(second);
    return 0;
}

static int remove_path(void **state)
{
    return fresh_path(state);
}

/* Runs `program` in a process of its own; its status as of waitpid. */
static int run(void (*program)(void))
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        program();
        exit(0);
    }
    int status = -1;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

static void expect_well(void (*program)(void))
{
    assert_int_equal(run(program), 0);
}

static void must(bool ok)
{
    if (!ok) _exit(9);
}

static void start(const char *values)
{
    tt_record_options o = {.path = path, .values = values, .engine = "test 1", .replace = 1};
    must(tt_record_start(&o, NULL) == TT_OK);
}

/* --- a small engine --- */

static float weights[8 * 4], input[8], hidden[4], result[4];

static bool dies; /* before its batch ends */

static void forward(int32_t token, int32_t position)
{
    tt_record_tensor w = {
        .name = "blk.1.attn_q.weight", .n_dims = 2, .ne = {8, 4}, .data = weights};
    tt_record_tensor x = {.name = "inp_embd", .n_dims = 1, .ne = {8}, .data = input};
    tt_record_tensor h = {.name = "Qcur-1",
                          .op = "MUL_MAT",
                          .n_dims = 1,
                          .ne = {4},
                          .data = hidden,
                          .n_sources = 2,
                          .sources = {&w, &x},
                          .stage = "q_proj",
                          .layer = 1};
    tt_record_tensor y = {.name = "result",
                          .op = "SCALE",
                          .n_dims = 1,
                          .ne = {4},
                          .data = result,
                          .n_sources = 1,
                          .sources = {&h}};
    tt_record_batch b = {.n_tokens = 1,
                         .tokens = &token,
                         .positions = &position,
                         .phase = position ? TT_PHASE_GENERATE : TT_PHASE_PROMPT};
    tt_batch_begin(&b);
    tt_op_begin(&h);
    for (int i = 0; i < 4; i++)
        hidden[i] = (float)(token + i);
    tt_op_end();
    tt_op_begin(&y);
    for (int i = 0; i < 4; i++)
        result[i] = hidden[i] * 2;
    tt_op_end();
    if (dies) (void)raise(SIGKILL);
    tt_batch_end(0);
}

static void three_tokens(void)
{
    start("hash");
    tt_buffer_add("weights", weights, sizeof weights, TT_BUFFER_USE_WEIGHTS);
    for (int i = 0; i < 3; i++)
        forward(40 + i, i);
    must(tt_record_stop(NULL) == TT_OK);
    must(strstr(tt_record_path(), path) != NULL);
}

/* --- reading --- */

static void verified(const char *trace)
{
    tt_model *m;
    tt_error err = {.message = ""};
    tt_check checks[TT_CHECKS_MAX];
    size_t n;
    if (tt_model_open(trace, &m, &err) != TT_OK) fail_msg("%s", err.message);
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, &err), TT_OK);
    for (size_t i = 0; i < n; i++)
        if (checks[i].verdict == TT_CHECK_FAILED)
            fail_msg("%s: %s", checks[i].name, checks[i].detail);
    tt_model_close(m);
}

static tt_reader *opened(const char *trace, tt_reader_summary *s)
{
    tt_reader *reader;
    tt_error err = {.message = ""};
    if (tt_reader_open(&reader, trace, &err) != TT_OK) fail_msg("%s", err.message);
    tt_reader_get_summary(reader, s);
    return reader;
}

static int count_op(void *n, const tt_reader_op *op)
{
    *(unsigned *)n += !op->open;
    return 0;
}

static unsigned ops_of(tt_reader *reader, uint32_t run_index)
{
    unsigned n = 0;
    assert_int_equal(tt_reader_walk_ops(reader, run_index, count_op, &n, NULL), TT_OK);
    return n;
}

static int keep_value(void *to, const tt_reader_value *v)
{
    ((tt_reader_value *)to)[v->node] = *v;
    return 0;
}

/* --- tests --- */

static void test_whole(void **state)
{
    tt_reader_summary s;
    tt_reader_batch b;
    tt_reader_run r;
    tt_reader_tensor t;
    tt_reader_value values[2] = {{.elements = 0}};
    (void)state;
    expect_well(three_tokens);
    verified(path);
    tt_reader *reader = opened(path, &s);
    assert_true(s.complete);
    assert_int_equal(s.batches, 3);
    assert_int_equal(s.graphs, 1); /* the same ops: stored once */
    assert_int_equal(s.records, 6);
    assert_string_equal(tt_reader_get_environment(reader, "mode"), "api");
    assert_string_equal(tt_reader_get_environment(reader, "engine_version"), "test 1");
    assert_int_equal(tt_reader_get_batch(reader, 2, &b), TT_OK);
    assert_int_equal(b.tokens[0], 42);
    assert_int_equal(b.positions[0], 2);
    assert_int_equal(b.phase, TT_PHASE_GENERATE);
    assert_int_equal(tt_reader_get_run(reader, 2, &r), TT_OK);
    assert_int_equal(r.observed, TT_OBSERVED_PROGRAM);
    assert_int_equal(r.graph, 0);
    assert_int_equal(ops_of(reader, 2), 2);
    assert_int_equal(tt_reader_get_tensor(reader, 0, 1, &t), TT_OK);
    assert_string_equal(t.name, "result");
    assert_int_equal(t.sources[0], 0);
    assert_int_equal(tt_reader_get_tensor(reader, 0, 0, &t), TT_OK);
    assert_string_equal(t.op, "MUL_MAT");
    assert_string_equal(t.type, "f32");
    assert_int_equal(t.layer_id, 1);
    assert_int_equal(tt_reader_get_tensor(reader, 0, t.sources[0], &t), TT_OK);
    assert_string_equal(t.name, "blk.1.attn_q.weight");
    assert_int_equal(t.size_bytes, sizeof weights);
    assert_int_equal(tt_reader_walk_values(reader, 2, keep_value, values, NULL), TT_OK);
    assert_int_equal(values[0].elements, 4);
    assert_true(values[0].has_blake3);
    assert_true(values[0].min == 42 && values[1].max == 90);
    tt_reader_close(reader);
}

static int evaluated;

static const tt_record_tensor *evaluate(void)
{
    evaluated++;
    return NULL;
}

static void test_off(void **state)
{
    (void)state;
    assert_int_equal(tt_recording, 0);
    assert_int_equal(tt_op_begin(evaluate()), 0);
    (void)tt_op_add(evaluate());
    tt_op_taken(0, evaluate());
    forward(1, 0);
    assert_int_equal(evaluated, 0);
    assert_int_equal(tt_record_stop(NULL), TT_OK);
    assert_int_equal(tt_record_model("no such file", NULL), TT_OK);
    assert_int_equal(access(path, F_OK), -1);
}

static void start_twice(void)
{
    tt_error err;
    tt_record_options o = {.path = path};
    start(NULL);
    must(tt_record_start(&o, &err) == TT_E_USAGE);
    forward(1, 0);
    must(tt_record_stop(&err) == TT_OK && tt_record_stop(&err) == TT_OK);
    must(tt_record_start(&o, &err) == TT_E_EXISTS && !tt_recording);
    o.path = "no/such/folder/x.ttrace";
    must(tt_record_start(&o, &err) == TT_E_IO && strstr(err.message, "no/such/folder"));
    o.values = "everything";
    must(tt_record_start(&o, NULL) == TT_E_USAGE && tt_record_start(NULL, NULL) == TT_E_USAGE);
    o = (tt_record_options){.path = second, .values = "stats"};
    must(tt_record_start(&o, &err) == TT_OK);
    forward(1, 0);
    forward(2, 1);
    must(tt_record_stop(&err) == TT_OK);
}

static void test_start_again(void **state)
{
    tt_reader_summary s;
    (void)state;
    expect_well(start_twice);
    tt_reader *reader = opened(path, &s);
    assert_int_equal(s.batches, 1);
    tt_reader_close(reader);
    verified(second);
    reader = opened(second, &s);
    assert_int_equal(s.batches, 2);
    assert_int_equal(s.graphs, 1);
    tt_reader_close(reader);
}

/* --- threads --- */

enum { THREADS = 4, ROUNDS = 60 };
static pthread_barrier_t together;
static _Atomic uint64_t shared_node;

static void *own_batches(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t ne = 8;
        tt_batch_begin(NULL);
        for (int k = 0; k < 5; k++) {
            char name[16];
            (void)snprintf(name, sizeof name, "node-%d", k);
            tt_record_tensor t = {.name = name, .op = "ADD", .n_dims = 1, .ne = {8}, .data = input};
            tt_op_begin(&t);
            tt_op_end();
        }
        tt_value("probe", input, TT_TYPE_F32, 1, &ne, 0, "q_proj", i);
        tt_batch_end(0);
    }
    return NULL;
}

static void *shared_op(void *index)
{
    unsigned lane = (unsigned)(uintptr_t)index;
    tt_record_tensor t = {
        .name = "shared-0", .op = "MUL_MAT", .n_dims = 1, .ne = {4}, .data = hidden};
    for (int i = 0; i < ROUNDS; i++) {
        if (lane == 0) {
            tt_batch_begin(NULL);
            atomic_store(&shared_node, tt_op_add(&t));
        }
        (void)pthread_barrier_wait(&together);
        tt_op_begin_lane(atomic_load(&shared_node), lane);
        tt_op_end();
        (void)pthread_barrier_wait(&together);
        if (lane == 0) {
            tt_op_taken(atomic_load(&shared_node), &t);
            tt_batch_end(0);
        }
    }
    return NULL;
}

static void on_threads(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    must(pthread_barrier_init(&together, NULL, THREADS) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

static void threads(void)
{
    start("hash");
    on_threads(own_batches);
    on_threads(shared_op);
    must(tt_record_stop(NULL) == TT_OK);
}

static void test_threads(void **state)
{
    tt_reader_summary s;
    (void)state;
    expect_well(threads);
    verified(path);
    tt_reader *reader = opened(path, &s);
    assert_int_equal(s.batches, THREADS * ROUNDS + ROUNDS);
    assert_int_equal(s.graphs, 2);
    assert_int_equal(s.records + s.dropped, THREADS * ROUNDS * 6 + ROUNDS * THREADS);
    tt_reader_close(reader);
}

/* --- what makes no sense --- */

static void nonsense(void)
{
    uint64_t huge[4] = {UINT64_MAX, UINT64_MAX, 7, 1}, one[4] = {1, 1, 1, 1}, zero[4] = {0};
    char long_name[1000];
    tt_record_tensor odd[] = {{.name = NULL},
                              {.name = "", .op = ""},
                              {.name = "huge", .op = "ADD", .n_dims = 4, .data = input},
                              {.name = "type", .op = "ADD", .type = (tt_type)12345, .n_dims = 99},
                              {.name = "minus", .type = (tt_type)-1, .n_dims = 2, .data = input},
                              {.name = "empty", .op = "ADD", .n_dims = 2, .data = input},
                              {.name = "blocks", .type = TT_TYPE_Q8_0, .n_dims = 1, .ne = {33}},
                              {.name = "many", .n_sources = 1000},
                              {.name = "strides", .op = "ADD", .n_dims = 1, .ne = {3}}};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(pages != MAP_FAILED && mprotect(pages, page, PROT_NONE) == 0);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    memcpy(odd[2].ne, huge, sizeof huge);
    odd[4].ne[0] = odd[4].ne[1] = 3;
    odd[4].nb[0] = odd[4].nb[1] = UINT64_MAX;
    /* Each element a byte before the last one: what is there must not be read. */
    odd[8].nb[0] = UINT64_MAX;
    odd[8].data = pages + page;
    start("full");
    tt_op_end();
    tt_batch_end(3);
    tt_op_taken(77, NULL);
    tt_op_begin_lane(UINT64_MAX, 4000000000u);
    tt_op_begin_lane(tt_op_add(&odd[0]), 511);
    tt_buffer_add(NULL, NULL, 0, (tt_buffer_use)9);
    tt_buffer_add(long_name, input, UINT64_MAX, TT_BUFFER_USE_ANY);
    tt_buffer_remove(weights);
    tt_token_name(-1, NULL, 5);
    tt_record_batch b = {.n_tokens = UINT32_MAX, .phase = (tt_phase)88};
    tt_batch_begin(&b);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        (void)tt_op_begin(&odd[i]);
        tt_op_taken(tt_op_add(&odd[i]), &odd[i]);
    }
    (void)tt_op_begin(NULL);
    tt_value(NULL, input, TT_TYPE_F32, 1, one, 0, NULL, 0);
    tt_value("null", NULL, TT_TYPE_F32, 1, one, 0, NULL, 0);
    tt_value("dims", input, TT_TYPE_F32, 5, one, 0, NULL, 0);
    tt_value("zero", input, TT_TYPE_F32, 2, zero, 0, NULL, 0);
    tt_value("huge", input, TT_TYPE_F32, 4, huge, 0, NULL, 0);
    tt_value("type", input, (tt_type)500, 1, one, 0, NULL, 0);
    tt_value(long_name, input, TT_TYPE_F32, 1, one, INT32_MIN, long_name, INT64_MAX);
    must(tt_record_model(NULL, NULL) == TT_E_USAGE);
    must(tt_record_model("/dev/null", NULL) != TT_OK);
    must(tt_record_stop(NULL) == TT_OK);
}

static void test_nonsense(void **state)
{
    tt_reader_summary s;
    (void)state;
    expect_well(nonsense);
    verified(path);
    tt_reader_close(opened(path, &s));
    assert_true(s.complete);
}

static void moving_buffers(void)
{
    start(NULL);
    for (int i = 0; i < 20; i++) {
        float *memory = calloc(64, sizeof *memory);
        tt_record_tensor t = {
            .name = "moving", .op = "ADD", .n_dims = 1, .ne = {64}, .data = memory};
        tt_buffer_add("moving", memory, 64 * sizeof *memory, TT_BUFFER_USE_COMPUTE);
        tt_batch_begin(NULL);
        tt_op_begin(&t);
        tt_op_end();
        tt_buffer_remove(memory);
        free(memory);
        tt_batch_end(0);
    }
    must(tt_record_stop(NULL) == TT_OK);
}

static void test_buffers(void **state)
{
    tt_reader_summary s;
    (void)state;
    expect_well(moving_buffers);
    verified(path);
    tt_reader_close(opened(path, &s));
    assert_int_equal(s.records, 20);
}

/* --- values outside of batches --- */

static void loose(void)
{
    uint64_t ne = 8;
    start(NULL);
    for (int64_t position = 0; position < 2; position++) {
        tt_value("a", input, TT_TYPE_F32, 1, &ne, 0, "q_proj", position);
        tt_value("b", input, TT_TYPE_F32, 1, &ne, 0, "k_proj", position);
    }
    tt_value("b", input, TT_TYPE_F32, 1, &ne, 0, "k_proj", 1);
}

static void test_loose(void **state)
{
    tt_reader_summary s;
    tt_reader_tensor t;
    tt_reader_batch b;
    tt_reader_run r;
    (void)state;
    expect_well(loose);
    verified(path);
    tt_reader *reader = opened(path, &s);
    /* One a position; a name that comes again begins another. */
    assert_int_equal(s.batches, 3);
    assert_int_equal(s.graphs, 2);
    assert_int_equal(tt_reader_get_batch(reader, 1, &b), TT_OK);
    assert_int_equal(b.positions[0], 1);
    assert_int_equal(tt_reader_get_tensor(reader, 0, 1, &t), TT_OK);
    assert_string_equal(t.op, "VALUE");
    /* The third began as the others do not: what was foretold of its graph was taken back. */
    assert_int_equal(tt_reader_get_run(reader, 2, &r), TT_OK);
    assert_int_equal(tt_reader_count_tensors(reader, r.graph), 1);
    assert_int_equal(tt_reader_get_tensor(reader, r.graph, 0, &t), TT_OK);
    assert_string_equal(t.name, "b");
    assert_int_equal(ops_of(reader, 2), 1);
    tt_reader_close(reader);
}

static void unplaced(void)
{
    uint64_t ne = 8;
    start(NULL);
    tt_value("Qcur-1", input, TT_TYPE_F32, 1, &ne, TT_NO_LAYER, NULL, 0);
}

/* Whoever only passes values does not say what op computed them: it is none that others differ
 * from. */
static void test_no_op(void **state)
{
    tt_model *m;
    tt_dump *d;
    tt_dump_step step = {.n = 0};
    tt_error err;
    tt_stages *stages = tt_stages_builtin();
    (void)state;
    assert_non_null(stages);
    expect_well(unplaced);
    assert_int_equal(tt_model_open(path, &m, NULL), TT_OK);
    assert_int_equal(tt_dump_of_trace(m, path, stages, &d, &err), TT_OK);
    assert_int_equal(d->n_steps, 1);
    assert_int_equal(tt_dump_load(d, 0, &step, &err), TT_OK);
    assert_int_equal(step.n, 1);
    assert_string_equal(step.values[0].op, "");
    assert_string_equal(step.values[0].stage, "q_proj");
    assert_int_equal(step.values[0].layer, 1);
    tt_dump_step_free(&step);
    tt_dump_close(d);
    tt_stages_free(stages);
    tt_model_close(m);
}

static void compute(const char *name)
{
    tt_record_tensor t = {.name = name, .op = "ADD", .n_dims = 1, .ne = {4}, .data = hidden};
    tt_op_begin(&t);
    tt_op_end();
}

static void places(void)
{
    uint64_t ne = 4;
    start("hash");
    tt_batch_begin(NULL);
    compute("x");
    tt_value("x", hidden, TT_TYPE_F32, 1, &ne, -2, "all_layers_out", 0); /* taken just now */
    compute("y");
    tt_value("x", hidden, TT_TYPE_F32, 1, &ne, 3, "ffn_up", 0); /* may be another by now */
    tt_value("z", hidden, TT_TYPE_F32, 1, &ne, INT32_MAX, "ffn_up", 0);
    tt_batch_end(0);
    tt_batch_begin(NULL); /* what the one before began with, and no more */
    compute("x");
    tt_batch_end(0);
    must(tt_record_stop(NULL) == TT_OK);
}

static void test_places(void **state)
{
    tt_model *m;
    (void)state;
    expect_well(places);
    verified(path);
    assert_int_equal(tt_model_open(path, &m, NULL), TT_OK);
    assert_int_equal(m->n_graphs, 2);
    const tt_graph *g = &m->graphs[m->runs[0].graph];
    assert_int_equal(g->n_tensors, 4);
    assert_string_equal(g->tensors[0].stage, "all_layers_out");
    assert_int_equal(g->tensors[0].stage_layer, -2);
    assert_null(g->tensors[1].stage);
    assert_string_equal(g->tensors[2].op_name, "VALUE");
    assert_string_equal(g->tensors[2].stage, "ffn_up");
    assert_int_equal(g->tensors[2].place.layer_id, 3);
    assert_int_equal(g->tensors[2].src[0], 0);
    /* No number that a layer can have anywhere else. */
    assert_int_equal(g->tensors[3].stage_layer, INT32_MAX);
    assert_int_equal(g->tensors[3].place.layer_id, TT_LAYER_NONE);
    assert_int_equal(m->graphs[m->runs[1].graph].n_tensors, 1);
    tt_model_close(m);
}

/* --- selected --- */

static void selected(void)
{
    tt_record_tensor t = {.name = "blk.1.a", .op = "ADD", .n_dims = 1, .ne = {4}, .data = hidden};
    tt_record_tensor other = t, told = t;
    other.name = "blk.2.a";
    told.name = "told";
    told.stage = "q_proj";
    told.layer = 1;
    start("stats:layer=1");
    tt_batch_begin(NULL);
    tt_op_begin(&t);
    tt_op_begin(&other);
    tt_op_end();
    tt_node node = tt_op_add(&told);
    tt_op_begin_lane(node, 0);
    tt_op_end();
    tt_op_taken(node, &told);
    tt_op_taken(node, &told); /* once is enough */
    /* Of this one nobody says so, but its value is told. */
    told.name = "later";
    tt_op_begin_lane(tt_op_add(&told), 0);
    tt_op_end();
    tt_value("later", hidden, TT_TYPE_F32, 1, told.ne, 1, NULL, 0);
    tt_batch_end(0);
    must(tt_record_stop(NULL) == TT_OK);
}

static void test_selected(void **state)
{
    tt_reader_summary s;
    tt_reader_value values[5] = {{.elements = 0}};
    (void)state;
    expect_well(selected);
    tt_reader *reader = opened(path, &s);
    assert_int_equal(tt_reader_walk_values(reader, 0, keep_value, values, NULL), TT_OK);
    assert_int_equal(values[0].elements, 4);
    assert_int_equal(values[1].elements, 0);
    assert_int_equal(values[2].elements, 4);
    assert_false(values[2].has_blake3);
    assert_int_equal(values[3].elements, 4);
    assert_int_equal(tt_reader_count_tensors(reader, 0), 4);
    verified(path);
    tt_reader_close(reader);
}

/* --- files --- */

static void files(void)
{
    static const uint64_t ne[2] = {2, 3}, nothing_at_all[1] = {0};
    static const float six[6] = {1, -2, 3, -4, 5, -6};
    must(tt_recording != 0); /* no trace, but files */
    tt_value("t0/blk1/q_proj", six, TT_TYPE_F32, 2, ne, 1, "q_proj", 7);
    tt_value("t0/blk1/q_proj", six, TT_TYPE_F32, 2, ne, 1, "q_proj", 8);
    tt_value("empty", six, TT_TYPE_F32, 1, nothing_at_all, 1, NULL, TT_NO_POSITION);
    tt_value("strange", six, (tt_type)99, 1, ne, 1, NULL, 0);
}

static void test_files(void **state)
{
    char folder[80], file[160], text[1024];
    unsigned n = 0;
    (void)state;
    (void)snprintf(folder, sizeof folder, "recording-%d-files", (int)getpid());
    (void)setenv("BITNET_TRACE_DIR", folder, 1);
    (void)snprintf(text, sizeof text, "%s", program_invocation_name);
    pid_t pid = fork();
    /* The environment is read when a program begins. */
    if (pid == 0) (void)execl("/proc/self/exe", text, "files", (char *)NULL);
    int status = -1;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    (void)unsetenv("BITNET_TRACE_DIR");
    assert_int_equal(status, 0);
    (void)snprintf(file, sizeof file, "%s/t0_blk1_q_proj.trace", folder);
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    (void)fclose(f);
    assert_non_null(strstr(text, "\"name\": \"t0/blk1/q_proj\""));
    assert_non_null(strstr(text, "\"shape\": [\n    3,\n    2\n  ]"));
    assert_non_null(strstr(text, "\"rms\": 3.8944404818493075")); /* sqrt(91 / 6) */
    assert_non_null(strstr(text, "\"seq\": 7"));
    assert_non_null(strstr(text, "\"layer\": 1"));
    assert_non_null(strstr(text, "\"stage\": \"q_proj\""));
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            (void)snprintf(file, sizeof file, "%.70s/%.80s", folder, e->d_name);
            (void)unlink(file);
            n++;
        }
    (void)closedir(d);
    (void)rmdir(folder);
    assert_int_equal(n, 3);
}

/* --- ends --- */

static void no_stop(void)
{
    start(NULL);
    forward(1, 0);
    tt_batch_begin(NULL);
    (void)tt_op_begin(&(tt_record_tensor){.name = "open", .op = "ADD", .n_dims = 1, .ne = {4}});
}

static void test_exit(void **state)
{
    tt_reader_summary s;
    (void)state;
    expect_well(no_stop);
    verified(path);
    tt_reader_close(opened(path, &s));
    assert_true(s.complete);
    assert_int_equal(s.batches, 2);
}

static void nothing(void)
{
    start(NULL);
}

static void test_nothing(void **state)
{
    (void)state;
    expect_well(nothing);
    assert_int_equal(access(path, F_OK), -1);
}

static void forks(void)
{
    start("hash");
    forward(1, 0);
    tt_batch_begin(NULL); /* under way: the parent's */
    pid_t pid = fork();
    if (pid == 0) {
        forward(1, 1);
        forward(2, 2);
        must(tt_record_stop(NULL) == TT_OK);
        must(rename(tt_record_path(), second) == 0);
        _exit(0);
    }
    int status = -1;
    must(waitpid(pid, &status, 0) == pid && status == 0);
    tt_batch_end(0);
    must(tt_record_stop(NULL) == TT_OK);
}

/* A child with a descriptor of the file would look as if it still wrote it. */
static bool has_part(void)
{
    char link[300], to[300];
    bool has = false;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        (void)snprintf(link, sizeof link, "/proc/self/fd/%s", e->d_name);
        const ssize_t n = readlink(link, to, sizeof to - 1);
        if (n > 0) to[n] = '\0';
        has |= n > 0 && strstr(to, ".part");
    }
    (void)closedir(d);
    return has;
}

static atomic_bool opened_it;

static void *open_it(void *context)
{
    start(NULL);
    atomic_store(&opened_it, true);
    return context;
}

/* While another thread makes the trace's files. */
static void forks_while_opening(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, open_it, NULL) == 0);
    for (bool last = false; !last;) {
        last = atomic_load(&opened_it);
        const pid_t pid = fork();
        if (pid == 0) _exit(has_part());
        int status = -1;
        must(waitpid(pid, &status, 0) == pid && status == 0);
    }
    must(has_part() && pthread_join(thread, NULL) == 0);
    forward(1, 0);
    must(tt_record_stop(NULL) == TT_OK);
}

static void test_a_fork_while_files_are_made(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* it does not let a program with threads fork */
#endif
    for (int i = 0; i < 8; i++)
        expect_well(forks_while_opening);
}

static void test_fork(void **state)
{
    tt_reader_summary s;
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* it does not let a forked child start threads */
#endif
    expect_well(forks);
    verified(path);
    tt_reader_close(opened(path, &s));
    assert_int_equal(s.batches, 2);
    verified(second);
    tt_reader_close(opened(second, &s));
    assert_int_equal(s.batches, 2);
    assert_int_equal(s.records, 4);
}

static void killed(void)
{
    start("hash");
    forward(1, 0);
    dies = true;
    forward(2, 1);
}

static void test_kill(void **state)
{
    char part[80];
    tt_recover_report report;
    tt_reader_summary s;
    tt_reader_run r;
    (void)state;
    int status = run(killed);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    (void)snprintf(part, sizeof part, "%s.part", path);
    assert_int_equal(tt_recover(part, 0, &report, NULL), TT_OK);
    verified(path);
    tt_reader *reader = opened(path, &s);
    assert_int_equal(s.batches, 2);
    assert_int_equal(s.records, 4);
    assert_int_equal(ops_of(reader, 1), 2);
    /* The batch that had not ended is taken for one like the batch before. */
    assert_int_equal(tt_reader_get_run(reader, 1, &r), TT_OK);
    assert_int_equal(r.graph, 0);
    assert_int_equal(r.end_ns, 0);
    tt_reader_close(reader);
}

static void full_disk(void)
{
    const struct rlimit little = {16384, 16384};
    tt_error err = {.message = ""};
    start("full");
    must(setrlimit(RLIMIT_FSIZE, &little) == 0);
    for (int i = 0; i < 3000; i++) {
        hidden[0] = (float)random();
        forward(i * 7919, i);
    }
    must(tt_record_stop(&err) == TT_E_IO && err.message[0] && !tt_recording);
    forward(1, 1);
}

static void test_full_disk(void **state)
{
    (void)state;
    expect_well(full_disk);
}

static void test_lines(void **state)
{
    char folder[80], file[160], text[4096];
    unsigned lines = 0;
    (void)state;
    (void)snprintf(folder, sizeof folder, "recording-%d-lines", (int)getpid());
    (void)setenv("BITNET_TRACE_DIR", folder, 1);
    (void)setenv("TENSORTRACE_BITNET_LINES", "1", 1);
    (void)snprintf(text, sizeof text, "%s", program_invocation_name);
    pid_t pid = fork();
    if (pid == 0) (void)execl("/proc/self/exe", text, "files", (char *)NULL);
    int status = -1;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    (void)unsetenv("BITNET_TRACE_DIR");
    (void)unsetenv("TENSORTRACE_BITNET_LINES");
    assert_int_equal(status, 0);
    (void)snprintf(file, sizeof file, "%s/values.jsonl", folder);
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    for (; fgets(text, sizeof text, f); lines++)
        assert_true(text[0] == '{' && strcmp(text + strlen(text) - 2, "}\n") == 0);
    (void)fclose(f);
    assert_int_equal(lines, 3);
    (void)unlink(file);
    assert_int_equal(rmdir(folder), 0);
}

/* --- values in memory --- */

static void sink_alone(void)
{
    static const uint8_t nothing[32];
    const uint64_t ne = 4;
    tt_sink_value v, again;
    tt_value_sink *all = tt_value_sink_open(NULL, 0), *some = tt_value_sink_open("Q*-[0-9]", 2);
    must(all && some && tt_recording);
    for (int i = 0; i < 3; i++)
        forward(40 + i, i);
    tt_value("by itself", hidden, TT_TYPE_F32, 1, &ne, -2, "all_layers_out", 7);
    must(tt_value_sink_count(all, NULL) == 7 && tt_value_sink_count(all, "Q*") == 3);
    must(tt_value_sink_count(some, NULL) == 2 && tt_value_sink_left_out(some) == 1);
    must(!tt_value_sink_get(some, NULL, 2, &v) && !tt_value_sink_get(all, "nothing", 0, &v));
    must(tt_value_sink_get(some, NULL, 1, &v) && tt_value_sink_get(all, "Qcur-1", 1, &again));
    must(strcmp(v.name, "Qcur-1") == 0 && strcmp(v.stage, "q_proj") == 0);
    must(v.layer == 1 && v.position == 1 && v.type == TT_TYPE_F32 && v.n_dims == 1 && v.ne[0] == 4);
    must(v.n_elements == 4 && v.n_first == 4 && v.first[0] == 41 && v.first[3] == 44);
    must(v.rms > 42.51 && v.rms < 42.52); /* sqrt((41^2 + 42^2 + 43^2 + 44^2) / 4) */
    must(memcmp(v.blake3, nothing, 32) != 0 && memcmp(v.blake3, again.blake3, 32) == 0);
    must(tt_value_sink_get(all, "result", 2, &again) && again.layer == TT_NO_LAYER);
    must(again.first[0] == 84 && memcmp(v.blake3, again.blake3, 32) != 0);
    must(tt_value_sink_get(all, "by itself", 0, &again) && again.layer == -2 &&
         again.position == 7);
    /* The same elements, by another way. */
    must(tt_value_sink_get(all, "Qcur-1", 2, &v) && memcmp(v.blake3, again.blake3, 32) == 0);
    tt_value_sink_clear(some);
    must(tt_value_sink_count(some, NULL) == 0 && tt_value_sink_left_out(some) == 0);
    tt_value_sink_close(all);
    forward(9, 9);
    must(tt_value_sink_count(some, NULL) == 1 && tt_recording);
    tt_value_sink_close(some);
    must(!tt_recording);
    must(tt_value_sink_count(NULL, NULL) == 0 && !tt_value_sink_get(NULL, NULL, 0, &v));
    tt_value_sink_close(NULL);
}

static void sink_beside_a_trace(void)
{
    tt_value_sink *sink = tt_value_sink_open("result", 0);
    three_tokens();
    must(tt_value_sink_count(sink, NULL) == 3 && tt_recording);
    forward(50, 3);
    must(tt_value_sink_count(sink, NULL) == 4);
    pid_t pid = fork();
    if (pid == 0) {
        forward(51, 4);
        _exit(tt_value_sink_count(sink, NULL) == 5 ? 0 : 1);
    }
    int status = -1;
    must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    must(tt_value_sink_count(sink, NULL) == 4);
    tt_value_sink_close(sink);
}

static void test_sinks(void **state)
{
    (void)state;
    expect_well(sink_alone);
    assert_int_not_equal(access(path, F_OK), 0);
    expect_well(sink_beside_a_trace);
    verified(path);
}

enum { SINK_THREADS = 4, SINK_VALUES = 500 };

static void *put_values(void *name)
{
    const float data[3] = {1, 2, 3};
    const uint64_t ne = 3;
    for (int i = 0; i < SINK_VALUES; i++)
        tt_value(name, data, TT_TYPE_F32, 1, &ne, TT_NO_LAYER, NULL, i);
    return NULL;
}

static void sinks_of_threads(void)
{
    static char names[SINK_THREADS][2] = {"a", "b", "c", "d"};
    pthread_t threads[SINK_THREADS];
    tt_value_sink *sink = tt_value_sink_open(NULL, 0);
    tt_sink_value v;
    for (int i = 0; i < SINK_THREADS; i++)
        must(pthread_create(&threads[i], NULL, put_values, names[i]) == 0);
    for (int i = 0; i < 100; i++)
        tt_value_sink_close(tt_value_sink_open("b", 1));
    for (int i = 0; i < SINK_THREADS; i++)
        must(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < SINK_THREADS; i++)
        for (size_t k = 0; k < SINK_VALUES; k += 99)
            must(tt_value_sink_get(sink, names[i], k, &v) && v.position == (int64_t)k);
    must(tt_value_sink_count(sink, NULL) == (size_t)SINK_THREADS * SINK_VALUES);
    tt_value_sink_close(sink);
}

static void test_sinks_of_threads(void **state)
{
    (void)state;
    expect_well(sinks_of_threads);
}

static void limited(void)
{
    tt_record_options o = {.path = path, .limit_bytes = 20000};
    must(tt_record_start(&o, NULL) == TT_OK);
    for (int i = 0; i < 3000; i++) {
        forward(i, i);
        if (i % 100 == 0) (void)usleep(20000);
    }
    must(tt_record_stop(NULL) == TT_OK);
}

static void test_limit(void **state)
{
    tt_reader_summary s;
    (void)state;
    expect_well(limited);
    verified(path);
    tt_reader_close(opened(path, &s));
    assert_true(s.complete && s.batches > 0 && s.batches < 3000);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "files") == 0) {
        files();
        return 0;
    }
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh_path, remove_path)
        TEST(test_whole),
        TEST(test_off),
        TEST(test_start_again),
        TEST(test_threads),
        TEST(test_nonsense),
        TEST(test_buffers),
        TEST(test_loose),
        TEST(test_places),
        TEST(test_selected),
        TEST(test_files),
        TEST(test_exit),
        TEST(test_nothing),
        TEST(test_fork),
        TEST(test_kill),
        TEST(test_full_disk),
        TEST(test_limit),
        TEST(test_no_op),
        TEST(test_sinks),
        TEST(test_sinks_of_threads),
        TEST(test_lines),
        TEST(test_a_fork_while_files_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
