/* The check `values` of `verify` is seen to fail on each thing that it is about, and the data of
 * outputs is found and read, part by part. */
#include "tests.h"

#include "analyze/values/outputs.h"
#include "analyze/verify/verify.h"
#include "hand_trace.h"
#include "value/pack.h"
#include "value/type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `norm` stays inside of `mul`; `store` writes 3 rows of 4 into a cache of 20. */
enum { NORM, MUL, STORE, LARGE, UNUSED, NODES, LEAF_ROWS = NODES };
#define LARGE_ROWS 70000u /* of 4 elements: more than a part holds */

static float large[4 * LARGE_ROWS];

static tt_meta_tensor *node(hand *h, const char *name, const char *op, uint64_t rows)
{
    tt_meta_tensor *t = hand_tensor(h, name, op, 4, rows, 1);
    t->type_name = hand_string(h, "f32");
    return t;
}

static void put_ops(hand *h)
{
    const tt_op_record ops[] = {
        {.run = 1, .place = tt_op_place(NORM, 0, 1), .start = 1, .arrive = 2, .release = 3},
        {.run = 1, .place = tt_op_place(STORE, 0, 0), .start = 3, .arrive = 4, .release = 5},
        {.run = 1, .place = tt_op_place(LARGE, 0, 0), .start = 5, .arrive = 6, .release = 7}};
    tt_bytes raw;
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(&raw, ops, 3, 0));
    hand_chunk(h, (tt_chunk_header){.type = TT_CHUNK_OPS, .stream = 1, .count = 3}, &raw,
               (tt_index_entry){.run_min = 1, .run_max = 1});
    tt_bytes_free(&raw);
}

static void begin(hand *h)
{
    hand_begin_whole(h);
    (void)node(h, "norm", "RMS_NORM", 2);
    hand_source(node(h, "mul", "MUL", 2), NORM);
    tt_meta_tensor *t = node(h, "store", "SET_ROWS", 20);
    hand_source(t, MUL);
    hand_source(t, LEAF_ROWS);
    (void)node(h, "large", "ADD", LARGE_ROWS);
    node(h, "unused", "VIEW", 2)->flags = 0;
    (void)hand_tensor(h, "rows", "NONE", 3, 1, 1);
    hand_graph(h, 1, NODES);
    hand_run(h, 1, 0, 1);
    tt_meta_put_end(&h->record, &(tt_meta_end){.id = 1, .ticks = 9});
    hand_put(h, TT_META_RUN_END);
    put_ops(h);
}

static tt_value_data of_large(uint64_t rows)
{
    return (tt_value_data){.type = TT_VALUE_F32,
                           .ne = {4, rows, 1, 1},
                           .nb = {4, 16, 16 * rows, 16 * rows},
                           .data = large};
}

static tt_fingerprint print_of(uint64_t rows)
{
    static tt_value_piece pieces[TT_VALUE_PIECES_MAX];
    tt_value_data v = of_large(rows);
    tt_fingerprint f;
    tt_value_look(&v, &f);
    for (uint32_t k = 0; k < tt_value_pieces(&v); k++)
        tt_value_take(&v, k, TT_VALUE_WITH_BLAKE3, &pieces[k]);
    tt_value_finish(pieces, tt_value_pieces(&v), TT_VALUE_WITH_BLAKE3, &f);
    return f;
}

/* Details of a fingerprint: returns how many parts it has. */
static size_t parts_of(uint32_t of, const tt_fingerprint *f, tt_detail *out)
{
    uint8_t packed[TT_DETAIL_VALUE_PARTS * TT_DETAIL_VALUE_BYTES] = {0};
    size_t size = tt_value_pack(f, packed), n = 0;
    for (; n * TT_DETAIL_VALUE_BYTES < size; n++) {
        out[n] = (tt_detail){
            .run = 1, .place = tt_detail_place(of, 0, TT_DETAIL_VALUE), .value.part = (uint8_t)n};
        memcpy(out[n].value.bytes, packed + n * TT_DETAIL_VALUE_BYTES, TT_DETAIL_VALUE_BYTES);
    }
    return n;
}

static void put_print(hand *h, uint32_t of, const tt_fingerprint *f)
{
    tt_detail list[TT_DETAIL_VALUE_PARTS];
    hand_details(h, list, parts_of(of, f, list));
}

static void put_data(hand *h, uint32_t run, uint32_t of, uint32_t part, size_t first, size_t n)
{
    tt_bytes raw;
    tt_bytes_init(&raw, SIZE_MAX / 2);
    tt_bytes_put(&raw, large + first, n * sizeof *large);
    hand_chunk(h,
               (tt_chunk_header){.type = TT_CHUNK_VALUE,
                                 .stream = of,
                                 .count = 1,
                                 .position = tt_value_position(run, part)},
               &raw, (tt_index_entry){0});
    tt_bytes_free(&raw);
}

static void put_large(hand *h)
{
    put_data(h, 1, LARGE, 0, 0, TT_VALUE_PART_ELEMENTS);
    put_data(h, 1, LARGE, 1, TT_VALUE_PART_ELEMENTS, 4 * LARGE_ROWS - TT_VALUE_PART_ELEMENTS);
}

/* Only that check fails, with these words; NULL: it passes. */
static void expect(hand *h, const char *words)
{
    tt_check checks[TT_CHECKS_MAX];
    tt_error err;
    size_t n;
    tt_model *m = hand_open(h, true);
    assert_int_equal(tt_verify(m, checks, &n, NULL, NULL, &err), TT_OK);
    for (size_t i = 0; i < n; i++) {
        const tt_check *c = &checks[i];
        bool is_it = strcmp(c->name, "values") == 0;
        if (!is_it && c->verdict == TT_CHECK_FAILED) fail_msg("%s: %s", c->name, c->detail);
        if (!is_it) continue;
        if (!words && c->verdict != TT_CHECK_PASSED) fail_msg("values: %s", c->detail);
        if (words && (c->verdict != TT_CHECK_FAILED || !strstr(c->detail, words)))
            fail_msg("values says \"%s\", not \"%s\"", c->detail, words);
    }
    hand_close(h, m);
}

static void good_values_pass(void **state)
{
    hand h;
    (void)state;
    const tt_fingerprint mul = print_of(2), store = print_of(3), all = print_of(LARGE_ROWS);
    begin(&h);
    put_print(&h, MUL, &mul);
    put_print(&h, STORE, &store);
    put_print(&h, LARGE, &all);
    put_large(&h);
    put_data(&h, 1, STORE, 0, 0, 12);
    expect(&h, NULL);
}

static void a_fingerprint_is_whole(void **state)
{
    tt_detail list[2 * TT_DETAIL_VALUE_PARTS];
    const tt_fingerprint f = print_of(2);
    hand h;
    (void)state;
    size_t n = parts_of(MUL, &f, list);
    begin(&h);
    hand_details(&h, list + 1, n - 1);
    expect(&h, "not whole");
    begin(&h);
    (void)parts_of(MUL, &f, list + n);
    hand_details(&h, list, 2 * n);
    expect(&h, "not whole, or there twice");
    /* Of a run whose details were dropped nobody can tell. */
    begin(&h);
    tt_meta_put_loss(&h.record, &(tt_meta_loss){0, n - 1, 1});
    hand_put(&h, TT_META_DETAIL_LOSS);
    hand_details(&h, list, n - 1);
    tt_model *m = hand_open(&h, true);
    tt_outputs o = {0};
    assert_int_equal(tt_outputs_of_run(&o, m, 0, NULL), TT_OK);
    assert_int_equal(o.incomplete, 1);
    tt_outputs_free(&o);
    hand_close(&h, m);
}

static void a_fingerprint_fits_its_output(void **state)
{
    hand h;
    tt_fingerprint f = print_of(3);
    (void)state;
    begin(&h);
    put_print(&h, MUL, &f);
    expect(&h, "12 elements, the node has 8");
    begin(&h);
    f = print_of(2);
    put_print(&h, NORM, &f);
    expect(&h, "computed together with");
    begin(&h);
    f.mean = (double)f.max + 1;
    put_print(&h, MUL, &f);
    expect(&h, "greatest");
}

static void data_is_that_of_the_fingerprint(void **state)
{
    hand h;
    const tt_fingerprint f = print_of(LARGE_ROWS), store = print_of(3);
    (void)state;
    begin(&h);
    put_print(&h, LARGE, &f);
    large[270000] += 1;
    put_large(&h);
    large[270000] -= 1;
    expect(&h, "not what the fingerprint says");
    begin(&h);
    put_print(&h, STORE, &store);
    put_data(&h, 1, STORE, 0, 0, 11);
    expect(&h, "44 bytes instead of 48");
    begin(&h);
    put_print(&h, STORE, &store);
    put_data(&h, 7, STORE, 0, 0, 12);
    expect(&h, "run 7, which is not there");
    begin(&h);
    put_print(&h, STORE, &store);
    put_data(&h, 1, UNUSED, 0, 0, 8);
    expect(&h, "of node 4, which has none");
    begin(&h);
    put_print(&h, STORE, &store);
    put_data(&h, 1, STORE, 1, 0, 12);
    expect(&h, "part 1 of node 2");
    begin(&h);
    put_print(&h, STORE, &store);
    put_data(&h, 1, STORE, 0, 0, 12);
    put_data(&h, 1, STORE, 0, 0, 12);
    expect(&h, "there twice");
}

static void data_is_read_part_by_part(void **state)
{
    hand h;
    tt_output_data d;
    tt_error err;
    tt_span bytes;
    uint64_t first;
    (void)state;
    begin(&h);
    put_data(&h, 1, LARGE, 1, TT_VALUE_PART_ELEMENTS, 4 * LARGE_ROWS - TT_VALUE_PART_ELEMENTS);
    put_data(&h, 1, STORE, 0, 0, 12);
    tt_model *m = hand_open(&h, true);
    assert_true(tt_output_data_any(m));
    tt_output_data_find(m, 0, LARGE, &d);
    assert_int_equal(d.shape.n, 4 * LARGE_ROWS);
    assert_int_equal(d.n_parts, 2);
    assert_int_equal(d.n_kept, 1);
    assert_int_equal(tt_output_data_read(m, 0, LARGE, 0, &first, &bytes, &err), TT_E_NOT_FOUND);
    assert_int_equal(tt_output_data_read(m, 0, LARGE, 2, &first, &bytes, &err), TT_E_NOT_FOUND);
    assert_int_equal(tt_output_data_read(m, 0, LARGE, 1, &first, &bytes, &err), TT_OK);
    assert_int_equal(first, TT_VALUE_PART_ELEMENTS);
    assert_memory_equal(bytes.data, large + first, bytes.size);
    tt_output_data_find(m, 0, STORE, &d);
    assert_int_equal(d.shape.ne[1], 3);
    assert_int_equal(d.n_kept, 1);
    tt_output_data_find(m, 0, MUL, &d);
    assert_int_equal(d.n_kept, 0);
    tt_output_data_find(m, 0, 99, &d);
    assert_int_equal(d.n_parts, 0);
    hand_close(&h, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_values_pass),
        cmocka_unit_test(a_fingerprint_is_whole),
        cmocka_unit_test(a_fingerprint_fits_its_output),
        cmocka_unit_test(data_is_that_of_the_fingerprint),
        cmocka_unit_test(data_is_read_part_by_part),
    };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        large[i] = (float)((i * 7919) % 2003) / 64.0f - 15.0f;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
