#include "runner/generate.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* A token's text is a few bytes; more than this is a broken vocabulary. */
#define PIECE_MAX (1 << 16)
#define PROMPT_MAX (64u << 20)

static double seconds_since(uint64_t begin_ns)
{
    return (double)(tt_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
}

/* Engines differ in what they do with an id that is in no vocabulary; some end the process. */
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
    /* One token a byte at most, and what the model adds around the text. */
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

tt_status tt_generate_tokenize(tt_generated *g, tt_error *err)
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

/* Gives the token's bytes to the caller. False when the caller has had enough. */
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

/* The engine's own sampler chain, so that results are those of its programs. */
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
        /* The last token is not decoded: nobody would look at what follows it. */
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

tt_status tt_generate(tt_generated *g, tt_error *err)
{
    if (g->result->n_prompt > g->result->n_ctx)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "the prompt has %u tokens, the context only %u; give a larger -c",
                            (unsigned)g->result->n_prompt, (unsigned)g->result->n_ctx);
    tt_status status = decode_prompt(g, err);
    if (status != TT_OK) return status;
    struct tt_llama_sampler *sampler = new_sampler(g);
    if (!sampler) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    status = generate_with(g, sampler, err);
    g->api->sampler_free(sampler);
    return status;
}
