/* Writes protocol buffers: messages, integers and texts in the wire format.
 *
 * The encoding is https://protobuf.dev/programming-guides/encoding: a field is a varint tag (its
 * number x 8 + the wire type), then the value; a message or text is preceded by its length. Data is
 * appended to a tt_bytes, whose failure is sticky. */
#ifndef TT_EXPORT_PERFETTO_PROTOBUF_H
#define TT_EXPORT_PERFETTO_PROTOBUF_H

#include "base/bytes.h"
#include "base/json.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TT_PROTO_VARINT = 0, TT_PROTO_FIXED64 = 1, TT_PROTO_LENGTH = 2 };

static inline void tt_proto_tag(tt_bytes *b, uint32_t field, uint32_t wire)
{
    tt_bytes_varint(b, (uint64_t)field << 3 | wire);
}

/* bool, enum, uint32, uint64; for int32 and int64 the value as unsigned 64 bits. */
static inline void tt_proto_uint(tt_bytes *b, uint32_t field, uint64_t v)
{
    tt_proto_tag(b, field, TT_PROTO_VARINT);
    tt_bytes_varint(b, v);
}

static inline void tt_proto_int(tt_bytes *b, uint32_t field, int64_t v)
{
    tt_proto_uint(b, field, (uint64_t)v);
}

static inline void tt_proto_fixed64(tt_bytes *b, uint32_t field, uint64_t v)
{
    tt_proto_tag(b, field, TT_PROTO_FIXED64);
    tt_bytes_u64(b, v);
}

static inline void tt_proto_double(tt_bytes *b, uint32_t field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    tt_proto_fixed64(b, field, bits);
}

/* A nested message: everything appended until tt_proto_end. */
static inline size_t tt_proto_begin(tt_bytes *b, uint32_t field)
{
    tt_proto_tag(b, field, TT_PROTO_LENGTH);
    return b->size;
}

/* Inserts the length before the content, which is moved. */
static inline void tt_proto_end(tt_bytes *b, size_t content)
{
    uint8_t length[TT_VARINT_MAX];
    if (b->failed) return;
    size_t size = b->size - content, n = tt_varint_put(length, size);
    if (!tt_bytes_reserve(b, n)) return;
    memmove(b->data + content + n, b->data + content, size);
    memcpy(b->data + content, length, n);
    b->size += n;
}

/* A `string` must be UTF-8: other bytes become U+FFFD, as in JSON. */
static inline void tt_proto_text_n(tt_bytes *b, uint32_t field, const char *text, size_t n)
{
    size_t at = tt_proto_begin(b, field);
    tt_bytes_utf8(b, text, n);
    tt_proto_end(b, at);
}

static inline void tt_proto_text(tt_bytes *b, uint32_t field, const char *text)
{
    tt_proto_text_n(b, field, text, strlen(text));
}

#endif
