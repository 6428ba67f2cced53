/* Traces made to be slow: what a command takes is bounded by the size of the file, whatever it
 * holds. */
#include "tests.h"

#include "analyze/faults.h"
#include "format/ops.h"
#include "format/page_faults.h"
#include "hand_trace.h"
#include "model/faults.h"

#include <stdlib.h>
#include <time.h>

#define EXPERTS 60000u
#define SLICE_BYTES 64u /* of an expert */
#define MANY 60000u
#define THREAD 100u
#define ADDRESS ((uint64_t)1 << 40)
#define CPU_S 5.0 /* each took longer when all pairs were looked at; now it takes 0.2 s */

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put(hand *h, uint8_t type)
{
    hand_put(h, type);
    if (h->meta.size > 1u << 20) hand_flush(h);
}

static void put_ops(hand *h, const tt_op_record *ops, size_t n)
{
    tt_bytes raw;
    tt_index_entry e = {.run_min = ops[0].run, .run_max = ops[n - 1].run};
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(&raw, ops, n, 0));
    hand_chunk(h, (tt_chunk_header){.type = TT_CHUNK_OPS, .stream = 1, .count = (uint32_t)n}, &raw,
               e);
    tt_bytes_free(&raw);
}

/* Faults of the thread, a tick apart from `begin` on; the one at `i` is `step` bytes after that
 * before it, and every third one had to wait for the disk. */
static void put_faults(hand *h, uint64_t begin, uint32_t n, uint32_t step)
{
    static tt_page_fault list[TT_PAGE_FAULTS_MAX];
    for (uint32_t i = 0, k; i < n; i += k) {
        const uint64_t from = begin + i;
        for (k = 0; k < TT_PAGE_FAULTS_MAX && i + k < n; k++)
            list[k] = (tt_page_fault){.ticks = begin + i + k,
                                      .address = ADDRESS + 4096 + (uint64_t)step * (i + k),
                                      .thread = THREAD,
                                      .mapping = 1,
                                      .major = (i + k) % 3 == 0};
        tt_page_faults_put(&h->record, from, from + k, list, k);
        put(h, TT_META_PAGE_FAULTS);
    }
}

static void put_mapping(hand *h, uint32_t id, uint64_t inode, uint64_t size)
{
    const tt_meta_mapping p = {.id = id,
                               .ticks = 2,
                               .address = ADDRESS,
                               .size_bytes = size,
                               .device = 5,
                               .inode = inode,
                               .path = hand_span("/elsewhere")};
    tt_meta_put_mapping(&h->record, &p);
    put(h, TT_META_MAPPING);
}

static void put_model(hand *h, uint32_t id, uint64_t inode, uint32_t experts)
{
    const uint32_t f32 = hand_string(h, "f32");
    char path[32];
    (void)snprintf(path, sizeof path, "m%u.gguf", id);
    const tt_meta_model m = {.id = id,
                             .path = hand_span(path),
                             .size_bytes = 4096 + SLICE_BYTES * (uint64_t)experts,
                             .device = 5,
                             .inode = inode,
                             .data_offset_bytes = 4096};
    tt_meta_put_model(&h->record, &m);
    tt_bytes_varint(&h->record, experts > 0);
    const tt_meta_weight w = {.name = hand_span("w0"),
                              .type_name = f32,
                              .n_dims = 3,
                              .ne = {4, 4, experts, 1},
                              .offset_bytes = 4096,
                              .size_bytes = SLICE_BYTES * (uint64_t)experts};
    if (experts) tt_meta_put_weight(&h->record, &w);
    put(h, TT_META_MODEL);
}

/* An expert matmul that reads all experts, one token each. */
static void put_graph(hand *h, uint32_t experts)
{
    tt_meta_tensor *out = hand_tensor(h, "out", "MUL_MAT_ID", 4, 1, 1);
    (void)hand_tensor(h, "w0", "NONE", 4, 4, experts);
    (void)hand_tensor(h, "in", "NONE", 4, 1, 1);
    (void)hand_tensor(h, "ids", "NONE", 1, experts, 1);
    for (uint32_t i = 1; i < 4; i++)
        hand_source(out, i);
    hand_graph(h, 1, 1);
}

static tt_faults *sum(const tt_model *m, tt_faults_by by)
{
    tt_error err;
    const tt_filter filter = {0};
    tt_faults *f = tt_faults_new(m, by, &filter);
    assert_non_null(f);
    if (tt_faults_sum(f, NULL, NULL, &err) != TT_OK) fail_msg("%s", err.message);
    return f;
}

/* One op, its experts, and a fault in each of them: whose fault it is, is known. */
static void experts_and_faults_of_one_op(void **state)
{
    static tt_detail list[EXPERTS + 1];
    hand h;
    size_t n;
    (void)state;
    hand_begin_whole(&h);
    tt_meta_put_ring(&h.record, &(tt_meta_ring){0, THREAD, 2});
    put(&h, TT_META_RING);
    put_model(&h, 1, 7, EXPERTS);
    put_mapping(&h, 1, 7, 4096 + SLICE_BYTES * EXPERTS);
    put_graph(&h, EXPERTS);
    hand_run(&h, 1, 0, 1);
    put_faults(&h, 1000, EXPERTS, SLICE_BYTES);
    tt_meta_put_clock(&h.record, &(tt_meta_clock){1000000, 1000000, 1000000});
    put(&h, TT_META_CLOCK);
    hand_flush(&h);
    put_ops(&h, &(tt_op_record){1000, 1000 + EXPERTS - 1, 1000 + EXPERTS - 1, 1, 0}, 1);
    for (uint32_t i = 0; i < EXPERTS; i++)
        list[i] = (tt_detail){.run = 1,
                              .place = tt_detail_place(0, 0, TT_DETAIL_EXPERTS),
                              .experts = {i, 0, 1, {(uint16_t)i}}};
    list[EXPERTS] = (tt_detail){.run = 1,
                                .place = tt_detail_place(0, 0, TT_DETAIL_FAULTS),
                                .faults = {EXPERTS - EXPERTS / 3, EXPERTS / 3, 1, EXPERTS}};
    hand_details(&h, list, EXPERTS + 1);
    tt_model *m = hand_open(&h, true);
    const double began = cpu_s();
    tt_faults *f = sum(m, TT_FAULTS_BY_EXPERT);
    const tt_faults_row *rows = tt_faults_rows(f, &n);
    assert_true(cpu_s() - began < CPU_S);
    assert_int_equal(n, EXPERTS);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].number, i);
        assert_int_equal(rows[i].counts.major, i % 3 == 0);
        assert_int_equal(rows[i].counts.minor, i % 3 != 0);
        /* A third of the experts share the bytes. */
        assert_int_equal(rows[i].counts.read_bytes, i % 3 == 0 ? 3 : 0);
    }
    tt_faults_free(f);
    hand_close(&h, m);
}

/* Runs that ask for the thread of a ring that was claimed again and again, and whether the faults
 * of their time are known. Every second interval between runs lost some. */
static void rings_losses_and_runs(void **state)
{
    tt_op_record *ops = calloc(MANY, sizeof *ops);
    tt_detail *list = calloc(MANY, sizeof *list);
    hand h;
    (void)state;
    assert_true(ops && list);
    hand_begin_whole(&h);
    put_model(&h, 1, 7, 4);
    put_mapping(&h, 1, 7, 4096 + SLICE_BYTES * 4);
    put_graph(&h, 4);
    for (uint32_t i = 0; i < MANY; i++) {
        tt_meta_put_ring(&h.record, &(tt_meta_ring){0, i % 2 ? THREAD : 7, 2 + i});
        put(&h, TT_META_RING);
    }
    const uint64_t begin = 1000 + MANY, end = begin + 11ull * MANY;
    put_faults(&h, begin, 10 * MANY, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        const uint64_t at = begin + 10 * (uint64_t)i;
        hand_run(&h, i + 1, 0, 1);
        ops[i] = (tt_op_record){at, at + 4, at + 4, i + 1, 0};
        list[i] = (tt_detail){.run = i + 1,
                              .place = tt_detail_place(0, 0, TT_DETAIL_FAULTS),
                              .faults = {3, 2, 1, UINT64_MAX}};
        if (i % 2) {
            tt_meta_put_page_fault_loss(&h.record, &(tt_meta_page_fault_loss){at + 5, at + 7, 1});
            put(&h, TT_META_PAGE_FAULT_LOSS);
        }
        if (h.meta.size > 1u << 20) hand_flush(&h);
    }
    tt_meta_put_clock(&h.record, &(tt_meta_clock){end, end, end});
    put(&h, TT_META_CLOCK);
    hand_flush(&h);
    put_ops(&h, ops, MANY);
    hand_details(&h, list, MANY);
    const double began = cpu_s();
    tt_model *m = hand_open(&h, true);
    tt_faults *f = sum(m, TT_FAULTS_BY_TENSOR);
    assert_true(cpu_s() - began < CPU_S);
    uint32_t thread = 0;
    assert_true(tt_model_thread_of(m, 1, begin, &thread));
    assert_int_equal(thread, THREAD);
    assert_true(tt_model_thread_of(m, 1, 2, &thread));
    assert_int_equal(thread, 7);
    assert_false(tt_model_thread_of(m, 2, begin, &thread));
    assert_true(tt_model_faults_known(m, begin + 8, begin + 12));
    assert_true(tt_model_faults_known(m, begin + 10, begin + 14));
    assert_false(tt_model_faults_known(m, begin + 10, begin + 15));
    assert_false(tt_model_faults_known(m, begin + 17, begin + 18));
    assert_int_equal(tt_faults_total(f)->counts.major, 2 * MANY);
    tt_faults_free(f);
    hand_close(&h, m);
    free(ops);
    free(list);
}

static void files_and_mappings(void **state)
{
    hand h;
    (void)state;
    hand_begin_whole(&h);
    for (uint32_t i = 1; i <= MANY; i++)
        put_model(&h, i, i, 0);
    for (uint32_t i = 1; i <= MANY; i++)
        put_mapping(&h, i, i % 2 ? 2 * MANY + i : i, 4096);
    const double began = cpu_s();
    tt_model *m = hand_open(&h, true);
    assert_true(cpu_s() - began < CPU_S);
    assert_int_equal(m->n_mappings, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(m->mappings[i].file, i % 2 ? i : TT_NONE);
    hand_close(&h, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_and_faults_of_one_op),
        cmocka_unit_test(rings_losses_and_runs),
        cmocka_unit_test(files_and_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
