/* A folder of BitNet-style records as a dump: its steps, and the order of their values. */
#include "tests.h"

#include "analyze/dumps/dump.h"
#include "base/outfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROOT "dump-bitnet-test"
#define DIGEST "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

static tt_stages *stages;

static int begin(void **state)
{
    (void)state;
    (void)tt_outdir_remove(ROOT);
    stages = tt_stages_builtin();
    return stages && mkdir(ROOT, 0777) == 0 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    tt_stages_free(stages);
    return tt_outdir_remove(ROOT) ? 0 : -1;
}

static void put(const char *file, const char *name, const char *more)
{
    char path[100];
    (void)snprintf(path, sizeof path, ROOT "/%s", file);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    (void)fprintf(f,
                  "{\"name\":\"%s\",\"shape\":[3,2],\"dtype\":\"F16\",\"blake3\":\"" DIGEST
                  "\",\"rms\":2.5,\"num_elements\":6%s}\n",
                  name, more);
    assert_int_equal(fclose(f), 0);
}

static tt_dump *open_dump(void)
{
    tt_error err;
    tt_dump *d;
    if (tt_dump_of_bitnet(ROOT, stages, &d, &err) != TT_OK) fail_msg("%s", err.message);
    return d;
}

/* "STAGE@LAYER ..." of a step. */
static void expect_step(tt_dump *d, size_t i, int32_t position, const char *want)
{
    tt_error err;
    tt_dump_step step = {0};
    char got[400] = "";
    assert_int_equal(d->steps[i].position, position);
    assert_int_equal(tt_dump_load(d, i, &step, &err), TT_OK);
    for (size_t k = 0; k < step.n; k++) {
        size_t n = strlen(got);
        (void)snprintf(got + n, sizeof got - n, "%s%s@%" PRId32 ".%" PRIu32, k ? " " : "",
                       step.values[k].stage, step.values[k].layer, step.values[k].occurrence);
    }
    assert_string_equal(got, want);
    tt_dump_step_free(&step);
}

/* As a transformer computes them, whatever the files are called. */
static void values_come_in_the_order_of_execution(void **state)
{
    (void)state;
    put("a.trace", "t10/logits", "");
    put("b.trace", "t0/logits", "");
    put("c.trace", "t0/all_layers_out", "");
    put("d.trace", "t0/blk1/q_proj", "");
    put("e.trace", "t0/blk0/q_proj", "");
    put("f.trace", "t0/blk0/zzz", "");
    put("g.trace", "t0/blk0/attn_norm", "");
    put("h.trace", "t0/embeddings", "");
    put("i.trace", "nowhere", "");
    put("j.trace", "t2/embeddings", "");
    /* An occurrence more; keys before the name; an engine's own name, looked up in the map. */
    put("e.2.trace", "t0/blk0/q_proj", "");
    put("k.trace", "t0/blk7/x", ",\"seq\":2,\"layer\":1,\"stage\":\"q_proj\"");
    put("l.trace", "t2/Kcur_normed-0", "");
    tt_dump *d = open_dump();
    assert_false(d->has_order); /* of a trace on the other side it is known */
    assert_false(d->has_inputs);
    assert_int_equal(d->n_steps, 4);
    expect_step(d, 0, 0,
                "embeddings@-1.0 attn_norm@0.0 q_proj@0.0 q_proj@0.1 zzz@0.0 q_proj@1.0 "
                "final_norm@-2.0 logits@-1.0");
    expect_step(d, 1, 2, "embeddings@-1.0 k_norm@0.0 q_proj@1.0");
    expect_step(d, 2, 10, "logits@-1.0");
    expect_step(d, 3, TT_DUMP_POSITION_UNKNOWN, "nowhere@-1000.0");
    tt_dump_close(d);
}

static void what_a_record_says_is_known_and_no_more(void **state)
{
    tt_error err;
    tt_dump_step step = {0};
    (void)state;
    put("a.trace", "t0/logits", ",\"first_values\":[1,null,3,4,5,6,7,8,9]");
    tt_dump *d = open_dump();
    assert_int_equal(tt_dump_load(d, 0, &step, &err), TT_OK);
    const tt_dump_value *v = &step.values[0];
    assert_int_equal(v->known, TT_KNOWN_RMS | TT_KNOWN_BLAKE3 | TT_KNOWN_PREFIX);
    assert_int_equal(v->n_dims, 2);
    assert_int_equal(v->ne[0], 2);
    assert_int_equal(v->ne[1], 3);
    assert_string_equal(v->type, "f16");
    assert_int_equal(v->print.n, 6);
    assert_int_equal(v->print.n_prefix, 6); /* no more than there are elements */
    assert_true(isnan(v->print.prefix[1]) && v->print.prefix[5] == 6);
    assert_true(v->print.rms == 2.5);
    assert_int_equal(v->print.blake3[31], 0xff);
    assert_true(v->more_inputs);
    tt_dump_step_free(&step);
    tt_dump_close(d);
}

static void what_is_no_position_is_an_error(void **state)
{
    tt_error err;
    tt_dump *d;
    (void)state;
    put("a.trace", "x", ",\"seq\":2147483648");
    assert_int_equal(tt_dump_of_bitnet(ROOT, stages, &d, &err), TT_E_FORMAT);
    assert_null(d);
    assert_non_null(strstr(err.message, "a.trace, line 1: \"seq\""));
}

/* A record of one token, as BitNet.rs writes it: 9 keys, without first values. */
static void put_row(const char *name, const char *shape, int layer, uint64_t seq, const char *stage)
{
    static unsigned n;
    char path[100];
    uint64_t elements = 1;
    for (const char *s = shape; *s; s++)
        if (*s >= '0' && *s <= '9' && (s == shape || s[-1] == ','))
            elements *= strtoull(s, NULL, 10);
    (void)snprintf(path, sizeof path, ROOT "/%03u.trace", n++);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f,
                  "{\"name\":\"%s\",\"shape\":[%s],\"dtype\":\"F32\",\"blake3\":\"" DIGEST
                  "\",\"rms\":2.5,\"num_elements\":%" PRIu64 ",\"seq\":%" PRIu64
                  ",\"layer\":%d,\"stage\":\"%s\"}\n",
                  name, shape, elements, seq, layer, stage);
    assert_int_equal(fclose(f), 0);
}

/* A prompt of n tokens as BitNet.rs leaves it: of the layers the last position, as t0. */
static void put_prompt(uint64_t n, bool scores)
{
    char name[40], shape[40];
    put_row("embeddings", "1,1,4", -1, 0, "embeddings");
    put_row("t0/embeddings", "1,1,4", -1, 0, "embeddings");
    put_row("t0/blk0/attn_norm", "1,1,4", 0, 0, "attn_norm");
    (void)snprintf(shape, sizeof shape, "1,2,1,%" PRIu64, n);
    if (scores) put_row("t0/blk0/attn_scores_softmax", shape, 0, 0, "attn_scores_softmax");
    for (uint64_t t = 0; t < n; t++) {
        (void)snprintf(name, sizeof name, "t%" PRIu64 "_all_layers_out", t);
        put_row(name, "1,1,4", -2, t, "all_layers_out");
        (void)snprintf(name, sizeof name, "t%" PRIu64 "_logits", t);
        put_row(name, "1,1,9", -1, t, "logits");
    }
}

static void what_was_written_over_is_of_the_last_position(void **state)
{
    (void)state;
    for (int scores = 0; scores < 2; scores++) {
        put_prompt(3, scores);
        tt_dump *d = open_dump();
        assert_int_equal(d->places, TT_PLACES_FOUND);
        assert_int_equal(d->n_steps, 3);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(d->steps[i].n_tokens, 1);
        expect_step(d, 0, 0, "embeddings@-1.0 final_norm@-2.0 logits@-1.0");
        expect_step(d, 1, 1, "final_norm@-2.0 logits@-1.0");
        expect_step(d, 2, 2,
                    scores ? "embeddings@-1.0 attn_norm@0.0 attn_scores_softmax@0.0 "
                             "final_norm@-2.0 logits@-1.0"
                           : "embeddings@-1.0 attn_norm@0.0 final_norm@-2.0 logits@-1.0");
        tt_dump_close(d);
        assert_true(tt_outdir_remove(ROOT));
        assert_int_equal(mkdir(ROOT, 0777), 0);
    }
}

/* A prompt of one token is where it says, and so is what other writers leave. */
static void what_is_of_position_0_stays_there(void **state)
{
    (void)state;
    put_prompt(1, true);
    tt_dump *d = open_dump();
    assert_int_equal(d->places, TT_PLACES_REPORTED);
    assert_int_equal(d->n_steps, 1);
    assert_int_equal(d->steps[0].position, 0);
    tt_dump_close(d);
    put("z.trace", "t1/blk0/attn_norm", "");
    d = open_dump();
    assert_int_equal(d->places, TT_PLACES_REPORTED);
    tt_dump_close(d);
}

/* Without scores, and with nothing outside the layers behind position 0, nobody knows. */
static void a_position_that_nothing_tells_is_unknown(void **state)
{
    (void)state;
    put_row("t0/blk0/attn_norm", "1,4", 0, 0, "attn_norm");
    put_row("t0/logits", "1,9", -1, 0, "logits");
    tt_dump *d = open_dump();
    assert_int_equal(d->places, TT_PLACES_UNKNOWN);
    assert_int_equal(d->n_steps, 1);
    tt_dump_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_come_in_the_order_of_execution, begin, end),
        cmocka_unit_test_setup_teardown(what_a_record_says_is_known_and_no_more, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_position_is_an_error, begin, end),
        cmocka_unit_test_setup_teardown(what_was_written_over_is_of_the_last_position, begin, end),
        cmocka_unit_test_setup_teardown(what_is_of_position_0_stays_there, begin, end),
        cmocka_unit_test_setup_teardown(a_position_that_nothing_tells_is_unknown, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
