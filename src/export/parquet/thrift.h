/* Writes Thrift's compact protocol: what Parquet's footer and page headers are made of.
 *
 * Source: Thrift, doc/specs/thrift-compact-protocol.md. A field is one byte, the difference to the
 * previous field's id (at most 15) above its type, or the type and the id when the difference is
 * larger; integers are zigzag varints. */
#ifndef TT_EXPORT_PARQUET_THRIFT_H
#define TT_EXPORT_PARQUET_THRIFT_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_THRIFT_DEPTH_MAX 8u

/* Of the elements of a list. */
typedef enum tt_thrift_type {
    TT_THRIFT_I32 = 5,
    TT_THRIFT_I64 = 6,
    TT_THRIFT_BINARY = 8,
    TT_THRIFT_LIST = 9,
    TT_THRIFT_STRUCT = 12
} tt_thrift_type;

/* One struct at a time, fields by ascending id. Failure is that of `out`. */
typedef struct tt_thrift {
    tt_bytes *out;
    unsigned depth;
    int16_t last[TT_THRIFT_DEPTH_MAX]; /* the last field of each open struct */
} tt_thrift;

/* A struct that is no field: the whole document, or an element of a list. */
void tt_thrift_begin(tt_thrift *t);
void tt_thrift_end(tt_thrift *t);
void tt_thrift_struct(tt_thrift *t, int16_t id); /* a field; ended by tt_thrift_end */
void tt_thrift_bool(tt_thrift *t, int16_t id, bool v);
void tt_thrift_byte(tt_thrift *t, int16_t id, int8_t v);
void tt_thrift_i32(tt_thrift *t, int16_t id, int32_t v);
void tt_thrift_i64(tt_thrift *t, int16_t id, int64_t v);
void tt_thrift_text(tt_thrift *t, int16_t id, const void *text, size_t n);
void tt_thrift_string(tt_thrift *t, int16_t id, const char *text);
/* A field that is a list: n elements follow, each by one of the two below, by begin and end, or
 * as bytes that another tt_thrift wrote. */
void tt_thrift_list(tt_thrift *t, int16_t id, tt_thrift_type type, size_t n);
void tt_thrift_item_i32(tt_thrift *t, int32_t v);
void tt_thrift_item_string(tt_thrift *t, const char *text);

#endif
