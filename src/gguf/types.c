#include "gguf/types.h"

#include <strings.h>

static const tt_ggml_type types[] = {
    {TT_GGML_F32, "F32", 1, 4},
    {TT_GGML_F16, "F16", 1, 2},
    {TT_GGML_Q4_0, "Q4_0", 32, 18},
    {TT_GGML_Q4_1, "Q4_1", 32, 20},
    {TT_GGML_Q5_0, "Q5_0", 32, 22},
    {TT_GGML_Q5_1, "Q5_1", 32, 24},
    {TT_GGML_Q8_0, "Q8_0", 32, 34},
    /* 36 bytes since ggml stores d and s as halves; files never hold weights of this type. */
    {9, "Q8_1", 32, 36},
    {TT_GGML_Q2_K, "Q2_K", 256, 84},
    {TT_GGML_Q3_K, "Q3_K", 256, 110},
    {TT_GGML_Q4_K, "Q4_K", 256, 144},
    {TT_GGML_Q5_K, "Q5_K", 256, 176},
    {TT_GGML_Q6_K, "Q6_K", 256, 210},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {TT_GGML_IQ4_NL, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},
    {TT_GGML_BF16, "BF16", 1, 2},
    {31, "Q4_0_4_4", 32, 18},
    {32, "Q4_0_4_8", 32, 18},
    {33, "Q4_0_8_8", 32, 18},
    {34, "TQ1_0", 256, 54},
    {TT_GGML_TQ2_0, "TQ2_0", 256, 66},
    {36, "IQ4_NL_4_4", 32, 18},
    {37, "IQ4_NL_4_8", 32, 18},
    {38, "IQ4_NL_8_8", 32, 18},
    {TT_GGML_MXFP4, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
    {42, "Q2_0", 64, 18},
};

#define TYPE_COUNT (sizeof types / sizeof types[0])

const tt_ggml_type *tt_ggml_type_find(uint32_t id)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (types[i].id == id) return &types[i];
    return NULL;
}

const tt_ggml_type *tt_ggml_type_parse(const char *name)
{
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (strcasecmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

const tt_ggml_type *tt_ggml_type_at(size_t i)
{
    return i < TYPE_COUNT ? &types[i] : NULL;
}

#define KIND_COUNT 13u

static const struct {
    const char *name;
    uint8_t size;
} kinds[KIND_COUNT] = {
    [TT_GGUF_U8] = {"u8", 1},     [TT_GGUF_I8] = {"i8", 1},     [TT_GGUF_U16] = {"u16", 2},
    [TT_GGUF_I16] = {"i16", 2},   [TT_GGUF_U32] = {"u32", 4},   [TT_GGUF_I32] = {"i32", 4},
    [TT_GGUF_F32] = {"f32", 4},   [TT_GGUF_BOOL] = {"bool", 1}, [TT_GGUF_STRING] = {"str", 0},
    [TT_GGUF_ARRAY] = {"arr", 0}, [TT_GGUF_U64] = {"u64", 8},   [TT_GGUF_I64] = {"i64", 8},
    [TT_GGUF_F64] = {"f64", 8},
};

size_t tt_gguf_kind_size(tt_gguf_kind kind)
{
    return (unsigned)kind < KIND_COUNT ? kinds[kind].size : 0;
}

const char *tt_gguf_kind_name(tt_gguf_kind kind)
{
    return (unsigned)kind < KIND_COUNT ? kinds[kind].name : NULL;
}

static bool is_signed(tt_gguf_kind kind)
{
    return kind == TT_GGUF_I8 || kind == TT_GGUF_I16 || kind == TT_GGUF_I32 || kind == TT_GGUF_I64;
}

bool tt_gguf_kv_u64(const tt_gguf_kv *kv, uint64_t i, uint64_t *out)
{
    size_t size = tt_gguf_kind_size(kv->kind);
    if (size == 0 || kv->kind == TT_GGUF_F32 || kv->kind == TT_GGUF_F64) return false;
    if (i >= kv->count) return false;
    uint64_t v = 0;
    memcpy(&v, kv->value.data + i * size, size);
    if (is_signed(kv->kind) && (v >> (size * 8 - 1)) != 0) return false;
    *out = v;
    return true;
}

tt_span tt_gguf_kv_string(const tt_gguf_kv *kv)
{
    tt_span none = {NULL, 0};
    size_t at = 0;
    tt_span text;
    if (kv->is_array || !tt_gguf_kv_next_string(kv, &at, &text)) return none;
    return text;
}

bool tt_gguf_kv_next_string(const tt_gguf_kv *kv, size_t *at, tt_span *out)
{
    if (kv->kind != TT_GGUF_STRING) return false;
    tt_cursor c = tt_cursor_of(kv->value.data, kv->value.size);
    c.at = *at;
    uint64_t size = tt_cursor_u64(&c);
    if (c.failed || size > tt_cursor_left(&c)) return false;
    *out = tt_cursor_take(&c, (size_t)size);
    *at = c.at;
    return true;
}
