/* Maps of stages: what names of engines come to. */
#include "tests.h"

#include "analyze/dumps/stages.h"

#include <string.h>

typedef struct row {
    const char *name, *op, *stage;
    int32_t layer;
} row;

static void check(const tt_stages *s, const row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tt_stage got = tt_stages_of(s, rows[i].name, rows[i].op);
        if (strcmp(got.name, rows[i].stage) != 0 || got.layer != rows[i].layer)
            fail_msg("%s %s is %s of layer %d, not %s of %d", rows[i].name, rows[i].op, got.name,
                     (int)got.layer, rows[i].stage, (int)rows[i].layer);
    }
}

static void test_builtin(void **state)
{
    static const row rows[] = {
        {"embd", "GET_ROWS", "embeddings", -1},
        {"inp_embd", "GET_ROWS", "embeddings", -1},
        {"attn_norm-0", "MUL", "attn_norm", 0},
        {"Qcur-12", "MUL_MAT", "q_proj", 12},
        {"Qcur-12", "ROPE", "q_rope", 12},
        {"Qcur-3", "ADD", "q_bias", 3},
        {"cache_k_l0 (view)", "SET_ROWS", "k_cache", 0},
        {"k_cache_view-2 (copy of Kcur-2)", "CPY", "k_cache", 2},
        {"v_cache_view-2 (copy of Vcur-2 (transposed))", "CPY", "v_cache_transposed", 2},
        {"kq_soft_max_ext-1", "SOFT_MAX", "attn_scores_softmax", 1},
        {"kqv_merged_cont-1", "CONT", "attn_heads", 1},
        {"__fattn__-7", "FLASH_ATTN_EXT", "attn_heads", 7},
        {"node_21", "FLASH_ATTN_EXT", "attn_heads", TT_STAGE_LAYER_UNKNOWN},
        {"attn_out-0", "MUL_MAT", "o_proj", 0},
        {"kqv_out-0", "MUL_MAT", "o_proj", 0},
        {"ffn_swiglu-3", "GLU", "ffn_act", 3},
        {"ffn_gate_par-3", "MUL", "ffn_act", 3},
        {"l_out-3", "ADD", "layer_out", 3},
        {"result_norm", "MUL", "final_norm", -2},
        {"result_output", "MUL_MAT", "logits", -1},
        /* BitNet.rs's own. */
        {"t0/embeddings", "", "embeddings", -1},
        {"t0/blk3/attn_norm", "", "attn_norm", 3},
        {"blk11/q_proj", "", "q_proj", 11},
        {"t5/blk0/attn_scores_softmax", "", "attn_scores_softmax", 0},
        {"t0/all_layers_out", "", "final_norm", -2},
        {"t12/logits", "", "logits", -1},
        /* What no rule knows. */
        {"my_op-4", "MUL", "my_op", 4},
        {"my_op-4 (view)", "MUL", "my_op (view)", 4},
        {"ffn_moe_new-4", "MUL", "ffn_moe_new", 4},
        {"node_117", "GET_ROWS", "get_rows", TT_STAGE_LAYER_UNKNOWN},
        {"", "MUL_MAT", "mul_mat", TT_STAGE_LAYER_UNKNOWN},
        {"blk.2.own", "ADD", "own", 2},
        {"x-99999999", "ADD", "x-99999999", TT_STAGE_LAYER_UNKNOWN},
        {"conv1d-x", "ADD", "conv1d-x", TT_STAGE_LAYER_UNKNOWN},
    };
    tt_stages *s = tt_stages_builtin();
    (void)state;
    assert_non_null(s);
    check(s, rows, sizeof rows / sizeof *rows);
    /* In the order of execution. */
    static const char *const order[] = {"embeddings", "attn_norm", "q_proj",     "q_rope",
                                        "k_cache",    "o_proj",    "ffn_norm",   "gate_proj",
                                        "down_proj",  "layer_out", "final_norm", "logits"};
    for (size_t i = 1; i < sizeof order / sizeof *order; i++)
        assert_true(tt_stages_rank(s, order[i - 1]) < tt_stages_rank(s, order[i]));
    assert_int_equal(tt_stages_rank(s, "my_op"), UINT32_MAX);
    tt_stages_free(s);
}

static void test_own(void **state)
{
    static const char map[] = "# mine\n"
                              "\n"
                              "layer%.attn.q*  *       q_proj   # behind\r\n"
                              "first?out       ADD     =        -2\n"
                              "*end            M?L     stop";
    static const row rows[] = {
        {"layer12.attn.query", "X", "q_proj", 12},
        {"layer.attn.q", "X", "layer.attn.q", TT_STAGE_LAYER_UNKNOWN},
        {"first out", "ADD", "first out", -2},
        {"first out", "MUL", "first out", TT_STAGE_LAYER_UNKNOWN},
        {"the end", "MUL", "stop", TT_STAGE_LAYER_UNKNOWN},
        {"end end", "MUL", "stop", TT_STAGE_LAYER_UNKNOWN},
        {"the ends", "MUL", "the ends", TT_STAGE_LAYER_UNKNOWN},
    };
    tt_stages *s;
    tt_error err;
    (void)state;
    assert_int_equal(tt_stages_parse(map, strlen(map), "mine", &s, &err), TT_OK);
    check(s, rows, sizeof rows / sizeof *rows);
    tt_stages_free(s);
}

/* Each is refused, with its line. */
static void test_refused(void **state)
{
    static const struct {
        const char *map, *says;
    } cases[] = {
        {"", "there is no rule"},
        {"# only\n\n", "there is no rule"},
        {"a b c\na b\n", "mine:2: a rule is"},
        {"a b c d\n", "mine:1: \"d\" is no layer"},
        {"a b c -3\n", "\"-3\" is no layer"},
        {"a b c 1x\n", "\"1x\" is no layer"},
        {"a b c 1 e\n", "more than four words"},
        {"a b cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\n", "66 bytes"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_stages *s;
        tt_error err;
        assert_int_equal(tt_stages_parse(cases[i].map, strlen(cases[i].map), "mine", &s, &err),
                         TT_E_FORMAT);
        assert_null(s);
        if (!strstr(err.message, cases[i].says))
            fail_msg("\"%s\" says \"%s\", not \"%s\"", cases[i].map, err.message, cases[i].says);
    }
    tt_stages *s;
    tt_error err;
    assert_int_equal(tt_stages_read("no-such-map", &s, &err), TT_E_NOT_FOUND);
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builtin),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
