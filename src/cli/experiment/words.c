#include "cli/experiment/experiment.h"
#include "cli/runner_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 64u

static const tt_setting_value *value(const tt_experiment *e, tt_setting setting)
{
    return e->of[setting];
}

static int64_t integer(const tt_experiment *e, tt_setting setting, int64_t otherwise)
{
    return e->of[setting] ? e->of[setting]->integer : otherwise;
}

static const char *text(const tt_experiment *e, tt_setting setting)
{
    return e->of[setting] ? e->of[setting]->text : NULL;
}

/* --- the built-in runner --- */

static char **runner_words(const tt_experiment *e)
{
    char self[PATH_MAX];
    char **words = NULL;
    tt_runner_args args;
    tt_runner_args_init(&args);
    tt_runner_options *o = &args.options;
    o->model = text(e, TT_SET_MODEL_PATH);
    o->engine = text(e, TT_SET_ENGINE_PATH);
    args.prompt = text(e, TT_SET_PROMPT);
    args.prompt_file = text(e, TT_SET_PROMPT_FILE);
    o->n_predict = (int32_t)integer(e, TT_SET_TOKENS_TO_GENERATE, TT_RUNNER_PREDICT_DEFAULT);
    o->n_threads = (int32_t)integer(e, TT_SET_THREADS, 0);
    o->n_ctx = (uint32_t)integer(e, TT_SET_CONTEXT_TOKENS, 0);
    o->n_batch = (uint32_t)integer(e, TT_SET_BATCH_TOKENS, 0);
    o->n_ubatch = (uint32_t)integer(e, TT_SET_UBATCH_TOKENS, 0);
    if (value(e, TT_SET_TEMPERATURE)) o->temperature = (float)value(e, TT_SET_TEMPERATURE)->number;
    o->seed = (uint32_t)integer(e, TT_SET_SEED, TT_RUNNER_SEED_DEFAULT);
    o->flash_attn = tt_runner_flash_of(text(e, TT_SET_FLASH_ATTENTION));
    o->no_mmap = !integer(e, TT_SET_MMAP, 1);
    o->mlock = integer(e, TT_SET_MLOCK, 0) != 0;
    o->no_repack = !integer(e, TT_SET_REPACK, 1);
    o->ignore_eos = integer(e, TT_SET_IGNORE_EOS, 0) != 0;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return NULL;
    self[n] = '\0';
    return tt_runner_args_to_argv(&args, self, 0, &words) < 0 ? NULL : words;
}

/* --- a named llama-completion --- */

typedef struct list {
    char **words;
    size_t n, capacity;
    bool failed;
} list;

static void add(list *l, const char *word)
{
    if (l->failed || l->n + 1 >= l->capacity || !(l->words[l->n] = strdup(word)))
        l->failed = true;
    else
        l->n++;
}

static void add_value(list *l, const char *option, const tt_experiment *e, tt_setting setting)
{
    char shown[TT_SETTING_TEXT];
    if (!e->of[setting]) return;
    add(l, option);
    add(l, tt_setting_show(setting, e->of[setting], shown));
}

static char **program_words(const tt_settings *s, const tt_experiment *e)
{
    const tt_setting_values *more = &s->of[TT_SET_PROGRAM_ARGUMENTS];
    list l = {.capacity = WORDS_MAX + more->n};
    l.words = calloc(l.capacity, sizeof *l.words);
    if (!l.words) return NULL;
    add(&l, s->program);
    add_value(&l, "-m", e, TT_SET_MODEL_PATH);
    add_value(&l, "-p", e, TT_SET_PROMPT);
    add_value(&l, "-f", e, TT_SET_PROMPT_FILE);
    add_value(&l, "-n", e, TT_SET_TOKENS_TO_GENERATE);
    add(&l, "-no-cnv");
    add_value(&l, "-t", e, TT_SET_THREADS);
    add_value(&l, "-c", e, TT_SET_CONTEXT_TOKENS);
    add_value(&l, "-b", e, TT_SET_BATCH_TOKENS);
    add_value(&l, "-ub", e, TT_SET_UBATCH_TOKENS);
    add_value(&l, "--temp", e, TT_SET_TEMPERATURE);
    add_value(&l, "-s", e, TT_SET_SEED);
    add_value(&l, "-fa", e, TT_SET_FLASH_ATTENTION);
    if (!integer(e, TT_SET_MMAP, 1)) add(&l, "--no-mmap");
    if (integer(e, TT_SET_MLOCK, 0)) add(&l, "--mlock");
    if (!integer(e, TT_SET_REPACK, 1)) add(&l, "--no-repack");
    if (integer(e, TT_SET_IGNORE_EOS, 0)) add(&l, "--ignore-eos");
    for (size_t i = 0; i < more->n; i++)
        add(&l, more->values[i].text);
    if (!l.failed) return l.words;
    tt_words_free(l.words);
    return NULL;
}

char **tt_experiment_words(const tt_settings *s, const tt_experiment *e)
{
    return s->program ? program_words(s, e) : runner_words(e);
}

void tt_words_free(char **words)
{
    tt_runner_argv_free(words);
}

/* --- for people --- */

bool tt_experiment_has_column(tt_setting setting)
{
    return setting == TT_SET_MODEL_PATH || setting == TT_SET_PROMPT ||
           setting == TT_SET_PROMPT_FILE || setting == TT_SET_TOKENS_TO_GENERATE ||
           setting == TT_SET_THREADS;
}

static char *join(const tt_experiment *e, bool (*is_left_out)(tt_setting setting))
{
    char *line = NULL, shown[TT_SETTING_TEXT];
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (!out) return NULL;
    for (size_t i = 0; i < TT_SET_PROGRAM_ARGUMENTS; i++) {
        if (!e->of[i] || is_left_out((tt_setting)i)) continue;
        fprintf(out, "%s%s=%s", ftell(out) > 0 ? " " : "",
                i == TT_SET_REPETITIONS ? "repetition" : tt_setting_key((tt_setting)i),
                tt_setting_show((tt_setting)i, e->of[i], shown));
    }
    if (fclose(out) == 0) return line;
    free(line);
    return NULL;
}

char *tt_experiment_options(const tt_experiment *e)
{
    return join(e, tt_experiment_has_column);
}

static bool is_no_condition(tt_setting setting)
{
    return setting == TT_SET_MODEL_PATH || setting == TT_SET_PROMPT ||
           setting == TT_SET_PROMPT_FILE || setting == TT_SET_TOKENS_TO_GENERATE ||
           setting == TT_SET_REPETITIONS;
}

char *tt_experiment_condition(const tt_experiment *e)
{
    return join(e, is_no_condition);
}

const char *tt_experiment_prompt(const tt_experiment *e)
{
    const char *prompt = text(e, TT_SET_PROMPT);
    return prompt ? prompt : text(e, TT_SET_PROMPT_FILE);
}
