#include "tests.h"

#include "crossval/bands.h"
#include "crossval/settings.h"
#include "crossval/summary.h"
#include "runner/token_ids.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tt_crossval_settings settings;
static tt_diagnostics diagnostics;
static tt_error error;

static tt_status parse(const char *text)
{
    tt_diagnostics_free(&diagnostics);
    tt_crossval_settings_free(&settings);
    return tt_crossval_settings_parse(&settings, text, strlen(text), "s.json", "/home/me",
                                      &diagnostics, &error);
}

static int forget(void **state)
{
    (void)state;
    tt_diagnostics_free(&diagnostics);
    tt_crossval_settings_free(&settings);
    return 0;
}

/* --- settings --- */

static void all_keys_are_read(void **state)
{
    (void)state;
    assert_int_equal(
        parse("{\"scenarios\": [{\"name\": \"x.1\", \"prompt\": \"Hi\"}, {\"name\": \"y\", "
              "\"token_ids\": [1, 2], \"force_ids\": [3, 4, 5]}], \"model\": \"m.gguf\", "
              "\"sides\": {\"a\": {\"engine\": \"e\", \"threads\": 3, \"mmap\": false, "
              "\"environment\": {\"A\": \"1\", \"B\": null}}, \"b\": {\"model\": \"/q.gguf\", "
              "\"label\": \"B\"}}, \"tolerance\": {\"cosine\": 0.5}, \"timeout_s\": 7}"),
        TT_OK);
    const tt_crossval_settings *s = &settings;
    assert_int_equal(s->n_scenarios, 2);
    assert_string_equal(s->scenarios[0].prompt, "Hi");
    assert_int_equal(s->scenarios[0].tokens, TT_CROSSVAL_TOKENS);
    assert_int_equal(s->scenarios[1].token_ids.n, 2);
    assert_int_equal(s->scenarios[1].token_ids.ids[1], 2);
    assert_int_equal(s->scenarios[1].tokens, 3);
    assert_string_equal(s->sides[0].model, "/home/me/m.gguf");
    assert_string_equal(s->sides[0].engine, "/home/me/e");
    assert_int_equal(s->sides[0].threads, 3);
    assert_true(s->sides[0].no_mmap);
    assert_false(s->sides[0].no_repack);
    assert_int_equal(s->sides[0].n_environment, 2);
    assert_null(s->sides[0].environment[1].value);
    assert_string_equal(s->sides[1].model, "/q.gguf");
    assert_string_equal(s->sides[1].label, "B");
    assert_string_equal(s->values, "hash");
    assert_string_equal(s->output, "/home/me/crossval");
    assert_true(s->has_tolerance && s->cosine == 0.5 && isnan(s->rel_l2) && isnan(s->max_abs));
    assert_int_equal(s->timeout_s, 7);
}

#define SIDES(a, b) "\"sides\": {\"a\": " a ", \"b\": " b "}, \"model\": \"m\""
#define ENGINE "{}"
#define TRACE "{\"trace\": \"t\"}"
#define COMMAND "{\"command\": [\"c\"]}"

static void leads(const char *text, tt_crossval_lead wanted)
{
    assert_int_equal(parse(text), TT_OK);
    assert_int_equal(tt_crossval_leader(&settings, settings.scenarios), wanted);
}

/* Who knows the prompt's tokens: an engine; without a prompt, a trace. */
static void somebody_says_what_is_fed(void **state)
{
    (void)state;
    leads("{\"scenarios\": [{\"name\": \"x\", \"prompt\": \"Hi\"}], " SIDES(COMMAND, ENGINE) "}",
          TT_LEAD_B);
    leads("{\"scenarios\": [{\"name\": \"x\", \"prompt\": \"Hi\"}], " SIDES(ENGINE, ENGINE) "}",
          TT_LEAD_A);
    leads("{\"scenarios\": [{\"name\": \"x\", \"prompt\": \"Hi\"}], " SIDES(TRACE, ENGINE) "}",
          TT_LEAD_B);
    leads("{\"scenarios\": [{\"name\": \"x\"}], " SIDES(ENGINE, TRACE) "}", TT_LEAD_B);
    leads("{\"scenarios\": [{\"name\": \"x\"}], " SIDES(TRACE, TRACE) "}", TT_LEAD_A);
    leads("{\"scenarios\": [{\"name\": \"x\", \"token_ids\": [1]}], " SIDES(COMMAND, COMMAND) "}",
          TT_LEAD_SETTINGS);
    assert_int_equal(settings.scenarios[0].tokens, 1);
    assert_int_equal(parse("{\"scenarios\": [{\"name\": \"x\"}], " SIDES(ENGINE, COMMAND) "}"),
                     TT_E_USAGE);
    assert_int_equal(diagnostics.n, 1);
}

static void placeholders_are_filled_in(void **state)
{
    (void)state;
    tt_crossval_words w = {.scenario = "s", .model = "m.gguf", .token_ids = "1,2", .n = 12};
    char *text = tt_crossval_fill("{model}:{token_ids}:{n}:{out}:{{n}}:{x}{", &w);
    assert_string_equal(text, "m.gguf:1,2:12::{12}:{x}{");
    free(text);
    size_t n;
    const char *word = "{model} {1} {} {no} {x";
    assert_ptr_equal(tt_crossval_unknown_placeholder(word, &n), word + 15);
    assert_int_equal(n, 4);
    assert_null(tt_crossval_unknown_placeholder("{model} {\"a\": {out}}", &n));
}

/* --- ids --- */

static void refuses(const char *text)
{
    tt_token_ids list = {.n = 0};
    assert_int_equal(tt_token_ids_parse(&list, text, strlen(text), "ids", &error), TT_E_USAGE);
    tt_token_ids_free(&list);
}

static void lists_of_ids_are_read(void **state)
{
    (void)state;
    tt_token_ids list = {.n = 0};
    const char *text = " 1,2 ,3 4\n0,2147483647\n";
    static const int32_t wanted[] = {1, 2, 3, 4, 0, 2147483647};
    assert_int_equal(tt_token_ids_parse(&list, text, strlen(text), "ids", &error), TT_OK);
    assert_int_equal(list.n, 6);
    assert_memory_equal(list.ids, wanted, sizeof wanted);
    tt_token_ids_free(&list);
    refuses("");
    refuses(" \n");
    refuses("1,");
    refuses(",1");
    refuses("1,,2");
    refuses("-1");
    refuses("1x");
    refuses("2147483648");
}

/* --- bands and agreement --- */

static tt_cosine_band band(tt_value_verdict verdict, double cosine)
{
    tt_valuediff_item item = {.verdict = verdict, .error = {.cosine = cosine}};
    return tt_cosine_band_of(&item);
}

static void cosines_fall_into_bands(void **state)
{
    (void)state;
    assert_int_equal(band(TT_VALUE_EQUAL, NAN), TT_BAND_9999);
    assert_int_equal(band(TT_VALUE_CLOSE, 0.9999), TT_BAND_9999);
    assert_int_equal(band(TT_VALUE_CLOSE, nextafter(0.9999, 0)), TT_BAND_999);
    assert_int_equal(band(TT_VALUE_DIFFERS, 0.999), TT_BAND_999);
    assert_int_equal(band(TT_VALUE_DIFFERS, 0.99), TT_BAND_99);
    assert_int_equal(band(TT_VALUE_DIFFERS, 0.9), TT_BAND_9);
    assert_int_equal(band(TT_VALUE_DIFFERS, nextafter(0.9, 0)), TT_BAND_BELOW);
    assert_int_equal(band(TT_VALUE_DIFFERS, -1), TT_BAND_BELOW);
    assert_int_equal(band(TT_VALUE_DIFFERS, NAN), TT_BAND_UNKNOWN);
    assert_int_equal(band(TT_VALUE_NAN, 1), TT_BAND_NAN);
    assert_int_equal(band(TT_VALUE_SHAPE, 1), TT_BAND_UNKNOWN);
    assert_int_equal(band(TT_VALUE_UNMEASURED, 1), TT_BAND_UNKNOWN);
}

static void tokens_that_are_alike_are_counted(void **state)
{
    (void)state;
    static const int32_t a[] = {1, 2, 3, 4}, b[] = {1, 5, 3, 6, 7};
    tt_agreement r = tt_agreement_of(a, 4, b, 5);
    assert_int_equal(r.n_compared, 4);
    assert_int_equal(r.n_same, 2);
    assert_int_equal(r.first_other, 1);
    r = tt_agreement_of(a, 4, a, 3);
    assert_int_equal(r.first_other, 3);
    r = tt_agreement_of(a, 4, NULL, 0);
    assert_int_equal(r.n_compared, 0);
}

/* --- judging --- */

static tt_dump dump_a = {.n_steps = 1}, dump_b = {.n_steps = 1};

static tt_crossval_end evaluated(const tt_valuediff *d)
{
    tt_crossval_end end = {.name = "x"};
    tt_crossval_evaluate(&end, d);
    return end;
}

static void scenarios_are_judged(void **state)
{
    (void)state;
    tt_valuediff_step step = {.pairing = TT_PAIR_BATCHES, .worst_rel_l2 = NAN};
    tt_valuediff d = {.a = &dump_a, .b = &dump_b, .steps = &step, .n_steps = 1};
    d.counts[TT_VALUE_UNMEASURED] = 3;
    tt_crossval_end end = evaluated(&d);
    assert_int_equal(end.state, TT_SCENARIO_UNMEASURED);
    assert_string_equal(
        end.cause, "the sides computed the tokens in other batches (batch_tokens, ubatch_tokens)");
    d.compared = 2;
    d.counts[TT_VALUE_CLOSE] = 2;
    step.worst_rel_l2 = 0.25;
    end = evaluated(&d);
    assert_int_equal(end.n_steps_alone, 1);
    assert_int_equal(end.n_steps_compared, 0);
    step.pairing = TT_PAIR_BOTH;
    end = evaluated(&d);
    assert_int_equal(end.n_steps_compared, 1);
    assert_int_equal(end.state, TT_SCENARIO_MATCHED);
    assert_true(end.worst_rel_l2 == 0.25);
    assert_int_equal(end.counts[TT_VALUE_UNMEASURED], 3);
    for (int v = TT_VALUE_DIFFERS; v <= TT_VALUE_SHAPE; v++) {
        d.counts[v] = 1;
        assert_int_equal(evaluated(&d).state, TT_SCENARIO_DIVERGED);
        d.counts[v] = 0;
    }
    d.stopped = true;
    end = evaluated(&d);
    assert_int_equal(end.state, TT_SCENARIO_FAILED);
    assert_non_null(strstr(end.cause, "different tokens"));
}

/* --- the summary --- */

static const char *const stages[] = {"q_proj", "ffn_act", "ffn_act", ""};

static void fill(tt_crossval_summary *s, tt_crossval_end ends[5])
{
    static const tt_scenario_state states[] = {TT_SCENARIO_DIVERGED, TT_SCENARIO_DIVERGED,
                                               TT_SCENARIO_DIVERGED, TT_SCENARIO_FAILED,
                                               TT_SCENARIO_NOT_TRIED};
    static const char *const names[] = {"a|b", "b", "c", "d", "e"};
    for (size_t i = 0; i < 5; i++) {
        ends[i] = (tt_crossval_end){.name = names[i], .state = states[i], .worst_rel_l2 = NAN};
        if (i >= 3) continue;
        ends[i].first =
            (tt_crossval_first){.known = true, .layer = 1, .rel_l2 = 0.5, .cosine = NAN};
        (void)snprintf(ends[i].first.stage, TT_STAGE_TEXT, "%s", stages[i]);
        ends[i].agreement = (tt_agreement){4, 3, 2};
        ends[i].bands.counts[TT_BAND_99] = 10;
    }
    ends[3].failed_side = 'b';
    (void)snprintf(ends[3].cause, sizeof ends[3].cause, "<it> *crashed*\nhere");
    assert_int_equal(parse("{\"scenarios\": [{\"name\": \"x\", \"prompt\": \"Hi\"}], " SIDES(
                         ENGINE, ENGINE) "}"),
                     TT_OK);
    *s = (tt_crossval_summary){.settings = &settings,
                               .settings_file = "my s.json",
                               .folder = "/out",
                               .version = "1",
                               .interrupted = true,
                               .ends = ends,
                               .n = 5};
}

static void totals_are_those_of_the_scenarios(void **state)
{
    (void)state;
    tt_crossval_end ends[5];
    tt_crossval_summary s;
    fill(&s, ends);
    tt_crossval_totals t = tt_crossval_totals_of(&s);
    assert_int_equal(t.n[TT_SCENARIO_DIVERGED], 3);
    assert_int_equal(t.n[TT_SCENARIO_FAILED], 1);
    assert_int_equal(t.n[TT_SCENARIO_NOT_TRIED], 1);
    assert_ptr_equal(t.stage, ends[1].first.stage);
    assert_string_equal(t.stage, "ffn_act");
    assert_int_equal(t.n_stage, 2);
    (void)snprintf(ends[1].first.stage, TT_STAGE_TEXT, "v_proj");
    assert_string_equal(tt_crossval_totals_of(&s).stage, "q_proj"); /* of equals the earliest */
    assert_int_equal(t.agreement.n_compared, 12);
    assert_int_equal(t.agreement.n_same, 9);
    assert_int_equal(t.bands.counts[TT_BAND_99], 30);
}

static void expect_next(const tt_crossval_summary *s, tt_crossval_rule rule, const char *reason,
                        const char *command)
{
    tt_crossval_advice advice;
    if (!command) {
        assert_false(tt_crossval_next(s, rule, &advice));
        return;
    }
    assert_true(tt_crossval_next(s, rule, &advice));
    assert_non_null(strstr(advice.reason, reason));
    assert_string_equal(advice.command, command);
    free(advice.text);
}

static void what_to_run_next_follows_rules(void **state)
{
    (void)state;
    tt_crossval_end ends[5];
    tt_crossval_summary s;
    fill(&s, ends);
    ends[1].first.position = 3;
    expect_next(&s, TT_RULE_FINISH, "1 scenarios were not tried",
                "tensortrace crossval --force 'my s.json'");
    expect_next(&s, TT_RULE_FAILED, "d failed", "less /out/d/b.log");
    expect_next(&s, TT_RULE_FIRST, "b diverges first at ffn_act, as 2 of 5",
                "tensortrace diff --values --position 3 --layer 1 /out/b/a.ttrace /out/b/b.ttrace");
    expect_next(&s, TT_RULE_DATA, NULL, NULL);
    ends[1].first.blame = TT_BLAME_UNKNOWN;
    expect_next(&s, TT_RULE_DATA, "\"full\"", "tensortrace crossval --force 'my s.json'");
    expect_next(&s, TT_RULE_UNMEASURED, NULL, NULL);
    ends[4].state = TT_SCENARIO_UNMEASURED;
    expect_next(&s, TT_RULE_UNMEASURED, "e has nothing",
                "tensortrace diff --values --by-order /out/e/a.ttrace /out/e/b.ttrace");
    ends[4].lacks_values[1] = true;
    expect_next(&s, TT_RULE_UNMEASURED, "e has nothing", "tensortrace info /out/e/b.ttrace");
    expect_next(&s, TT_RULE_EXACT, NULL, NULL);
    for (size_t i = 0; i < 5; i++)
        ends[i].state = TT_SCENARIO_MATCHED;
    s.interrupted = false;
    ends[0].counts[TT_VALUE_CLOSE] = 1;
    expect_next(&s, TT_RULE_EXACT, "not to the bit",
                "tensortrace diff --values --exact '/out/a|b/a.ttrace' '/out/a|b/b.ttrace'");
    ends[0].counts[TT_VALUE_CLOSE] = 0;
    for (int rule = 0; rule < TT_RULE_NONE; rule++)
        expect_next(&s, (tt_crossval_rule)rule, NULL, NULL);
}

static char *written(bool (*write)(const tt_crossval_summary *, FILE *))
{
    tt_crossval_end ends[5];
    tt_crossval_summary s;
    char *text = NULL;
    size_t size = 0;
    fill(&s, ends);
    FILE *out = open_memstream(&text, &size);
    assert_true(write(&s, out));
    (void)fclose(out);
    return text;
}

static void the_summary_is_json(void **state)
{
    (void)state;
    char *text = written(tt_crossval_summary_json);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    const json_t *list = json_object_get(root, "scenarios");
    const json_t *first = json_array_get(list, 0), *failed = json_array_get(list, 3);
    assert_int_equal(json_array_size(list), 5);
    assert_string_equal(json_string_value(json_object_get(first, "state")), "diverged");
    assert_true(json_is_null(json_object_get(first, "worst_rel_l2")));
    const json_t *where = json_object_get(first, "first_divergence");
    assert_string_equal(json_string_value(json_object_get(where, "stage")), "q_proj");
    assert_true(json_is_null(json_object_get(where, "cosine")));
    const json_t *tokens = json_object_get(first, "token_agreement");
    assert_true(json_real_value(json_object_get(tokens, "share")) == 0.75);
    assert_int_equal(json_integer_value(json_object_get(tokens, "first_other")), 2);
    assert_string_equal(json_string_value(json_object_get(failed, "failed_side")), "b");
    assert_true(json_is_null(json_object_get(failed, "token_agreement")));
    assert_int_equal(json_integer_value(json_object_get(root, "n_failed")), 1);
    assert_string_equal(json_string_value(json_object_get(root, "most_frequent_first_stage")),
                        "ffn_act");
    const json_t *next = json_array_get(json_object_get(root, "next"), 1);
    assert_string_equal(json_string_value(json_object_get(next, "command")), "less /out/d/b.log");
    json_decref(root);
    free(text);
}

static void the_summary_is_markdown(void **state)
{
    (void)state;
    char *text = written(tt_crossval_summary_markdown);
    assert_non_null(strstr(text, "Of 5 scenarios 0 matched, 3 diverged, 0 not measured, 1 FAILED; "
                                 "interrupted: 1 not tried."));
    assert_non_null(strstr(text, "\n| a\\|b | diverged |"));
    assert_non_null(strstr(text, "ffn\\_act (2 of 5 scenarios)"));
    assert_non_null(strstr(text, "\n* d, side b: &lt;it> \\*crashed\\* here (see d/b.log)\n"));
    assert_non_null(strstr(text, "\n## What to run next\n"));
    assert_non_null(strstr(text, "\n      less /out/d/b.log\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_keys_are_read, forget),
        cmocka_unit_test_teardown(somebody_says_what_is_fed, forget),
        cmocka_unit_test_teardown(placeholders_are_filled_in, forget),
        cmocka_unit_test(lists_of_ids_are_read),
        cmocka_unit_test(cosines_fall_into_bands),
        cmocka_unit_test(tokens_that_are_alike_are_counted),
        cmocka_unit_test(scenarios_are_judged),
        cmocka_unit_test_teardown(totals_are_those_of_the_scenarios, forget),
        cmocka_unit_test_teardown(what_to_run_next_follows_rules, forget),
        cmocka_unit_test_teardown(the_summary_is_json, forget),
        cmocka_unit_test_teardown(the_summary_is_markdown, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
