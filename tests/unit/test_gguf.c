#include "tests.h"

#include "analyze/tensor_map.h"
#include "gguf/lora.h"
#include "gguf/quantize.h"
#include "gguf/reader.h"
#include "gguf/synth.h"
#include "gguf/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tt-gguf-XXXXXX";
static tt_error error;
static tt_gguf model;
static tt_bytes file;

static int enter_folder(void **state)
{
    (void)state;
    tt_bytes_init(&file, 1 << 20);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    tt_bytes_free(&file);
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* ---- files made by hand, so that every field can be wrong ---- */

static void text(const char *s)
{
    tt_bytes_u64(&file, strlen(s));
    tt_bytes_put(&file, s, strlen(s));
}

static void begin(uint32_t version, uint64_t n_tensors, uint64_t n_kvs)
{
    tt_bytes_clear(&file);
    file.size = 0;
    tt_bytes_put(&file, "GGUF", 4);
    tt_bytes_u32(&file, version);
    tt_bytes_u64(&file, n_tensors);
    tt_bytes_u64(&file, n_kvs);
}

static void kv_u32(const char *key, uint32_t v)
{
    text(key);
    tt_bytes_u32(&file, TT_GGUF_U32);
    tt_bytes_u32(&file, v);
}

static void kv_string(const char *key, const char *v)
{
    text(key);
    tt_bytes_u32(&file, TT_GGUF_STRING);
    text(v);
}

static void info(const char *name, uint32_t n_dims, const uint64_t *ne, uint32_t type,
                 uint64_t offset)
{
    text(name);
    tt_bytes_u32(&file, n_dims);
    for (uint32_t i = 0; i < n_dims; i++)
        tt_bytes_u64(&file, ne[i]);
    tt_bytes_u32(&file, type);
    tt_bytes_u64(&file, offset);
}

/* Pads to the alignment and adds the data section. */
static void finish(size_t data_bytes)
{
    while (file.size % 32)
        tt_bytes_u8(&file, 0);
    for (size_t i = 0; i < data_bytes; i++)
        tt_bytes_u8(&file, 0);
    assert_false(file.failed);
}

static tt_status parse(void)
{
    return tt_gguf_parse(&model, "bytes", file.data, file.size, file.size, &error);
}

static void refused(tt_status status, uint64_t offset, const char *words)
{
    assert_int_equal(parse(), status);
    assert_int_equal(error.status, status);
    assert_int_equal(error.offset, offset);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
    assert_null(model.parts);
    assert_null(model.tensors);
}

/* Two tensors, the architecture and a few numbers. */
static void good_file(uint32_t version)
{
    begin(version, 2, 5);
    kv_string("general.architecture", "llama");
    kv_string("general.name", "by hand");
    kv_u32("llama.block_count", 3);
    kv_u32("llama.expert_count", 2);
    text("tokenizer.ggml.tokens");
    tt_bytes_u32(&file, TT_GGUF_ARRAY);
    tt_bytes_u32(&file, TT_GGUF_STRING);
    tt_bytes_u64(&file, 3);
    text("a");
    text("");
    text("bc");
    info("blk.0.ffn_up_exps.weight", 3, (const uint64_t[]){32, 4, 2}, TT_GGML_Q8_0, 32);
    info("output_norm.weight", 1, (const uint64_t[]){8}, TT_GGML_F32, 0);
    finish(32 + 8 * 34);
}

static void test_reads_versions_2_and_3(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        good_file(version);
        assert_int_equal(parse(), TT_OK);
        assert_int_equal(model.n_tensors, 2);
        assert_int_equal(model.parts[0].version, version);
        /* In file order, not in the header's. */
        const tt_gguf_tensor *t = &model.tensors[0];
        assert_string_equal(t->name, "output_norm.weight");
        assert_int_equal(t->offset, model.parts[0].data_offset);
        assert_int_equal(t->offset % 32, 0);
        assert_int_equal(t->size_bytes, 32);
        assert_int_equal(t->ne[1], 1);
        t = tt_gguf_tensor_find(&model, "blk.0.ffn_up_exps.weight");
        assert_ptr_equal(t, &model.tensors[1]);
        assert_int_equal(t->size_bytes, 272);
        assert_int_equal(t->offset + t->size_bytes, file.size);
        assert_int_equal(model.parts[0].gap_bytes, 0);
        assert_null(tt_gguf_tensor_find(&model, "nothing"));
        tt_gguf_close(&model);
    }
}

static void test_metadata(void **state)
{
    (void)state;
    good_file(3);
    assert_int_equal(parse(), TT_OK);
    tt_gguf_shape s = tt_gguf_shape_of(&model);
    assert_int_equal(s.name.size, 7);
    assert_memory_equal(s.name.data, "by hand", 7);
    assert_int_equal(s.n_layers, 3);
    assert_int_equal(s.n_experts, 2);
    assert_int_equal(s.n_vocab, 3); /* counted: there is no vocab_size */
    assert_int_equal(s.n_heads, -1);
    const tt_gguf_kv *kv = tt_gguf_find(&model, "tokenizer.ggml.tokens");
    assert_non_null(kv);
    assert_true(kv->is_array);
    const char *want[] = {"a", "", "bc"};
    size_t at = 0, n = 0;
    for (tt_span got; tt_gguf_kv_next_string(kv, &at, &got); n++) {
        assert_int_equal(got.size, strlen(want[n]));
        assert_memory_equal(got.data, want[n], got.size);
    }
    assert_int_equal(n, 3);
    assert_null(tt_gguf_find(&model, "general"));
    uint64_t v;
    assert_false(tt_gguf_kv_u64(kv, 0, &v));
    tt_gguf_close(&model);
}

static void test_signed_and_wide_integers(void **state)
{
    (void)state;
    begin(3, 0, 3);
    text("minus");
    tt_bytes_u32(&file, TT_GGUF_I8);
    tt_bytes_u8(&file, 0xff);
    text("wide");
    tt_bytes_u32(&file, TT_GGUF_U64);
    tt_bytes_u64(&file, UINT64_MAX);
    text("list");
    tt_bytes_u32(&file, TT_GGUF_ARRAY);
    tt_bytes_u32(&file, TT_GGUF_I16);
    tt_bytes_u64(&file, 2);
    tt_bytes_u16(&file, 7);
    tt_bytes_u16(&file, 0x8000);
    assert_int_equal(parse(), TT_OK);
    uint64_t v = 1;
    assert_false(tt_gguf_kv_u64(tt_gguf_find(&model, "minus"), 0, &v));
    assert_true(tt_gguf_kv_u64(tt_gguf_find(&model, "wide"), 0, &v));
    assert_true(v == UINT64_MAX);
    assert_true(tt_gguf_kv_u64(tt_gguf_find(&model, "list"), 0, &v));
    assert_int_equal(v, 7);
    assert_false(tt_gguf_kv_u64(tt_gguf_find(&model, "list"), 1, &v));
    assert_false(tt_gguf_kv_u64(tt_gguf_find(&model, "list"), 2, &v));
    tt_gguf_close(&model);
}

static void test_every_truncation_is_an_error(void **state)
{
    (void)state;
    good_file(3);
    size_t whole = file.size;
    for (size_t size = 0; size < whole; size++) {
        /* A copy of that size exactly, so that sanitizers see a read past it. */
        uint8_t *cut = malloc(size + !size);
        assert_non_null(cut);
        memcpy(cut, file.data, size);
        assert_int_equal(tt_gguf_parse(&model, "cut", cut, size, size, &error), TT_E_TRUNCATED);
        assert_true(error.offset <= size);
        assert_null(model.parts);
        free(cut);
    }
}

static void test_refuses_other_formats(void **state)
{
    (void)state;
    good_file(3);
    memcpy(file.data, "GGML", 4);
    refused(TT_E_FORMAT, 0, "not a GGUF file");
    good_file(1);
    refused(TT_E_UNSUPPORTED, 4, "version 1");
    good_file(4);
    refused(TT_E_UNSUPPORTED, 4, "version 4");
    good_file(0);
    refused(TT_E_FORMAT, 4, "version 0");
    good_file(0x03000000);
    refused(TT_E_UNSUPPORTED, 4, "big-endian");
}

static void test_refuses_impossible_counts(void **state)
{
    (void)state;
    begin(3, UINT64_MAX, 0);
    refused(TT_E_TRUNCATED, 8, "number of tensors");
    begin(3, 0, UINT64_MAX / 2);
    refused(TT_E_TRUNCATED, 16, "key-value pairs");
    begin(3, 0, 1);
    tt_bytes_u64(&file, UINT64_MAX);
    finish(64);
    refused(TT_E_TRUNCATED, 24, "a metadata key");
    begin(3, 0, 1);
    text("k");
    tt_bytes_u32(&file, TT_GGUF_ARRAY);
    tt_bytes_u32(&file, TT_GGUF_U64);
    tt_bytes_u64(&file, 100);
    finish(200);
    refused(TT_E_TRUNCATED, 49, "100 values of type u64");
    /* A limit, however long the file claims to be. */
    begin(3, TT_GGUF_TENSORS_MAX + 1, 0);
    assert_int_equal(tt_gguf_parse(&model, "x", file.data, file.size, UINT64_MAX / 4, &error),
                     TT_E_LIMIT);
}

static void test_refuses_bad_metadata(void **state)
{
    (void)state;
    begin(3, 0, 2);
    kv_u32("same", 1);
    size_t second = file.size;
    kv_u32("same", 2);
    refused(TT_E_FORMAT, second, "'same' appears twice (first at byte 24)");
    begin(3, 0, 1);
    text("k");
    tt_bytes_u32(&file, 13);
    tt_bytes_u64(&file, 0);
    refused(TT_E_FORMAT, 33, "unknown value type 13");
    begin(3, 0, 1);
    kv_u32("", 1);
    refused(TT_E_FORMAT, 24, "empty");
    begin(3, 0, 1);
    kv_u32("general.alignment", 48);
    refused(TT_E_FORMAT, 24, "not a power of two");
    begin(3, 0, 1);
    kv_string("general.alignment", "32");
    refused(TT_E_FORMAT, 24, "must be one u32");
}

static void nested_arrays(unsigned depth)
{
    begin(3, 0, 1);
    text("k");
    tt_bytes_u32(&file, TT_GGUF_ARRAY);
    for (unsigned i = 1; i < depth; i++) {
        tt_bytes_u32(&file, TT_GGUF_ARRAY);
        tt_bytes_u64(&file, 1);
    }
    tt_bytes_u32(&file, TT_GGUF_U8);
    tt_bytes_u64(&file, 1);
    tt_bytes_u8(&file, 9);
}

static void test_nested_arrays(void **state)
{
    (void)state;
    nested_arrays(TT_GGUF_NESTING_MAX);
    assert_int_equal(parse(), TT_OK);
    tt_gguf_close(&model);
    nested_arrays(TT_GGUF_NESTING_MAX + 1);
    assert_int_equal(parse(), TT_E_LIMIT);
}

static void one_tensor(uint32_t n_dims, const uint64_t *ne, uint32_t type, uint64_t offset)
{
    begin(3, 1, 0);
    info("w", n_dims, ne, type, offset);
    finish(64);
}

static void test_refuses_bad_tensors(void **state)
{
    (void)state;
    const uint64_t ne[] = {8, 1, 1, 1, 1};
    const uint64_t huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    const uint64_t negative[] = {UINT64_MAX};
    one_tensor(5, ne, TT_GGML_F32, 0);
    refused(TT_E_FORMAT, 33, "5 dimensions");
    one_tensor(1, ne, 4, 0); /* Q4_2, long gone */
    refused(TT_E_UNSUPPORTED, 45, "type 4");
    one_tensor(1, ne, 1000, 0);
    refused(TT_E_UNSUPPORTED, 45, "type 1000");
    one_tensor(1, ne, TT_GGML_Q4_K, 0);
    refused(TT_E_FORMAT, 45, "not a multiple of the 256");
    one_tensor(1, ne, TT_GGML_F32, 8);
    refused(TT_E_FORMAT, 49, "alignment 32");
    one_tensor(2, huge, TT_GGML_F32, 0);
    refused(TT_E_FORMAT, 45, "more elements");
    one_tensor(1, negative, TT_GGML_F32, 0);
    refused(TT_E_FORMAT, 37, "more elements");
    one_tensor(1, ne, TT_GGML_F32, 64);
    refused(TT_E_TRUNCATED, 24, "does not fit");
    one_tensor(1, ne, TT_GGML_F32, UINT64_MAX - 31);
    refused(TT_E_TRUNCATED, 24, "does not fit");
}

static void test_refuses_overlaps_and_twins(void **state)
{
    (void)state;
    const uint64_t ne[] = {16};
    begin(3, 2, 0);
    info("one", 1, ne, TT_GGML_F32, 0);
    size_t second = file.size;
    info("two", 1, ne, TT_GGML_F32, 32);
    finish(128);
    refused(TT_E_FORMAT, second, "'two' at byte 128 overlaps 'one'");
    begin(3, 2, 0);
    info("one", 1, ne, TT_GGML_F32, 0);
    info("one", 1, ne, TT_GGML_F32, 64);
    finish(128);
    refused(TT_E_FORMAT, second, "'one' appears twice");
    begin(3, 1, 0);
    tt_bytes_u64(&file, 3);
    tt_bytes_put(&file, "a\0b", 3);
    finish(64);
    refused(TT_E_FORMAT, 24, "zero byte");
}

static void test_gaps_and_empty_tensors_are_accepted(void **state)
{
    (void)state;
    begin(3, 3, 0);
    info("one", 1, (const uint64_t[]){4}, TT_GGML_F32, 0);
    info("none", 2, (const uint64_t[]){32, 0}, TT_GGML_Q8_0, 32);
    info("far", 0, NULL, TT_GGML_F32, 96);
    finish(128);
    assert_int_equal(parse(), TT_OK);
    assert_int_equal(model.parts[0].gap_bytes, 64);
    assert_int_equal(tt_gguf_tensor_find(&model, "none")->size_bytes, 0);
    assert_int_equal(tt_gguf_tensor_find(&model, "far")->size_bytes, 4);
    tt_gguf_close(&model);
}

static void test_names_are_safe_to_show(void **state)
{
    (void)state;
    begin(3, 0, 2);
    kv_u32("\x1b[31mred", 1);
    size_t second = file.size;
    kv_u32("\x1b[31mred", 1);
    refused(TT_E_FORMAT, second, "'?[31mred'");
}

/* ---- types ---- */

static void test_types(void **state)
{
    (void)state;
    size_t n = 0;
    for (const tt_ggml_type *t; (t = tt_ggml_type_at(n)); n++) {
        assert_ptr_equal(tt_ggml_type_find(t->id), t);
        assert_ptr_equal(tt_ggml_type_parse(t->name), t);
        assert_true(t->block_bytes > 0 && t->block_elements > 0);
    }
    assert_int_equal(n, 41);
    assert_int_equal(tt_ggml_type_parse("nvfp4")->block_bytes, 36);
    assert_null(tt_ggml_type_find(5));
    assert_null(tt_ggml_type_find(UINT32_MAX));
    assert_null(tt_ggml_type_parse("Q9_Z"));
}

static void test_small_floats(void **state)
{
    (void)state;
    assert_int_equal(tt_half_of(0), 0);
    assert_int_equal(tt_half_of(1), 0x3c00);
    assert_int_equal(tt_half_of(-2), 0xc000);
    assert_int_equal(tt_half_of(65504), 0x7bff);
    assert_int_equal(tt_half_of(1e9f), 0x7bff);
    assert_int_equal(tt_half_of(0x1p-14f), 0x0400);
    assert_int_equal(tt_half_of(0x1p-24f), 0x0001);
    assert_int_equal(tt_half_of(0x1p-26f), 0);
    assert_int_equal(tt_half_of(1 + 0x1p-11f), 0x3c00); /* halfway: to even */
    assert_int_equal(tt_half_of(1 + 0x3p-11f), 0x3c02);
    assert_int_equal(tt_bfloat_of(1), 0x3f80);
    assert_int_equal(tt_bfloat_of(-1.00390625f), 0xbf80);
    assert_int_equal(tt_bfloat_of(1.01171875f), 0x3f82);
}

/* ---- layout ---- */

static void classify(const char *name, int layer, const char *category, const char *component,
                     const char *type)
{
    tt_component c = tt_layout_classify(name);
    if (c.layer_id != layer || strcmp(c.category, category) != 0 ||
        strcmp(c.component, component) != 0 || strcmp(c.component_type, type) != 0)
        fail_msg("%s: layer %d, %s, %s, %s", name, c.layer_id, c.category, c.component,
                 c.component_type);
}

static void test_layout_of_weights(void **state)
{
    (void)state;
    classify("token_embd.weight", -1, "input", "token_embd", "Token Embeddings");
    classify("output.weight", -1, "output", "output", "Output Projection");
    classify("output_norm.weight", -1, "norm", "output_norm", "Other");
    classify("blk.0.attn_q.weight", 0, "attention", "attn_q", "Attention Q");
    classify("blk.1.attn_k.bias", 1, "attention", "attn_k", "Attention K");
    classify("blk.2.attn_v.weight", 2, "attention", "attn_v", "Attention V");
    classify("blk.31.attn_output.weight", 31, "attention", "attn_output", "Attention Output");
    classify("blk.3.attn_norm.weight", 3, "norm", "attn_norm", "Attention Norm");
    classify("blk.3.attn_q_norm.weight", 3, "norm", "attn_q_norm", "Other");
    classify("blk.3.ffn_norm.weight", 3, "norm", "ffn_norm", "FFN Norm");
    classify("blk.100.ffn_gate.weight", 100, "ffn", "ffn_gate", "FFN Gate");
    classify("blk.0.ffn_up.weight", 0, "ffn", "ffn_up", "FFN Up");
    classify("blk.0.ffn_down.weight", 0, "ffn", "ffn_down", "FFN Down");
    classify("blk.0.ffn_gate_inp.weight", 0, "ffn", "ffn_gate_inp", "Other");
    classify("blk.0.ffn_up_shexp.weight", 0, "ffn", "ffn_up_shexp", "Other");
    classify("blk.0.ffn_up_exps.weight", 0, "ffn", "ffn_up_exps", "FFN Up Experts");
    classify("blk.0.ffn_up_exps.weight[12]", 0, "ffn", "ffn_up_exps", "FFN Up Expert 12");
    classify("blk.0.ffn_down.3.weight", 0, "ffn", "ffn_down", "FFN Down Expert 3");
    classify("blk.7.ssm_in.weight", 7, "ssm", "ssm_in", "Other");
    classify("blk.7.ssm_norm.weight", 7, "ssm", "ssm_norm", "Other");
    classify("blk.7.time_mix_w0.weight", 7, "rwkv", "time_mix_w0", "Other");
    classify("blk.7.channel_mix_key.weight", 7, "rwkv", "channel_mix_key", "Other");
    classify("blk.7.shortconv.conv.weight", 7, "conv", "shortconv.conv", "Other");
    classify("mm.0.weight", -1, "projector", "mm.0", "Other");
    classify("v.patch_embd.weight", -1, "input", "v.patch_embd", "Other");
    classify("v.post_ln.weight", -1, "norm", "v.post_ln", "Other");
    classify("a.conv1d.0.weight", -1, "conv", "a.conv1d.0", "Other");
    classify("rope_freqs.weight", -1, "other", "rope_freqs", "Other");
    assert_int_equal(tt_layout_classify("blk.0.ffn_up_exps.weight[12]").expert_id, 12);
    assert_int_equal(tt_layout_classify("blk.0.ffn_down.3.weight").expert_id, 3);
    assert_int_equal(tt_layout_classify("blk.0.ffn_up_exps.weight").expert_id, -1);
}

/* "enc 4", and back: layers of several stacks have one number, and are not the same. */
static void test_layers_of_stacks(void **state)
{
    static const struct {
        const char *name, *layer, *category;
    } weights[] = {
        {"enc.blk.4.attn_q.weight", "enc 4", "attention"},
        {"dec.blk.4.attn_q.weight", "dec 4", "attention"},
        {"dec.blk.4.cross_attn_q.weight", "dec 4", "attention"},
        {"dec.blk.4.cross_attn_norm.weight", "dec 4", "norm"},
        {"blk.4.attn_q.weight", "4", "attention"},
        {"v.blk.4.ln1.weight", "v 4", "norm"},
        {"v.blk.4.ffn_up.weight", "v 4", "ffn"},
        {"v.sam.blk.4.attn.qkv.weight", "v.sam 4", "attention"},
        {"a.blk.4.attn_q.weight", "a 4", "attention"},
        {"a.proj_blk.4.cross_attn_q.weight", "a.proj 4", "attention"},
        {"posnet.4.conv1.weight", "posnet 4", "conv"},
        {"convnext.4.dw.weight", "convnext 4", "other"},
        {"encoder.blocks.4.attn.query.weight", "enc 4", "attention"},
        {"decoder.blocks.4.cross_attn_ln.weight", "dec 4", "norm"},
        {"decoder.blocks.4.mlp.0.weight", "dec 4", "ffn"},
    };
    const size_t n = sizeof weights / sizeof *weights;
    int32_t any, exact;
    char text[TT_LAYER_TEXT];
    (void)state;
    assert_true(tt_layer_read("4", &any));
    for (size_t i = 0; i < n; i++) {
        const tt_component c = tt_layout_classify(weights[i].name);
        assert_string_equal(tt_layer_text(text, c.layer_id), weights[i].layer);
        assert_string_equal(c.category, weights[i].category);
        assert_int_equal(tt_layer_number(c.layer_id), 4);
        assert_true(tt_layer_passes(any, c.layer_id));
        if (!tt_layer_stack_name(c.layer_id)) continue;
        assert_true(tt_layer_read(weights[i].layer, &exact));
        for (size_t k = 0; k < n; k++)
            assert_int_equal(tt_layer_passes(exact, tt_layout_classify(weights[k].name).layer_id),
                             strcmp(weights[i].layer, weights[k].layer) == 0);
    }
    const int32_t other = tt_layer_make(4, TT_STACK_ENCODER, 1);
    assert_true(tt_layer_read("enc.4", &exact) && tt_layer_passes(exact, other));
    assert_false(tt_layer_passes(tt_layer_make(4, TT_STACK_ENCODER, 0), other));
    assert_true(tt_layer_read("none", &any) && tt_layer_passes(any, -1));
    assert_false(tt_layer_passes(any, other) || tt_layer_passes(other, -1));
    assert_false(tt_layer_read("x 4", &any) || tt_layer_read("enc", &any));
    assert_false(tt_layer_read("enc 65536", &any) || tt_layer_read("-1", &any));
    assert_false(tt_layer_read("", &any) || tt_layer_read("enc 4 ", &any));
}

static void test_layout_of_graph_values(void **state)
{
    (void)state;
    classify("inp_embd", -1, "input", "token_embd", "Token Embeddings");
    classify("inp_tokens", -1, "input", "inp_tokens", "Other");
    classify("out_ids", -1, "input", "out_ids", "Other");
    classify("attn_inp_kq_mask", -1, "input", "attn_inp_kq_mask", "Other");
    classify("Qcur-0", 0, "attention", "attn_q", "Attention Q");
    classify("Kcur-3 (reshaped)", 3, "attention", "attn_k", "Attention K");
    classify("Vcur-21 (view) (permuted)", 21, "attention", "attn_v", "Attention V");
    classify("kq-1", 1, "attention", "kq", "Other");
    classify("kq_soft_max-1", 1, "attention", "kq_soft_max", "Other");
    classify("kqv_out-2", 2, "attention", "attn_output", "Attention Output");
    classify("cache_k_l0", 0, "attention", "cache_k", "Other");
    classify("cache_v_l17 (view)", 17, "attention", "cache_v", "Other");
    classify("__fattn__-5", 5, "attention", "__fattn__", "Other");
    classify("attn_norm-3", 3, "norm", "attn_norm", "Attention Norm");
    classify("norm-3", 3, "norm", "norm", "Other");
    classify("norm", -1, "norm", "norm", "Other");
    classify("ffn_inp-4", 4, "ffn", "ffn_inp", "Other");
    classify("ffn_out-12", 12, "ffn", "ffn_down", "FFN Down");
    classify("ffn_moe_gate-1", 1, "ffn", "ffn_gate_exps", "FFN Gate Experts");
    classify("ffn_moe_weights_norm-1", 1, "ffn", "ffn_moe_weights_norm", "Other");
    classify("l_out-3", 3, "ffn", "l_out", "Other");
    classify("k_cache_view-2 (copy of Kcur-2)", 2, "attention", "k_cache_view", "Other");
    classify("sa_out-3", 3, "attention", "sa_out", "Other");
    classify("result_norm", -1, "norm", "output_norm", "Other");
    classify("result_output", -1, "output", "output", "Output Projection");
    classify("CPU#blk.2.attn_q.weight#0", 2, "attention", "attn_q", "Attention Q");
    classify("node_123", -1, "other", "node", "Other");
    classify("leaf_5", -1, "other", "leaf", "Other");
}

static void test_layout_of_odd_names(void **state)
{
    (void)state;
    classify("", -1, "other", "", "Other");
    classify("-5", -1, "other", "-5", "Other");
    classify("blk.", -1, "other", "blk.", "Other");
    classify("blk.x.attn_q.weight", -1, "other", "blk.x.attn_q", "Other");
    classify("x-99999999999999999999", -1, "other", "x-99999999999999999999", "Other");
    classify("[3]", -1, "other", "", "Other");
    classify("#", -1, "other", "#", "Other");
    char longest[2000];
    memset(longest, 'y', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(strlen(tt_layout_classify(longest).component), TT_COMPONENT_TEXT - 1);
}

/* ---- memory map ---- */

static tt_memory_entry *entries;
static tt_rowset rows;
static tt_listing listing;

static void list_tensors(tt_tensor_map_style style, const tt_listing_wish *wish)
{
    size_t n;
    assert_int_equal(tt_tensor_map_make(&model, style, &entries, &n, &error), TT_OK);
    rows = TT_ROWSET(&tt_tensor_map_schema, 0, &model, entries, n);
    assert_int_equal(tt_listing_make(&listing, &rows, wish, &error), TT_OK);
}

static void free_tensors(void)
{
    tt_listing_free(&listing);
    free(entries);
}

static void test_csv_of_experts(void **state)
{
    (void)state;
    tt_bytes out;
    good_file(3);
    assert_int_equal(parse(), TT_OK);
    list_tensors((tt_tensor_map_style){.experts = true}, &(tt_listing_wish){.csv = true});
    tt_bytes_init(&out, 1 << 16);
    tt_listing_csv_header(&out, &listing);
    for (size_t i = 0; i < listing.n; i++)
        tt_listing_csv_row(&out, &listing, tt_listing_row(&listing, i));
    tt_bytes_u8(&out, 0);
    int at = (int)model.parts[0].data_offset;
    char want[1024];
    (void)snprintf(
        want, sizeof want,
        "tensor_name,file_offset,size_bytes,layer_id,component_type,dtype,n_dims,ne0,ne1,ne2,ne3,"
        "expert_id,dim0,dim1,dim2,dim3,name,file,offset_start,offset_end,shape,category,component,"
        "stack\n"
        "output_norm.weight,%d,32,,Other,F32,1,8,1,1,1,,8,1,1,1,output_norm.weight,,%d,%d,8,norm,"
        "output_norm,\n"
        "blk.0.ffn_up_exps.weight[0],%d,136,0,FFN Up Expert 0,Q8_0,2,32,4,1,1,0,32,4,1,1,"
        "blk.0.ffn_up_exps.weight[0],,%d,%d,32 x 4,ffn,ffn_up_exps,\n"
        "blk.0.ffn_up_exps.weight[1],%d,136,0,FFN Up Expert 1,Q8_0,2,32,4,1,1,1,32,4,1,1,"
        "blk.0.ffn_up_exps.weight[1],,%d,%d,32 x 4,ffn,ffn_up_exps,\n",
        at, at, at + 32, at + 32, at + 32, at + 168, at + 168, at + 168, at + 304);
    assert_string_equal(out.data, want);
    tt_bytes_free(&out);
    free_tensors();
    tt_gguf_close(&model);
}

static void test_json_of_whole_tensors(void **state)
{
    (void)state;
    char *out = NULL;
    size_t size = 0;
    tt_json j;
    good_file(3);
    assert_int_equal(parse(), TT_OK);
    list_tensors((tt_tensor_map_style){0}, &(tt_listing_wish){.columns = tt_tensor_map_columns});
    FILE *f = open_memstream(&out, &size);
    tt_json_begin(&j, f, 0);
    tt_tensor_map_json(&model, "m.gguf", "run-1", &listing, &j);
    free_tensors();
    assert_true(tt_json_end(&j));
    assert_int_equal(fclose(f), 0);
    char packed[2048];
    size_t n = 0;
    for (const char *c = out; *c && n + 1 < sizeof packed; c++)
        if (*c != ' ' && *c != '\n') packed[n++] = *c;
    packed[n] = '\0';
    assert_non_null(strstr(packed, "{\"experiment_id\":\"run-1\",\"model_name\":\"byhand\","));
    assert_non_null(strstr(
        packed, "\"num_tensors\":2,\"metadata\":{\"n_layers\":3,\"n_vocab\":3,\"n_embd\":null,"
                "\"n_heads\":null,\"n_tensors\":2,\"source\":\"m.gguf\"}"));
    assert_non_null(
        strstr(packed, "\"shape\":[32,4,2],\"dtype\":\"Q8_0\",\"layer_id\":0,\"category\":\"ffn\","
                       "\"component\":\"ffn_up_exps\",\"component_type\":\"FFNUpExperts\"}"));
    free(out);
    tt_gguf_close(&model);
}

static void test_slices_need_the_right_dimension(void **state)
{
    (void)state;
    tt_gguf_tensor t = {.name = "blk.0.ffn_up_exps.weight",
                        .type = tt_ggml_type_find(TT_GGML_F32),
                        .n_dims = 3,
                        .ne = {4, 2, 8, 1},
                        .size_bytes = 256};
    assert_int_equal(tt_memory_map_slices(&t, 8), 8);
    assert_int_equal(tt_memory_map_slices(&t, -1), 8);
    assert_int_equal(tt_memory_map_slices(&t, 4), 1);
    t.name = "blk.0.ffn_up_exps.bias";
    t.n_dims = 2;
    t.ne[1] = 8;
    assert_int_equal(tt_memory_map_slices(&t, 8), 8);
    assert_int_equal(tt_memory_map_slices(&t, -1), 1);
    t.name = "blk.0.ffn_up.weight";
    assert_int_equal(tt_memory_map_slices(&t, 8), 1);
}

/* ---- synthetic models and files ---- */

static tt_synth_config smallest(void)
{
    tt_synth_config c;
    assert_true(tt_synth_preset(&c, "tiny"));
    c.n_layers = 1;
    c.n_vocab = TT_VOCAB_MIN;
    return c;
}

static void write_model(const tt_synth_config *c, const char *path)
{
    tt_status status = tt_synth_write(c, path, true, NULL, NULL, NULL, &error);
    if (status != TT_OK) fail_msg("%s", error.message);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    struct stat st;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    *size = (size_t)st.st_size;
    uint8_t *data = malloc(*size);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, f), *size);
    (void)fclose(f);
    return data;
}

static bool same_files(const char *a, const char *b)
{
    size_t n, m;
    uint8_t *x = read_file(a, &n);
    uint8_t *y = read_file(b, &m);
    bool same = n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

static void test_every_preset_is_possible(void **state)
{
    (void)state;
    const char *name, *summary;
    size_t n = 0;
    for (; tt_synth_preset_at(n, &name, &summary); n++) {
        tt_synth_config c;
        assert_true(tt_synth_preset(&c, name));
        assert_int_equal(tt_synth_check(&c, &error), TT_OK);
    }
    assert_int_equal(n, 3);
    tt_synth_config c;
    assert_false(tt_synth_preset(&c, "huge"));
}

static void test_synth_is_deterministic(void **state)
{
    (void)state;
    tt_synth_config c = smallest();
    c.n_threads = 1;
    write_model(&c, "one.gguf");
    c.n_threads = 3;
    write_model(&c, "three.gguf");
    assert_true(same_files("one.gguf", "three.gguf"));
    c.seed = 2;
    write_model(&c, "three.gguf");
    assert_false(same_files("one.gguf", "three.gguf"));
    assert_int_equal(unlink("one.gguf") | unlink("three.gguf"), 0);
}

static void test_synth_keeps_existing_files(void **state)
{
    (void)state;
    tt_synth_config c = smallest();
    write_model(&c, "kept.gguf");
    assert_int_equal(tt_synth_write(&c, "kept.gguf", false, NULL, NULL, NULL, &error), TT_E_EXISTS);
    assert_int_equal(unlink("kept.gguf"), 0);
}

static void test_synth_writes_what_it_says(void **state)
{
    (void)state;
    tt_synth_config c = smallest();
    uint64_t total = 0;
    c.n_experts = 4;
    c.n_experts_used = 1;
    assert_int_equal(tt_synth_write(&c, "m.gguf", false, NULL, NULL, &total, &error), TT_OK);
    assert_int_equal(tt_gguf_open(&model, "m.gguf", &error), TT_OK);
    assert_int_equal(model.size_bytes, total);
    assert_int_equal(model.n_tensors, 13);
    assert_int_equal(model.parts[0].gap_bytes, 0);
    const tt_gguf_tensor *t = tt_gguf_tensor_find(&model, "blk.0.ffn_down_exps.weight");
    assert_non_null(t);
    assert_int_equal(t->ne[0], 512);
    assert_int_equal(t->ne[1], 256);
    assert_int_equal(t->ne[2], 4);
    assert_int_equal(t->type->id, TT_GGML_Q6_K);
    tt_gguf_shape s = tt_gguf_shape_of(&model);
    assert_int_equal(s.n_experts_used, 1);
    assert_int_equal(s.n_vocab, TT_VOCAB_MIN);
    tt_gguf_close(&model);
    assert_int_equal(unlink("m.gguf"), 0);
}

static void expect_lora(const char *name, const uint64_t ne[3])
{
    const tt_gguf_tensor *t = tt_gguf_tensor_find(&model, name);
    assert_non_null(t);
    assert_int_equal(t->type->id, TT_GGML_F16);
    for (int i = 0; i < 3; i++)
        assert_int_equal(t->ne[i], ne[i]);
}

static void test_lora_fits_its_model(void **state)
{
    (void)state;
    tt_synth_config c = smallest();
    c.n_experts = 4;
    c.n_experts_used = 1;
    write_model(&c, "m.gguf");
    tt_lora_config lora = {.model = "m.gguf", .rank = 4, .alpha = 8, .type = TT_GGML_F16};
    uint64_t total = 0;
    assert_int_equal(tt_lora_write(&lora, "l.gguf", false, NULL, NULL, &total, &error), TT_OK);
    assert_int_equal(tt_gguf_open(&model, "l.gguf", &error), TT_OK);
    assert_int_equal(model.size_bytes, total);
    assert_int_equal(model.n_tensors, 2 * 7); /* neither router nor norms nor embeddings */
    expect_lora("blk.0.attn_k.weight.lora_a", (const uint64_t[3]){256, 4, 1});
    expect_lora("blk.0.attn_k.weight.lora_b", (const uint64_t[3]){4, 128, 1});
    expect_lora("blk.0.ffn_down_exps.weight.lora_a", (const uint64_t[3]){512, 4, 4});
    expect_lora("blk.0.ffn_down_exps.weight.lora_b", (const uint64_t[3]){4, 256, 4});
    tt_span text = tt_gguf_kv_string(tt_gguf_find(&model, "general.type"));
    assert_int_equal(text.size, 7);
    assert_memory_equal(text.data, "adapter", 7);
    tt_gguf_close(&model);
    assert_int_equal(tt_lora_write(&lora, "l.gguf", false, NULL, NULL, NULL, &error), TT_E_EXISTS);
    lora.rank = TT_LORA_RANK_MAX + 1;
    assert_int_equal(tt_lora_write(&lora, "n.gguf", false, NULL, NULL, NULL, &error), TT_E_USAGE);
    assert_int_not_equal(access("n.gguf", F_OK), 0);
    assert_int_equal(unlink("m.gguf") | unlink("l.gguf"), 0);
}

static void impossible(const tt_synth_config *c, const char *words)
{
    assert_int_equal(tt_synth_write(c, "never.gguf", false, NULL, NULL, NULL, &error), TT_E_USAGE);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
    assert_int_not_equal(access("never.gguf", F_OK), 0);
}

static void test_synth_refuses_impossible_shapes(void **state)
{
    (void)state;
    tt_synth_config c = smallest();
    c.n_layers = 0;
    impossible(&c, "layers must be 1 to 512");
    c = smallest();
    c.n_embd = 264;
    impossible(&c, "264 is not a multiple of 256");
    c = smallest();
    c.n_ffn = 300;
    impossible(&c, "ffn_down: feed-forward width 300");
    c = smallest();
    c.n_heads = 3;
    impossible(&c, "not a multiple of the 3 heads");
    c = smallest();
    c.n_heads_kv = 3;
    impossible(&c, "cannot share 3 KV heads");
    c = smallest();
    c.n_heads = c.n_heads_kv = 256;
    impossible(&c, "must be even");
    c = smallest();
    c.n_vocab = 10;
    impossible(&c, "vocabulary");
    c = smallest();
    c.n_experts = 4;
    c.n_experts_used = 5;
    impossible(&c, "1 to 4 can be used");
    c = smallest();
    c.n_experts_used = 2;
    impossible(&c, "has none");
    c = smallest();
    c.type = 16;
    impossible(&c, "IQ2_XXS cannot be synthesised");
    c = smallest();
    c.n_parts = 200;
    impossible(&c, "only 12 tensors");
}

static void test_vocabulary_is_unique(void **state)
{
    (void)state;
    tt_gguf_writer w;
    tt_gguf_writer_init(&w);
    assert_int_equal(tt_vocab_write(&w, 20000, &error), TT_OK);
    assert_int_equal(tt_vocab_write(&w, TT_VOCAB_MIN - 1, &error), TT_E_USAGE);
    tt_bytes_clear(&file);
    assert_int_equal(tt_gguf_writer_header(&w, &file, &error), TT_OK);
    tt_gguf_writer_free(&w);
    assert_int_equal(parse(), TT_OK);
    const tt_gguf_kv *kv = tt_gguf_find(&model, "tokenizer.ggml.tokens");
    assert_int_equal(kv->count, 20000);
    tt_span *all = calloc(20000, sizeof *all);
    assert_non_null(all);
    size_t at = 0, n = 0;
    while (n < 20000 && tt_gguf_kv_next_string(kv, &at, &all[n]))
        n++;
    assert_int_equal(n, 20000);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (all[i].size == all[k].size && memcmp(all[i].data, all[k].data, all[i].size) == 0)
                fail_msg("tokens %zu and %zu are equal", k, i);
    free(all);
    tt_gguf_close(&model);
}

static void test_split_models(void **state)
{
    (void)state;
    tt_synth_config c = smallest();
    c.n_parts = 3;
    write_model(&c, "s.gguf");
    assert_int_equal(tt_gguf_open(&model, "s-00001-of-00003.gguf", &error), TT_OK);
    assert_int_equal(model.n_parts, 3);
    assert_int_equal(model.n_tensors, 12);
    assert_int_equal(model.tensors[0].part, 0);
    assert_int_equal(model.tensors[11].part, 2);
    tt_gguf_close(&model);

    assert_int_equal(tt_gguf_open(&model, "s-00002-of-00003.gguf", &error), TT_E_USAGE);
    assert_non_null(strstr(error.message, "give the first: s-00001-of-00003.gguf"));
    assert_int_equal(rename("s-00001-of-00003.gguf", "odd.gguf"), 0);
    assert_int_equal(tt_gguf_open(&model, "odd.gguf", &error), TT_E_FORMAT);
    assert_int_equal(rename("odd.gguf", "s-00001-of-00003.gguf"), 0);

    assert_int_equal(rename("s-00003-of-00003.gguf", "aside"), 0);
    assert_int_equal(tt_gguf_open(&model, "s-00001-of-00003.gguf", &error), TT_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "s-00003-of-00003.gguf"));
    assert_null(model.parts);
    assert_int_equal(link("s-00002-of-00003.gguf", "s-00003-of-00003.gguf"), 0);
    assert_int_equal(tt_gguf_open(&model, "s-00001-of-00003.gguf", &error), TT_E_FORMAT);
    assert_non_null(strstr(error.message, "part 3 of 3 was expected"));
    assert_int_equal(unlink("aside") | unlink("s-00001-of-00003.gguf") |
                         unlink("s-00002-of-00003.gguf") | unlink("s-00003-of-00003.gguf"),
                     0);
}

static void test_refuses_what_is_no_file(void **state)
{
    (void)state;
    assert_int_equal(tt_gguf_open(&model, "missing.gguf", &error), TT_E_NOT_FOUND);
    assert_int_equal(tt_gguf_open(&model, ".", &error), TT_E_IO);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(tt_gguf_open(&model, "pipe", &error), TT_E_IO);
    assert_int_equal(unlink("pipe"), 0);
    FILE *f = fopen("empty", "w");
    assert_non_null(f);
    (void)fclose(f);
    assert_int_equal(tt_gguf_open(&model, "empty", &error), TT_E_TRUNCATED);
    assert_int_equal(unlink("empty"), 0);
}

/* A file of a terabyte that is all holes must cost neither time nor memory. */
static void test_sparse_files(void **state)
{
    (void)state;
    begin(3, 0, 1);
    text("k");
    tt_bytes_u32(&file, TT_GGUF_STRING);
    tt_bytes_u64(&file, UINT64_C(1) << 39);
    FILE *f = fopen("sparse", "w");
    assert_non_null(f);
    assert_int_equal(fwrite(file.data, 1, file.size, f), file.size);
    (void)fclose(f);
    if (truncate("sparse", (off_t)1 << 40) == 0)
        assert_int_equal(tt_gguf_open(&model, "sparse", &error), TT_E_LIMIT);
    assert_int_equal(unlink("sparse"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_versions_2_and_3),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_signed_and_wide_integers),
        cmocka_unit_test(test_every_truncation_is_an_error),
        cmocka_unit_test(test_refuses_other_formats),
        cmocka_unit_test(test_refuses_impossible_counts),
        cmocka_unit_test(test_refuses_bad_metadata),
        cmocka_unit_test(test_nested_arrays),
        cmocka_unit_test(test_refuses_bad_tensors),
        cmocka_unit_test(test_refuses_overlaps_and_twins),
        cmocka_unit_test(test_gaps_and_empty_tensors_are_accepted),
        cmocka_unit_test(test_names_are_safe_to_show),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_small_floats),
        cmocka_unit_test(test_layout_of_weights),
        cmocka_unit_test(test_layers_of_stacks),
        cmocka_unit_test(test_layout_of_graph_values),
        cmocka_unit_test(test_layout_of_odd_names),
        cmocka_unit_test(test_csv_of_experts),
        cmocka_unit_test(test_json_of_whole_tensors),
        cmocka_unit_test(test_slices_need_the_right_dimension),
        cmocka_unit_test(test_every_preset_is_possible),
        cmocka_unit_test(test_synth_is_deterministic),
        cmocka_unit_test(test_synth_keeps_existing_files),
        cmocka_unit_test(test_synth_writes_what_it_says),
        cmocka_unit_test(test_lora_fits_its_model),
        cmocka_unit_test(test_synth_refuses_impossible_shapes),
        cmocka_unit_test(test_vocabulary_is_unique),
        cmocka_unit_test(test_split_models),
        cmocka_unit_test(test_refuses_what_is_no_file),
        cmocka_unit_test(test_sparse_files),
    };
    return cmocka_run_group_tests_name("gguf", tests, enter_folder, leave_folder);
}
