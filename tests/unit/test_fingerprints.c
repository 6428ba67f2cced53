/* Outputs taken by the threads that compute, between two ops, where the next op may write over
 * what the one before has put out. Run it under the thread sanitizer as well. */
#include "tests.h"

#include "adapter/ggml/fingerprints.h"
#include "value/pack.h"
#include "value/type.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3u
#define OPS 300u
#define ELEMENTS_MAX 70000u
#define SLOTS (1u << 14)
#define PLACES 3u

enum { OP = 1 };

/* Small ones are taken by one thread, the others by all of them. */
static const uint32_t sizes[] = {1, 100, 16384, 16385, ELEMENTS_MAX};

static float memory[PLACES][ELEMENTS_MAX];
static struct ggml_tensor nodes[OPS];
static tt_fingerprints prints;
static pthread_barrier_t barrier;
static bool always_elsewhere; /* no op writes over what the one before has put out */

static struct {
    tt_ring ring;
    tt_detail slots[SLOTS];
    tt_detail_writer writer;
    pthread_t thread;
    uint32_t number;
} workers[THREADS];

static const char *op_name(int op)
{
    return op == OP ? "OP" : "NONE";
}

static const char *type_name(int type)
{
    return type == 0 ? "f32" : "?";
}

static size_t nbytes(const struct ggml_tensor *t)
{
    return (size_t)t->ne[0] * sizeof(float);
}

static const tt_engine engine = {
    .op_name = op_name, .type_name = type_name, .nbytes = nbytes, .op_set_rows = -1};

static float element(uint32_t op, uint64_t i)
{
    return (float)((op * 37 + i) % 1009);
}

/* In place, over a part of it, or elsewhere. */
static void make_nodes(void)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < OPS; i++) {
        struct ggml_tensor *t = &nodes[i];
        memset(t, 0, sizeof *t);
        if (always_elsewhere || i % 4 != 1) place = (place + 1) % PLACES;
        t->op = OP;
        t->ne[0] = sizes[i * 7 % (sizeof sizes / sizeof *sizes)];
        t->ne[1] = t->ne[2] = t->ne[3] = 1;
        t->nb[0] = sizeof(float);
        t->nb[1] = t->nb[2] = t->nb[3] = nbytes(t);
        t->data = memory[place];
    }
}

static void compute(uint32_t op, uint32_t ith)
{
    float *out = nodes[op].data;
    for (uint64_t i = ith; i < (uint64_t)nodes[op].ne[0]; i += THREADS)
        out[i] = element(op, i);
}

static void *work(void *number)
{
    uint32_t ith = *(const uint32_t *)number;
    for (uint32_t i = 0; i < OPS; i++) {
        const tt_next_op next = {&nodes[i], &nodes[i]};
        if (i)
            (void)tt_fingerprints_take(&prints, &nodes[i - 1], 1, i - 1, ith, THREADS, &next,
                                       &workers[ith].writer);
        compute(i, ith);
        (void)pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void begin(bool elsewhere)
{
    static struct ggml_tensor *list[OPS];
    const tt_select all = {.level = TT_VALUES_HASH};
    always_elsewhere = elsewhere;
    make_nodes();
    for (uint32_t i = 0; i < OPS; i++)
        list[i] = &nodes[i];
    tt_fingerprints_choose(&prints, &engine, &all, 0, list, OPS);
    assert_true(prints.any);
    (void)pthread_barrier_init(&barrier, NULL, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        memset(&workers[i].ring, 0, sizeof workers[i].ring);
        workers[i].writer = (tt_detail_writer){
            .ring = &workers[i].ring, .slots = workers[i].slots, .mask = SLOTS - 1, .room = SLOTS};
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i].number), 0);
    }
}

static void wait_for_all(void)
{
    for (uint32_t i = 0; i < THREADS; i++)
        (void)pthread_join(workers[i].thread, NULL);
    (void)pthread_barrier_destroy(&barrier);
}

static tt_fingerprint expected(uint32_t op)
{
    static float data[ELEMENTS_MAX];
    static tt_value_piece pieces[TT_VALUE_PIECES_MAX];
    const uint64_t n = (uint64_t)nodes[op].ne[0];
    const tt_value_data v = {
        .type = TT_VALUE_F32, .ne = {n, 1, 1, 1}, .nb = {4, 4 * n, 4 * n, 4 * n}, .data = data};
    tt_fingerprint f;
    for (uint64_t i = 0; i < n; i++)
        data[i] = element(op, i);
    tt_value_look(&v, &f);
    for (uint32_t k = 0; k < tt_value_pieces(&v); k++)
        tt_value_take(&v, k, TT_VALUE_WITH_BLAKE3, &pieces[k]);
    tt_value_finish(pieces, tt_value_pieces(&v), TT_VALUE_WITH_BLAKE3, &f);
    return f;
}

/* How many there are; each is that of its op. */
static uint32_t check_all(void)
{
    uint32_t found = 0;
    for (uint32_t w = 0; w < THREADS; w++) {
        const tt_detail *d = workers[w].slots;
        for (uint64_t at = 0; at < workers[w].writer.head; found++) {
            uint8_t packed[TT_VALUE_PACKED_MAX], got[sizeof packed + TT_DETAIL_VALUE_BYTES];
            const uint32_t op = tt_detail_node(&d[at]);
            const tt_fingerprint f = expected(op);
            const size_t size = tt_value_pack(&f, packed);
            for (size_t part = 0; part * TT_DETAIL_VALUE_BYTES < size; part++, at++) {
                assert_int_equal(tt_detail_node(&d[at]), op);
                assert_int_equal(d[at].value.part, part);
                memcpy(got + part * TT_DETAIL_VALUE_BYTES, d[at].value.bytes,
                       TT_DETAIL_VALUE_BYTES);
            }
            assert_memory_equal(got, packed, size);
        }
    }
    return found;
}

static void outputs_are_taken_before_they_are_written_over(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        begin(false);
        wait_for_all();
        /* The last op's is taken by the thread that called for the graph. */
        (void)tt_fingerprints_take(&prints, &nodes[OPS - 1], 1, OPS - 1, 0, 1, NULL,
                                   &workers[0].writer);
        assert_int_equal(check_all(), OPS);
    }
}

static void *abandon(void *microseconds)
{
    const struct timespec pause = {.tv_nsec = 1000 * *(const long *)microseconds};
    (void)nanosleep(&pause, NULL);
    tt_fingerprints_abandon(&prints);
    return NULL;
}

static void what_is_taken_when_recording_ends_is_right(void **state)
{
    (void)state;
    for (long i = 0; i < 20; i++) {
        pthread_t thread;
        long microseconds = i * 300;
        begin(true);
        assert_int_equal(pthread_create(&thread, NULL, abandon, &microseconds), 0);
        wait_for_all();
        (void)pthread_join(thread, NULL);
        (void)check_all();
    }
}

/* Others may have gone on by then, and written over it. */
static void nothing_is_taken_of_what_is_abandoned(void **state)
{
    const tt_next_op next = {&nodes[1], &nodes[1]};
    (void)state;
    begin(true);
    wait_for_all();
    tt_fingerprints_abandon(&prints);
    workers[0].writer.head = 0;
    assert_false(
        tt_fingerprints_take(&prints, &nodes[0], 1, 0, 0, THREADS, &next, &workers[0].writer));
    assert_int_equal(workers[0].writer.head, 0);
}

static int end(void **state)
{
    (void)state;
    tt_fingerprints_free(&prints);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_taken_before_they_are_written_over),
        cmocka_unit_test(what_is_taken_when_recording_ends_is_right),
        cmocka_unit_test(nothing_is_taken_of_what_is_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
