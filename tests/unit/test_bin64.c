/* Records of 64 bytes where the fields are too small for what there is to say. */
#include "tests.h"

#include "export_trace.h"

#include "export/records/bin64.h"

#include <string.h>

static uint64_t number(const uint8_t *record, size_t at, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, record + at, n);
    return v;
}

static void begin(hand *h)
{
    hand_begin(h);
    hand_clock(h, 0, 1000);
    hand_clock(h, 1000000, 1001000);
    hand_model(h, 1, "/m.gguf", 3);
}

static written end(hand *h, uint32_t batch)
{
    if (batch) hand_batch_at(h, batch, 1, 90);
    hand_run_at(h, 1, batch, 1, 100);
    hand_end(h, TT_META_RUN_END, 1, 200);
    hand_flush(h);
    const tt_op_record op = hand_op(1, 0, 3, 110, 120, 130);
    hand_ops(h, 1, &op, 1);
    tt_model *m = hand_open(h, true);
    written w = write_format(&tt_format_bin64, m, (tt_export_options){.threads = 2});
    hand_close(h, m);
    return w;
}

static void what_does_not_fit_is_said_and_noted(void **state)
{
    hand h;
    (void)state;
    begin(&h);
    tt_meta_tensor *t = hand_tensor(&h, "Vcur-70000", "MUL_MAT", 4, 4, 1);
    t->op = 300;
    hand_source(t, 1);
    t = hand_tensor(&h, "large", "NONE", 4, 4, 1);
    t->size_bytes = (uint64_t)5 << 32;
    t->location = 0x123456789abcull;
    hand_graph(&h, 1, 1);
    written w = end(&h, 1);
    assert_int_equal(w.size, 64);
    assert_int_equal(number(w.data, 0, 8), 1110);
    assert_int_equal(number(w.data, 8, 4), 0);
    assert_int_equal(number(w.data, 12, 2), 65535);
    assert_int_equal(number(w.data, 14, 2), 3);
    assert_int_equal(number(w.data, 16, 1), 255);
    assert_int_equal(number(w.data, 17, 1), 1);
    assert_int_equal(number(w.data, 24, 4), UINT32_MAX);
    assert_true(number(w.data, 32, 8) == 0x123456789abcull);
    assert_int_equal(number(w.data, 40, 8), 0);
    assert_int_equal(number(w.data, 48, 4), UINT32_MAX);
    assert_int_equal(number(w.data, 52, 1), 255);
    assert_int_equal(number(w.data, 56, 1), 255);
    assert_non_null(strstr(w.notes, "1 records say a size"));
    assert_non_null(strstr(w.notes, "1 records say the operation 255"));
    free(w.data);
}

static void outside_of_batches_there_is_no_token(void **state)
{
    hand h;
    (void)state;
    begin(&h);
    hand_source(hand_tensor(&h, "x", "ADD", 4, 4, 1), 1);
    hand_tensor(&h, "w2", "NONE", 4, 4, 1);
    hand_graph(&h, 1, 1);
    written w = end(&h, 0);
    assert_int_equal(w.size, 64);
    assert_int_equal(number(w.data, 8, 4), UINT32_MAX);
    assert_int_equal(number(w.data, 12, 2), 65535);
    assert_int_equal(number(w.data, 17, 1), 255);
    assert_int_equal(number(w.data, 24, 4), 2); /* the third tensor of the model file */
    assert_string_equal(w.notes, "");
    free(w.data);
}

static tt_detail experts(uint32_t token, uint16_t a, uint16_t b)
{
    return (tt_detail){.run = 1,
                       .place = tt_detail_place(0, 0, TT_DETAIL_EXPERTS),
                       .experts = {.token = token, .n = 2, .expert = {a, b}}};
}

static void each_choice_is_a_record(void **state)
{
    hand h;
    (void)state;
    begin(&h);
    tt_meta_tensor *t = hand_tensor(&h, "ffn_moe_up-1", "MUL_MAT_ID", 4, 2, 2);
    hand_source(t, 1);
    hand_source(t, 2);
    hand_source(t, 3);
    t = hand_tensor(&h, "w1", "NONE", 4, 4, 400);
    t->location = 0x10000;
    hand_tensor(&h, "cur", "NONE", 4, 1, 2);
    hand_tensor(&h, "ids", "NONE", 2, 2, 1);
    hand_graph(&h, 1, 1);
    hand_flush(&h);
    const tt_detail list[] = {
        experts(0, 3, 300),
        {.run = 1,
         .place = tt_detail_place(0, 0, TT_DETAIL_WEIGHTS_F32),
         .weights = {.token = 0, .n = 2, .weight = {0.25f, 1.5f}}},
        experts(1, 254, 255),
    };
    hand_details(&h, list, 3);
    written w = end(&h, 1);
    assert_int_equal(w.size, 6 * 64); /* four choices, then the two other sources */
    static const uint64_t expert[] = {3, 255, 254, 255}, scores[] = {16384, 65535, 0, 0};
    static const uint64_t chosen[] = {3, 300, 254, 255};
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *r = w.data + 64 * i;
        assert_int_equal(number(r, 56, 1), expert[i]);
        assert_int_equal(number(r, 57, 1), i % 2);
        assert_int_equal(number(r, 58, 2), scores[i]);
        assert_int_equal(number(r, 48, 4), 64);
        assert_int_equal(number(r, 32, 8), 0x10000 + 64 * chosen[i]);
    }
    assert_int_equal(number(w.data + 64 * 4, 56, 1), 255);
    assert_non_null(strstr(w.notes, "2 records say the expert"));
    free(w.data);
}

static void without_choices_there_is_one_record(void **state)
{
    hand h;
    (void)state;
    begin(&h);
    tt_meta_tensor *t = hand_tensor(&h, "ffn_moe_up-1", "MUL_MAT_ID", 4, 2, 2);
    hand_source(t, 1);
    hand_source(t, 2);
    hand_source(t, 3);
    hand_tensor(&h, "w1", "NONE", 4, 4, 16);
    hand_tensor(&h, "cur", "NONE", 4, 1, 2);
    hand_tensor(&h, "ids", "NONE", 2, 2, 1);
    hand_graph(&h, 1, 1);
    written w = end(&h, 1);
    assert_int_equal(w.size, 3 * 64);
    assert_int_equal(number(w.data, 56, 1), 255);
    assert_int_equal(number(w.data, 48, 4), 1024);
    assert_non_null(strstr(w.notes, "1 expert matmuls have one record"));
    free(w.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_said_and_noted),
        cmocka_unit_test(outside_of_batches_there_is_no_token),
        cmocka_unit_test(each_choice_is_a_record),
        cmocka_unit_test(without_choices_there_is_one_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
