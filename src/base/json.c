#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void tt_json_begin(tt_json *j, FILE *out, int indent)
{
    memset(j, 0, sizeof *j);
    j->out = out;
    j->indent = indent;
}

bool tt_json_end(tt_json *j)
{
    putc('\n', j->out);
    if (fflush(j->out) != 0) return false;
    if (ferror(j->out)) {
        /* The write that failed is past, and its errno with it. */
        if (errno == 0) errno = EIO;
        return false;
    }
    return true;
}

static void new_line(tt_json *j)
{
    if (j->indent > 0) fprintf(j->out, "\n%*s", j->indent * (int)j->depth, "");
}

/* What stands before a value or a key: a comma, and the place on the next line. */
static void before_item(tt_json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth == 0 || j->depth >= TT_JSON_DEPTH_MAX) return;
    if (j->has_item[j->depth]) putc(',', j->out);
    j->has_item[j->depth] = true;
    new_line(j);
}

static void open_container(tt_json *j, char bracket)
{
    before_item(j);
    putc(bracket, j->out);
    j->depth++;
    if (j->depth < TT_JSON_DEPTH_MAX) j->has_item[j->depth] = false;
}

static void close_container(tt_json *j, char bracket)
{
    bool had_item = j->depth < TT_JSON_DEPTH_MAX && j->has_item[j->depth];
    if (j->depth > 0) j->depth--;
    if (had_item) new_line(j);
    putc(bracket, j->out);
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

size_t tt_utf8_length(const void *text, size_t n)
{
    const unsigned char *s = text;
    unsigned char low = 0x80, high = 0xbf;
    size_t length;
    if (s[0] < 0x80) return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    if (s[0] < 0xe0) {
        length = 2;
    } else if (s[0] < 0xf0) {
        length = 3;
        if (s[0] == 0xe0) low = 0xa0;
        if (s[0] == 0xed) high = 0x9f;
    } else {
        length = 4;
        if (s[0] == 0xf0) low = 0x90;
        if (s[0] == 0xf4) high = 0x8f;
    }
    if (length > n || s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return length;
}

static void put_ascii(FILE *out, unsigned char c)
{
    switch (c) {
    case '"':
        fputs("\\\"", out);
        break;
    case '\\':
        fputs("\\\\", out);
        break;
    case '\n':
        fputs("\\n", out);
        break;
    case '\r':
        fputs("\\r", out);
        break;
    case '\t':
        fputs("\\t", out);
        break;
    default:
        if (c < 0x20 || c == 0x7f)
            fprintf(out, "\\u%04x", c);
        else
            putc(c, out);
    }
}

static void put_quoted(FILE *out, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    putc('"', out);
    while (n > 0) {
        size_t length = tt_utf8_length(s, n);
        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (length == 1) {
            put_ascii(out, s[0]);
        } else {
            fwrite(s, 1, length, out);
        }
        s += length;
        n -= length;
    }
    putc('"', out);
}

void tt_json_key(tt_json *j, const char *key)
{
    before_item(j);
    put_quoted(j->out, key, strlen(key));
    fputs(j->indent > 0 ? ": " : ":", j->out);
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
    put_quoted(j->out, s, n);
}

void tt_json_u64(tt_json *j, uint64_t v)
{
    before_item(j);
    fprintf(j->out, "%llu", (unsigned long long)v);
}

void tt_json_i64(tt_json *j, int64_t v)
{
    before_item(j);
    fprintf(j->out, "%lld", (long long)v);
}

void tt_json_double(tt_json *j, double v)
{
    char text[40];
    if (!isfinite(v)) {
        tt_json_null(j);
        return;
    }
    before_item(j);
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        double back = strtod(text, NULL);
        if (memcmp(&back, &v, sizeof v) == 0) break;
    }
    /* A program that uses this may live in a locale with a decimal comma. */
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    fputs(text, j->out);
}

void tt_json_bool(tt_json *j, bool v)
{
    before_item(j);
    fputs(v ? "true" : "false", j->out);
}

void tt_json_null(tt_json *j)
{
    before_item(j);
    fputs("null", j->out);
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
