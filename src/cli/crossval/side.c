/* Runs the program of one side of a scenario. */
#include "base/clock.h"
#include "base/words.h"
#include "cli/crossval/crossval.h"
#include "cli/interrupt.h"
#include "cli/runner_options.h"
#include "cli/traced.h"
#include "record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

/* --- the environment --- */

typedef struct saved {
    const char *name;
    char *before; /* NULL: it was not set */
} saved;

static void set(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

/* Sets the variables in this process, from which the program inherits them; *n must be restored. */
static saved *set_environment(const tt_cv_scenario *c, size_t side, const char *out, size_t *n)
{
    const tt_crossval_side *s = &c->x->settings.sides[side];
    bool bitnet = s->records == TT_RECORDS_BITNET, trace = s->records == TT_RECORDS_TRACE;
    tt_side_variable own[] = {
        {"TENSORTRACE", trace ? out : NULL},
        {TT_ENV_VALUES, trace && c->x->settings.has_values ? c->x->settings.values : NULL},
        {"BITNET_TRACE_DIR", bitnet ? out : NULL}};
    size_t n_own = s->kind == TT_SIDE_COMMAND ? sizeof own / sizeof *own : 0;
    saved *list = calloc(s->n_environment + n_own + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < s->n_environment + n_own; i++) {
        tt_side_variable v = i < n_own ? own[i] : s->environment[i - n_own];
        const char *before = getenv(v.name);
        list[(*n)++] = (saved){v.name, before ? strdup(before) : NULL};
        set(v.name, v.value);
    }
    return list;
}

static void restore_environment(saved *list, size_t n)
{
    while (list && n-- > 0) {
        set(list[n].name, list[n].before);
        free(list[n].before);
    }
    free(list);
}

/* --- its arguments --- */

/* A file with ids, which may be too many for a command line. Its argument goes to `out`. */
static bool write_ids(tt_cv_scenario *c, size_t side, const char *suffix, const tt_token_ids *ids,
                      char out[TT_CV_PATH + 1])
{
    tt_cv_path(c, out + 1, side, suffix);
    out[0] = '@';
    return tt_runner_ids_write(out + 1, ids) ||
           tt_cv_fail(c, 2, "cannot write %s: %s", out + 1, strerror(errno));
}

static void set_options(const tt_crossval_side *s, tt_runner_options *o)
{
    o->model = s->model;
    o->engine = s->engine;
    o->n_threads = (int32_t)s->threads;
    o->n_ctx = (uint32_t)s->context_tokens;
    o->n_batch = (uint32_t)s->batch_tokens;
    o->n_ubatch = (uint32_t)s->ubatch_tokens;
    o->flash_attn = tt_runner_flash_of(s->flash_attention);
    o->no_mmap = s->no_mmap;
    o->no_repack = s->no_repack;
}

static bool set_tokens(tt_cv_scenario *c, size_t side, bool leads, tt_runner_args *args,
                       char words[2][TT_CV_PATH + 1])
{
    const tt_crossval_scenario *s = c->settings;
    tt_token_ids given = {s->token_ids.ids, s->token_ids.n, 0};
    tt_token_ids forced = {s->force_ids.ids, s->force_ids.n, 0};
    const tt_token_ids *prompt = leads ? &given : &c->tokens.prompt;
    const tt_token_ids *taken = leads ? &forced : &c->tokens.taken;
    args->has_predict = true;
    args->options.n_predict = (int32_t)(leads ? s->tokens : c->tokens.n);
    args->prompt = leads ? s->prompt : NULL;
    args->prompt_file = leads ? s->prompt_file : NULL;
    if (prompt->n) args->prompt_ids = words[0];
    if (taken->n) args->force_ids = words[1];
    return (!prompt->n || write_ids(c, side, ".prompt.ids", prompt, words[0])) &&
           (!taken->n || write_ids(c, side, ".force.ids", taken, words[1]));
}

static char **engine_words(tt_cv_scenario *c, size_t side, bool leads)
{
    char self[PATH_MAX], path[TT_CV_PATH], ids[2][TT_CV_PATH + 1];
    char **words = NULL;
    tt_runner_args args;
    tt_runner_args_init(&args);
    set_options(&c->x->settings.sides[side], &args.options);
    tt_cv_path(c, path, side, ".ids.json");
    args.write_ids = path;
    args.verbose = true; /* into its log */
    if (!set_tokens(c, side, leads, &args, ids)) return NULL;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return NULL;
    self[n] = '\0';
    return tt_runner_args_to_argv(&args, self, 0, &words) < 0 ? NULL : words;
}

static char **command_words(const tt_cv_scenario *c, size_t side, const char *out)
{
    const tt_crossval_side *s = &c->x->settings.sides[side];
    const tt_token_ids fed = tt_cv_tokens_fed(&c->tokens);
    char *all = tt_cv_tokens_text(&c->tokens.prompt, &fed);
    char *prompt = tt_cv_tokens_text(&c->tokens.prompt, NULL);
    char *rest = tt_cv_tokens_text(&fed, NULL);
    tt_crossval_words w = {.scenario = c->settings->name,
                           .model = s->model,
                           .out = out,
                           .prompt = c->settings->prompt,
                           .token_ids = all,
                           .prompt_ids = prompt,
                           .force_ids = rest,
                           .n = c->tokens.n};
    char **words = all && prompt && rest ? calloc(s->n_command + 1, sizeof *words) : NULL;
    for (size_t i = 0; words && i < s->n_command; i++) {
        words[i] = tt_crossval_fill(s->command[i], &w);
        if (words[i]) continue;
        tt_runner_argv_free(words);
        words = NULL;
    }
    free(all);
    free(prompt);
    free(rest);
    return words;
}

/* --- running --- */

static void note(void *context, const char *text)
{
    tt_cv_scenario *c = context;
    tt_progress_end(&c->progress);
    tt_log_line(&c->x->log, c->settings->name, "%s", text);
}

static void tick(void *context, uint64_t graphs)
{
    tt_cv_scenario *c = context;
    tt_progress_update(&c->progress, graphs);
}

static void no_snapshot(void *context)
{
    (void)context;
}

static bool nothing_due(void *context)
{
    (void)context;
    return false;
}

static int create(const tt_cv_scenario *c, size_t side, const char *suffix)
{
    char path[TT_CV_PATH];
    tt_cv_path(c, path, side, suffix);
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* Traced from outside, or as it records itself. */
static tt_status start(tt_cv_scenario *c, size_t side, const char *out, char **words,
                       const tt_spawn_setup *setup, tt_traced_end *end, tt_error *err)
{
    static const tt_spawn_watch watch = {no_snapshot, nothing_due, NULL};
    const tt_crossval_side *s = &c->x->settings.sides[side];
    tt_traced traced = {.capture = {.mode = s->mode, .values = c->x->settings.values},
                        .output = out,
                        .setup = setup,
                        .quiet = true,
                        .discards = true,
                        .note = note,
                        .tick = isatty(STDERR_FILENO) ? tick : NULL,
                        .context = c};
    size_t n_set;
    tt_status status;
    saved *before = set_environment(c, side, out, &n_set);
    if (s->kind == TT_SIDE_ENGINE || s->records == TT_RECORDS_PRELOAD) {
        status = tt_traced_run(&traced, words, end, err);
    } else {
        memset(end, 0, sizeof *end);
        status = tt_spawn_and_wait(words, setup, &watch, &end->program, err);
        end->n_traces = 1;
    }
    restore_environment(before, n_set);
    return status;
}

/* Evaluates the program's end. */
static bool evaluate(tt_cv_scenario *c, size_t side, const char *out, const tt_traced_end *end)
{
    const tt_spawn_end *p = &end->program;
    if (p->asked) {
        tt_interrupt_note(p->asked);
        return false;
    }
    if (p->timed_out)
        return tt_cv_fail(c, side, "it was not done after %lld s (timeout_s)",
                          (long long)c->x->settings.timeout_s);
    if (p->signal)
        return tt_cv_fail(c, side, "the program was ended by signal %d (%s)", p->signal,
                          strsignal(p->signal));
    if (p->code) return tt_cv_fail(c, side, "the program failed with exit code %d", p->code);
    if (end->unfinished) return tt_cv_fail(c, side, "its trace could not be finished");
    if (end->n_traces == 0) return tt_cv_fail(c, side, "nothing was traced: %s", end->why_nothing);
    if (access(out, F_OK) != 0)
        return tt_cv_fail(c, side, "the program ended well, but has written no %s",
                          c->x->settings.sides[side].records == TT_RECORDS_BITNET
                              ? "records into $BITNET_TRACE_DIR"
                              : "trace to $TENSORTRACE");
    return true;
}

static bool run_words(tt_cv_scenario *c, size_t side, const char *out, char **words)
{
    tt_traced_end end;
    tt_error err;
    char path[TT_CV_PATH], name[8];
    tt_spawn_setup setup = {.in = open("/dev/null", O_RDONLY | O_CLOEXEC),
                            .out = create(c, side, ".txt"),
                            .error = create(c, side, ".log"),
                            .ends_with_parent = true,
                            .own_group = true,
                            .timeout_ns = (uint64_t)c->x->settings.timeout_s * NS_PER_S};
    bool ok = setup.in >= 0 && setup.out >= 0 && setup.error >= 0;
    if (!ok) (void)tt_cv_fail(c, 2, "cannot create a file in %s: %s", c->folder, strerror(errno));
    uint64_t begun_ns = tt_clock_ns(CLOCK_MONOTONIC);
    if (ok && start(c, side, out, words, &setup, &end, &err) != TT_OK)
        ok = tt_cv_fail(c, side, "%s", err.message);
    else if (ok)
        ok = evaluate(c, side, out, &end);
    c->end->duration_ns[side] = tt_clock_ns(CLOCK_MONOTONIC) - begun_ns;
    if (setup.in >= 0) (void)close(setup.in);
    if (setup.out >= 0) (void)close(setup.out);
    if (setup.error >= 0) (void)close(setup.error);
    if (ok || tt_interrupted() || c->end->failed_side != "ab"[side]) return ok;
    tt_cv_path(c, path, side, ".log");
    (void)snprintf(name, sizeof name, "%c.log", "ab"[side]);
    tt_log_last_lines(&c->x->log, c->settings->name, path, name);
    return false;
}

bool tt_cv_side_run(tt_cv_scenario *c, size_t side, bool leads)
{
    const tt_crossval_side *s = &c->x->settings.sides[side];
    char out[TT_CV_PATH], what[32];
    if (s->kind == TT_SIDE_TRACE) return true;
    tt_cv_values_path(c, out, side);
    if (s->kind == TT_SIDE_COMMAND && s->records == TT_RECORDS_BITNET && mkdir(out, 0777) != 0)
        return tt_cv_fail(c, 2, "cannot create %s: %s", out, strerror(errno));
    char **words =
        s->kind == TT_SIDE_ENGINE ? engine_words(c, side, leads) : command_words(c, side, out);
    if (!words) return c->end->cause[0] ? false : tt_cv_fail(c, 2, "out of memory");
    char *made = tt_words_quote(words), *line = made ? tt_cv_retained(c->x, made) : NULL;
    free(made);
    if (line) tt_log_line(&c->x->log, c->settings->name, "side %c: %s", "ab"[side], line);
    free(line);
    (void)snprintf(what, sizeof what, "side %c", "ab"[side]);
    tt_progress_begin(&c->progress, what, 0, "graphs");
    bool ok = !tt_interrupted() && run_words(c, side, out, words);
    tt_progress_end(&c->progress);
    tt_runner_argv_free(words);
    return ok;
}
