/* A streaming JSON writer: no tree in memory, so a million rows cost no more
 * than one. Keys and strings are escaped; bytes that are not UTF-8 become U+FFFD.
 * Numbers that JSON cannot hold (NaN, infinities) are written as null. Until tt_json_end some of
 * the text is in the writer. */
#ifndef TT_BASE_JSON_H
#define TT_BASE_JSON_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TT_JSON_DEPTH_MAX 32
#define TT_JSON_BUFFER_BYTES 16384u

typedef struct tt_json {
    FILE *out;
    int indent; /* spaces a level; 0: everything on one line */
    unsigned depth;
    bool has_item[TT_JSON_DEPTH_MAX]; /* the open container at that depth has an item */
    bool after_key;
    uint64_t flushes;
    size_t used;                       /* of the buffer: what is not in `out` yet */
    char buffer[TT_JSON_BUFFER_BYTES]; /* a call of stdio for every comma would cost the most */
} tt_json;

/* out: NULL when it could not be opened: nothing is written, and tt_json_end fails. */
void tt_json_begin(tt_json *j, FILE *out, int indent);
/* Ends the document with a newline. False when anything could not be written
 * (a full disk), with errno set; the caller reports it. */
bool tt_json_end(tt_json *j);

void tt_json_object(tt_json *j);     /* { */
void tt_json_object_end(tt_json *j); /* } */
void tt_json_array(tt_json *j);      /* [ */
void tt_json_array_end(tt_json *j);  /* ] */
void tt_json_key(tt_json *j, const char *key);
void tt_json_string(tt_json *j, const char *s); /* NULL: null */
void tt_json_string_n(tt_json *j, const char *s, size_t n);
void tt_json_u64(tt_json *j, uint64_t v);
void tt_json_i64(tt_json *j, int64_t v);
void tt_json_double(tt_json *j, double v); /* shortest decimal that reads back the same */
void tt_json_bool(tt_json *j, bool v);
void tt_json_null(tt_json *j);

/* A key and its value in one call. */
void tt_json_kv_string(tt_json *j, const char *key, const char *s);
void tt_json_kv_u64(tt_json *j, const char *key, uint64_t v);
void tt_json_kv_i64(tt_json *j, const char *key, int64_t v);
void tt_json_kv_double(tt_json *j, const char *key, double v);
void tt_json_kv_bool(tt_json *j, const char *key, bool v);

/* null for what is not known. */
void tt_json_u64_or_null(tt_json *j, bool known, uint64_t v);
void tt_json_kv_u64_or_null(tt_json *j, const char *key, bool known, uint64_t v);
void tt_json_kv_i64_or_null(tt_json *j, const char *key, bool known, int64_t v);
void tt_json_kv_double_or_null(tt_json *j, const char *key, bool known, double v);
/* null for the empty text, too. */
void tt_json_kv_text_or_null(tt_json *j, const char *key, const char *s);
/* Hexadecimal digits of n bytes, at most 32. */
void tt_json_kv_hex_or_null(tt_json *j, const char *key, bool known, const uint8_t *bytes,
                            size_t n);

/* Text that is written again and again: what was put since a mark, as it stands in the document,
 * commas included. tt_json_mark sees to `room` bytes (at most TT_JSON_BUFFER_BYTES) behind it;
 * tt_json_since is NULL when what was put was more, and valid until the next call. */
typedef struct tt_json_place {
    uint64_t flushes;
    size_t at;
} tt_json_place;
tt_json_place tt_json_mark(tt_json *j, size_t room);
const char *tt_json_since(const tt_json *j, tt_json_place mark, size_t *n);
/* Puts such a text, in a container that has an item already when it had one then, and of which as
 * many levels are open at its end as at its begin. */
void tt_json_again(tt_json *j, const char *text, size_t n);

#endif
