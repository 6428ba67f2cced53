#include "runner/runner.h"

#include "base/clock.h"
#include "runner/generate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_CTX_MIN 512u
#define N_CTX_OPEN 4096u /* for n_predict = -1 without -c */

/* struct llama_perf_context_data: four doubles (ms), then these. */
#define PERF_N_P_EVAL 32
#define PERF_N_EVAL 36

typedef struct session {
    tt_engine_found engine;
    tt_engine_log log;
    tt_engine_api api;
    tt_generated generation;
} session;

static void note(const tt_runner_events *events, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void note(const tt_runner_events *events, const char *fmt, ...)
{
    char text[400];
    if (!events->on_note) return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    events->on_note(events->user, text);
}

int32_t tt_runner_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (int32_t)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int32_t)n : 1;
}

const char *tt_runner_stop_name(tt_runner_stop stop)
{
    static const char *const names[] = {"count", "end", "context", "caller"};
    return names[stop];
}

/* The engine's message for a file that is not there or no model is many lines
 * long; ours says it in one, and before the engine is loaded. */
static tt_status check_model(const char *path, tt_error *err)
{
    char magic[4] = "";
    if (!path) return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "no model given (-m FILE)");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "cannot open the model %.200s: %s",
                            path, strerror(errno));
    ssize_t n = read(fd, magic, sizeof magic);
    int why = errno;
    (void)close(fd);
    if (n < 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read the model %.200s: %s", path,
                            strerror(why));
    if (n != 4 || memcmp(magic, "GGUF", 4) != 0)
        return tt_error_set(err, TT_E_FORMAT, 0, "%.200s is not a GGUF model", path);
    return TT_OK;
}

static tt_status set_no_mmap(const session *s, tt_engine_params *p, tt_error *err)
{
    const tt_engine_api *api = &s->api;
    size_t at = TT_PARAM_NOT_FOUND;
    if (!api->load_mode_name) {
        at = tt_engine_params_mmap(p);
        if (at != TT_PARAM_NOT_FOUND) tt_engine_params_set_u8(p, at, 0);
    } else if ((at = tt_engine_params_load_mode(p)) != TT_PARAM_NOT_FOUND) {
        /* The engine names its modes: take its word that this is one, and 0 is none. */
        const char *now = api->load_mode_name((int32_t)tt_engine_params_u32(p, at));
        const char *none = api->load_mode_name(0);
        if (!now || !none || strcmp(none, "none") != 0 ||
            (strcmp(now, "auto") != 0 && strcmp(now, "mmap") != 0))
            at = TT_PARAM_NOT_FOUND;
        else
            tt_engine_params_set_u32(p, at, 0);
    }
    if (at != TT_PARAM_NOT_FOUND) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "--no-mmap: this engine (%s) keeps the setting where this runner does not "
                        "find it",
                        s->engine.release);
}

static tt_status model_params(const session *s, const tt_runner_options *o, tt_engine_params *p,
                              tt_error *err)
{
    tt_engine_params_fetch(p, s->api.model_default_params);
    size_t extra = tt_engine_params_extra_bufts(p, s->api.load_mode_name != NULL);
    if (o->no_repack && extra == TT_PARAM_NOT_FOUND)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "--no-repack: this engine (%s) has no such setting, or not where this "
                            "runner looks",
                            s->engine.release);
    if (o->no_repack) tt_engine_params_set_u8(p, extra, 0);
    return o->no_mmap ? set_no_mmap(s, p, err) : TT_OK;
}

static tt_status set_flash(const session *s, tt_runner_flash flash, tt_engine_params *p,
                           tt_error *err)
{
    size_t at;
    tt_flash_field kind = tt_engine_params_flash(p, &at);
    if (kind == TT_FLASH_FIELD_NONE)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "--flash-attn: this engine (%s) keeps the setting where this runner "
                            "does not find it",
                            s->engine.release);
    if (kind == TT_FLASH_FIELD_BOOL && flash == TT_RUNNER_FLASH_AUTO)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "--flash-attn auto: this engine (%s) knows only on and off",
                            s->engine.release);
    if (kind == TT_FLASH_FIELD_BOOL)
        tt_engine_params_set_u8(p, at, flash == TT_RUNNER_FLASH_ON);
    else
        tt_engine_params_set_u32(p, at,
                                 flash == TT_RUNNER_FLASH_AUTO ? UINT32_MAX
                                 : flash == TT_RUNNER_FLASH_ON ? 1
                                                               : 0);
    return TT_OK;
}

/* Room for prompt and answer, unless the user says how much. */
static uint32_t choose_n_ctx(const session *s, const tt_runner_options *o)
{
    if (o->n_ctx) return o->n_ctx;
    uint32_t prompt = (uint32_t)s->generation.n_tokens;
    uint32_t answer = o->n_predict < 0 ? N_CTX_OPEN : (uint32_t)o->n_predict;
    uint32_t need = prompt > UINT32_MAX - answer ? UINT32_MAX : prompt + answer;
    return need < N_CTX_MIN ? N_CTX_MIN : need;
}

static tt_status context_params(const session *s, const tt_runner_options *o, tt_engine_params *p,
                                tt_error *err)
{
    tt_engine_params_fetch(p, s->api.context_default_params);
    if (!tt_engine_params_sizes_ok(p))
        return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                            "this engine (%s) does not begin its context parameters with n_ctx, "
                            "n_batch and n_ubatch; use `tensortrace run -- PROGRAM`",
                            s->engine.release);
    tt_engine_params_set_u32(p, 0, choose_n_ctx(s, o));
    uint32_t n_batch = o->n_batch ? o->n_batch : tt_engine_params_u32(p, 4);
    uint32_t n_ubatch = o->n_ubatch ? o->n_ubatch : tt_engine_params_u32(p, 8);
    tt_engine_params_set_u32(p, 4, n_batch);
    tt_engine_params_set_u32(p, 8, n_ubatch < n_batch ? n_ubatch : n_batch);
    return o->flash_attn ? set_flash(s, o->flash_attn, p, err) : TT_OK;
}

/* Is the file in this process's memory map? The one place that tells the truth
 * about --no-mmap, whatever the engine calls the option. */
static bool is_mapped(const char *path)
{
    char real[PATH_MAX], line[PATH_MAX + 128];
    if (!realpath(path, real)) return false;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return false;
    bool found = false;
    while (!found && fgets(line, sizeof line, maps)) {
        char *name = strchr(line, '/');
        const char *access = strchr(line, ' ');
        /* What cannot be read holds no weights: somebody asks the kernel about the pages. */
        if (!name || !access || access[1] != 'r') continue;
        name[strcspn(name, "\n")] = '\0';
        found = strcmp(name, real) == 0;
    }
    (void)fclose(maps);
    return found;
}

static tt_status engine_refused(session *s, const char *what, tt_error *err)
{
    char why[240];
    tt_engine_log_errors(&s->log, why, sizeof why);
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "%s: %s", what,
                        why[0] ? why : "the engine gives no reason (see --verbose)");
}

static tt_status load_model(session *s, const tt_runner_options *o, const tt_runner_events *events,
                            tt_runner_result *r, tt_error *err)
{
    tt_engine_params p;
    tt_generated *g = &s->generation;
    tt_status status = model_params(s, o, &p, err);
    if (status != TT_OK) return status;
    g->model = s->api.model_load(o->model, p.blob);
    if (!g->model) return engine_refused(s, "the engine cannot load the model", err);
    g->vocab = s->api.model_get_vocab ? s->api.model_get_vocab(g->model)
                                      : (const struct tt_llama_vocab *)(const void *)g->model;
    if (s->api.has_encoder && s->api.has_encoder(g->model))
        return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                            "the model has an encoder; the built-in runner knows decoder-only "
                            "models: use `tensortrace run -- PROGRAM`");
    r->model_is_mapped = is_mapped(o->model);
    r->is_repacked = s->log.is_repacking;
    if (o->no_mmap && r->model_is_mapped)
        note(events, "--no-mmap had no effect: the engine maps the model file all the same");
    if (o->no_repack && r->is_repacked)
        note(events, "--no-repack had no effect: the engine repacks weights all the same");
    return TT_OK;
}

static void check_flash(const session *s, const tt_runner_options *o,
                        const tt_runner_events *events)
{
    const char *said = s->log.flash_attn;
    bool is_on = !strcmp(said, "enabled") || !strcmp(said, "1");
    bool is_off = !strcmp(said, "disabled") || !strcmp(said, "0");
    if ((o->flash_attn == TT_RUNNER_FLASH_ON && is_off) ||
        (o->flash_attn == TT_RUNNER_FLASH_OFF && is_on))
        note(events, "--flash-attn had no effect: the engine says flash_attn = %s", said);
}

static tt_status make_context(session *s, const tt_runner_options *o,
                              const tt_runner_events *events, tt_runner_result *r, tt_error *err)
{
    tt_engine_params p;
    tt_generated *g = &s->generation;
    tt_status status = context_params(s, o, &p, err);
    if (status != TT_OK) return status;
    g->context = s->api.context_new(g->model, p.blob);
    if (!g->context) return engine_refused(s, "the engine cannot make a context", err);
    r->n_threads = o->n_threads > 0 ? o->n_threads : tt_runner_cpus();
    s->api.set_n_threads(g->context, r->n_threads, r->n_threads);
    /* The engine rounds both up; what the user asked for is what counts. */
    r->n_ctx = s->api.n_ctx(g->context);
    if (o->n_ctx && o->n_ctx < r->n_ctx) r->n_ctx = o->n_ctx;
    r->n_batch = s->api.n_batch(g->context);
    if (o->n_batch && o->n_batch < r->n_batch) r->n_batch = o->n_batch;
    if (r->n_batch == 0 || r->n_batch > INT32_MAX) r->n_batch = 1;
    (void)snprintf(r->flash_attn, sizeof r->flash_attn, "%s", s->log.flash_attn);
    check_flash(s, o, events);
    int32_t trained = s->api.n_ctx_train ? s->api.n_ctx_train(g->model) : 0;
    if (trained > 0 && r->n_prompt > (uint32_t)trained)
        note(events, "the prompt (%u tokens) is longer than the model was trained for (%d)",
             (unsigned)r->n_prompt, (int)trained);
    return TT_OK;
}

static void read_counters(const session *s, tt_runner_result *r)
{
    if (!s->api.perf_context) return;
    tt_abi_blob perf = s->api.perf_context(s->generation.context);
    memcpy(&r->engine_n_p_eval, perf.u.bytes + PERF_N_P_EVAL, sizeof r->engine_n_p_eval);
    memcpy(&r->engine_n_eval, perf.u.bytes + PERF_N_EVAL, sizeof r->engine_n_eval);
    /* Counts beyond what was decoded mean another layout: then say nothing. */
    int64_t sum = (int64_t)r->engine_n_p_eval + r->engine_n_eval;
    r->has_engine_counts =
        r->engine_n_p_eval >= 0 && r->engine_n_eval >= 0 && sum <= (int64_t)r->n_decoded + 2;
    if (!r->has_engine_counts) r->engine_n_p_eval = r->engine_n_eval = 0;
}

static tt_status run(session *s, const tt_runner_options *o, const tt_runner_events *events,
                     tt_runner_result *r, tt_error *err)
{
    uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    tt_generated *g = &s->generation;
    tt_status status = load_model(s, o, events, r, err);
    if (status == TT_OK) status = tt_generate_tokenize(g, err);
    if (status == TT_OK) status = make_context(s, o, events, r, err);
    r->load_s = (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin) / 1e9;
    if (status == TT_OK) status = tt_generate(g, err);
    if (g->context) read_counters(s, r);
    if (status == TT_OK && r->stop == TT_RUNNER_STOP_CONTEXT)
        note(events, "stopped: the context is full (%u tokens); give a larger -c",
             (unsigned)r->n_ctx);
    if (g->context) s->api.context_free(g->context);
    if (g->model) s->api.model_free(g->model);
    free(g->tokens);
    s->api.backend_free();
    return status;
}

tt_status tt_runner_run(const tt_runner_options *options, const tt_runner_events *events,
                        tt_runner_result *result, tt_error *err)
{
    /* Static: the engine keeps the address of the log until the process ends. */
    static session s;
    memset(result, 0, sizeof *result);
    tt_status status = check_model(options->model, err);
    if (status == TT_OK) status = tt_engine_find(options->engine, &s.engine, err);
    if (status != TT_OK) return status;
    (void)snprintf(result->engine_dir, sizeof result->engine_dir, "%s", s.engine.dir);
    tt_engine_log_init(&s.log, events->on_log, events->user);
    status = tt_engine_load(&s.engine, &s.log, &s.api, err);
    if (status == TT_OK && !s.engine.release[0] && s.api.llama_version)
        (void)snprintf(s.engine.release, sizeof s.engine.release, "%s", s.api.llama_version());
    (void)snprintf(result->engine_release, sizeof result->engine_release, "%s", s.engine.release);
    if (status != TT_OK) return status;
    s.generation =
        (tt_generated){.api = &s.api, .options = options, .events = events, .result = result};
    return run(&s, options, events, result, err);
}
