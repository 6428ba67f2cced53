#include "cli/runner_options.h"

#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMPT_FILE_MAX (64u << 20)
#define TOKENS_MAX (1 << 24)
#define WORDS_MAX 48

enum {
    KEY_PROMPT_FILE = 0x5200,
    KEY_PROMPT_IDS,
    KEY_FORCE_IDS,
    KEY_WRITE_IDS,
    KEY_UBATCH,
    KEY_SEED,
    KEY_TEMP,
    KEY_NO_MMAP,
    KEY_NO_REPACK,
    KEY_FLASH_ATTN,
    KEY_IGNORE_EOS,
    KEY_ENGINE,
    KEY_VERBOSE
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "Built-in runner:", 10},
    {"model", 'm', "FILE", 0, "GGUF model to run", 10},
    {"prompt", 'p', "TEXT", 0, "Text to continue (default \"" TT_RUNNER_PROMPT_DEFAULT "\")", 10},
    {"prompt-file", KEY_PROMPT_FILE, "FILE", 0, "Read the prompt from FILE (-: standard input)",
     10},
    {"prompt-ids", KEY_PROMPT_IDS, "IDS", 0,
     "The prompt as token ids: 1,15043 or @FILE with such a list", 10},
    {"predict", 'n', "N", 0, "Tokens to generate (default 32; -1: until the text ends)", 10},
    {"force-ids", KEY_FORCE_IDS, "IDS", 0,
     "Generate these token ids, whatever the model would choose (default of -n: how many they "
     "are)",
     10},
    {"write-ids", KEY_WRITE_IDS, "FILE", 0,
     "Write the token ids of the prompt, those that the model chose and those that were taken to "
     "FILE, as JSON",
     10},
    {"threads", 't', "N", 0, "Threads (default: the CPUs this process may use)", 10},
    {"ctx-size", 'c', "N", 0, "Context in tokens (default: what is needed, at least 512)", 10},
    {"batch-size", 'b', "N", 0, "Most prompt tokens per decode call (default: the engine's)", 10},
    {"ubatch", KEY_UBATCH, "N", 0, "Most tokens per graph (default: the engine's)", 10},
    {"temp", KEY_TEMP, "T", 0, "Sample with temperature T (default 0: always the likeliest)", 10},
    {"seed", KEY_SEED, "N", 0, "Seed for --temp (default 1)", 10},
    {"no-mmap", KEY_NO_MMAP, 0, 0, "Read the weights into buffers instead of mapping the file", 10},
    {"no-repack", KEY_NO_REPACK, 0, 0, "Keep the weights in the file's layout", 10},
    {"flash-attn", KEY_FLASH_ATTN, "on|off|auto", 0, "Flash attention (default: the engine's)", 10},
    {"ignore-eos", KEY_IGNORE_EOS, 0, 0, "Go on when the model ends the text", 10},
    {"engine", KEY_ENGINE, "DIR", 0,
     "Folder of llama.cpp's libraries (default: $TENSORTRACE_ENGINE, the bundled one, the "
     "system's)",
     10},
    {"verbose", KEY_VERBOSE, 0, 0, "Show the engine's log on standard error", 10},
    {0}};

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

static int64_t number(struct argp_state *state, const char *text, const char *what, int64_t min,
                      int64_t max)
{
    int64_t value = 0;
    tt_error err;
    if (tt_units_parse_int(text, what, min, max, &value, &err) != TT_OK)
        argp_error(state, "%s", err.message);
    return value;
}

static float temperature(struct argp_state *state, const char *text)
{
    char *end;
    errno = 0;
    float value = strtof(text, &end);
    if (end == text || *end || errno || !isfinite(value) || value < 0 || value > 100)
        argp_error(state, "--temp takes a number from 0 to 100, not '%s'", text);
    return value;
}

static tt_runner_flash flash(struct argp_state *state, const char *text)
{
    if (!strcmp(text, "on")) return TT_RUNNER_FLASH_ON;
    if (!strcmp(text, "off")) return TT_RUNNER_FLASH_OFF;
    if (!strcmp(text, "auto")) return TT_RUNNER_FLASH_AUTO;
    argp_error(state, "--flash-attn takes on, off or auto, not '%s'", text);
    return TT_RUNNER_FLASH_DEFAULT;
}

static bool parse_number(int key, char *arg, struct argp_state *state, tt_runner_args *args)
{
    tt_runner_options *o = &args->options;
    switch (key) {
    case 'n':
        o->n_predict = (int32_t)number(state, arg, "-n", -1, TOKENS_MAX);
        args->has_predict = true;
        return true;
    case 't':
        o->n_threads = (int32_t)number(state, arg, "-t", 1, 512);
        return true;
    case 'c':
        o->n_ctx = (uint32_t)number(state, arg, "-c", 1, TOKENS_MAX);
        return true;
    case 'b':
        o->n_batch = (uint32_t)number(state, arg, "-b", 1, TOKENS_MAX);
        return true;
    case KEY_UBATCH:
        o->n_ubatch = (uint32_t)number(state, arg, "--ubatch", 1, TOKENS_MAX);
        return true;
    case KEY_SEED:
        o->seed = (uint32_t)number(state, arg, "--seed", 0, UINT32_MAX - 1);
        return true;
    case KEY_TEMP:
        o->temperature = temperature(state, arg);
        return true;
    default:
        return false;
    }
}

static bool parse_ids(int key, const char *arg, tt_runner_args *args)
{
    switch (key) {
    case KEY_PROMPT_IDS:
        args->prompt_ids = arg;
        return true;
    case KEY_FORCE_IDS:
        args->force_ids = arg;
        return true;
    case KEY_WRITE_IDS:
        args->write_ids = arg;
        return true;
    default:
        return false;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    tt_runner_args *args = state->input;
    tt_runner_options *o = args ? &args->options : NULL;
    if (!o) return ARGP_ERR_UNKNOWN; /* --help walks the children without an input */
    if (!parse_number(key, arg, state, args) && !parse_ids(key, arg, args)) {
        switch (key) {
        case 'm':
            o->model = arg;
            break;
        case 'p':
            args->prompt = arg;
            break;
        case KEY_PROMPT_FILE:
            args->prompt_file = arg;
            break;
        case KEY_NO_MMAP:
            o->no_mmap = true;
            break;
        case KEY_NO_REPACK:
            o->no_repack = true;
            break;
        case KEY_FLASH_ATTN:
            o->flash_attn = flash(state, arg);
            break;
        case KEY_IGNORE_EOS:
            o->ignore_eos = true;
            break;
        case KEY_ENGINE:
            o->engine = arg;
            break;
        case KEY_VERBOSE:
            args->verbose = true;
            break;
        default:
            return ARGP_ERR_UNKNOWN;
        }
    }
    args->any = true;
    if (args->prompt && args->prompt_file)
        argp_error(state, "-p and --prompt-file exclude each other");
    if (args->prompt_ids && (args->prompt || args->prompt_file))
        argp_error(state, "--prompt-ids and the text of a prompt exclude each other");
    return 0;
}

const struct argp tt_runner_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

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
