#include "cli/runner_options.h"

#include "base/units.h"
#include "value/select.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMPT_FILE_MAX (64u << 20)
#define TOKENS_MAX (1 << 24)
#define WORDS_MAX 48

void tt_runner_take_program(void *input, char *arg, tt_parse *p)
{
    tt_runner_args *args = input;
    (void)arg;
    args->program = tt_parse_rest(p);
}

void tt_runner_check_program(void *input, tt_parse *p)
{
    const tt_runner_args *args = input;
    if (!args->program && !args->options.model)
        tt_parse_error(p, "nothing to run: give -m MODEL, or -- PROGRAM ARGS...");
}

void tt_runner_take_values(void *text, char *arg, tt_parse *p)
{
    tt_select select;
    tt_error err;
    if (tt_select_parse(arg, &select, &err) != TT_OK) tt_parse_refuse(p, "%s", err.message);
    *(const char **)text = arg;
}

tt_runner_flash tt_runner_flash_of(const char *word)
{
    if (!word) return TT_RUNNER_FLASH_DEFAULT;
    if (strcmp(word, "on") == 0) return TT_RUNNER_FLASH_ON;
    return strcmp(word, "off") == 0 ? TT_RUNNER_FLASH_OFF : TT_RUNNER_FLASH_AUTO;
}

void tt_runner_args_init(tt_runner_args *args)
{
    memset(args, 0, sizeof *args);
    args->options.n_predict = TT_RUNNER_PREDICT_DEFAULT;
    args->options.seed = TT_RUNNER_SEED_DEFAULT;
}

void tt_runner_args_free(tt_runner_args *args)
{
    free(args->loaded);
    args->loaded = NULL;
    tt_token_ids_free(&args->loaded_prompt_ids);
    tt_token_ids_free(&args->loaded_force_ids);
}

static void take_temperature(void *temperature, char *arg, tt_parse *p)
{
    char *end;
    errno = 0;
    float value = strtof(arg, &end);
    if (end == arg || *end || errno || !isfinite(value) || value < 0 || value > 100)
        tt_parse_refuse(p, "\"%.40s\" is not a number from 0 to 100", arg);
    *(float *)temperature = value;
}

static const tt_option_name flash[] = {
    {"on", TT_RUNNER_FLASH_ON}, {"off", TT_RUNNER_FLASH_OFF}, {"auto", TT_RUNNER_FLASH_AUTO}};

const tt_option tt_runner_options_table[] = {
    {.about = "Built-in runner:", .group = 10},
    {"model", 'm', "FILE", "GGUF model to run", 10, TT_TEXT(tt_runner_args, options.model)},
    {"prompt", 'p', "TEXT", "Text to continue (default \"" TT_RUNNER_PROMPT_DEFAULT "\")", 10,
     TT_TEXT(tt_runner_args, prompt), .excludes = "prompt-file prompt-ids"},
    {"prompt-file", 0, "FILE", "Read the prompt from FILE (-: standard input)", 10,
     TT_TEXT(tt_runner_args, prompt_file), .excludes = "prompt-ids"},
    {"prompt-ids", 0, "IDS", "The prompt as token ids: 1,15043 or @FILE with such a list", 10,
     TT_TEXT(tt_runner_args, prompt_ids)},
    {"predict", 'n', "N", "Tokens to generate (default 32; -1: until the text ends)", 10,
     TT_WHOLE(tt_runner_args, options.n_predict, -1, TOKENS_MAX),
     TT_GIVEN(tt_runner_args, has_predict)},
    {"force-ids", 0, "IDS",
     "Generate these token ids, whatever the model would choose (default of -n: their number)", 10,
     TT_TEXT(tt_runner_args, force_ids)},
    {"write-ids", 0, "FILE",
     "Write to FILE, as JSON, the token ids of the prompt, the model's choices, and the generated "
     "ids",
     10, TT_TEXT(tt_runner_args, write_ids)},
    {"threads", 't', "N", "Threads (default: the CPUs this process may use)", 10,
     TT_WHOLE(tt_runner_args, options.n_threads, 1, 512)},
    {"ctx-size", 'c', "N", "Context in tokens (default: as needed, at least 512)", 10,
     TT_WHOLE(tt_runner_args, options.n_ctx, 1, TOKENS_MAX)},
    {"batch-size", 'b', "N", "Most prompt tokens per decode call (default: the engine's)", 10,
     TT_WHOLE(tt_runner_args, options.n_batch, 1, TOKENS_MAX)},
    {"ubatch", 0, "N", "Most tokens per graph (default: the engine's)", 10,
     TT_WHOLE(tt_runner_args, options.n_ubatch, 1, TOKENS_MAX)},
    {"temp", 0, "T", "Sample with temperature T (default 0: always the likeliest)", 10,
     TT_TAKE(tt_runner_args, options.temperature, take_temperature)},
    {"seed", 0, "N", "Seed for --temp (default 1)", 10,
     TT_WHOLE(tt_runner_args, options.seed, 0, UINT32_MAX - 1)},
    {"no-mmap", 0, 0, "Read the weights into buffers instead of mapping the file", 10,
     TT_FLAG(tt_runner_args, options.no_mmap)},
    {"mlock", 0, 0, "Lock the mapped model in RAM", 10, TT_FLAG(tt_runner_args, options.mlock)},
    {"no-repack", 0, 0, "Keep the weights in the file's layout", 10,
     TT_FLAG(tt_runner_args, options.no_repack)},
    {"flash-attn", 0, "on|off|auto", "Flash attention (default: the engine's)", 10,
     TT_NAME(tt_runner_args, options.flash_attn, flash)},
    {"ignore-eos", 0, 0, "Continue when the model ends the text", 10,
     TT_FLAG(tt_runner_args, options.ignore_eos)},
    {"engine", 0, "DIR",
     "Folder of llama.cpp's libraries (default: $TENSORTRACE_ENGINE, the bundled one, the "
     "system's)",
     10, TT_TEXT(tt_runner_args, options.engine)},
    {"verbose", 0, 0, "Show the engine's log on standard error", 10,
     TT_FLAG(tt_runner_args, verbose)},
    {0},
};

static tt_status read_prompt(tt_runner_args *args, FILE *in, tt_error *err)
{
    size_t capacity = 1 << 16, size = 0;
    args->loaded = malloc(capacity);
    while (args->loaded) {
        size += fread(args->loaded + size, 1, capacity - size, in);
        if (size < capacity) break;
        if (capacity >= PROMPT_FILE_MAX)
            return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "%s: a prompt of over 64 MiB",
                                args->prompt_file);
        capacity *= 2;
        char *larger = realloc(args->loaded, capacity);
        if (!larger) free(args->loaded);
        args->loaded = larger;
    }
    if (!args->loaded) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    if (ferror(in))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read %s: %s", args->prompt_file,
                            strerror(errno));
    args->options.prompt = args->loaded;
    args->options.prompt_size = size;
    return TT_OK;
}

static tt_status load_ids(tt_runner_args *args, tt_error *err)
{
    tt_runner_options *o = &args->options;
    tt_token_ids *prompt = &args->loaded_prompt_ids, *forced = &args->loaded_force_ids;
    tt_status status = TT_OK;
    if (args->prompt_ids) status = tt_token_ids_load(prompt, args->prompt_ids, "--prompt-ids", err);
    if (status == TT_OK && args->force_ids)
        status = tt_token_ids_load(forced, args->force_ids, "--force-ids", err);
    o->prompt_ids = prompt->ids;
    o->n_prompt_ids = prompt->n;
    o->forced_ids = forced->ids;
    o->n_forced_ids = forced->n;
    if (args->force_ids && !args->has_predict) o->n_predict = (int32_t)forced->n;
    return status;
}

tt_status tt_runner_args_load_prompt(tt_runner_args *args, tt_error *err)
{
    tt_status loaded = load_ids(args, err);
    if (loaded != TT_OK) return loaded;
    if (!args->prompt_file) {
        args->options.prompt = args->prompt ? args->prompt : TT_RUNNER_PROMPT_DEFAULT;
        args->options.prompt_size = strlen(args->options.prompt);
        return TT_OK;
    }
    bool is_stdin = strcmp(args->prompt_file, "-") == 0;
    FILE *in = is_stdin ? stdin : fopen(args->prompt_file, "rbe");
    if (!in)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot open the prompt file %s: %s",
                            args->prompt_file, strerror(errno));
    tt_status status = read_prompt(args, in, err);
    if (!is_stdin) (void)fclose(in);
    return status;
}

typedef struct words {
    char **argv;
    size_t n;
    bool failed;
} words;

static void add(words *w, const char *text)
{
    char *copy = w->failed ? NULL : strdup(text);
    if (!copy || w->n == WORDS_MAX) {
        free(copy);
        w->failed = true;
        return;
    }
    w->argv[w->n++] = copy;
}

static void add_text(words *w, const char *option, const char *value)
{
    if (!value) return;
    add(w, option);
    add(w, value);
}

static void add_number(words *w, const char *option, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    add(w, option);
    add(w, text);
}

static void add_options(words *w, const tt_runner_args *args)
{
    static const char *const flash_words[] = {NULL, "auto", "on", "off"};
    const tt_runner_options *o = &args->options;
    char temp[32];
    add_text(w, "-m", o->model);
    add_text(w, "-p", args->prompt);
    add_text(w, "--prompt-file", args->prompt_file);
    add_text(w, "--prompt-ids", args->prompt_ids);
    add_text(w, "--force-ids", args->force_ids);
    add_text(w, "--write-ids", args->write_ids);
    if (args->has_predict || !args->force_ids) add_number(w, "-n", o->n_predict);
    if (o->n_threads) add_number(w, "-t", o->n_threads);
    if (o->n_ctx) add_number(w, "-c", o->n_ctx);
    if (o->n_batch) add_number(w, "-b", o->n_batch);
    if (o->n_ubatch) add_number(w, "--ubatch", o->n_ubatch);
    if (o->temperature > 0) {
        (void)snprintf(temp, sizeof temp, "%.9g", (double)o->temperature);
        add_text(w, "--temp", temp);
        add_number(w, "--seed", o->seed);
    }
    if (o->no_mmap) add(w, "--no-mmap");
    if (o->mlock) add(w, "--mlock");
    if (o->no_repack) add(w, "--no-repack");
    add_text(w, "--flash-attn", flash_words[o->flash_attn]);
    if (o->ignore_eos) add(w, "--ignore-eos");
    add_text(w, "--engine", o->engine);
    if (args->verbose) add(w, "--verbose");
}

int tt_runner_args_to_argv(const tt_runner_args *args, const char *program, size_t extra,
                           char ***argv)
{
    words w = {calloc(WORDS_MAX + extra + 1, sizeof(char *)), 0, false};
    if (!w.argv) return -1;
    add(&w, program);
    add(&w, "runner");
    add_options(&w, args);
    if (w.failed) {
        tt_runner_argv_free(w.argv);
        return -1;
    }
    *argv = w.argv;
    return (int)w.n;
}

void tt_runner_argv_free(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

static bool read_list(const json_t *root, const char *key, tt_token_ids *list)
{
    const json_t *array = json_object_get(root, key);
    tt_error err;
    for (size_t i = 0; list && i < json_array_size(array); i++) {
        const json_int_t id = json_integer_value(json_array_get(array, i));
        if (tt_token_ids_add(list, (int32_t)id, &err) != TT_OK) return false;
    }
    return json_is_array(array);
}

bool tt_runner_ids_read(const char *path, tt_token_ids *prompt, tt_token_ids *taken,
                        tt_token_ids *chosen)
{
    json_error_t where;
    json_t *root = json_load_file(path, 0, &where);
    const bool ok = root && read_list(root, "prompt_ids", prompt) &&
                    read_list(root, "taken_ids", taken) && read_list(root, "chosen_ids", chosen);
    json_decref(root);
    return ok;
}

bool tt_runner_ids_write(const char *path, const tt_token_ids *ids)
{
    FILE *f = fopen(path, "we");
    for (size_t i = 0; f && i < ids->n; i++)
        fprintf(f, "%s%" PRId32, i ? "," : "", ids->ids[i]);
    const bool ok = f && fputc('\n', f) != EOF;
    return (!f || fclose(f) == 0) && ok;
}
