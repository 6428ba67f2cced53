#include "gguf/kv.h"

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
