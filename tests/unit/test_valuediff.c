/* Values of two sides compared: verdicts, places, where an error is made. The sides are made in
 * memory, value by value. */
#include "tests.h"

#include "analyze/dumps/valuediff.h"
#include "answer/valuediff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 8u
#define VALUES_MAX 16u
#define ELEMENTS_MAX 32u

/* A value of a side. */
typedef struct made {
    tt_dump_value v;
    float data[ELEMENTS_MAX];
} made;

typedef struct side {
    made values[STEPS_MAX][VALUES_MAX];
    size_t n_values[STEPS_MAX];
    int32_t tokens[STEPS_MAX][VALUES_MAX];
    tt_dump *dump;
} side;

static tt_stages *built_in;

static tt_status load(tt_dump *d, size_t step, tt_dump_step *out, tt_error *err)
{
    const side *s = d->context;
    (void)err;
    for (size_t i = 0; i < s->n_values[step]; i++)
        *tt_dump_add(out) = s->values[step][i].v;
    return TT_OK;
}

static tt_status data(tt_dump *d, const tt_dump_value *v, uint64_t first, size_t n, float *out,
                      tt_error *err)
{
    const side *s = d->context;
    if (v->run >= STEPS_MAX) return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "damaged");
    memcpy(out, s->values[v->run][v->node].data + first, n * sizeof *out);
    return TT_OK;
}

static const tt_dump_kind kind = {"memory", load, data, NULL};

static void begin(side *s)
{
    memset(s, 0, sizeof *s);
    s->dump = tt_dump_new(&kind, s, "memory", built_in);
    s->dump->steps = calloc(STEPS_MAX, sizeof *s->dump->steps);
    s->dump->has_order = s->dump->has_inputs = true;
}

/* A batch of n tokens from that position on: 100, 101, ... */
static void step(side *s, int32_t position, uint32_t n)
{
    size_t at = s->dump->n_steps++;
    for (uint32_t i = 0; i < n; i++)
        s->tokens[at][i] = 100 + position + (int32_t)i;
    s->dump->steps[at] = (tt_dump_head){.position = position,
                                        .n_tokens = n,
                                        .tokens = s->tokens[at],
                                        .batch = TT_NONE,
                                        .token = TT_NONE};
}

/* The fingerprint of what the value's data is now. */
static void look(made *m)
{
    const tt_value_data v = {.type = TT_VALUE_F32,
                             .ne = {m->v.print.n, 1, 1, 1},
                             .nb = {4, 4 * m->v.print.n, 4 * m->v.print.n, 4 * m->v.print.n},
                             .data = m->data};
    tt_value_piece piece;
    tt_value_take(&v, 0, TT_VALUE_WITH_BLAKE3, &piece);
    tt_value_look(&v, &m->v.print);
    tt_value_finish(&piece, 1, TT_VALUE_WITH_BLAKE3, &m->v.print);
}

/* A new value of the last step: n elements 1, 2, ..., times `factor`. */
static made *value(side *s, int32_t layer, const char *stage, uint32_t n, float factor)
{
    size_t at = s->dump->n_steps - 1, i = s->n_values[at]++;
    made *m = &s->values[at][i];
    m->v = (tt_dump_value){.stage = stage,
                           .layer = layer,
                           .name = stage,
                           .op = "MUL_MAT",
                           .type = "f32",
                           .n_dims = 4,
                           .ne = {n, 1, 1, 1},
                           .known = TT_KNOWN_RMS | TT_KNOWN_STATS | TT_KNOWN_HASH |
                                    TT_KNOWN_BLAKE3 | TT_KNOWN_PREFIX | TT_KNOWN_SAMPLES,
                           .coarsest_type = "f32",
                           .basis = "",
                           .own_type = "f32",
                           .run = (uint32_t)at,
                           .node = (uint32_t)i};
    for (uint32_t k = 0; k < n; k++)
        m->data[k] = factor * (float)(k + 1);
    m->v.print.n = n;
    look(m);
    return m;
}

static void reads(made *m, uint32_t input)
{
    m->v.inputs[m->v.n_inputs++] = input;
}

static void finish(side *a, side *b)
{
    tt_dump_close(a->dump);
    tt_dump_close(b->dump);
}

static const tt_valuediff_options defaults = {.has_steps = false};

static tt_valuediff *compare(side *a, side *b, const tt_valuediff_options *o)
{
    tt_valuediff *d;
    tt_error err;
    assert_int_equal(tt_valuediff_make(a->dump, b->dump, o, &d, &err), TT_OK);
    return d;
}

/* The verdict on two values alone. */
static tt_value_verdict judged(made *x, made *y, side *a, side *b, const tt_valuediff_options *o,
                               tt_value_error *e)
{
    tt_tolerance t;
    tt_error err;
    return tt_value_compare(a->dump, &x->v, b->dump, &y->v, o, &t, e, &err);
}

static void test_verdicts(void **state)
{
    side a, b;
    tt_value_error e;
    const tt_valuediff_options exact = {.exact = true};
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    made *x = value(&a, 0, "x", 20, 1), *y = value(&b, 0, "x", 20, 1);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_EQUAL);
    assert_int_equal(e.basis, TT_BASIS_HASH);
    assert_true(e.rel_l2 == 0 && e.cosine == 1 && e.max_abs == 0);

    /* Element 19 by 0.001: |a - b| / |a| = 0.001 / sqrt(1 + 4 + ... + 400). */
    y->data[19] += 0.001f;
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_CLOSE);
    assert_int_equal(e.basis, TT_BASIS_SAMPLES);
    assert_int_equal(e.worst, 19);
    assert_true(fabs(e.max_abs - 0.001) < 1e-6);
    assert_true(e.rel_l2 > 1e-5 && e.rel_l2 < 3e-5);
    assert_int_equal(judged(x, y, &a, &b, &exact, &e), TT_VALUE_DIFFERS);
    y->data[19] = 30;
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS);
    /* What rounding allows for a coarse type is more. */
    for (int32_t k = 0; k < 20; k++)
        y->data[k] = x->data[k] * 1.004f;
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS);
    x->v.coarsest_type = "f16";
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_CLOSE);
    const tt_valuediff_options mine = {.has_tolerance = true, .tolerance = {1e-3, NAN, NAN}};
    assert_int_equal(judged(x, y, &a, &b, &mine, &e), TT_VALUE_DIFFERS);
    /* Whole numbers are equal, or they differ. */
    x->v.type = y->v.type = "i32";
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS);
    assert_true(e.basis == TT_BASIS_HASH && isnan(e.rel_l2));
    finish(&a, &b);
}

static void test_numbers(void **state)
{
    side a, b;
    tt_value_error e;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    made *x = value(&a, 0, "x", 4, 1), *y = value(&b, 0, "x", 4, 1);
    /* Of (1 2 3 4) and (1 2 3 -4): |a - b| = 8, |a| = sqrt(30), a . b = -2. */
    y->data[3] = -4;
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS);
    assert_true(fabs(e.rel_l2 - 8 / sqrt(30)) < 1e-12);
    assert_true(fabs(e.cosine + 2.0 / 30) < 1e-12);
    assert_true(e.max_abs == 8 && e.worst == 3 && e.worst_a == 4 && e.worst_b == -4);
    /* Statistics alone: their bound, and what it says. */
    x->v.known = y->v.known = TT_KNOWN_RMS;
    x->v.print.rms = 2;
    y->v.print.rms = 2.5;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS);
    assert_int_equal(e.basis, TT_BASIS_STATS);
    assert_true(e.at_least && fabs(e.rel_l2 - 0.25) < 1e-12 && isnan(e.cosine));
    /* Nothing in common. */
    x->v.known = TT_KNOWN_RMS;
    y->v.known = TT_KNOWN_BLAKE3;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_UNMEASURED);
    /* Other bits, by how much nobody knows. */
    x->v.known = TT_KNOWN_BLAKE3;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_OTHER_BITS);
    assert_true(isnan(e.rel_l2) && e.basis == TT_BASIS_HASH);
    /* All zero against all zero, of which only statistics and the first ones are known. */
    x->v.known = y->v.known = TT_KNOWN_RMS | TT_KNOWN_STATS | TT_KNOWN_PREFIX;
    memset(x->data, 0, sizeof x->data);
    memset(y->data, 0, sizeof y->data);
    look(x);
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_CLOSE);
    assert_true(e.rel_l2 == 0 && e.cosine == 1);
    finish(&a, &b);
}

/* A rotation keeps the RMS, and the first elements where they are not turned: records that hold a
 * hash and these do not tell how far apart the rest is. */
static void test_other_bits(void **state)
{
    side a, b;
    tt_value_error e;
    const tt_valuediff_options exact = {.exact = true};
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 2);
    step(&b, 0, 2);
    made *x = value(&a, 0, "x", 32, 1), *y = value(&b, 0, "x", 32, 1);
    for (uint32_t k = 0; k < 8; k++) {
        y->data[16 + k] = x->data[24 + k];
        y->data[24 + k] = x->data[16 + k];
    }
    look(y);
    x->v.known = y->v.known = TT_KNOWN_RMS | TT_KNOWN_BLAKE3;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_OTHER_BITS);
    assert_true(e.basis == TT_BASIS_STATS && e.at_least && e.rel_l2 < 1e-6 && isnan(e.cosine));
    assert_int_equal(judged(x, y, &a, &b, &exact, &e), TT_VALUE_DIFFERS);
    x->v.known = y->v.known |= TT_KNOWN_PREFIX;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_OTHER_BITS);
    assert_true(e.basis == TT_BASIS_FIRST && e.at_least && isnan(e.cosine));
    /* An error that shows has a size, an RMS that differs, too. */
    y->data[1] += 1e-5f;
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_CLOSE);
    x->v.known = y->v.known = TT_KNOWN_RMS | TT_KNOWN_BLAKE3;
    y->v.print.rms *= 1.01;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS);
    /* Without a hash nothing tells that they differ, or that they do not. */
    y->v.print.rms = x->v.print.rms;
    x->v.known = y->v.known = TT_KNOWN_RMS;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_UNMEASURED);
    finish(&a, &b);
}

/* Never a match: the first of them is the first divergence, made there when its inputs are equal;
 * of what follows nobody knows. */
static void test_other_bits_diverge(void **state)
{
    side a, b;
    char text[TT_VALUEDIFF_SENTENCE];
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    const char *const stages[] = {"q_proj", "q_rope", "attn_heads", "o_proj"};
    const float factor[] = {1, 1, 1, 2};
    for (uint32_t i = 0; i < 4; i++) {
        made *x = value(&a, 0, stages[i], 16, 1), *y = value(&b, 0, stages[i], 16, factor[i]);
        x->v.known = y->v.known = TT_KNOWN_RMS | TT_KNOWN_BLAKE3;
        if (i == 1 || i == 2) y->v.print.blake3[0] ^= 1;
        if (i) reads(x, i - 1);
        if (i) reads(y, i - 1);
    }
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_DIFFERS);
    assert_int_equal(d->counts[TT_VALUE_OTHER_BITS], 2);
    assert_true(d->has_first && d->has_first_certain);
    assert_string_equal(d->first.stage, "q_rope");
    assert_int_equal(d->first.blame, TT_BLAME_OWN);
    assert_string_equal(d->first_certain.stage, "o_proj");
    assert_int_equal(d->items[1].blame, TT_BLAME_UNKNOWN);
    assert_int_equal(d->items[2].blame, TT_BLAME_UNKNOWN);
    assert_non_null(strstr(tt_valuediff_text(d, text), "q_rope"));
    assert_non_null(strstr(text, "by how much is not known"));
    assert_non_null(strstr(tt_valuediff_write_counts(d, text), "2 with other bits"));
    /* Rows and plots do not show what an error is at least. */
    assert_true(isnan(d->stages[1].rel_l2) && isnan(d->stages[2].rel_l2));
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* Data that cannot be read is counted for the side whose it is. */
static void test_unreadable(void **state)
{
    side a, b;
    (void)state;
    for (int of_b = 0; of_b < 2; of_b++) {
        begin(&a);
        begin(&b);
        step(&a, 0, 1);
        step(&b, 0, 1);
        made *x = value(&a, 0, "x", 16, 1), *y = value(&b, 0, "x", 16, 2);
        x->v.known |= TT_KNOWN_DATA;
        y->v.known |= TT_KNOWN_DATA;
        (of_b ? y : x)->v.run = STEPS_MAX; /* `data` refuses it */
        tt_valuediff *d = compare(&a, &b, &defaults);
        assert_int_equal(d->counts[TT_VALUE_UNMEASURED], 1);
        assert_int_equal(d->incomplete_a, !of_b);
        assert_int_equal(d->incomplete_b, of_b);
        tt_valuediff_free(d);
        finish(&a, &b);
    }
}

static void test_not_numbers(void **state)
{
    side a, b;
    tt_value_error e;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    made *x = value(&a, 0, "x", 20, 1), *y = value(&b, 0, "x", 20, 1);
    y->data[10] = NAN;
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_NAN);
    assert_int_equal(judged(y, x, &b, &a, &defaults, &e), TT_VALUE_NAN);
    /* The same bits on both sides: still not equal. */
    x->data[10] = NAN;
    look(x);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_NAN);
    /* The same infinity is the same number, another one is not. */
    x->data[10] = y->data[10] = INFINITY;
    x->data[0] = 1.00001f;
    look(x);
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_CLOSE);
    y->data[10] = -INFINITY;
    look(y);
    x->v.known = y->v.known |= TT_KNOWN_DATA;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS);
    assert_true(isinf(e.rel_l2) && isinf(e.max_abs) && e.worst == 10);
    finish(&a, &b);
}

static void test_shapes(void **state)
{
    side a, b;
    tt_value_error e;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    made *x = value(&a, 0, "x", 24, 1), *y = value(&b, 0, "x", 24, 1);
    const struct {
        uint64_t a[4], b[4];
        tt_value_verdict verdict;
    } cases[] = {
        {{24, 1, 1, 1}, {24, 1, 1, 1}, TT_VALUE_EQUAL},
        {{24, 1, 1, 1}, {1, 24, 1, 1}, TT_VALUE_EQUAL},
        {{4, 2, 3, 1}, {8, 3, 1, 1}, TT_VALUE_EQUAL},
        {{8, 3, 1, 1}, {3, 8, 1, 1}, TT_VALUE_SHAPE},
        {{4, 6, 1, 1}, {6, 4, 1, 1}, TT_VALUE_SHAPE},
        {{24, 1, 1, 1}, {4, 6, 1, 1}, TT_VALUE_EQUAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(x->v.ne, cases[i].a, sizeof cases[i].a);
        memcpy(y->v.ne, cases[i].b, sizeof cases[i].b);
        assert_int_equal(judged(x, y, &a, &b, &defaults, &e), cases[i].verdict);
    }
    made *z = value(&b, 0, "z", 12, 1);
    assert_int_equal(judged(x, z, &a, &b, &defaults, &e), TT_VALUE_SHAPE);
    /* Of another op: another value of that name. */
    z->v.op = "GLU";
    assert_int_equal(judged(x, z, &a, &b, &defaults, &e), TT_VALUE_UNMEASURED);
    /* Scores over a cache are as long as that: not comparable, which is no difference. */
    x->v.stage = y->v.stage = "attn_scores_softmax";
    memcpy(x->v.ne, (uint64_t[4]){6, 4, 1, 1}, sizeof cases[0].a);
    memcpy(z->v.ne, (uint64_t[4]){3, 4, 1, 1}, sizeof cases[0].a);
    assert_int_equal(judged(x, z, &a, &b, &defaults, &e), TT_VALUE_UNMEASURED);
    finish(&a, &b);
}

/* All elements are compared when both sides have them, and only then. */
static void test_data(void **state)
{
    side a, b;
    tt_value_error e;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    made *x = value(&a, 0, "x", 32, 1), *y = value(&b, 0, "x", 32, 1);
    /* Neither among the first nor the samples: 31 * i / 15 rounded down. */
    y->data[11] = 12.5f;
    look(y);
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS); /* by the mean */
    assert_true(e.at_least && e.basis == TT_BASIS_SAMPLES);
    x->v.known |= TT_KNOWN_DATA;
    y->v.known |= TT_KNOWN_DATA;
    assert_int_equal(judged(x, y, &a, &b, &defaults, &e), TT_VALUE_DIFFERS);
    assert_int_equal(e.basis, TT_BASIS_DATA);
    assert_int_equal(e.worst, 11);
    assert_true(e.max_abs == 0.5 && !e.at_least);
    finish(&a, &b);
}

/* Three ops in a row; where the error is made. */
static void test_blame(void **state)
{
    side a, b;
    (void)state;
    begin(&a);
    begin(&b);
    for (int32_t position = 0; position < 2; position++) {
        step(&a, position, 1);
        step(&b, position, 1);
        float off = position ? 1.5f : 1;
        value(&a, -1, "embeddings", 16, 1);
        value(&b, -1, "embeddings", 16, 1);
        reads(value(&a, 0, "q_proj", 16, 2), 0);
        reads(value(&b, 0, "q_proj", 16, 2 * off), 0);
        reads(value(&a, 0, "o_proj", 16, 3), 1);
        reads(value(&b, 0, "o_proj", 16, 3 * off), 1);
    }
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_true(d->has_first && d->has_first_unequal);
    assert_int_equal(d->first.pair, 1);
    assert_string_equal(d->first.stage, "q_proj");
    assert_int_equal(d->first.blame, TT_BLAME_OWN);
    assert_int_equal(d->n_first_inputs, 1);
    assert_string_equal(d->first_inputs[0].stage, "embeddings");
    assert_int_equal(d->first_inputs[0].verdict, TT_VALUE_EQUAL);
    assert_int_equal(d->n_items, 2);
    assert_int_equal(d->items[1].blame, TT_BLAME_INHERITED);
    assert_int_equal(d->counts[TT_VALUE_EQUAL], 4);
    assert_int_equal(d->counts[TT_VALUE_DIFFERS], 2);
    assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_DIFFERS);
    char text[TT_VALUEDIFF_SENTENCE];
    assert_non_null(strstr(tt_valuediff_text(d, text), "position 1, layer 0, q_proj"));
    assert_non_null(strstr(text, "its inputs are equal: the error is made here"));
    /* By depth: equal in the first step, the layer's in the second. */
    assert_int_equal(d->n_depth, 4);
    assert_true(d->depth[1].rel_l2 == 0 && fabs(d->depth[3].rel_l2 - 0.5) < 1e-6);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* An error that is small beside what rounding may add up to, but that one op makes. */
static void test_jump(void **state)
{
    side a, b;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    const float off[] = {1.00003f, 1.004f, 1.0041f};
    const char *const stages[] = {"layer_out", "attn_norm", "q_proj"};
    for (uint32_t i = 0; i < 3; i++) {
        made *x = value(&a, (int32_t)(i > 0), stages[i], 16, 1);
        made *y = value(&b, (int32_t)(i > 0), stages[i], 16, off[i]);
        x->v.coarsest_type = y->v.coarsest_type = "f16";
        if (i) reads(x, i - 1);
        if (i) reads(y, i - 1);
    }
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_true(d->has_first && d->first.jump);
    assert_string_equal(d->first.stage, "attn_norm");
    assert_int_equal(d->first.blame, TT_BLAME_OWN);
    assert_int_equal(d->counts[TT_VALUE_DIFFERS], 1);
    assert_int_equal(d->counts[TT_VALUE_CLOSE], 2);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* What is measured on one side only is neither equal nor an end of the search for inputs. */
static void test_unmeasured(void **state)
{
    side a, b;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    value(&a, 0, "norm", 16, 1);
    value(&b, 0, "norm", 16, 1);
    reads(value(&a, 0, "only_a", 16, 1), 0);
    reads(value(&a, 0, "q_proj", 16, 1), 1);
    value(&b, 0, "only_b", 16, 1);
    value(&b, 0, "q_proj", 16, 9);
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(d->counts[TT_VALUE_UNMEASURED], 2);
    assert_int_equal(d->compared, 2);
    assert_string_equal(d->first.stage, "q_proj");
    /* An op that B lacks is between, but reads nothing else. */
    assert_int_equal(d->first.blame, TT_BLAME_OWN);
    assert_string_equal(d->first.only_a, "MUL_MAT");
    assert_null(d->first.only_b);
    assert_string_equal(d->first_inputs[0].stage, "norm");
    tt_valuediff_free(d);

    /* With nothing before it measured, nobody knows. */
    a.values[0][0].v.stage = "other";
    d = compare(&a, &b, &defaults);
    assert_int_equal(d->first.blame, TT_BLAME_UNKNOWN);
    assert_int_equal(d->counts[TT_VALUE_UNMEASURED], 4);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* Errors of earlier batches come back through the KV cache. */
static void test_cache(void **state)
{
    side a, b;
    (void)state;
    begin(&a);
    begin(&b);
    const tt_valuediff_options loose = {.has_tolerance = true, .tolerance = {0.5, 0, NAN}};
    for (int32_t position = 0; position < 2; position++) {
        step(&a, position, 1);
        step(&b, position, 1);
        value(&a, 0, "k_proj", 16, 1);
        value(&b, 0, "k_proj", 16, position ? 1 : 1.2f);
        made *x = value(&a, 0, "attn_heads", 16, 1);
        made *y = value(&b, 0, "attn_heads", 16, position ? 1.7f : 1);
        reads(x, 0);
        reads(y, 0);
        x->v.reads_cache = y->v.reads_cache = true;
    }
    tt_valuediff *d = compare(&a, &b, &loose);
    assert_true(d->has_first && d->first_reads_cache);
    assert_int_equal(d->first.pair, 1);
    assert_int_equal(d->first_inputs[0].verdict, TT_VALUE_EQUAL);
    assert_int_equal(d->first_cache, TT_VALUE_CLOSE);
    assert_true(fabs(d->first_cache_rel_l2 - 0.2) < 1e-6);
    assert_int_equal(d->first.blame, TT_BLAME_INHERITED);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* A choice that a close input turned: an error without a size, which is passed on. */
static void test_choice(void **state)
{
    side a, b;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    for (uint32_t i = 0; i < 3; i++) {
        made *x = value(&a, 0, i == 1 ? "moe_argsort" : i ? "moe_up_proj" : "moe_probs", 16, 1);
        made *y = value(&b, 0, x->v.stage, 16, i == 2 ? 2 : 1.00001f);
        if (i == 1) x->v.type = y->v.type = "i32";
        if (i) reads(x, i - 1);
        if (i) reads(y, i - 1);
    }
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_string_equal(d->first.stage, "moe_argsort");
    assert_int_equal(d->first.blame, TT_BLAME_INHERITED);
    assert_string_equal(d->items[2].stage, "moe_up_proj");
    assert_int_equal(d->items[2].blame, TT_BLAME_INHERITED);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* Ops that only move elements make no error; inputs of which little is known clear nobody. */
static void test_no_jump(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 4; how++) {
        side a, b;
        begin(&a);
        begin(&b);
        step(&a, 0, 1);
        step(&b, 0, 1);
        made *x = value(&a, 0, "x", 32, 1), *y = value(&b, 0, "x", 32, 1.00001f);
        if (how == 2) y->v.known = TT_KNOWN_RMS | TT_KNOWN_PREFIX;
        x = value(&a, 0, "y", 32, 1);
        y = value(&b, 0, "y", 32, 1.0009f);
        if (how == 1 || how == 3) x->v.op = y->v.op = "GET_ROWS";
        /* Moved, but behind an op that was not measured. */
        x->v.ops_between = y->v.ops_between = how == 3;
        x->v.coarsest_type = y->v.coarsest_type = "f16";
        reads(x, 0);
        reads(y, 0);
        tt_valuediff *d = compare(&a, &b, &defaults);
        assert_int_equal(d->items[1].verdict, how % 3 ? TT_VALUE_CLOSE : TT_VALUE_DIFFERS);
        assert_int_equal(d->items[1].blame, how % 3 == 0 ? TT_BLAME_OWN
                                            : how == 1   ? TT_BLAME_INHERITED
                                                         : TT_BLAME_UNKNOWN);
        if (how == 2) assert_int_equal(d->items[0].error.basis, TT_BASIS_FIRST);
        tt_valuediff_free(d);
        finish(&a, &b);
    }
}

/* A has more ops than B (attention that is not one op): they compute between what both have. */
static void test_moved_behind_others(void **state)
{
    side a, b;
    char text[TT_VALUEDIFF_SENTENCE];
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    value(&a, 0, "q_rope", 32, 1);
    value(&b, 0, "q_rope", 32, 1.00001f);
    reads(value(&a, 0, "kqv", 32, 3), 0);
    made *x = value(&a, 0, "attn_heads", 32, 3);
    x->v.op = "CONT";
    reads(x, 1);
    reads(value(&b, 0, "attn_heads", 32, 6), 0);
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_string_equal(d->first.stage, "attn_heads");
    assert_int_equal(d->first.blame, TT_BLAME_OWN);
    assert_non_null(
        strstr(tt_valuediff_text(d, text), "the error is made here (only A computes MUL_MAT)."));
    tt_valuediff_free(d);
    finish(&a, &b);
}

static void test_occurrences(void **state)
{
    side a, b;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    value(&a, 0, "norm", 16, 1);
    value(&a, 0, "norm", 16, 2);
    value(&b, 0, "norm", 16, 1);
    value(&b, 0, "norm", 16, 3);
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(d->counts[TT_VALUE_EQUAL], 1);
    assert_int_equal(d->first.occurrence, 1);
    assert_int_equal(d->first.order, 1);
    tt_valuediff_free(d);
    finish(&a, &b);
}

static void test_steps(void **state)
{
    side a, b;
    char text[TT_VALUEDIFF_SENTENCE];
    (void)state;
    begin(&a);
    begin(&b);
    /* A: 0-3, 4, 5, 6; B: a warm-up that A has not, 0-3, 4, 5 with another token, 6. */
    step(&b, 0, 2);
    value(&b, 0, "x", 16, 5);
    for (int32_t i = 0; i < 4; i++) {
        step(&a, i ? 3 + i : 0, i ? 1 : 4);
        step(&b, i ? 3 + i : 0, i ? 1 : 4);
        value(&a, 0, "x", 16, (float)i + 1);
        value(&b, 0, "x", 16, (float)i + 1);
    }
    b.tokens[3][0] = 7;
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(d->steps[0].pairing, TT_PAIR_ONLY_B);
    assert_int_equal(d->steps[1].pairing, TT_PAIR_BOTH);
    assert_int_equal(d->compared, 2);
    assert_true(d->stopped && d->stopped_position == TT_DUMP_POSITION_UNKNOWN);
    tt_valuediff_free(d);
    const int32_t position = 5;
    a.dump->steps[2].positions = b.dump->steps[3].positions = &position;
    d = compare(&a, &b, &defaults);
    assert_true(d->stopped && d->stopped_position == 5);
    assert_int_equal(d->stopped_token_a, 105);
    assert_int_equal(d->stopped_token_b, 7);
    assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_TOKENS);
    assert_non_null(strstr(tt_valuediff_text(d, text), "from position 5 on"));
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* Records that may be of any position are compared with the end of the prompt, or with nothing. */
static void test_places(void **state)
{
    static const tt_model model;
    side a, b;
    char text[TT_VALUEDIFF_SENTENCE];
    (void)state;
    for (int how = 0; how < 3; how++) {
        begin(&a);
        begin(&b);
        /* A prompt of three, token by token, and one generated. */
        for (int32_t i = 0; i < 4; i++) {
            step(&a, i, 1);
            a.dump->steps[i].phase = i < 3 ? TT_PHASE_PROMPT : TT_PHASE_GENERATE;
            value(&a, 0, "x", 16, (float)i + 1);
        }
        step(&b, 0, 1);
        b.dump->steps[0].tokens = NULL;
        value(&b, 0, "x", 16, 3);
        b.dump->places = TT_PLACES_UNKNOWN;
        a.dump->model = how == 1 ? NULL : &model;
        const tt_valuediff_options by_order = {.by_order = true};
        tt_valuediff *d = compare(&a, &b, how == 2 ? &by_order : &defaults);
        if (how == 0) {
            assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_EQUAL);
            assert_int_equal(d->compared, 1);
            assert_int_equal(d->steps[2].pairing, TT_PAIR_BOTH);
            assert_true(tt_valuediff_note(d, 9, text));
            assert_non_null(strstr(text, "position 2, where the other side's prompt ends"));
        } else if (how == 1) {
            assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_NOTHING);
            assert_non_null(strstr(tt_valuediff_text(d, text), "is not known: not measured"));
        } else {
            assert_int_equal(d->compared, 1); /* as asked for: the first with the first */
        }
        tt_valuediff_free(d);
        a.dump->model = NULL;
        finish(&a, &b);
    }
    /* A prompt in one batch: its values are of all tokens, and none are compared. */
    begin(&a);
    begin(&b);
    step(&a, 0, 3);
    a.dump->steps[0].phase = TT_PHASE_PROMPT;
    a.dump->model = &model;
    value(&a, -1, "logits", 16, 1);
    step(&b, 0, 1);
    b.dump->places = TT_PLACES_UNKNOWN;
    value(&b, -1, "logits", 16, 2);
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_NOTHING);
    assert_int_equal(d->steps[0].pairing, TT_PAIR_BATCHES);
    assert_non_null(strstr(tt_valuediff_text(d, text), "the last row was not compared"));
    tt_valuediff_free(d);
    a.dump->model = NULL;
    finish(&a, &b);
}

/* Nothing that is on both sides is not "equal". */
static void test_nothing(void **state)
{
    side a, b;
    char text[TT_VALUEDIFF_SENTENCE];
    (void)state;
    begin(&a);
    begin(&b);
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_NOTHING);
    tt_valuediff_free(d);
    /* A prompt in one batch, and token by token. */
    step(&a, 0, 2);
    value(&a, 0, "x", 16, 1);
    for (int32_t i = 0; i < 2; i++) {
        step(&b, i, 1);
        value(&b, 0, "x", 8, 1);
    }
    d = compare(&a, &b, &defaults);
    assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_NOTHING);
    assert_non_null(strstr(tt_valuediff_text(d, text), "in other batches"));
    tt_valuediff_free(d);
    /* The same batch, other values. */
    b.dump->steps[0].n_tokens = 2;
    b.tokens[0][1] = 101;
    b.values[0][0].v.stage = "y";
    d = compare(&a, &b, &defaults);
    assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_NOTHING);
    assert_int_equal(d->counts[TT_VALUE_UNMEASURED], 2);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* A part of the values: the rest does not count, but is looked at for what it passes on. */
static void test_filters(void **state)
{
    side a, b;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    for (int32_t layer = 0; layer < 3; layer++) {
        made *x = value(&a, layer, "layer_out", 16, 1), *y = value(&b, layer, "layer_out", 16, 2);
        if (layer) reads(x, (uint32_t)layer - 1);
        if (layer) reads(y, (uint32_t)layer - 1);
    }
    const tt_valuediff_options second = {
        .has_layers = true, .layer_first = 1, .layer_last = 1, .stage = "layer_*"};
    tt_valuediff *d = compare(&a, &b, &second);
    assert_int_equal(d->compared, 1);
    assert_int_equal(d->first.layer, 1);
    assert_int_equal(d->first.blame, TT_BLAME_INHERITED);
    tt_valuediff_free(d);
    const tt_valuediff_options none = {.stage = "nothing"};
    d = compare(&a, &b, &none);
    assert_int_equal(tt_valuediff_outcome_of(d), TT_VALUEDIFF_NOTHING);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* What an adapter adds has the product's name; the product is known by its weight. The ops that
 * only one side has are named, whichever side that is. */
static void test_adapter(void **state)
{
    side a, b;
    made *x;
    char text[TT_VALUEDIFF_SENTENCE];
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    value(&a, 0, "norm", 16, 1);
    value(&b, 0, "norm", 16, 1);
    x = value(&a, 0, "q_proj", 16, 2); /* 1 */
    x->v.weight = x->v.operand = "attn_q.weight";
    reads(x, 0);
    x = value(&a, 0, "q_rope", 16, 3); /* 2 */
    x->v.op = "ROPE";
    reads(x, 1);
    x = value(&b, 0, "mul_mat", 16, 2); /* 1 */
    x->v.weight = x->v.operand = "attn_q.weight";
    reads(x, 0);
    x = value(&b, 0, "mul_mat", 16, 7); /* 2 */
    x->v.weight = x->v.operand = "attn_q.weight.lora_a";
    x->v.occurrence = 1;
    reads(x, 0);
    x = value(&b, 0, "q_bias", 16, 9); /* 3 */
    x->v.op = "ADD";
    reads(x, 1);
    reads(x, 2);
    x = value(&b, 0, "q_rope", 16, 10); /* 4 */
    x->v.op = "ROPE";
    reads(x, 3);
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(d->counts[TT_VALUE_EQUAL], 2); /* the norm and the product */
    assert_int_equal(d->counts[TT_VALUE_UNMEASURED], 2);
    assert_string_equal(d->first.stage, "q_rope");
    assert_int_equal(d->first.blame, TT_BLAME_EXTRA);
    assert_null(d->first.only_a);
    assert_string_equal(d->first.only_b, "MUL_MAT with attn_q.weight.lora_a, ADD");
    assert_non_null(strstr(tt_valuediff_text(d, text),
                           "its compared inputs are equal: the error is made here or in ops that "
                           "only B has: MUL_MAT with attn_q.weight.lora_a, ADD."));
    tt_valuediff_free(d);
    d = compare(&b, &a, &defaults);
    assert_string_equal(d->first.stage, "q_rope");
    assert_int_equal(d->first.blame, TT_BLAME_EXTRA);
    assert_string_equal(d->first.only_a, "MUL_MAT with attn_q.weight.lora_a, ADD");
    assert_null(d->first.only_b);
    tt_valuediff_free(d);
    /* What B alone reads may be where the error comes from. */
    a.values[0][0].data[0] = 50;
    look(&a.values[0][0]);
    d = compare(&a, &b, &defaults);
    assert_string_equal(d->first.stage, "norm");
    assert_int_equal(d->items[1].blame, TT_BLAME_INHERITED);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* Products with different weights are not the same, though they are the first of their stage. */
static void test_weights(void **state)
{
    side a, b;
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    value(&a, 0, "mul_mat", 16, 1)->v.weight = "one.weight";
    value(&b, 0, "mul_mat", 16, 2)->v.weight = "two.weight";
    made *x = value(&b, 0, "mul_mat", 16, 1);
    x->v.weight = "one.weight";
    x->v.occurrence = 1;
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(d->counts[TT_VALUE_EQUAL], 1);
    assert_int_equal(d->counts[TT_VALUE_UNMEASURED], 1);
    assert_int_equal(d->compared, 1);
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* What is rotated on one side is not comparable; what is computed from it after that was undone
 * is. */
static void test_axes(void **state)
{
    side a, b;
    char text[TT_VALUEDIFF_SENTENCE];
    (void)state;
    begin(&a);
    begin(&b);
    step(&a, 0, 1);
    step(&b, 0, 1);
    value(&a, 0, "k_rope", 16, 1);
    value(&b, 0, "k_rope", 16, 1);
    made *x = value(&a, 0, "k_cache", 16, 2);
    x->v.op = "SET_ROWS";
    reads(x, 0);
    x = value(&a, 0, "o_proj", 16, 3);
    x->v.weight = "o.weight";
    reads(x, 1);
    x = value(&b, 0, "mul_mat", 16, -8); /* 1 */
    x->v.operand = x->v.basis = "k_rot";
    reads(x, 0);
    x = value(&b, 0, "k_cache", 16, -8); /* 2 */
    x->v.op = "SET_ROWS";
    x->v.basis = "k_rot";
    reads(x, 1);
    x = value(&b, 0, "mul_mat", 16, 2.1f); /* 3 */
    x->v.operand = "k_rot";
    x->v.occurrence = 1;
    reads(x, 2);
    x = value(&b, 0, "o_proj", 16, 6);
    x->v.weight = "o.weight";
    reads(x, 3);
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_int_equal(d->other_axes, 1);
    assert_int_equal(d->compared, 2);
    assert_string_equal(d->first.stage, "o_proj");
    assert_int_equal(d->first.blame, TT_BLAME_EXTRA);
    assert_string_equal(d->first.only_b, "MUL_MAT with k_rot, MUL_MAT with k_rot");
    assert_true(tt_valuediff_note(d, 10, text));
    assert_non_null(strstr(text, "1 values are along other axes"));
    assert_non_null(strstr(text, "B multiplied them with k_rot"));
    tt_valuediff_free(d);
    finish(&a, &b);
}

/* Without positions, batches of other numbers of tokens are no pairs, nor are those after. */
static void test_order(void **state)
{
    side a, b;
    char text[TT_VALUEDIFF_SENTENCE];
    (void)state;
    begin(&a);
    begin(&b);
    for (int s = 0; s < 3; s++) {
        step(&a, s, 1);
        value(&a, 0, "norm", 16, 1);
        step(&b, s, s == 1 ? 2 : 1);
        value(&b, 0, "norm", 16, 1);
        a.dump->steps[s].position = b.dump->steps[s].position = TT_DUMP_POSITION_UNKNOWN;
        a.dump->steps[s].tokens = NULL;
    }
    tt_valuediff *d = compare(&a, &b, &defaults);
    assert_true(d->by_order);
    assert_int_equal(d->n_steps, 5);
    assert_int_equal(d->steps[0].pairing, TT_PAIR_BOTH);
    for (size_t s = 1; s < 5; s++)
        assert_int_equal(d->steps[s].pairing, TT_PAIR_BATCHES);
    assert_int_equal(d->compared, 1);
    assert_int_equal(d->counts[TT_VALUE_SHAPE], 0);
    assert_true(tt_valuediff_note(d, 2, text));
    assert_non_null(
        strstr(text, "4 steps from the first one on in which the sides computed other"));
    tt_valuediff_free(d);
    /* Tokens that differ are told by their pair. */
    a.dump->steps[0].tokens = a.tokens[0];
    a.tokens[0][0] = 7;
    d = compare(&a, &b, &defaults);
    assert_true(d->stopped);
    (void)tt_valuediff_note(d, 0, text);
    assert_null(strstr(text, "-2147483648"));
    tt_valuediff_free(d);
    finish(&a, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_not_numbers), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_data),        cmocka_unit_test(test_blame),
        cmocka_unit_test(test_jump),        cmocka_unit_test(test_unmeasured),
        cmocka_unit_test(test_cache),       cmocka_unit_test(test_moved_behind_others),
        cmocka_unit_test(test_occurrences), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_nothing),     cmocka_unit_test(test_filters),
        cmocka_unit_test(test_choice),      cmocka_unit_test(test_no_jump),
        cmocka_unit_test(test_other_bits),  cmocka_unit_test(test_other_bits_diverge),
        cmocka_unit_test(test_unreadable),  cmocka_unit_test(test_places),
        cmocka_unit_test(test_adapter),     cmocka_unit_test(test_weights),
        cmocka_unit_test(test_axes),        cmocka_unit_test(test_order),
    };
    built_in = tt_stages_builtin();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tt_stages_free(built_in);
    return failed;
}
