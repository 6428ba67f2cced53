#include "export/parquet/bounds.h"

static void set(tt_parquet_bound *bound, const void *bytes, size_t n)
{
    memcpy(bound->bytes, bytes, n);
    bound->n = (uint8_t)n;
    bound->exact = true;
}

void tt_parquet_bound_integers(tt_parquet_chunk *chunk, const tt_parquet_integers *v)
{
    uint64_t least = v->least ^ v->bias, most = v->most ^ v->bias;
    set(&chunk->least, &least, v->wide ? 8 : 4);
    set(&chunk->most, &most, v->wide ? 8 : 4);
    chunk->bounded = true;
}

void tt_parquet_bound_bools(tt_parquet_chunk *chunk, const uint8_t *values, size_t n)
{
    uint8_t all = 1, any = 0;
    for (size_t i = 0; i < n; i++) {
        all &= values[i];
        any |= values[i];
    }
    set(&chunk->least, &all, 1);
    set(&chunk->most, &any, 1);
    chunk->bounded = true;
}

static void bound_floats(tt_parquet_chunk *chunk, const float *values, size_t n)
{
    float least = values[0], most = values[0];
    for (size_t i = 0; i < n; i++) {
        if (values[i] != values[i]) return;
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (least == 0) least = -0.0f;
    if (most == 0) most = 0.0f;
    set(&chunk->least, &least, sizeof least);
    set(&chunk->most, &most, sizeof most);
    chunk->bounded = true;
}

static void bound_doubles(tt_parquet_chunk *chunk, const double *values, size_t n)
{
    double least = values[0], most = values[0];
    for (size_t i = 0; i < n; i++) {
        if (values[i] != values[i]) return;
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (least == 0) least = -0.0;
    if (most == 0) most = 0.0;
    set(&chunk->least, &least, sizeof least);
    set(&chunk->most, &most, sizeof most);
    chunk->bounded = true;
}

void tt_parquet_bound_reals(tt_parquet_chunk *chunk, const void *values, size_t n, bool wide)
{
    if (wide)
        bound_doubles(chunk, values, n);
    else
        bound_floats(chunk, values, n);
}

/* The first bytes of a text, whole characters: not above it. */
static size_t cut(const uint8_t *text, size_t n)
{
    if (n <= TT_PARQUET_BOUND_MAX) return n;
    n = TT_PARQUET_BOUND_MAX;
    while (n > 0 && (text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* A short text above a long one: its begin, up to an ASCII character that has a next one. */
static bool set_above(tt_parquet_bound *bound, const uint8_t *text, size_t n)
{
    if (n <= TT_PARQUET_BOUND_MAX) {
        set(bound, text, n);
        return true;
    }
    for (size_t k = TT_PARQUET_BOUND_MAX; k > 0; k--) {
        if (text[k - 1] >= 0x7f) continue;
        set(bound, text, k);
        bound->bytes[k - 1]++;
        bound->exact = false;
        return true;
    }
    return false;
}

static int compare(tt_span a, tt_span b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

void tt_parquet_bound_texts(tt_parquet_chunk *chunk, const tt_bytes *page, size_t n,
                            const uint8_t *used)
{
    tt_cursor c = tt_cursor_of(page->data, page->size);
    tt_span least = {NULL, 0}, most = {NULL, 0};
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t size = tt_cursor_u32(&c);
        tt_span text = tt_cursor_take(&c, size);
        if (!used[i]) continue;
        if (!found || compare(text, least) < 0) least = text;
        if (!found || compare(text, most) > 0) most = text;
        found = true;
    }
    if (!found || c.failed || !set_above(&chunk->most, most.data, most.size)) return;
    set(&chunk->least, least.data, cut(least.data, least.size));
    chunk->least.exact = chunk->least.n == least.size;
    chunk->bounded = true;
}
