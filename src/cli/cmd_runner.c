/* tensortrace runner: one prompt through llama.cpp, untraced. `tensortrace run -m` starts this with
 * the preload library; so it is the traced program. */
#include "base/json.h"
#include "base/outfile.h"
#include "cli/boosted.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/runner_options.h"
#include "table/table.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct arguments {
    tt_runner_args runner;
    bool json, quiet;
    const char *result;
} arguments;

/* The tokens computed, for --json and --write-ids. */
typedef struct tokens {
    tt_token_ids prompt, chosen, taken;
    tt_error err; /* of the first id that could not be stored */
} tokens;

/* State shared by the callbacks. */
typedef struct screen {
    const arguments *args;
    tokens *tokens;
    FILE *text; /* stdout, or memory for --json */
    tt_progress progress;
    int phase; /* of the progress bar; -1: none begun */
    bool shows_progress;
    bool ends_in_newline;
    bool failed; /* stdout cannot be written */
} screen;

static const tt_option options[] = {
    {"json", 0, 0, "One JSON object with text and figures instead of the text", 0,
     TT_FLAG(arguments, json)},
    {"quiet", 'q', 0, "No progress, no summary", 0, TT_FLAG(arguments, quiet)},
    {"result", 0, "FILE", "Write the figures as JSON to FILE", 0, TT_TEXT(arguments, result),
     .flags = TT_OPTION_HIDDEN},
    {0},
};

static void refuse_word(void *input, char *arg, tt_parse *p)
{
    (void)input;
    tt_parse_error(p, "unexpected '%s'", arg);
}

static void check_model(void *input, tt_parse *p)
{
    const arguments *args = input;
    if (!args->runner.options.model) tt_parse_error(p, "no model given (-m FILE)");
}

static const tt_options command = {
    .words = NULL,
    .about =
        "Runs a GGUF model with llama.cpp's shared libraries and prints the text it generates.",
    .sets = {{options, 0, refuse_word, check_model, NULL}, TT_RUNNER(arguments, runner)}};

static bool on_text(void *user, const char *bytes, size_t n)
{
    screen *s = user;
    if (fwrite(bytes, 1, n, s->text) != n || fflush(s->text) != 0) {
        s->failed = true;
        return false;
    }
    s->ends_in_newline = bytes[n - 1] == '\n';
    return true;
}

static void on_progress(void *user, tt_runner_phase phase, uint64_t done, uint64_t total,
                        double tokens_per_s)
{
    (void)tokens_per_s;
    screen *s = user;
    /* Text on the same terminal shows progress, and a bar would overwrite it. */
    if (!s->shows_progress || (phase == TT_RUNNER_GENERATE && isatty(STDOUT_FILENO))) {
        if (s->phase >= 0) tt_progress_end(&s->progress);
        s->phase = -1;
        return;
    }
    if (s->phase != (int)phase) {
        if (s->phase >= 0) tt_progress_end(&s->progress);
        tt_progress_begin(&s->progress, phase == TT_RUNNER_PROMPT ? "prompt" : "generate", total,
                          "tokens");
        s->phase = (int)phase;
    }
    tt_progress_update(&s->progress, done);
}

static void on_log(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    fputs(text, stderr);
}

static void on_note(void *user, const char *text)
{
    screen *s = user;
    /* A note must not interrupt the text's last line. */
    if (s->text == stdout && !s->ends_in_newline) {
        (void)fputc('\n', stdout);
        (void)fflush(stdout);
        s->ends_in_newline = true;
    }
    tt_report_note("%s", text);
}

static void keep(tokens *t, tt_token_ids *list, int32_t id)
{
    tt_error err;
    if (tt_token_ids_add(list, id, &err) != TT_OK && t->err.status == TT_OK) t->err = err;
}

static void on_prompt_ids(void *user, const int32_t *ids, size_t n)
{
    tokens *t = ((screen *)user)->tokens;
    for (size_t i = 0; i < n; i++)
        keep(t, &t->prompt, ids[i]);
}

static void on_choice(void *user, int32_t chosen, int32_t taken)
{
    tokens *t = ((screen *)user)->tokens;
    keep(t, &t->chosen, chosen);
    keep(t, &t->taken, taken);
}

static void put_ids(tt_json *j, const char *key, const tt_token_ids *list)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t i = 0; i < list->n; i++)
        tt_json_i64(j, list->ids[i]);
    tt_json_array_end(j);
}

static void put_tokens(tt_json *j, const tokens *t)
{
    put_ids(j, "prompt_ids", &t->prompt);
    put_ids(j, "chosen_ids", &t->chosen);
    put_ids(j, "taken_ids", &t->taken);
}

TT_COLUMN_KNOWN(has_counts, tt_runner_result, r, r->has_engine_counts)
TT_COLUMN_GET(get_dir, tt_runner_result, r, tt_cell_text(cell, r->engine_dir);)
TT_COLUMN_GET(get_release, tt_runner_result, r, tt_cell_text(cell, r->engine_release);)
TT_COLUMN_GET(get_stop, tt_runner_result, r, tt_cell_text(cell, tt_runner_stop_name(r->stop));)

#define MEMBER(member_) TT_MEMBER(tt_runner_result, member_)
#define FIGURE(key_, member_, about_) TT_FIELD(key_, about_, MEMBER(member_))
#define COUNTED .known = has_counts, .show = TT_SHOW_OMIT
static const tt_column columns[] = {
    TT_FIELD("engine_dir", "with its libraries", .type = TT_CELL_NAME, .get = get_dir),
    TT_FIELD("engine_release", "of llama.cpp", .type = TT_CELL_NAME, .get = get_release),
    FIGURE("prompt_tokens", n_prompt, "with those the model adds"),
    FIGURE("generated_tokens", n_generated, "an end of generation included"),
    FIGURE("decoded_tokens", n_decoded, "given to llama_decode"),
    FIGURE("decode_calls", n_decodes, "of llama_decode"),
    FIGURE("ctx_tokens", n_ctx, "the context's size"),
    FIGURE("batch_tokens", n_batch, "the most in a batch"),
    FIGURE("threads", n_threads, "of the engine"),
    FIGURE("load_s", load_s, "to load the model"),
    FIGURE("prompt_s", prompt_s, "for the prompt"),
    FIGURE("generate_s", generate_s, "for the other tokens"),
    FIGURE("generate_cpu_s", generate_cpu_s, "CPU time meanwhile"),
    TT_FIELD("engine_prompt_eval_tokens", "its own counter", MEMBER(engine_n_p_eval), COUNTED),
    TT_FIELD("engine_eval_tokens", "likewise", MEMBER(engine_n_eval), COUNTED),
    FIGURE("model_is_mapped", model_is_mapped, "its file is in the memory map"),
    FIGURE("is_repacked", is_repacked, "weights were repacked"),
    TT_FIELD("flash_attn", "the engine's word for it", .show = TT_SHOW_OMIT,
             TT_MEMBER_CHARS(tt_runner_result, flash_attn)),
    TT_FIELD("stop", "why it ended", .type = TT_CELL_NAME, .get = get_stop),
};
static const tt_schema figures_schema = TT_SCHEMA("figures", "of a run", columns);

/* The figures and the ids; and the text, with what boost did, if available. */
static bool put_json(FILE *out, const tt_runner_result *r, const tokens *t, const char *text,
                     size_t n)
{
    tt_json j;
    const tt_rowset figures = TT_ROWSET(&figures_schema, 0, NULL, r, 1);
    tt_json_begin(&j, out, 2);
    tt_json_object(&j);
    tt_rowset_json(&j, &figures, r);
    if (t) put_tokens(&j, t);
    if (text) {
        tt_json_key(&j, "text");
        tt_json_string_n(&j, text, n);
    }
    if (text) tt_boosted_report_json(&j);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static int write_result(const char *path, const tt_runner_result *r)
{
    FILE *out = fopen(path, "we");
    bool ok = out && put_json(out, r, NULL, NULL, 0);
    if (out && fclose(out) != 0) ok = false;
    return ok ? TT_EXIT_OK : tt_report_usage("cannot write %s: %s", path, strerror(errno));
}

static bool put_ids_file(FILE *out, const tokens *t)
{
    tt_json j;
    tt_json_begin(&j, out, 0);
    tt_json_object(&j);
    put_tokens(&j, t);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static int write_ids(const char *path, const tokens *t)
{
    tt_outfile file;
    tt_error err;
    if (t->err.status != TT_OK) return tt_report_error(&t->err);
    if (tt_outfile_open(&file, path, true, &err) != TT_OK) return tt_report_error(&err);
    if (!put_ids_file(file.stream, t)) {
        tt_outfile_abandon(&file);
        return tt_report_usage("cannot write %s: %s", path, strerror(errno));
    }
    return tt_outfile_commit(&file, &err) == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
}

static void summarize(const tt_runner_result *r)
{
    /* The rate of decoding: the first token comes from the prompt. */
    double rate = r->generate_s > 0 && r->n_generated > 1
                      ? (double)(r->n_decoded - r->n_prompt) / r->generate_s
                      : 0;
    tt_report_note("prompt %u tokens in %.2f s, generated %u in %.2f s (%.1f tokens/s), %d threads",
                   (unsigned)r->n_prompt, r->prompt_s, (unsigned)r->n_generated, r->generate_s,
                   rate, (int)r->n_threads);
}

/* Runs with the text going to s->text. */
static int run(const arguments *args, screen *s, tt_runner_result *r)
{
    tt_runner_events events = {.on_text = on_text,
                               .on_progress = on_progress,
                               .on_log = args->runner.verbose ? on_log : NULL,
                               .on_note = on_note,
                               .on_prompt_ids = on_prompt_ids,
                               .on_choice = on_choice,
                               .user = s};
    tt_error err;
    tt_status status = tt_runner_run(&args->runner.options, &events, r, &err);
    if (s->phase >= 0) tt_progress_end(&s->progress);
    if (status != TT_OK) {
        if (r->n_generated > 0 && !args->json) (void)fputc('\n', stdout);
        (void)tt_report_error(&err);
        return TT_EXIT_USAGE;
    }
    return s->failed ? tt_report_usage("cannot write the text: %s", strerror(errno)) : TT_EXIT_OK;
}

static int run_as_text(const arguments *args, tt_runner_result *r, tokens *t)
{
    screen s = {.args = args, .tokens = t, .text = stdout, .phase = -1, .ends_in_newline = true};
    s.shows_progress = !args->quiet && isatty(STDERR_FILENO);
    int code = run(args, &s, r);
    if (code != TT_EXIT_OK) return code;
    if (!s.ends_in_newline) (void)fputc('\n', stdout);
    if (fflush(stdout) != 0) return tt_report_usage("cannot write the text: %s", strerror(errno));
    if (s.shows_progress) summarize(r);
    return TT_EXIT_OK;
}

static int run_as_json(const arguments *args, tt_runner_result *r, tokens *t)
{
    char *text = NULL;
    size_t size = 0;
    screen s = {.args = args, .tokens = t, .text = open_memstream(&text, &size), .phase = -1};
    if (!s.text) return tt_report_memory();
    s.shows_progress = !args->quiet && isatty(STDERR_FILENO);
    int code = run(args, &s, r);
    (void)fclose(s.text);
    if (code == TT_EXIT_OK && !put_json(stdout, r, t, text ? text : "", size))
        code = tt_report_usage("cannot write: %s", strerror(errno));
    free(text);
    return code;
}

int tt_cmd_runner(int argc, char **argv)
{
    arguments args = {.json = false};
    tt_runner_result result;
    tokens ids = {.err = {.status = TT_OK}};
    tt_error err;
    tt_runner_args_init(&args.runner);
    tt_options_parse(&command, argc, argv, &args);
    if (tt_runner_args_load_prompt(&args.runner, &err) != TT_OK) {
        (void)tt_report_error(&err);
        tt_runner_args_free(&args.runner);
        return TT_EXIT_USAGE;
    }
    int code = args.json ? run_as_json(&args, &result, &ids) : run_as_text(&args, &result, &ids);
    if (code == TT_EXIT_OK && args.runner.write_ids) code = write_ids(args.runner.write_ids, &ids);
    tt_token_ids_free(&ids.prompt);
    tt_token_ids_free(&ids.chosen);
    tt_token_ids_free(&ids.taken);
    if (code == TT_EXIT_OK && args.result) code = write_result(args.result, &result);
    tt_runner_args_free(&args.runner);
    return code;
}
