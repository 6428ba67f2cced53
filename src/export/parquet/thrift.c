#include "export/parquet/thrift.h"

/* Types of fields; a boolean's value is in its type. */
enum { FIELD_TRUE = 1, FIELD_FALSE = 2, FIELD_BYTE = 3 };

#define SHORT_DELTA_MAX 15
#define SHORT_LIST_MAX 14u

static void field(tt_thrift *t, int16_t id, unsigned type)
{
    int16_t *last = &t->last[t->depth - 1];
    int delta = id - *last;
    if (delta >= 1 && delta <= SHORT_DELTA_MAX) {
        tt_bytes_u8(t->out, (uint8_t)((unsigned)delta << 4 | type));
    } else {
        tt_bytes_u8(t->out, (uint8_t)type);
        tt_bytes_zigzag(t->out, id);
    }
    *last = id;
}

void tt_thrift_begin(tt_thrift *t)
{
    if (t->depth < TT_THRIFT_DEPTH_MAX)
        t->last[t->depth++] = 0;
    else
        t->out->failed = true;
}

void tt_thrift_end(tt_thrift *t)
{
    tt_bytes_u8(t->out, 0);
    t->depth--;
}

void tt_thrift_struct(tt_thrift *t, int16_t id)
{
    field(t, id, TT_THRIFT_STRUCT);
    tt_thrift_begin(t);
}

void tt_thrift_bool(tt_thrift *t, int16_t id, bool v)
{
    field(t, id, v ? FIELD_TRUE : FIELD_FALSE);
}

void tt_thrift_byte(tt_thrift *t, int16_t id, int8_t v)
{
    field(t, id, FIELD_BYTE);
    tt_bytes_u8(t->out, (uint8_t)v);
}

void tt_thrift_i32(tt_thrift *t, int16_t id, int32_t v)
{
    field(t, id, TT_THRIFT_I32);
    tt_bytes_zigzag(t->out, v);
}

void tt_thrift_i64(tt_thrift *t, int16_t id, int64_t v)
{
    field(t, id, TT_THRIFT_I64);
    tt_bytes_zigzag(t->out, v);
}

void tt_thrift_text(tt_thrift *t, int16_t id, const void *text, size_t n)
{
    field(t, id, TT_THRIFT_BINARY);
    tt_bytes_str(t->out, text, n);
}

void tt_thrift_string(tt_thrift *t, int16_t id, const char *text)
{
    tt_thrift_text(t, id, text, strlen(text));
}

void tt_thrift_list(tt_thrift *t, int16_t id, tt_thrift_type type, size_t n)
{
    field(t, id, TT_THRIFT_LIST);
    if (n <= SHORT_LIST_MAX) {
        tt_bytes_u8(t->out, (uint8_t)(n << 4 | type));
    } else {
        tt_bytes_u8(t->out, (uint8_t)(0xf0u | type));
        tt_bytes_varint(t->out, n);
    }
}

void tt_thrift_item_i32(tt_thrift *t, int32_t v)
{
    tt_bytes_zigzag(t->out, v);
}

void tt_thrift_item_string(tt_thrift *t, const char *text)
{
    tt_bytes_str(t->out, text, strlen(text));
}
