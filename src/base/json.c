#include "base/json.h"

#include "base/hex.h"
#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

void tt_json_begin(tt_json *j, FILE *out, int indent)
{
    memset(j, 0, offsetof(tt_json, buffer));
    j->out = out;
    j->indent = indent;
}

static void flush(tt_json *j)
{
    if (j->out) (void)fwrite(j->buffer, 1, j->used, j->out);
    j->used = 0;
    j->flushes++;
}

static void put(tt_json *j, const char *text, size_t n)
{
    if (n > sizeof j->buffer - j->used) flush(j);
    if (n > sizeof j->buffer) {
        if (j->out) (void)fwrite(text, 1, n, j->out);
        return;
    }
    memcpy(j->buffer + j->used, text, n);
    j->used += n;
}

static void put_char(tt_json *j, char c)
{
    if (j->used == sizeof j->buffer) flush(j);
    j->buffer[j->used++] = c;
}

bool tt_json_end(tt_json *j)
{
    put_char(j, '\n');
    flush(j);
    if (!j->out) errno = ENOMEM;
    if (!j->out || fflush(j->out) != 0) return false;
    if (ferror(j->out)) {
        /* The failed write was earlier, and its errno is lost. */
        if (errno == 0) errno = EIO;
        return false;
    }
    return true;
}

static void new_line(tt_json *j)
{
    if (j->indent <= 0) return;
    put_char(j, '\n');
    for (unsigned i = 0; i < (unsigned)j->indent * j->depth; i++)
        put_char(j, ' ');
}

/* Writes what precedes a value or a key: a comma, and the line break with indentation. */
static void before_item(tt_json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth == 0 || j->depth >= TT_JSON_DEPTH_MAX) return;
    if (j->has_item[j->depth]) put_char(j, ',');
    j->has_item[j->depth] = true;
    new_line(j);
}

static void open_container(tt_json *j, char bracket)
{
    before_item(j);
    put_char(j, bracket);
    j->depth++;
    if (j->depth < TT_JSON_DEPTH_MAX) j->has_item[j->depth] = false;
}

static void close_container(tt_json *j, char bracket)
{
    bool had_item = j->depth < TT_JSON_DEPTH_MAX && j->has_item[j->depth];
    if (j->depth > 0) j->depth--;
    if (had_item) new_line(j);
    put_char(j, bracket);
}

void tt_json_object(tt_json *j)
{
    open_container(j, '{');
}

void tt_json_object_end(tt_json *j)
{
    close_container(j, '}');
}

void tt_json_array(tt_json *j)
{
    open_container(j, '[');
}

void tt_json_array_end(tt_json *j)
{
    close_container(j, ']');
}

static void put_escaped(tt_json *j, unsigned char c)
{
    static const char names[] = "\"\\\n\r\t", letters[] = "\"\\nrt", hex[] = "0123456789abcdef";
    const char *name = c ? strchr(names, c) : NULL;
    put_char(j, '\\');
    if (name) {
        put_char(j, letters[name - names]);
        return;
    }
    put(j, "u00", 3);
    put_char(j, hex[c >> 4]);
    put_char(j, hex[c & 15]);
}

/* Leading bytes of a text that need no escape. */
static size_t plain_length(const unsigned char *s, size_t n)
{
    size_t i = 0;
    while (i < n && s[i] >= 0x20 && s[i] < 0x7f && s[i] != '"' && s[i] != '\\')
        i++;
    return i;
}

static void put_quoted(tt_json *j, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    put_char(j, '"');
    while (n > 0) {
        size_t length = plain_length(s, n);
        if (length == 0) {
            length = tt_utf8_length(s, n);
            if (length == 1) put_escaped(j, s[0]);
            if (length > 1) put(j, (const char *)s, length);
            if (length == 0) {
                put(j, "\\ufffd", 6);
                length = 1;
            }
        } else {
            put(j, (const char *)s, length);
        }
        s += length;
        n -= length;
    }
    put_char(j, '"');
}

void tt_json_key(tt_json *j, const char *key)
{
    before_item(j);
    put_quoted(j, key, strlen(key));
    put_char(j, ':');
    if (j->indent > 0) put_char(j, ' ');
    j->after_key = true;
}

void tt_json_string(tt_json *j, const char *s)
{
    if (s)
        tt_json_string_n(j, s, strlen(s));
    else
        tt_json_null(j);
}

void tt_json_string_n(tt_json *j, const char *s, size_t n)
{
    before_item(j);
    put_quoted(j, s, n);
}

static void put_digits(tt_json *j, uint64_t v)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + v % 10);
    while (v /= 10);
    put(j, digits + at, sizeof digits - at);
}

void tt_json_u64(tt_json *j, uint64_t v)
{
    before_item(j);
    put_digits(j, v);
}

void tt_json_i64(tt_json *j, int64_t v)
{
    before_item(j);
    if (v < 0) put_char(j, '-');
    put_digits(j, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void tt_json_double(tt_json *j, double v)
{
    char text[TT_DECIMAL_TEXT];
    if (!isfinite(v)) {
        tt_json_null(j);
        return;
    }
    before_item(j);
    put(j, text, tt_decimal_write(v, text));
}

void tt_json_bool(tt_json *j, bool v)
{
    before_item(j);
    put(j, v ? "true" : "false", v ? 4 : 5);
}

void tt_json_null(tt_json *j)
{
    before_item(j);
    put(j, "null", 4);
}

void tt_json_kv_string(tt_json *j, const char *key, const char *s)
{
    tt_json_key(j, key);
    tt_json_string(j, s);
}

void tt_json_kv_u64(tt_json *j, const char *key, uint64_t v)
{
    tt_json_key(j, key);
    tt_json_u64(j, v);
}

void tt_json_kv_i64(tt_json *j, const char *key, int64_t v)
{
    tt_json_key(j, key);
    tt_json_i64(j, v);
}

void tt_json_kv_double(tt_json *j, const char *key, double v)
{
    tt_json_key(j, key);
    tt_json_double(j, v);
}

void tt_json_kv_bool(tt_json *j, const char *key, bool v)
{
    tt_json_key(j, key);
    tt_json_bool(j, v);
}

void tt_json_u64_or_null(tt_json *j, bool known, uint64_t v)
{
    if (known)
        tt_json_u64(j, v);
    else
        tt_json_null(j);
}

void tt_json_kv_u64_or_null(tt_json *j, const char *key, bool known, uint64_t v)
{
    tt_json_key(j, key);
    tt_json_u64_or_null(j, known, v);
}

void tt_json_kv_i64_or_null(tt_json *j, const char *key, bool known, int64_t v)
{
    tt_json_key(j, key);
    if (known)
        tt_json_i64(j, v);
    else
        tt_json_null(j);
}

void tt_json_kv_text_or_null(tt_json *j, const char *key, const char *s)
{
    tt_json_kv_string(j, key, s && s[0] ? s : NULL);
}

void tt_json_kv_double_or_null(tt_json *j, const char *key, bool known, double v)
{
    tt_json_key(j, key);
    if (known)
        tt_json_double(j, v);
    else
        tt_json_null(j);
}

void tt_json_kv_hex_or_null(tt_json *j, const char *key, bool known, const uint8_t *bytes, size_t n)
{
    char text[2 * 32 + 1];
    if (known) tt_hex(text, bytes, n);
    tt_json_kv_string(j, key, known ? text : NULL);
}

tt_json_position tt_json_mark(tt_json *j, size_t room)
{
    if (room > sizeof j->buffer - j->used) flush(j);
    return (tt_json_position){j->flushes, j->used};
}

const char *tt_json_since(const tt_json *j, tt_json_position mark, size_t *n)
{
    if (j->flushes != mark.flushes) return NULL;
    *n = j->used - mark.at;
    return j->buffer + mark.at;
}

void tt_json_again(tt_json *j, const char *text, size_t n)
{
    put(j, text, n);
}
