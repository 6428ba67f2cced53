#include "bitnet/write.h"

#include "base/hex.h"
#include "base/json.h"
#include "bitnet/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* serde_json's pretty layout: two spaces a level, one element a line. Not base/json.h: that one
 * writes numbers, and some characters, in its own way, and into a stream. */

static void put_text(tt_bytes *out, const char *text)
{
    tt_bytes_put(out, text, strlen(text));
}

static void put_control(tt_bytes *out, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = c ? strchr(from, c) : NULL;
    char text[8];
    if (found)
        (void)snprintf(text, sizeof text, "\\%c", to[found - from]);
    else
        (void)snprintf(text, sizeof text, "\\u%04x", c);
    put_text(out, text);
}

static void put_string(tt_bytes *out, const char *text)
{
    size_t left = strlen(text);
    tt_bytes_u8(out, '"');
    while (left > 0) {
        unsigned char c = (unsigned char)*text;
        size_t n = tt_utf8_length(text, left);
        if (n == 0)
            put_text(out, "\xef\xbf\xbd");
        else if (c < 0x20 || c == '"' || c == '\\')
            put_control(out, c);
        else
            tt_bytes_put(out, text, n);
        n += n == 0;
        text += n;
        left -= n;
    }
    tt_bytes_u8(out, '"');
}

static void put_key(tt_bytes *out, const char *key)
{
    put_text(out, out->data && out->size > 0 && out->data[out->size - 1] == '{' ? "\n  " : ",\n  ");
    put_string(out, key);
    put_text(out, ": ");
}

static void put_u64(tt_bytes *out, uint64_t v)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, v);
    put_text(out, text);
}

static void put_f32(tt_bytes *out, float v)
{
    char text[TT_BITNET_NUMBER] = "null";
    if (isfinite(v)) (void)tt_bitnet_number_f32(v, text);
    put_text(out, text);
}

/* Before element i of an array. */
static void put_element(tt_bytes *out, uint32_t i)
{
    put_text(out, i == 0 ? "\n    " : ",\n    ");
}

static void end_array(tt_bytes *out, uint32_t n)
{
    put_text(out, n > 0 ? "\n  ]" : "]");
}

static void put_shape(tt_bytes *out, const tt_bitnet_record *r)
{
    put_key(out, "shape");
    tt_bytes_u8(out, '[');
    for (uint32_t i = 0; i < r->n_dims; i++) {
        put_element(out, i);
        put_u64(out, r->shape[i]);
    }
    end_array(out, r->n_dims);
}

static void put_first_values(tt_bytes *out, const tt_bitnet_record *r)
{
    put_key(out, "first_values");
    tt_bytes_u8(out, '[');
    for (uint32_t i = 0; i < r->n_first_values; i++) {
        put_element(out, i);
        put_f32(out, r->first_values[i]);
    }
    end_array(out, r->n_first_values);
}

static void put_digest(tt_bytes *out, const uint8_t digest[32])
{
    char text[65];
    tt_hex(text, digest, 32);
    put_string(out, text);
}

static void put_rms(tt_bytes *out, const tt_bitnet_record *r)
{
    char text[TT_BITNET_NUMBER] = "null";
    if (r->has_rms && isfinite(r->rms)) (void)tt_bitnet_number_f64(r->rms, text);
    put_text(out, text);
}

void tt_bitnet_put(tt_bytes *out, const tt_bitnet_record *r)
{
    tt_bytes_u8(out, '{');
    put_key(out, "name");
    put_string(out, r->name);
    put_shape(out, r);
    put_key(out, "dtype");
    put_string(out, r->dtype);
    put_key(out, "blake3");
    if (r->has_blake3)
        put_digest(out, r->blake3);
    else
        put_text(out, "null");
    put_key(out, "rms");
    put_rms(out, r);
    put_key(out, "num_elements");
    put_u64(out, r->n_elements);
    if (r->has_first_values) put_first_values(out, r);
    if (r->has_seq) {
        put_key(out, "seq");
        put_u64(out, r->seq);
    }
    if (r->has_layer) {
        char text[16];
        put_key(out, "layer");
        (void)snprintf(text, sizeof text, "%" PRId32, r->layer);
        put_text(out, text);
    }
    if (r->stage) {
        put_key(out, "stage");
        put_string(out, r->stage);
    }
    put_text(out, "\n}");
}
