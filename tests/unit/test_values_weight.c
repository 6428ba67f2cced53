/* Weights in the model's file: what is not finite is found, and what cannot be known is said. */
#include "tests.h"

#include "analyze/values/first.h"
#include "base/checksum.h"
#include "gguf/types.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OFFSET 100u /* of the weight: no multiple of anything */
#define SIZE_MOST (256u << 10)

/* A file with one weight in it, and a model that was traced with it. */
typedef struct made {
    char path[64];
    uint8_t bytes[OFFSET + SIZE_MOST];
    tt_model_file file;
    tt_weight weight;
    tt_model m;
} made;

static made *make(uint32_t type, uint64_t columns, uint64_t rows)
{
    const tt_ggml_type *t = tt_ggml_type_find(type);
    made *x = calloc(1, sizeof *x);
    assert_non_null(x);
    assert_non_null(t);
    x->weight = (tt_weight){.name = "w",
                            .type = type,
                            .n_dims = 2,
                            .ne = {columns, rows},
                            .offset_bytes = OFFSET,
                            .size_bytes = columns * rows / t->block_elements * t->block_bytes};
    assert_true(x->weight.size_bytes <= SIZE_MOST);
    x->m.files = &x->file;
    x->m.n_files = 1;
    x->m.weights = &x->weight;
    x->m.n_weights = 1;
    return x;
}

static void set(made *x, uint64_t at, const void *bytes, size_t n)
{
    memcpy(x->bytes + OFFSET + at, bytes, n);
}

static void set_half(made *x, uint64_t at, uint16_t half)
{
    set(x, at, &half, sizeof half);
}

/* The file as it was traced. */
static void put(made *x)
{
    const size_t size = OFFSET + (size_t)x->weight.size_bytes;
    struct stat st;
    (void)snprintf(x->path, sizeof x->path, "weight-%d.bin", (int)getpid());
    FILE *f = fopen(x->path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(x->bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(stat(x->path, &st), 0);
    x->file = (tt_model_file){.path = x->path,
                              .size_bytes = size,
                              .mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
                                          (uint64_t)st.st_mtim.tv_nsec,
                              .head_hash = tt_checksum(x->bytes, size < 65536 ? size : 65536)};
}

static tt_values_weight look(const made *x)
{
    tt_values_weight w;
    assert_int_equal(tt_values_weight_look(&x->m, 0, NULL, &w, NULL), TT_OK);
    return w;
}

static void drop(made *x)
{
    (void)unlink(x->path);
    free(x);
}

static void floats_are_counted_and_placed(void **state)
{
    made *x = make(TT_GGML_F32, 300, 101);
    const float nan = NAN, inf = -INFINITY;
    (void)state;
    put(x);
    tt_values_weight w = look(x);
    assert_true(w.looked_at && w.nan_inf_known);
    assert_int_equal(w.elements, 30300);
    assert_int_equal(w.n_bad, 0);
    assert_null(w.why_not);
    /* Behind the first piece, and the last element. */
    set(x, 4 * (300 * 70 + 5), &inf, 4);
    set(x, 4 * (300 * 101 - 1), &nan, 4);
    put(x);
    w = look(x);
    assert_int_equal(w.n_bad, 2);
    assert_int_equal(w.n_nan, 1);
    assert_int_equal(w.n_inf, 1);
    assert_int_equal(w.first_bad, 300 * 70 + 5);
    assert_int_equal(w.first_bad_at[0], 5);
    assert_int_equal(w.first_bad_at[1], 70);
    assert_int_equal(w.first_bad_at[2] + w.first_bad_at[3], 0);
    drop(x);
}

/* Where each type's block has its scales: a block whose scale is not finite has no finite element,
 * and all other bytes may be anything. */
static void scales_of_quantised_types_are_looked_at(void **state)
{
    static const struct {
        const char *type;
        uint32_t scale[2], n;
    } types[] = {
        {"Q8_0", {0}, 1},    {"Q4_0", {0}, 1},    {"Q2_K", {80, 82}, 2}, {"Q3_K", {108}, 1},
        {"Q4_K", {0, 2}, 2}, {"Q5_K", {0, 2}, 2}, {"Q6_K", {208}, 1},    {"IQ1_S", {0}, 1},
        {"IQ2_XXS", {0}, 1}, {"IQ2_XS", {0}, 1},  {"IQ2_S", {0}, 1},     {"IQ3_XXS", {0}, 1},
        {"IQ3_S", {0}, 1},   {"IQ4_XS", {0}, 1},  {"TQ1_0", {52}, 1},    {"TQ2_0", {64}, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const tt_ggml_type *t = tt_ggml_type_parse(types[i].type);
        const uint64_t block = 90; /* of 128: behind the first piece of those of 256 elements */
        made *x = make(t->id, t->block_elements, 128);
        /* All bits set is NaN wherever a scale is looked for. */
        memset(x->bytes + OFFSET, 0xff, (size_t)x->weight.size_bytes);
        for (uint64_t b = 0; b < 128; b++)
            for (uint32_t k = 0; k < types[i].n; k++)
                set_half(x, b * t->block_bytes + types[i].scale[k], 0x3c00);
        put(x);
        tt_values_weight w = look(x);
        if (!w.looked_at || w.n_bad) fail_msg("%s: %lu", types[i].type, (unsigned long)w.n_bad);
        for (uint32_t k = 0; k < types[i].n; k++) {
            const uint64_t at = block * t->block_bytes + types[i].scale[k];
            set_half(x, at, 0x7e00);
            put(x);
            w = look(x);
            assert_int_equal(w.n_bad, t->block_elements);
            assert_int_equal(w.first_bad, block * t->block_elements);
            assert_int_equal(w.first_bad_at[1], block);
            assert_int_equal(w.nan_inf_known, i < 2);
            set_half(x, at, 0x7bff); /* the largest that is finite */
        }
        drop(x);
    }
}

static void expect_why(const made *x, const char *why)
{
    tt_values_weight w = look(x);
    assert_false(w.looked_at);
    assert_non_null(w.why_not);
    assert_int_equal(w.elements + w.n_bad, 0);
    if (!strstr(w.why_not, why)) fail_msg("'%s', not '%s'", w.why_not, why);
}

/* Two weights of 8 floats, the first with a NaN: each source has its own weight's, however often.
 */
static void each_source_has_its_own_weight(void **state)
{
    made *x = make(TT_GGML_F32, 16, 1);
    const float nan = NAN;
    tt_weight weights[2];
    tt_values_origin origins[2] = {{.n_sources = 1}, {.n_sources = 2}};
    tt_values_first f = {.origins = origins, .n_origins = 2};
    (void)state;
    set(x, 12, &nan, 4);
    put(x);
    for (uint32_t i = 0; i < 2; i++) {
        weights[i] = x->weight;
        weights[i].ne[0] = 8;
        weights[i].size_bytes = 32;
        weights[i].offset_bytes += 32 * i;
    }
    x->m.weights = weights;
    x->m.n_weights = 2;
    origins[0].sources[0].weight = 0;
    origins[1].sources[0].weight = 1;
    origins[1].sources[1].weight = 0;
    assert_int_equal(tt_values_first_weights(&x->m, NULL, &f, NULL), TT_OK);
    assert_int_equal(origins[0].sources[0].in_file.n_nan, 1);
    assert_true(origins[1].sources[0].in_file.looked_at);
    assert_int_equal(origins[1].sources[0].in_file.n_nan, 0);
    assert_int_equal(origins[1].sources[1].in_file.n_nan, 1);
    drop(x);
}

static void another_file_is_not_looked_at(void **state)
{
    made *x = make(TT_GGML_F32, 64, 4);
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    (void)state;
    put(x);
    assert_true(look(x).looked_at);
    x->file.head_hash ^= 1;
    expect_why(x, "another file");
    put(x);
    assert_int_equal(utimensat(AT_FDCWD, x->path, times, 0), 0);
    expect_why(x, "modified after it was traced");
    put(x);
    x->file.size_bytes++;
    expect_why(x, "size");
    put(x);
    assert_int_equal(unlink(x->path), 0);
    expect_why(x, "No such file");
    /* Neither waits for a writer. */
    assert_int_equal(mkfifo(x->path, 0600), 0);
    expect_why(x, "size");
    drop(x);
}

static void what_a_trace_says_is_not_believed(void **state)
{
    made *x = make(TT_GGML_F32, 64, 4);
    (void)state;
    put(x);
    x->weight.type = TT_GGML_MXFP4;
    expect_why(x, "type");
    x->weight.type = 4000000000u;
    expect_why(x, "type");
    x->weight.type = TT_GGML_F32;
    x->weight.size_bytes += 4;
    expect_why(x, "fit");
    x->weight.size_bytes = UINT64_MAX - 3;
    expect_why(x, "fit");
    x->weight.size_bytes = 64 * 4 * 4;
    x->weight.offset_bytes = UINT64_MAX;
    expect_why(x, "fit");
    x->weight.offset_bytes = OFFSET;
    x->weight.ne[1] = 5;
    expect_why(x, "fit");
    x->weight.ne[0] = x->weight.ne[1] = UINT64_C(1) << 33;
    expect_why(x, "fit");
    /* Without a shape there is an index, but no place. */
    const float nan = NAN;
    x->weight.n_dims = 0;
    set(x, 40, &nan, 4);
    put(x);
    tt_values_weight w = look(x);
    assert_int_equal(w.n_nan, 1);
    assert_int_equal(w.first_bad, 10);
    assert_false(w.has_place);
    drop(x);
}

static bool is_over(void *context)
{
    (void)context;
    return true;
}

static void it_ends_when_nobody_waits(void **state)
{
    made *x = make(TT_GGML_F32, 64, 4);
    const tt_over over = {.is_over = is_over};
    tt_values_weight w;
    (void)state;
    put(x);
    assert_int_equal(tt_values_weight_look(&x->m, 0, &over, &w, NULL), TT_E_IO);
    assert_false(w.looked_at);
    drop(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_counted_and_placed),
        cmocka_unit_test(scales_of_quantised_types_are_looked_at),
        cmocka_unit_test(each_source_has_its_own_weight),
        cmocka_unit_test(another_file_is_not_looked_at),
        cmocka_unit_test(what_a_trace_says_is_not_believed),
        cmocka_unit_test(it_ends_when_nobody_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
