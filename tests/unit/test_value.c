/* Fingerprints of values, against what is worked out one element at a time. */
#include "tests.h"

#include "value/fingerprint.h"
#include "value/tree.h"
#include "value/type.h"

#include <blake3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 64u

static tt_value_data plain(tt_value_type type, const void *data, uint64_t n0, uint64_t n1,
                           uint64_t n2, uint64_t n3)
{
    tt_value_data v = {.type = type, .ne = {n0, n1, n2, n3}, .data = data};
    v.nb[0] = tt_value_block_bytes(type);
    v.nb[1] = n0 / tt_value_block_elements(type) * v.nb[0];
    v.nb[2] = v.nb[1] * n1;
    v.nb[3] = v.nb[2] * n2;
    return v;
}

/* Pieces in an order that no thread would take them in. */
static tt_fingerprint of(const tt_value_data *v, unsigned with)
{
    static tt_value_piece pieces[PIECES_MAX];
    uint32_t n = tt_value_pieces(v);
    tt_fingerprint f;
    assert_in_range(n, 1, PIECES_MAX);
    for (uint32_t k = 0; k < n; k++)
        tt_value_take(v, n - 1 - k, with, &pieces[n - 1 - k]);
    tt_value_look(v, &f);
    tt_value_finish(pieces, n, with, &f);
    return f;
}

static float *noise(size_t n)
{
    float *x = malloc(n * sizeof *x);
    uint64_t s = 88172645463325252u;
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        x[i] = (float)((double)(s >> 11) * 0x1p-53 - 0.5) * 8;
    }
    return x;
}

static void blake3_is_that_of_the_bytes(void **state)
{
    static const size_t sizes[] = {1,     2,     255,   256,   257,   4095,  4096,
                                   4097,  8192,  16383, 16384, 16385, 16640, 20480,
                                   32768, 32769, 49153, 65536, 81921, 500001};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        float *x = noise(sizes[i]);
        tt_value_data v = plain(TT_VALUE_F32, x, sizes[i], 1, 1, 1);
        tt_fingerprint f = of(&v, TT_VALUE_WITH_BLAKE3);
        uint8_t want[32];
        blake3_hasher h;
        blake3_hasher_init(&h);
        blake3_hasher_update(&h, x, sizes[i] * sizeof *x);
        blake3_hasher_finalize(&h, want, sizeof want);
        assert_true(f.has_blake3);
        assert_memory_equal(f.blake3, want, sizeof want);
        f = of(&v, 0);
        assert_false(f.has_blake3);
        free(x);
    }
}

static void sums_are_those_of_each_element(void **state)
{
    enum { N = 70001 };
    float *x = noise(N);
    double sum = 0, squares = 0;
    (void)state;
    x[12345] = 1000;
    x[54321] = -2000;
    for (int i = 0; i < N; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    tt_value_data v = plain(TT_VALUE_F32, x, N, 1, 1, 1);
    tt_fingerprint f = of(&v, 0);
    assert_int_equal(f.n, N);
    assert_true(f.has_range);
    assert_true(f.min == -2000 && f.max == 1000);
    assert_true(fabs(f.mean - sum / (double)N) < 1e-9);
    assert_true(fabs(f.rms - sqrt(squares / (double)N)) < 1e-9);
    assert_int_equal(f.n_prefix, TT_VALUE_PREFIX);
    assert_memory_equal(f.prefix, x, sizeof f.prefix);
    assert_int_equal(f.n_samples, TT_VALUE_SAMPLES);
    assert_true(f.samples[0] == x[0] && f.samples[15] == x[N - 1]);
    assert_true(f.samples[7] == x[tt_value_sample_index(N, 7)]);
    free(x);
}

static void what_is_not_finite_is_counted_and_left_out(void **state)
{
    static const size_t places[] = {0,    1,     15,    16,    17,    4095,
                                    4096, 16383, 16384, 20000, 32767, 39999};
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        float *x = noise(40000);
        x[places[i]] = NAN;
        x[39998] = -INFINITY;
        tt_value_data v = plain(TT_VALUE_F32, x, 40000, 1, 1, 1);
        tt_fingerprint f = of(&v, 0);
        assert_int_equal(f.n_nan, 1);
        assert_int_equal(f.n_inf, 1);
        assert_int_equal(f.first_bad, places[i] < 39998 ? places[i] : 39998);
        assert_true(isfinite(f.mean) && isfinite(f.rms) && f.min >= -4 && f.max <= 4);
        free(x);
    }
    float bad[3] = {NAN, INFINITY, NAN};
    tt_value_data v = plain(TT_VALUE_F32, bad, 3, 1, 1, 1);
    tt_fingerprint f = of(&v, 0);
    assert_false(f.has_range);
    assert_int_equal(f.n_nan, 2);
    assert_int_equal(f.first_bad, 0);
}

/* A value seen through strides is as one that lies there in that order. */
static void order_is_logical(void **state)
{
    enum { A = 96, B = 70, C = 5, D = 2, N = A * B * C * D };
    float *x = noise(N), *there = malloc(N * sizeof *there);
    (void)state;
    assert_non_null(there);
    /* Dimensions 0 and 1 swapped, 2 and 3 swapped: ne = B, A, D, C over memory A, B, C, D. */
    tt_value_data v = {.type = TT_VALUE_F32,
                       .ne = {B, A, D, C},
                       .nb = {A * 4, 4, A * B * C * 4, A * B * 4},
                       .data = x};
    size_t at = 0;
    for (size_t i3 = 0; i3 < C; i3++)
        for (size_t i2 = 0; i2 < D; i2++)
            for (size_t i1 = 0; i1 < A; i1++)
                for (size_t i0 = 0; i0 < B; i0++)
                    there[at++] = x[((i2 * C + i3) * B + i0) * A + i1];
    tt_value_data w = plain(TT_VALUE_F32, there, N, 1, 1, 1);
    tt_fingerprint a = of(&v, TT_VALUE_WITH_BLAKE3), b = of(&w, TT_VALUE_WITH_BLAKE3);
    assert_memory_equal(a.hash, b.hash, sizeof a.hash);
    assert_memory_equal(a.blake3, b.blake3, sizeof a.blake3);
    assert_true(a.mean == b.mean && a.rms == b.rms && a.min == b.min && a.max == b.max);
    assert_memory_equal(a.samples, b.samples, sizeof a.samples);
    /* Rows with a gap behind them: a view of some columns. */
    tt_value_data columns = {.type = TT_VALUE_F32,
                             .ne = {40, B, C, D},
                             .nb = {4, A * 4, A * B * 4, A * B * C * 4},
                             .data = x + 7};
    at = 0;
    for (size_t r = 0; r < B * C * D; r++)
        for (size_t i = 0; i < 40; i++)
            there[at++] = x[r * A + 7 + i];
    w = plain(TT_VALUE_F32, there, at, 1, 1, 1);
    a = of(&columns, TT_VALUE_WITH_BLAKE3);
    b = of(&w, TT_VALUE_WITH_BLAKE3);
    assert_memory_equal(a.hash, b.hash, sizeof a.hash);
    assert_memory_equal(a.blake3, b.blake3, sizeof a.blake3);
    free(x);
    free(there);
}

/* Rows that are picked by numbers, as a KV cache's are written. */
static void rows_can_be_picked(void **state)
{
    enum { A = 48, ROWS = 1000, N = 700 };
    float *x = noise(A * ROWS), *there = malloc(A * N * sizeof *there);
    int64_t wide[N];
    int32_t narrow[N];
    (void)state;
    assert_non_null(there);
    for (int i = 0; i < N; i++) {
        narrow[i] = (i * 37 + 5) % ROWS;
        wide[i] = narrow[i];
        memcpy(there + i * A, x + narrow[i] * A, A * sizeof *x);
    }
    tt_value_data v = plain(TT_VALUE_F32, x, A, N, 1, 1),
                  w = plain(TT_VALUE_F32, there, A, N, 1, 1);
    tt_fingerprint want = of(&w, TT_VALUE_WITH_BLAKE3);
    for (int bytes = 4; bytes <= 8; bytes += 4) {
        v.rows = bytes == 4 ? (const void *)narrow : (const void *)wide;
        v.rows_bytes = (uint32_t)bytes;
        tt_fingerprint f = of(&v, TT_VALUE_WITH_BLAKE3);
        assert_memory_equal(&f, &want, sizeof f);
    }
    free(x);
    free(there);
}

static void impossible_shapes_have_no_elements(void **state)
{
    float x = 0;
    tt_value_data v = plain(TT_VALUE_F32, &x, 1, 1, 1, 1);
    (void)state;
    assert_int_equal(tt_value_pieces(&v), 1);
    v.ne[2] = 0;
    assert_int_equal(tt_value_pieces(&v), 0);
    v.ne[2] = UINT64_MAX / 2;
    v.ne[3] = 3;
    assert_int_equal(tt_value_pieces(&v), 0);
    v = plain(TT_VALUE_Q8_0, &x, 32, 1, 1, 1);
    assert_int_equal(tt_value_pieces(&v), 1);
    v.ne[0] = 33;
    assert_int_equal(tt_value_pieces(&v), 0);
    v.type = TT_VALUE_UNKNOWN;
    assert_int_equal(tt_value_pieces(&v), 0);
    v = plain(TT_VALUE_I8, &x, (uint64_t)1 << 40, 1, 1, 1);
    assert_in_range(tt_value_pieces(&v), 2048, TT_VALUE_PIECES_MAX);
    v = plain(TT_VALUE_I8, &x, ((uint64_t)1 << 26) - 1, 1, 1, 1);
    assert_in_range(tt_value_pieces(&v), 2048, TT_VALUE_PIECES_MAX);
}

static void samples_reach_from_end_to_end(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 100; n++) {
        uint64_t samples = n < TT_VALUE_SAMPLES ? n : TT_VALUE_SAMPLES;
        assert_int_equal(tt_value_sample_index(n, 0), 0);
        assert_int_equal(tt_value_sample_index(n, (uint32_t)samples - 1), n - 1);
        for (uint32_t i = 1; i < samples; i++)
            assert_true(tt_value_sample_index(n, i) > tt_value_sample_index(n, i - 1));
    }
    assert_true(tt_value_sample_index(UINT64_MAX / 8, 15) == UINT64_MAX / 8 - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blake3_is_that_of_the_bytes),
        cmocka_unit_test(sums_are_those_of_each_element),
        cmocka_unit_test(what_is_not_finite_is_counted_and_left_out),
        cmocka_unit_test(order_is_logical),
        cmocka_unit_test(rows_can_be_picked),
        cmocka_unit_test(impossible_shapes_have_no_elements),
        cmocka_unit_test(samples_reach_from_end_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
