#include "tests.h"

#include "base/nearest.h"
#include "base/outfile.h"
#include "cli/experiment/experiment.h"
#include "experiment/results.h"
#include "experiment/settings.h"
#include "experiment/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID_A "0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210"

static tt_settings settings;
static tt_diagnostics diagnostics;
static tt_error error;

static tt_status parse(const char *text)
{
    tt_diagnostics_free(&diagnostics);
    tt_settings_free(&settings);
    return tt_settings_parse(&settings, text, strlen(text), "s.json", "/home/me", false,
                             &diagnostics, &error);
}

static void complains(const char *text, const char *wanted)
{
    size_t at = 0;
    assert_int_equal(parse(text), TT_E_USAGE);
    assert_int_equal(diagnostics.n, 1);
    assert_string_equal(tt_diagnostics_next(&diagnostics, &at), wanted);
}

static int forget(void **state)
{
    (void)state;
    tt_diagnostics_free(&diagnostics);
    tt_settings_free(&settings);
    return 0;
}

#define EXPERIMENT(more)                                                                           \
    "{\"experiment\": {\"model_path\": \"m.gguf\", \"tokens_to_generate\": 3, \"prompt\": "        \
    "\"Hi\"" more "}"

/* --- settings --- */

static void the_earlier_form_is_read(void **state)
{
    (void)state;
    tt_experiment e;
    assert_int_equal(parse(EXPERIMENT("") ", \"paths\": {\"llama_cpp_dir\": \"../llama.cpp\", "
                                          "\"llama_binary\": \"build/bin/llama-completion\", "
                                          "\"webui_data_dir\": \"webui/public/data\"}, "
                                          "\"temp_files\": {\"trace_bin\": \"/tmp/x\"}}"),
                     TT_OK);
    assert_int_equal(tt_settings_experiments(&settings), 1);
    tt_settings_experiment(&settings, 0, &e);
    assert_string_equal(e.of[TT_SET_MODEL_PATH]->text, "/home/me/../llama.cpp/m.gguf");
    assert_string_equal(e.of[TT_SET_PROMPT]->text, "Hi");
    assert_int_equal(e.of[TT_SET_TOKENS_TO_GENERATE]->integer, 3);
    assert_null(e.of[TT_SET_THREADS]);
    assert_string_equal(settings.program, "/home/me/../llama.cpp/build/bin/llama-completion");
    assert_string_equal(settings.output, "/home/me/webui/public/data");
    assert_true(settings.has_temp_files);
}

static void paths_have_their_places(void **state)
{
    (void)state;
    assert_int_equal(parse(EXPERIMENT("") "}"), TT_OK);
    assert_string_equal(settings.of[TT_SET_MODEL_PATH].values->text, "/home/me/m.gguf");
    assert_null(settings.program);
    assert_string_equal(settings.output, "/home/me/experiments");
    assert_int_equal(parse(EXPERIMENT("") ", \"paths\": {\"llama_cpp_dir\": \"/opt/l\"}}"), TT_OK);
    assert_string_equal(settings.program, "/opt/l/build/bin/llama-completion");
    assert_int_equal(parse(EXPERIMENT("") ", \"paths\": {\"llama_binary\": \"x\"}}"), TT_OK);
    assert_string_equal(settings.program, "/home/me/x");
    assert_string_equal(settings.of[TT_SET_MODEL_PATH].values->text, "/home/me/m.gguf");
}

static void arrays_are_a_sweep(void **state)
{
    (void)state;
    tt_experiment e;
    assert_int_equal(
        parse("{\"experiment\": {\"threads\": [1, 2], \"prompt\": [\"a\", \"b\", \"c\"],"
              "\"model_path\": [\"m\", \"n\"], \"tokens_to_generate\": 4, "
              "\"repetitions\": 2}}"),
        TT_OK);
    assert_int_equal(tt_settings_experiments(&settings), 24);
    size_t number = 0;
    for (int model = 0; model < 2; model++)
        for (int prompt = 0; prompt < 3; prompt++)
            for (int threads = 1; threads <= 2; threads++)
                for (int repetition = 1; repetition <= 2; repetition++, number++) {
                    const char text[] = {(char)('a' + prompt), '\0'};
                    tt_settings_experiment(&settings, number, &e);
                    assert_string_equal(e.of[TT_SET_MODEL_PATH]->text,
                                        model ? "/home/me/n" : "/home/me/m");
                    assert_string_equal(e.of[TT_SET_PROMPT]->text, text);
                    assert_int_equal(e.of[TT_SET_THREADS]->integer, threads);
                    assert_int_equal(e.of[TT_SET_REPETITIONS]->integer, repetition);
                    assert_int_equal(e.of[TT_SET_TOKENS_TO_GENERATE]->integer, 4);
                }
}

static void what_stands_twice_is_known(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"experiment\": {\"model_path\": [\"m\", \"n\", \"m\"], "
                           "\"tokens_to_generate\": 3, \"prompt\": [\"a\", \"b\", \"a\"], "
                           "\"temperature\": [0, 0.5, 0], \"repetitions\": 2}}"),
                     TT_OK);
    size_t n = tt_settings_experiments(&settings), firsts = 0;
    assert_int_equal(n, 54);
    for (size_t i = 0; i < n; i++) {
        size_t first = tt_settings_first_like(&settings, i);
        assert_true(first <= i);
        assert_int_equal(tt_settings_first_like(&settings, first), first);
        firsts += first == i;
    }
    assert_int_equal(firsts, 16);
    assert_int_equal(tt_settings_first_like(&settings, 53), 1); /* the second repetition */
}

static void conditions_are_swept(void **state)
{
    (void)state;
    tt_experiment e;
    char shown[TT_SETTING_TEXT];
    assert_int_equal(
        parse(EXPERIMENT(", \"repetitions\": 2") ", \"conditions\": {\"memory_limit\": "
                                                 "[null, \"60%\", \"400M\", 5000000], "
                                                 "\"cold_start\": true, \"readahead\": "
                                                 "\"128K\", \"order_seed\": 7}}"),
        TT_OK);
    assert_int_equal(tt_settings_experiments(&settings), 8);
    assert_true(settings.has_conditions);
    static const double shares[] = {0, 60, 0, 0};
    static const int64_t bytes[] = {-1, 0, 400 << 20, 5000000};
    static const char *const texts[] = {"none", "60%", "400M", "5000000"};
    for (size_t i = 0; i < 8; i++) {
        tt_settings_experiment(&settings, i, &e);
        const tt_setting_value *limit = e.of[TT_SET_MEMORY_LIMIT];
        assert_true(limit->number == shares[i / 2]); /* NOLINT: exact */
        assert_int_equal(limit->integer, bytes[i / 2]);
        assert_string_equal(tt_setting_show(TT_SET_MEMORY_LIMIT, limit, shown), texts[i / 2]);
        assert_int_equal(e.of[TT_SET_READAHEAD]->integer, 128 << 10);
        assert_int_equal(e.of[TT_SET_COLD_START]->integer, 1);
        assert_int_equal(e.of[TT_SET_REPETITIONS]->integer, (int)(i % 2) + 1);
    }
    complains(EXPERIMENT("") ", \"conditions\": {\"memory_limit\": \"160%\"}}",
              "conditions.memory_limit: \"160%\" is not a size: write a number with K, M, G or T "
              "after it, or a share as 60%");
    complains(
        EXPERIMENT("") ", \"conditions\": {\"readahead\": \"60%\"}}",
        "conditions.readahead: \"60%\" is not a size: write a number with K, M, G or T after it");
    complains(EXPERIMENT("") ", \"conditions\": {\"readahead\": 100}}",
              "conditions.readahead: less than a page, or more than there can be");
    complains(EXPERIMENT("") ", \"conditions\": {\"memory_limit\": 0}}",
              "conditions.memory_limit: less than a page, or more than there can be");
    assert_int_equal(parse(EXPERIMENT("") ", \"conditions\": {\"readahead\": [0, null]}}"), TT_OK);
    assert_int_equal(settings.of[TT_SET_READAHEAD].values[0].integer, 0);  /* none */
    assert_int_equal(settings.of[TT_SET_READAHEAD].values[1].integer, -1); /* as it is */
    complains(EXPERIMENT("") ", \"conditions\": {\"memory_limit\": true}}",
              "conditions.memory_limit: a size as 400M, or null is expected, not true or false");
}

/* Every order comes about as often as any other: chi-square of 24 permutations over 24,000 seeds.
 */
static void any_order_is_as_likely(void **state)
{
    (void)state;
    unsigned counts[256] = {0};
    size_t order[4], again[4];
    for (uint64_t seed = 0; seed < 24000; seed++) {
        tt_settings_order(order, 4, false, seed);
        tt_settings_order(again, 4, false, seed);
        assert_memory_equal(order, again, sizeof order);
        assert_int_equal(1u << order[0] | 1u << order[1] | 1u << order[2] | 1u << order[3], 15);
        counts[order[0] << 6 | order[1] << 4 | order[2] << 2 | order[3]]++;
    }
    double chi_square = 0;
    size_t n = 0;
    for (size_t i = 0; i < 256; i++)
        if (counts[i]) {
            chi_square += ((double)counts[i] - 1000) * ((double)counts[i] - 1000) / 1000;
            n++;
        }
    assert_int_equal(n, 24);
    assert_true(chi_square < 49.7); /* 23 degrees of freedom, p = 0.001 */
    tt_settings_order(order, 4, true, 5);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(order[i], i);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    complains(EXPERIMENT(", \"thread\": 2") "}",
              "experiment.thread: no such key; did you mean \"threads\"?");
    complains(EXPERIMENT(", \"faults\": true") "}",
              "experiment.faults: no such key here; it belongs into \"capture\"");
    complains(EXPERIMENT("") ", \"path\": {}}", "path: no such section; did you mean \"paths\"?");
    complains(EXPERIMENT("") ", \"threads\": 2}",
              "threads: no such section; the key belongs into \"experiment\"");
    complains(
        EXPERIMENT("") ", \"dataset\": {\"zip\": true}}",
        "dataset.zip: no such key; there are experts, compress, count_copies_as_file, threads");
    complains(EXPERIMENT(", \"threads\": 0") "}",
              "experiment.threads: 0 is out of range (1 to 512)");
    complains(EXPERIMENT(", \"threads\": 1.5") "}",
              "experiment.threads: a whole number is expected, not a number with a fraction "
              "or an exponent");
    complains(EXPERIMENT(", \"threads\": 1e99") "}",
              "experiment.threads: 1e+99 is out of range (1 to 512)");
    complains(EXPERIMENT(", \"threads\": null") "}",
              "experiment.threads: a whole number is expected, not null");
    complains(EXPERIMENT(", \"temperature\": 101") "}",
              "experiment.temperature: 101 is out of range (0 to 100)");
    complains(EXPERIMENT(", \"mmap\": 1") "}",
              "experiment.mmap: true or false is expected, not a number");
    complains(EXPERIMENT(", \"flash_attention\": \"of\"") "}",
              "experiment.flash_attention: \"of\" is none of: on off auto");
    complains(EXPERIMENT(", \"seed\": []") "}",
              "experiment.seed: an empty array: no experiment could be made of it");
    complains(EXPERIMENT("") ", \"capture\": {\"every\": [1, 2]}}",
              "capture.every: a whole number is expected, not an array");
    complains(EXPERIMENT(", \"prompt_file\": \"x\"") "}",
              "experiment.prompt and experiment.prompt_file exclude each other");
    complains(EXPERIMENT(", \"a\\u001b[31m\": 1") "}",
              "experiment.a?[31m: no such key; there are model_path, engine_path, prompt, "
              "prompt_file, tokens_to_generate, threads, context_tokens, batch_tokens, "
              "ubatch_tokens, temperature, seed, flash_attention, mmap, repack, ignore_eos, "
              "repetitions, program_arguments, label, domain, experiment_name, description, "
              "prompts_file");
    complains("[]", "the settings are not an object but an array");
}

static void all_of_it_at_once(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"experiment\": {\"threads\": [0, \"x\", 1000]}, \"z\": 1}"),
                     TT_E_USAGE);
    /* three values, one section, model_path, tokens_to_generate, prompt */
    assert_int_equal(diagnostics.n, 7);
}

static void not_json_has_a_place(void **state)
{
    (void)state;
    assert_int_equal(parse("{\n  \"experiment\": {,}\n}"), TT_E_FORMAT);
    assert_non_null(strstr(error.message, "s.json: line 2, column 18: "));
    assert_int_equal(parse("{\"a\": 1, \"a\": 2}"), TT_E_FORMAT);
    assert_non_null(strstr(error.message, "duplicate"));
    assert_int_equal(parse(""), TT_E_FORMAT);
    assert_string_equal(error.message, "s.json is empty");
    assert_int_equal(parse(" \n"), TT_E_FORMAT);
    assert_string_equal(error.message, "s.json is empty");
    assert_int_equal(parse("{\n\"a\": 99999999999999999999}"), TT_E_FORMAT);
    assert_string_equal(error.message, "s.json: line 2, column 25: a number that is too large");
    assert_int_equal(parse("{\"a\": \"\xff\"}"), TT_E_FORMAT);
    assert_int_equal(parse("{\"a\": \"\\u0000\"}"), TT_E_FORMAT);
}

static void no_more_than_the_limits(void **state)
{
    (void)state;
    char *deep = malloc(10001);
    memset(deep, '[', 10000);
    deep[10000] = '\0';
    assert_int_equal(parse(deep), TT_E_LIMIT);
    free(deep);
    char *large = calloc(1, TT_SETTINGS_BYTES_MAX + 2);
    memset(large, ' ', TT_SETTINGS_BYTES_MAX + 1);
    assert_int_equal(parse(large), TT_E_LIMIT);
    free(large);
    assert_int_equal(parse(EXPERIMENT(", \"repetitions\": 1000, \"threads\": [1, 2, 3, 4, 5]") "}"),
                     TT_E_LIMIT);
    assert_non_null(strstr(error.message, "5000 combinations"));
}

/* --- results --- */

static tt_result result_of(const char *id, const char *settings_key, const char *started)
{
    tt_result r = {.tokens_to_generate = 3, .threads = 2, .n_batches = 3, .n_files = 12};
    (void)snprintf(r.id, sizeof r.id, "%s", id);
    (void)snprintf(r.timestamp_start, sizeof r.timestamp_start, "%s", started);
    (void)snprintf(r.identity.settings, sizeof r.identity.settings, "%s", settings_key);
    (void)snprintf(r.identity.model, sizeof r.identity.model, "m");
    (void)snprintf(r.identity.engine, sizeof r.identity.engine, "e");
    (void)snprintf(r.identity.version, sizeof r.identity.version, "1");
    r.model_file = strdup("/m.gguf");
    r.prompt = strdup("a \"quoted\"\nprompt");
    r.engine = strdup("b1");
    r.options = strdup("");
    r.command = strdup("x -m y");
    return r;
}

static void a_result_comes_back(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    tt_experiment e;
    tt_result r = result_of(ID_A, "s", "2026-01-01T00:00:00.000001Z"), back;
    assert_int_equal(parse(EXPERIMENT("") "}"), TT_OK);
    tt_settings_experiment(&settings, 0, &e);
    FILE *out = open_memstream(&text, &size);
    assert_true(tt_result_write(&r, &settings, &e, out));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(tt_result_parse(&back, text, size, "run.json", &error), TT_OK);
    assert_string_equal(back.id, ID_A);
    assert_string_equal(back.prompt, r.prompt);
    assert_string_equal(back.command, r.command);
    assert_string_equal(back.identity.settings, "s");
    assert_int_equal(back.n_files, 12);
    assert_true(back.tokens_per_s == 0);
    tt_result_free(&back);
    /* Another version's, or none at all. */
    text[strlen("{\n  \"run_format\": ")] = '2';
    assert_int_equal(tt_result_parse(&back, text, size, "run.json", &error), TT_E_FORMAT);
    assert_int_equal(tt_result_parse(&back, text, size / 2, "run.json", &error), TT_E_FORMAT);
    tt_result_free(&r);
    free(text);
}

static void what_changed_is_told(void **state)
{
    (void)state;
    tt_results results = {.n = 0};
    char changed[64];
    tt_result a = result_of(ID_A, "s", "1"), b = result_of(ID_B, "s", "2");
    tt_identity wanted = a.identity;
    assert_true(tt_results_add(&results, &a));
    assert_true(tt_results_add(&results, &b));
    assert_string_equal(tt_results_find(&results, &wanted, changed)->id, ID_B);
    wanted.engine[0] = 'x';
    assert_null(tt_results_find(&results, &wanted, changed));
    assert_string_equal(changed, "the engine");
    wanted.engine[0] = 'e';
    wanted.model[0] = 'x';
    assert_null(tt_results_find(&results, &wanted, changed));
    assert_string_equal(changed, "the model");
    wanted.version[0] = 'x';
    wanted.engine[0] = 'x';
    assert_null(tt_results_find(&results, &wanted, changed));
    assert_string_equal(changed, "the model, the engine, tensortrace");
    wanted.settings[0] = 'x';
    assert_null(tt_results_find(&results, &wanted, changed));
    assert_string_equal(changed, "");
    tt_results_free(&results);
}

/* --- prompts --- */

static tt_status add(const char *prompts)
{
    static const char text[] = "{\"experiment\": {\"model_path\": \"m.gguf\", \"prompt\": \"Hi\", "
                               "\"threads\": [1, 2]}}";
    tt_diagnostics_free(&diagnostics);
    tt_settings_free(&settings);
    assert_int_equal(tt_settings_parse(&settings, text, strlen(text), "s.json", "/home/me", true,
                                       &diagnostics, &error),
                     TT_OK);
    return tt_settings_add_prompts(&settings, prompts, strlen(prompts), "p.json", &diagnostics,
                                   &error);
}

static void refuses(const char *prompts, const char *wanted)
{
    size_t at = 0;
    assert_int_equal(add(prompts), TT_E_USAGE);
    assert_int_equal(diagnostics.n, 1);
    assert_string_equal(tt_diagnostics_next(&diagnostics, &at), wanted);
}

static void prompts_of_a_file_are_a_sweep(void **state)
{
    (void)state;
    tt_experiment e;
    assert_int_equal(add("{\"experiment_name\": \"n\", \"description\": \"d\", \"prompts\": ["
                         "{\"id\": \"a\", \"domain\": \"code\", \"prompt\": \"A\", "
                         "\"n_predict\": 5}, {\"prompt\": \"A\", \"n_predict\": -1}]}"),
                     TT_OK);
    assert_int_equal(tt_settings_experiments(&settings), 4);
    tt_settings_experiment(&settings, 1, &e);
    assert_string_equal(e.of[TT_SET_PROMPT]->text, "A");
    assert_string_equal(e.of[TT_SET_LABEL]->text, "a");
    assert_string_equal(e.of[TT_SET_DOMAIN]->text, "code");
    assert_int_equal(e.of[TT_SET_TOKENS_TO_GENERATE]->integer, 5);
    assert_int_equal(e.of[TT_SET_THREADS]->integer, 2);
    tt_settings_experiment(&settings, 2, &e);
    assert_null(e.of[TT_SET_LABEL]);
    assert_int_equal(e.of[TT_SET_TOKENS_TO_GENERATE]->integer, -1);
    assert_string_equal(e.of[TT_SET_EXPERIMENT_NAME]->text, "n");
    assert_int_equal(tt_settings_first_like(&settings, 2), 2); /* the same text, another prompt */
}

static void wrong_prompts_are_refused(void **state)
{
    (void)state;
    refuses("{}", "prompts is missing");
    refuses("{\"prompts\": []}", "prompts: an array of 1 to 4096 prompts is expected");
    refuses("{\"prompts\": [1]}", "prompts[0]: an object is expected, not a number");
    refuses("{\"prompts\": [{\"n_predict\": 1}]}", "prompts[0].prompt is missing");
    refuses("{\"prompts\": [{\"prompt\": \"A\"}]}", "experiment.tokens_to_generate is missing");
    refuses("{\"prompts\": [{\"prompt\": \"A\", \"n_predict\": \"1\"}]}",
            "prompts[0].n_predict: a whole number is expected, not a text");
    refuses("{\"prompts\": [{\"prompt\": \"A\", \"n_predict\": 1, \"domian\": \"x\"}]}",
            "prompts[0].domian: no such key; did you mean \"domain\"?");
    refuses("{\"prompts\": [{\"prompt\": \"A\", \"n_predict\": 1}], \"name\": 1}",
            "name: no such key; there are prompts, experiment_name, description");
    assert_int_equal(add("{"), TT_E_FORMAT);
}

static void the_other_name_of_the_number_of_tokens(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"experiment\": {\"model_path\": \"m\", \"prompt\": \"x\", "
                           "\"n_predict\": 7}}"),
                     TT_OK);
    assert_int_equal(settings.of[TT_SET_TOKENS_TO_GENERATE].values->integer, 7);
    assert_int_equal(parse(EXPERIMENT(", \"n_predict\": 7") "}"), TT_OK);
    assert_int_equal(settings.of[TT_SET_TOKENS_TO_GENERATE].values->integer, 3);
    assert_true(settings.tokens_differ);
    assert_int_equal(parse(EXPERIMENT(", \"n_predict\": 3") "}"), TT_OK);
    assert_false(settings.tokens_differ);
}

/* --- the folder --- */

static char folder[] = "/tmp/tt-experiment-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 && tt_outdir_remove(folder) ? 0 : -1;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void reads(const char *path, const char *wanted)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    (void)fclose(f);
    assert_string_equal(got, wanted);
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void make(const tt_store *s, const char *id, const char *content)
{
    char made[PATH_MAX], path[PATH_MAX + 32];
    assert_int_equal(tt_store_begin(s, made, &error), TT_OK);
    (void)snprintf(path, sizeof path, "%s/memory-map.json", made);
    put(path, content);
    assert_int_equal(tt_store_keep(s, made, id, &error), TT_OK);
}

static void names_lead_to_the_last_one(void **state)
{
    (void)state;
    tt_store s;
    tt_results results = {.n = 0};
    char name[TT_RESULT_FOLDER];
    assert_int_equal(tt_store_open(&s, "out/data", &error), TT_OK);
    make(&s, ID_A, "a"); /* as earlier versions named them */
    make(&s, "02-b", "b");
    assert_false(tt_result_current("out/data", name));
    assert_int_equal(tt_store_publish(&s, ID_A, &results, &error), TT_OK);
    reads("out/data/memory-map.json", "a");
    reads("out/data/experiments.json", "[]\n");
    assert_false(exists("out/data/graphs")); /* it has none */
    assert_int_equal(tt_store_publish(&s, "02-b", &results, &error), TT_OK);
    reads("out/data/memory-map.json", "b");
    assert_true(tt_result_current("out/data", name));
    assert_string_equal(name, "02-b");
    assert_int_equal(tt_store_foreign("out/data", NULL, NULL), 0);
    /* A name is taken once. */
    char made[PATH_MAX];
    assert_int_equal(tt_store_begin(&s, made, &error), TT_OK);
    assert_int_equal(tt_store_keep(&s, made, ID_A, &error), TT_E_IO);
    assert_int_equal(rmdir(made), 0);
    tt_store_close(&s);
}

static void is_named(const tt_store *s, const char *domain, const char *label, const char *prompt,
                     const char *wanted)
{
    char name[TT_RESULT_FOLDER];
    tt_store_name(s, domain, label, prompt, name);
    assert_string_equal(name, wanted);
    assert_true(tt_result_is_name(name));
}

static void folders_have_names_for_people(void **state)
{
    (void)state;
    tt_store s;
    assert_int_equal(tt_store_open(&s, "names", &error), TT_OK);
    is_named(&s, "code", "Quick sort!", "Write it", "01-code-quick-sort");
    assert_int_equal(mkdir("names/07-x", 0777), 0);
    assert_int_equal(mkdir("names/99x", 0777), 0);
    assert_int_equal(mkdir("names/" ID_A, 0777), 0);
    is_named(&s, "code", "domain-1-code", "", "08-domain-1-code");
    is_named(&s, NULL, NULL, "  Once upon a time, there was  ", "08-once-upon-a-time-there-was");
    is_named(&s, NULL, NULL, "../../etc", "08-etc");
    is_named(&s, "\xc3\xa9", "", "x", "08-run");
    is_named(&s, NULL, "0123456789012345678901234567890123456789012345678901234567890123456789", "",
             "08-012345678901234567890123456789012345678901234567");
    assert_int_equal(mkdir("names/9999998-x", 0777), 0);
    is_named(&s, NULL, "last", "", "9999999-last");
    assert_false(tt_result_is_name("1-x"));
    assert_false(tt_result_is_name("01"));
    assert_false(tt_result_is_name(".."));
    tt_store_close(&s);
}

static void what_others_made_is_not_touched(void **state)
{
    (void)state;
    char moved[PATH_MAX], path[PATH_MAX + 32];
    assert_int_equal(mkdir("old", 0777), 0);
    assert_int_equal(mkdir("old/traces", 0777), 0);
    put("old/memory-map.json", "theirs");
    put("old/other.txt", "theirs too");
    assert_int_equal(symlink("elsewhere/graphs", "old/graphs"), 0);
    assert_int_equal(tt_store_foreign("old", NULL, NULL), 3);
    assert_int_equal(tt_store_move_foreign("old", moved, &error), TT_OK);
    assert_int_equal(tt_store_foreign("old", NULL, NULL), 0);
    (void)snprintf(path, sizeof path, "%s/memory-map.json", moved);
    reads(path, "theirs");
    reads("old/other.txt", "theirs too");
}

static void one_at_a_time_and_leftovers_go(void **state)
{
    (void)state;
    tt_store s, other;
    char made[PATH_MAX];
    assert_int_equal(tt_store_open(&s, "busy", &error), TT_OK);
    if (s.lock < 0) skip();
    assert_int_equal(tt_store_begin(&s, made, &error), TT_OK);
    put("busy/.unfinished-file", "not a folder");
    assert_int_equal(mkdir("busy/unfinished-x", 0777), 0);
    assert_int_equal(tt_store_open(&other, "busy", &error), TT_E_EXISTS);
    tt_store_close(&s); /* as when it is killed */
    assert_int_equal(tt_store_open(&other, "busy", &error), TT_OK);
    assert_int_equal(tt_store_clean(&other), 1);
    assert_false(exists(made));
    assert_true(exists("busy/.unfinished-file"));
    assert_true(exists("busy/unfinished-x"));
    tt_store_close(&other);
}

static void a_signal_stops_all_writers(void **state)
{
    (void)state;
    assert_int_equal(mkdir("work", 0777), 0);
    assert_int_equal(mkdir("work/deep", 0777), 0);
    put("work/deep/a.txt", "a");
    tt_interrupt_hold();
    assert_int_equal(raise(SIGTERM), 0); /* waits until somebody knows of the folder */
    assert_int_equal(tt_interrupted(), 0);
    tt_interrupt_guard("work");
    assert_int_equal(tt_interrupted(), SIGTERM);
    assert_null(fopen("work/deep/b.txt", "w"));
    assert_int_equal(raise(SIGTERM), 0); /* an impatient one: the folder goes nevertheless */
    tt_interrupt_end();
    assert_false(exists("work"));
    assert_false(exists("work.gone"));
    /* Without a signal the folder is removed too: what is to stay was moved away. */
    assert_int_equal(mkdir("work", 0777), 0);
    tt_interrupt_guard("work");
    tt_interrupt_end();
    assert_false(exists("work"));
}

static void folders_are_listed(void **state)
{
    (void)state;
    tt_results results;
    assert_int_equal(tt_results_scan(&results, "not/there", &error), TT_OK);
    assert_int_equal(results.n, 0);
    assert_int_equal(mkdir("list", 0777), 0);
    assert_int_equal(mkdir("list/" ID_A, 0777), 0);
    assert_int_equal(mkdir("list/" ID_B, 0777), 0);
    assert_int_equal(mkdir("list/other", 0777), 0);
    put("list/" ID_B "/run.json", "{}");
    assert_int_equal(tt_results_scan(&results, "list", &error), TT_OK);
    assert_int_equal(results.n, 0);
    assert_int_equal(results.n_unreadable, 2);
    tt_results_free(&results);
    assert_int_equal(tt_results_scan(&results, "list/" ID_B "/run.json", &error), TT_E_IO);
}

static void names_are_near_or_not(void **state)
{
    (void)state;
    tt_nearest n = tt_nearest_begin("promt");
    tt_nearest_try(&n, "threads");
    assert_null(n.name);
    tt_nearest_try(&n, "prompts");
    assert_string_equal(n.name, "prompts");
    tt_nearest_try(&n, "prompt");
    assert_string_equal(n.name, "prompt");
    n = tt_nearest_begin("abc"); /* one slip in a short word */
    tt_nearest_try(&n, "axy");
    assert_null(n.name);
    n = tt_nearest_begin("");
    tt_nearest_try(&n, "ab");
    assert_null(n.name);
}

int main(void)
{
    const struct CMUnitTest settings_tests[] = {
        cmocka_unit_test(the_earlier_form_is_read),
        cmocka_unit_test(paths_have_their_places),
        cmocka_unit_test(arrays_are_a_sweep),
        cmocka_unit_test(what_stands_twice_is_known),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(conditions_are_swept),
        cmocka_unit_test(any_order_is_as_likely),
        cmocka_unit_test(all_of_it_at_once),
        cmocka_unit_test(not_json_has_a_place),
        cmocka_unit_test(no_more_than_the_limits),
        cmocka_unit_test(a_result_comes_back),
        cmocka_unit_test(what_changed_is_told),
        cmocka_unit_test(names_are_near_or_not),
        cmocka_unit_test(prompts_of_a_file_are_a_sweep),
        cmocka_unit_test(wrong_prompts_are_refused),
        cmocka_unit_test(the_other_name_of_the_number_of_tokens)};
    const struct CMUnitTest folder_tests[] = {cmocka_unit_test(names_lead_to_the_last_one),
                                              cmocka_unit_test(folders_have_names_for_people),
                                              cmocka_unit_test(what_others_made_is_not_touched),
                                              cmocka_unit_test(one_at_a_time_and_leftovers_go),
                                              cmocka_unit_test(folders_are_listed),
                                              cmocka_unit_test(a_signal_stops_all_writers)};
    int failed = cmocka_run_group_tests_name("settings", settings_tests, NULL, forget);
    return failed + cmocka_run_group_tests_name("folder", folder_tests, enter_folder, leave_folder);
}
