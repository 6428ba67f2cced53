/* A streaming JSON writer: it builds no tree, so a million rows need no more memory than one. Keys
 * and strings are escaped; bytes that are not UTF-8 become U+FFFD. Numbers that JSON cannot
 * represent (NaN, infinities) are written as null. Text is buffered until tt_json_end. */
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
    int indent; /* spaces per level; 0: everything on one line */
    unsigned depth;
    bool has_item[TT_JSON_DEPTH_MAX]; /* the open container at that depth has an item */
    bool after_key;
    uint64_t flushes;
    size_t used;                       /* of the buffer: not written to `out` yet */
    char buffer[TT_JSON_BUFFER_BYTES]; /* a stdio call for every comma would be the largest cost */
} tt_json;

/* out: NULL when it could not be opened: nothing is written, and tt_json_end fails. */
void tt_json_begin(tt_json *j, FILE *out, int indent);
/* Ends the document with a newline. False with errno set if anything could not be written (a full
 * disk); the caller reports it. */
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
void tt_json_double(tt_json *j, double v); /* the shortest decimal that reads back as the same
                                              number */
void tt_json_bool(tt_json *j, bool v);
void tt_json_null(tt_json *j);

/* A key and its value in one call. */
void tt_json_kv_string(tt_json *j, const char *key, const char *s);
void tt_json_kv_u64(tt_json *j, const char *key, uint64_t v);
void tt_json_kv_i64(tt_json *j, const char *key, int64_t v);
void tt_json_kv_double(tt_json *j, const char *key, double v);
void tt_json_kv_bool(tt_json *j, const char *key, bool v);

/* null if it is not known. */
void tt_json_u64_or_null(tt_json *j, bool known, uint64_t v);
void tt_json_kv_u64_or_null(tt_json *j, const char *key, bool known, uint64_t v);
void tt_json_kv_i64_or_null(tt_json *j, const char *key, bool known, int64_t v);
void tt_json_kv_double_or_null(tt_json *j, const char *key, bool known, double v);
/* null for the empty text, too. */
void tt_json_kv_text_or_null(tt_json *j, const char *key, const char *s);
/* Hexadecimal digits of n bytes, at most 32. */
void tt_json_kv_hex_or_null(tt_json *j, const char *key, bool known, const uint8_t *bytes,
                            size_t n);

/* Repeated text: everything written since a mark, commas included, to be written again by
 * tt_json_again. tt_json_mark reserves `room` bytes (at most TT_JSON_BUFFER_BYTES); tt_json_since
 * returns NULL if more was written. The text is valid until the next call. */
typedef struct tt_json_position {
    uint64_t flushes;
    size_t at;
} tt_json_position;
tt_json_position tt_json_mark(tt_json *j, size_t room);
const char *tt_json_since(const tt_json *j, tt_json_position mark, size_t *n);
/* Writes such a text. Whether the container already has an item must be the same as then, and the
 * text must close as many levels as it opens. */
void tt_json_again(tt_json *j, const char *text, size_t n);

#endif
