/* Ops that a program reports again, batch by batch: nobody is waited for, and whatever changes is
 * seen. The right graph of a changed batch is that of a process which reports only that one. */
#include "tests.h"

#include "adapter/ggml/process.h"
#include "model/model.h"
#include "tensortrace/record.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64], alone[64];
static float memory[2][64], elsewhere[64];

/* What differs in a batch. */
enum change {
    NOTHING,
    NAME,
    OP,
    TYPE,
    SHAPE,
    DIMENSIONS,
    STRIDES,
    PLACE,
    BUFFER,
    SOURCE,
    NO_SOURCE,
    SOURCES_SHAPE,
    SOURCES_STRIDES,
    STAGE,
    LAYER,
    ONE_LESS,
    ONE_MORE,
    ORDER,
    CHANGES
};

static void tell(enum change c)
{
    const tt_record_tensor x = {.name = "x", .n_dims = 1, .ne = {8}, .data = memory[0]};
    tt_record_tensor w = {.name = "w", .n_dims = 2, .ne = {8, 4}, .data = memory[1]};
    tt_record_tensor first = {.name = "first",
                              .op = "MUL_MAT",
                              .n_dims = 2,
                              .ne = {4, 2},
                              .nb = {4, 16},
                              .data = &memory[0][8],
                              .n_sources = 2,
                              .sources = {&w, &x},
                              .stage = "q_proj",
                              .layer = 1};
    tt_record_tensor last = {
        .name = "last", .op = "ADD", .n_dims = 1, .ne = {4}, .n_sources = 1, .sources = {&first}};
    char name[] = "lasf", op[] = "ADE", stage[] = "q_prok"; /* of the same length as before */
    if (c == NAME) last.name = name;
    if (c == OP) last.op = op;
    if (c == TYPE) first.type = TT_TYPE_F16;
    if (c == SHAPE) first.ne[1] = 3;
    if (c == DIMENSIONS) first.n_dims = 1;
    if (c == STRIDES) first.nb[1] = 32;
    if (c == PLACE) first.data = &memory[0][9];
    if (c == BUFFER) tt_buffer_add("other", elsewhere, sizeof elsewhere, TT_BUFFER_USE_COMPUTE);
    if (c == BUFFER) first.data = elsewhere;
    if (c == SOURCE) last.sources[0] = &x;
    if (c == NO_SOURCE) last.n_sources = 0;
    if (c == SOURCES_SHAPE) w.ne[1] = 5;
    if (c == SOURCES_STRIDES) w.nb[0] = 4, w.nb[1] = 64;
    if (c == STAGE) first.stage = stage;
    if (c == LAYER) first.layer = 2;
    tt_batch_begin(NULL);
    for (int i = 0; i < 3; i++) {
        const bool swapped = c == ORDER;
        tt_op_begin((i == 1) != swapped ? &last : &first);
        tt_op_end();
        if (i == 0 && c == ONE_MORE) {
            const tt_record_tensor more = {.name = "more", .op = "SCALE", .n_dims = 1, .ne = {2}};
            tt_op_begin(&more);
            tt_op_end();
        }
        if (i == 1 && c == ONE_LESS) break;
        first.name = "third";
    }
    tt_batch_end(0);
}

static void start(const char *to)
{
    const tt_record_options o = {.path = to, .replace = 1};
    if (tt_record_start(&o, NULL) != TT_OK) _exit(9);
    tt_buffer_add("first", memory, sizeof memory, TT_BUFFER_USE_COMPUTE);
}

static void in_child(const char *to, void (*work)(enum change), enum change c)
{
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        start(to);
        work(c);
        _exit(tt_record_stop(NULL) == TT_OK ? 0 : 9);
    }
    int status = -1;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

static void between(enum change c)
{
    for (int i = 0; i < 3; i++)
        tell(NOTHING);
    tell(c);
    tell(c);
    tell(NOTHING);
    tell(NOTHING);
}

static const tt_graph *graph_of(const tt_model *m, uint32_t batch)
{
    return &m->graphs[m->runs[batch].graph];
}

static const char *text(const char *t)
{
    return t ? t : "";
}

static void assert_same(const tt_graph *a, const tt_graph *b)
{
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_tensors, b->n_tensors);
    for (uint32_t i = 0; i < a->n_tensors; i++) {
        const tt_tensor *s = &a->tensors[i], *t = &b->tensors[i];
        assert_string_equal(s->name, t->name);
        assert_string_equal(s->op_name, t->op_name);
        assert_string_equal(text(s->stage), text(t->stage));
        assert_int_equal(s->stage_layer, t->stage_layer);
        assert_int_equal(s->type, t->type);
        assert_memory_equal(s->ne, t->ne, sizeof s->ne);
        assert_memory_equal(s->nb, t->nb, sizeof s->nb);
        assert_int_equal(s->n_src, t->n_src);
        assert_memory_equal(s->src, t->src, s->n_src * sizeof *s->src);
        assert_int_equal(s->location, t->location);
    }
}

static void test_changes(void **state)
{
    (void)state;
    for (enum change c = NOTHING; c < CHANGES; c++) {
        tt_model *m, *only;
        in_child(path, between, c);
        in_child(alone, tell, c);
        assert_int_equal(tt_model_open(path, &m, NULL), TT_OK);
        assert_int_equal(tt_model_open(alone, &only, NULL), TT_OK);
        assert_int_equal(m->n_runs, 7);
        /* The same graph is written once, and so is the changed one. */
        assert_int_equal(m->n_graphs, c == NOTHING ? 1 : c == BUFFER ? m->n_graphs : 2);
        assert_same(graph_of(m, 3), graph_of(only, 0));
        assert_same(graph_of(m, 4), graph_of(only, 0));
        in_child(alone, tell, NOTHING);
        tt_model_close(only);
        assert_int_equal(tt_model_open(alone, &only, NULL), TT_OK);
        for (uint32_t i = 0; i < 7; i++)
            if (i != 3 && i != 4) assert_same(graph_of(m, i), graph_of(only, 0));
        tt_model_close(only);
        tt_model_close(m);
    }
    (void)unlink(path);
    (void)unlink(alone);
}

/* --- nobody is waited for --- */

static sem_t begun, held;

static void *again(void *context)
{
    const tt_record_tensor w = {.name = "w", .n_dims = 2, .ne = {8, 4}};
    for (int i = 0; i < 3; i++) {
        tt_batch_begin(NULL);
        if (i == 2) {
            (void)sem_post(&begun);
            (void)sem_wait(&held);
        }
        for (int k = 0; k < 100; k++) {
            char name[16];
            (void)snprintf(name, sizeof name, "node-%d", k);
            const tt_record_tensor t = {
                .name = name, .op = "ADD", .n_dims = 1, .ne = {8}, .n_sources = 1, .sources = {&w}};
            tt_op_begin(&t);
            tt_op_end();
        }
        if (i == 2) (void)sem_post(&begun);
        tt_batch_end(0);
    }
    return context;
}

static void beside_the_lock(enum change c)
{
    pthread_t thread;
    (void)c;
    (void)sem_init(&begun, 0, 0);
    (void)sem_init(&held, 0, 0);
    if (pthread_create(&thread, NULL, again, NULL) != 0) _exit(9);
    (void)sem_wait(&begun);
    /* Until the thread has reported its ops: it would wait for this lock for ever. */
    (void)pthread_mutex_lock(&tt_process_lock);
    (void)sem_post(&held);
    (void)alarm(60);
    (void)sem_wait(&begun);
    (void)pthread_mutex_unlock(&tt_process_lock);
    (void)pthread_join(thread, NULL);
}

static void test_no_lock(void **state)
{
    tt_model *m;
    (void)state;
    in_child(path, beside_the_lock, NOTHING);
    assert_int_equal(tt_model_open(path, &m, NULL), TT_OK);
    assert_int_equal(m->n_runs, 3);
    assert_int_equal(m->n_graphs, 1);
    assert_int_equal(m->graphs[0].n_nodes, 100);
    tt_model_close(m);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes),
                                       cmocka_unit_test(test_no_lock)};
    (void)snprintf(path, sizeof path, "again-%d.ttrace", (int)getpid());
    (void)snprintf(alone, sizeof alone, "again-%d-alone.ttrace", (int)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
