#include "runner/runner.h"

#include "base/clock.h"
#include "base/threads.h"
#include "runner/engine_load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct tt_generated {
    const tt_engine_api *api;
    const tt_runner_options *options;
    const tt_runner_events *events;
    tt_runner_result *result;
    struct tt_llama_model *model;
    const struct tt_llama_vocab *vocab;
    struct tt_llama_context *context;
    int32_t *tokens; /* of the prompt */
    int32_t n_tokens;
} tt_generated;

/* A token's text is a few bytes; more than this is a broken vocabulary. */
#define PIECE_MAX (1 << 16)
#define PROMPT_MAX (64u << 20)

static double seconds_since(uint64_t begin_ns)
{
    return (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
}

/* Engines differ in their handling of ids outside the vocabulary; some end the process. */
static tt_status check_ids(const tt_generated *g, const int32_t *ids, size_t n, const char *what,
                           tt_error *err)
{
    int32_t n_vocab = g->api->n_vocab ? g->api->n_vocab(g->vocab) : INT32_MAX;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocab)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "%s: the model has no token %d (its vocabulary has %d)", what,
                                (int)ids[i], (int)n_vocab);
    return TT_OK;
}

static tt_status take_prompt_ids(tt_generated *g, tt_error *err)
{
    const tt_runner_options *o = g->options;
    if (o->n_prompt_ids == 0 || o->n_prompt_ids > PROMPT_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "--prompt-ids: 1 to %u token ids are taken, not %zu", PROMPT_MAX,
                            o->n_prompt_ids);
    tt_status status = check_ids(g, o->prompt_ids, o->n_prompt_ids, "--prompt-ids", err);
    if (status != TT_OK) return status;
    g->tokens = malloc(o->n_prompt_ids * sizeof *g->tokens);
    if (!g->tokens) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    memcpy(g->tokens, o->prompt_ids, o->n_prompt_ids * sizeof *g->tokens);
    g->n_tokens = (int32_t)o->n_prompt_ids;
    return TT_OK;
}

static tt_status tokenize(tt_generated *g, tt_error *err)
{
    const tt_runner_options *o = g->options;
    if (o->prompt_size > PROMPT_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "the prompt is larger than 64 MiB");
    /* At most one token per byte, plus what the model adds around the text. */
    int32_t room = (int32_t)o->prompt_size + 16;
    g->tokens = malloc((size_t)room * sizeof *g->tokens);
    if (!g->tokens) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    g->n_tokens = g->api->tokenize(g->vocab, o->prompt ? o->prompt : "", (int32_t)o->prompt_size,
                                   g->tokens, room, true, true);
    if (g->n_tokens < 0)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "the engine cannot turn the prompt into tokens (%d)", (int)g->n_tokens);
    if (g->n_tokens == 0)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "the prompt has no tokens in this model; give one with -p TEXT");
    return TT_OK;
}

/* Fills g->tokens (malloc; the caller frees) from the prompt, or from the ids given instead.
 * Needs only the vocabulary. */
static tt_status generate_tokenize(tt_generated *g, tt_error *err)
{
    const tt_runner_options *o = g->options;
    tt_status status = check_ids(g, o->forced_ids, o->n_forced_ids, "--force-ids", err);
    if (status == TT_OK) status = o->prompt_ids ? take_prompt_ids(g, err) : tokenize(g, err);
    if (status != TT_OK) return status;
    g->result->n_prompt = (uint32_t)g->n_tokens;
    if (g->events->on_prompt_ids)
        g->events->on_prompt_ids(g->events->user, g->tokens, (size_t)g->n_tokens);
    return TT_OK;
}

static tt_status decode(tt_generated *g, int32_t *tokens, int32_t n, tt_error *err)
{
    int32_t code = g->api->decode(g->context, g->api->batch_get_one(tokens, n, 0, 0));
    if (code != 0)
        return tt_error_set(err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
                            "the engine's llama_decode failed with %d at token %u%s", (int)code,
                            (unsigned)g->result->n_decoded,
                            code == 1 ? " (no room in the context: -c is too small)" : "");
    g->result->n_decoded += (uint32_t)n;
    g->result->n_decodes++;
    return TT_OK;
}

static void progress(const tt_generated *g, tt_runner_phase phase, uint64_t done, uint64_t total,
                     double seconds)
{
    if (g->events->on_progress)
        g->events->on_progress(g->events->user, phase, done, total,
                               seconds > 0 ? (double)done / seconds : 0);
}

static tt_status decode_prompt(tt_generated *g, tt_error *err)
{
    uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    int32_t chunk = (int32_t)g->result->n_batch;
    for (int32_t at = 0; at < g->n_tokens; at += chunk) {
        int32_t n = g->n_tokens - at < chunk ? g->n_tokens - at : chunk;
        tt_status status = decode(g, g->tokens + at, n, err);
        if (status != TT_OK) return status;
        progress(g, TT_RUNNER_PROMPT, (uint64_t)(at + n), (uint64_t)g->n_tokens,
                 seconds_since(begin));
    }
    g->result->prompt_s = seconds_since(begin);
    return TT_OK;
}

/* Passes the token's bytes to the caller. False when the caller stops the run. */
static bool emit(const tt_generated *g, int32_t token)
{
    char small[256];
    if (!g->events->on_text) return true;
    int32_t n = g->api->token_to_piece(g->vocab, token, small, (int32_t)sizeof small, 0, false);
    if (n >= 0) return n == 0 || g->events->on_text(g->events->user, small, (size_t)n);
    if (n < -PIECE_MAX) return true;
    char *large = malloc((size_t)-n);
    if (!large) return true;
    bool go_on = true;
    n = g->api->token_to_piece(g->vocab, token, large, -n, 0, false);
    if (n > 0) go_on = g->events->on_text(g->events->user, large, (size_t)n);
    free(large);
    return go_on;
}

/* The engine's own sampler chain, for the same results as in its programs. */
static struct tt_llama_sampler *new_sampler(const tt_generated *g)
{
    const tt_engine_api *api = g->api;
    struct tt_llama_sampler *chain = api->chain_init(api->chain_default_params());
    if (!chain) return NULL;
    if (g->options->temperature > 0) {
        api->chain_add(chain, api->sampler_temp(g->options->temperature));
        api->chain_add(chain, api->sampler_dist(g->options->seed));
    } else {
        api->chain_add(chain, api->sampler_greedy());
    }
    return chain;
}

static tt_status generate_with(tt_generated *g, struct tt_llama_sampler *sampler, tt_error *err)
{
    tt_runner_result *r = g->result;
    const int32_t want = g->options->n_predict;
    uint64_t begin = tt_clock_ns(CLOCK_MONOTONIC);
    uint64_t begin_cpu = tt_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    tt_status status = TT_OK;
    r->stop = TT_RUNNER_STOP_COUNT;
    while (want < 0 || r->n_generated < (uint32_t)want) {
        bool forced = r->n_generated < g->options->n_forced_ids;
        int32_t chosen = g->api->sample(sampler, g->context, -1);
        int32_t token = forced ? g->options->forced_ids[r->n_generated] : chosen;
        r->n_generated++;
        if (g->events->on_choice) g->events->on_choice(g->events->user, chosen, token);
        progress(g, TT_RUNNER_GENERATE, r->n_generated, want < 0 ? 0 : (uint64_t)want,
                 seconds_since(begin));
        if (!forced && !g->options->ignore_eos && g->api->is_eog(g->vocab, token)) {
            r->stop = TT_RUNNER_STOP_END;
            break;
        }
        if (!emit(g, token)) {
            r->stop = TT_RUNNER_STOP_CALLER;
            break;
        }
        /* The last token is not decoded: its outputs would not be used. */
        if (want >= 0 && r->n_generated == (uint32_t)want) break;
        if (r->n_decoded >= r->n_ctx) {
            r->stop = TT_RUNNER_STOP_CONTEXT;
            break;
        }
        if ((status = decode(g, &token, 1, err)) != TT_OK) break;
    }
    r->generate_s = seconds_since(begin);
    r->generate_cpu_s = (double)(tt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu) / 1e9;
    return status;
}

/* Whether each token sees those behind it, too, as in models for embeddings. */
static bool is_bidirectional(const tt_generated *g)
{
    char name[64], key[96], causal[8] = "";
    if (!g->api->meta_text ||
        g->api->meta_text(g->model, "general.architecture", name, sizeof name) < 0)
        return false;
    (void)snprintf(key, sizeof key, "%s.attention.causal", name);
    return g->api->meta_text(g->model, key, causal, sizeof causal) > 0 &&
           strcmp(causal, "false") == 0;
}

/* Whether the last call computed any: an engine may hand out memory that no op has written. Zeros
 * alone prove nothing, as they may come of NaN. */
static bool has_logits(const tt_generated *g)
{
    const float *logits = g->api->logits(g->context);
    const int32_t n = g->api->n_vocab ? g->api->n_vocab(g->vocab) : 0;
    int32_t zeros = 0;
    while (logits && zeros < n && logits[zeros] == 0)
        zeros++;
    return logits && (n <= 0 || zeros < n || !is_bidirectional(g));
}

/* Decodes the prompt and generates. Needs everything in *g. */
static tt_status generate(tt_generated *g, tt_error *err)
{
    if (g->result->n_prompt > g->result->n_ctx)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "the prompt has %u tokens, the context only %u; give a larger -c",
                            (unsigned)g->result->n_prompt, (unsigned)g->result->n_ctx);
    tt_status status = decode_prompt(g, err);
    if (status != TT_OK) return status;
    if (g->options->n_predict != 0 && !has_logits(g))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "the model computes embeddings, no logits to choose a token from, so "
                            "it cannot generate a text; give -n 0 to trace the prompt alone");
    struct tt_llama_sampler *sampler = new_sampler(g);
    if (!sampler) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    status = generate_with(g, sampler, err);
    g->api->sampler_free(sampler);
    return status;
}

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
    return (int32_t)tt_processors();
}

const char *tt_runner_stop_name(tt_runner_stop stop)
{
    static const char *const names[] = {"count", "end", "context", "caller"};
    return names[stop];
}

/* For a missing file or a file that is no model, the engine prints many lines. This checks
 * before the engine is loaded, and reports one. */
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
        /* The engine names its modes: check that this is one, and that 0 is none. */
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

/* Room for prompt and answer, unless the user sets the size. */
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

/* Whether a file is of the model at `real`: itself, or a further part beside it. */
static bool is_of_model(const char *name, const char *real)
{
    const char *slash = strrchr(real, '/'), *end = strrchr(name, '.');
    const size_t folder = slash ? (size_t)(slash - real) + 1 : 0;
    if (strcmp(name, real) == 0) return true;
    return strstr(real, "-of-") && strstr(name, "-of-") && strncmp(name, real, folder) == 0 &&
           !strchr(name + folder, '/') && end && strcmp(end, ".gguf") == 0;
}

/* Calls `each` for the readable mappings of the model's files until it returns false. An unreadable
 * mapping holds no weights: it is used to ask the kernel about the pages. */
static void each_mapping(const char *path, bool (*each)(void *context, void *at, size_t size),
                         void *context)
{
    char real[PATH_MAX], line[PATH_MAX + 128];
    if (!realpath(path, real)) return;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        char *name = strchr(line, '/');
        const char *access = strchr(line, ' ');
        if (!name || !access || access[1] != 'r') continue;
        name[strcspn(name, "\n")] = '\0';
        if (!is_of_model(name, real) || sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
        if (!each(context, (void *)begin, end - begin)) break;
    }
    if (maps) (void)fclose(maps);
}

static bool found_one(void *context, void *at, size_t size)
{
    (void)at, (void)size;
    *(bool *)context = true;
    return false;
}

/* This shows the effect of --no-mmap whatever the engine calls the option. */
static bool is_mapped(const char *path)
{
    bool found = false;
    each_mapping(path, found_one, &found);
    return found;
}

typedef struct locking {
    size_t bytes, failed_bytes;
    int why;
} locking;

static bool lock_one(void *context, void *at, size_t size)
{
    locking *l = context;
    if (mlock(at, size) == 0)
        l->bytes += size;
    else {
        l->failed_bytes += size;
        l->why = errno;
    }
    return true;
}

/* By us and not by the engine, which keeps its setting at another place in each release. */
static void lock_model(const char *path, const tt_runner_events *events)
{
    locking l = {0};
    each_mapping(path, lock_one, &l);
    if (l.failed_bytes)
        note(events, "--mlock had no effect on %zu MiB: %s (see ulimit -l)", l.failed_bytes >> 20,
             strerror(l.why));
    else if (!l.bytes)
        note(events, "--mlock had no effect: the model file is not mapped");
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
    if (o->mlock) lock_model(o->model, events);
    return TT_OK;
}

static void check_flash(const session *s, const tt_runner_options *o,
                        const tt_runner_events *events)
{
    const char *reported = s->log.flash_attn;
    bool is_on = !strcmp(reported, "enabled") || !strcmp(reported, "1");
    bool is_off = !strcmp(reported, "disabled") || !strcmp(reported, "0");
    if ((o->flash_attn == TT_RUNNER_FLASH_ON && is_off) ||
        (o->flash_attn == TT_RUNNER_FLASH_OFF && is_on))
        note(events, "--flash-attn had no effect: the engine says flash_attn = %s", reported);
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
    /* The engine rounds both up; the user's values count. */
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
    /* Counts above what was decoded mean another layout: report nothing. */
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
    if (status == TT_OK) status = generate_tokenize(g, err);
    if (status == TT_OK) status = make_context(s, o, events, r, err);
    r->load_s = (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin) / 1e9;
    if (status == TT_OK) status = generate(g, err);
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
    /* Static, because the engine keeps the address of the log until the process ends. */
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
