/* The questions and hypotheses of the studies of models larger than memory that this was made for,
 * each answered by the runs at hand, or with the reason why they cannot tell. docs/study.md has
 * them with their rules. */
#include "study/study.h"

#include "base/array.h"
#include "base/path.h"
#include "base/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shares of the model's size that stand for "half of it" and "hardly any of it". */
#define HALF_LEAST 0.4
#define HALF_MOST 0.6
#define LITTLE_MOST 0.5

static void __attribute__((format(printf, 6, 7)))
ask(tt_study *s, const char *id, const char *question, tt_study_verdict verdict, const char *runs,
    const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0) text = NULL;
    va_end(args);
    tt_study_answer *a = tt_array_add(s->answers, s->n_answers, s->answers_capacity);
    s->failed |= !a || !text;
    if (a)
        *a = (tt_study_answer){id, question, verdict, tt_study_text(s, "%s", text ? text : ""),
                               runs};
    free(text);
}

static const char *count_runs(tt_study *s, size_t n)
{
    return tt_study_text(s, "%zu run%s", n, n == 1 ? "" : "s");
}

/* Appends with "; " in between. */
static const char *also(tt_study *s, const char *list, const char *more)
{
    return tt_study_text(s, "%s%s%s", list, *list ? "; " : "", more);
}

static const char *bytes(tt_study *s, double n)
{
    char text[TT_UNITS_TEXT];
    return tt_study_text(s, "%s", tt_units_bytes(text, (uint64_t)fmax(0, n)));
}

static const char *span(tt_study *s, double ns)
{
    char text[TT_UNITS_TEXT];
    return tt_study_text(s, "%s", tt_units_ns(text, ns));
}

static const char *times(tt_study *s, const tt_study_ratio *r)
{
    return r->tested ? tt_study_text(s, "%.3g times (%.3g to %.3g)", r->value, r->low, r->high)
                     : tt_study_text(s, "%.3g times (too few runs for an interval)", r->value);
}

/* --- figures over runs --- */

typedef struct picked {
    double value;
    size_t n;
} picked;

/* The median of a figure over the traced runs of a model (NULL: all) that have it. */
static picked median_of(tt_study *s, const char *model, double (*get)(const tt_study_run *r))
{
    double *values = calloc(s->n_runs + 1, sizeof *values);
    picked p = {NAN, 0};
    for (size_t i = 0; values && i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        const double v = r->traced && !r->result->ending ? get(r) : NAN;
        if ((!model || strcmp(r->result->model_file, model) == 0) && !isnan(v)) values[p.n++] = v;
    }
    s->failed |= !values;
    if (p.n) p.value = tt_study_median_of(values, p.n, NULL).value;
    free(values);
    return p;
}

#define GET(name, test, figure_)                                                                   \
    static double name(const tt_study_run *r)                                                      \
    {                                                                                              \
        return (test) ? (figure_) : NAN;                                                           \
    }
GET(get_in_sequence, r->has_steps, r->in_sequence)
GET(get_adjacent, r->has_steps, r->adjacent)
GET(get_forward, r->has_steps, r->forward)
GET(get_jump, r->has_steps && r->jump_bytes > 0, r->jump_bytes)
GET(get_sweeps, r->has_steps, r->sweeps)
GET(get_first, r->first_token_ns > 0, r->first_token_ns)
GET(get_token, r->tokens_per_s > 0, 1e9 / r->tokens_per_s)
GET(get_loaded, r->has_loading, (double)r->loaded_bytes)
GET(get_vain, r->has_loading && r->has_vain, (double)r->vain_bytes)
GET(get_every, r->traced, r->every)
GET(get_never, r->traced, r->never)
GET(get_hottest, r->hottest > 0, r->hottest)
GET(get_kv, r->has_kv && r->kv_token_bytes > 0, r->kv_token_bytes)

static const char *name_of(const tt_study_model *m)
{
    return tt_base_name(m->file);
}

/* In front of what is said of one model, where there are several. */
static const char *prefix(tt_study *s, const tt_study_model *m)
{
    return s->n_models > 1 ? tt_study_text(s, "%s: ", name_of(m)) : "";
}

/* --- the order of reading --- */

static void ask_order(tt_study *s)
{
    const char *text = "", *dense = "", *experts = "";
    size_t n = 0, n_dense = 0, n_experts = 0;
    bool dense_hold = true, experts_hold = true, experts_high = true;
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_study_model *m = &s->models[i];
        const picked in = median_of(s, m->file, get_in_sequence),
                     jump = median_of(s, m->file, get_jump);
        if (!in.n) continue;
        n += in.n;
        const char *figure = tt_study_text(s, "%s%.1f %%", prefix(s, m), 100 * in.value);
        text = also(
            s, text,
            tt_study_text(
                s,
                "%s%.1f %% of requests of 128 KiB go on where the last ended (%.1f %% of "
                "the steps from one tensor or expert to the next), %.0f %% of jumps lead "
                "forward%s%s, %.1f sweeps a batch",
                prefix(s, m), 100 * in.value, 100 * median_of(s, m->file, get_adjacent).value,
                100 * median_of(s, m->file, get_forward).value, jump.n ? ", by a median of " : "",
                jump.n ? bytes(s, jump.value) : "", median_of(s, m->file, get_sweeps).value));
        if (m->has_experts) {
            n_experts += in.n;
            experts = also(s, experts, figure);
            experts_high = experts_high && in.value > 0.6;
            experts_hold = experts_hold && in.value >= 0.4 && in.value <= 0.6;
        } else {
            n_dense += in.n;
            dense = also(s, dense, figure);
            dense_hold = dense_hold && in.value > 0.8;
        }
    }
    if (n)
        ask(s, "Q1", "Is the file read in order or at random?", TT_STUDY_ANSWERED, count_runs(s, n),
            "%s", text);
    else
        ask(s, "Q1", "Is the file read in order or at random?", TT_STUDY_OPEN, "",
            "no run has reads of weights at known places of the file");
    static const char h11[] = "Dense models are read in sequence, more than 80 % of the requests",
                      h12[] = "Models with experts are read more at random: 40 to 60 % in sequence";
    if (n_dense)
        ask(s, "H1.1", h11, dense_hold ? TT_STUDY_HOLDS : TT_STUDY_FAILS, count_runs(s, n_dense),
            "%s", dense);
    else
        ask(s, "H1.1", h11, TT_STUDY_OPEN, "", "no run of a dense model");
    if (n_experts)
        ask(s, "H1.2", h12, experts_hold ? TT_STUDY_HOLDS : TT_STUDY_FAILS,
            count_runs(s, n_experts), "%s%s", experts,
            experts_high ? ": an expert is read in one piece, so that jumps are few among its "
                           "requests"
                         : "");
    else
        ask(s, "H1.2", h12, TT_STUDY_OPEN, "", "no run of a model with experts");
}

/* --- memory --- */

static const char *limit_of(tt_study *s, const tt_study_group *g)
{
    return g->memory_share > 0
               ? tt_study_text(s, "%.0f %% of %s (%s)", 100 * g->memory_share,
                               s->n_models > 1 ? tt_base_name(g->model_file) : "the model",
                               bytes(s, (double)g->memory_limit_bytes))
               : bytes(s, (double)g->memory_limit_bytes);
}

/* What a limit does, in words. */
static const char *slowdown_of(tt_study *s, const tt_study_group *g)
{
    if (!g->tokens_per_s.n) return tt_study_text(s, "at %s: killed", limit_of(s, g));
    return tt_study_text(
        s, "at %s: %s as long a token%s", limit_of(s, g), times(s, &g->slowdown),
        g->n_killed ? tt_study_text(s, ", %u of %u runs killed", g->n_killed, g->n_runs) : "");
}

/* The limited groups that are compared with one without a limit, and whose share of the model
 * passes. */
static size_t count_limited(const tt_study *s, double least, double most)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_groups; i++) {
        const tt_study_group *g = &s->groups[i];
        n += g->baseline && g->memory_share >= least && g->memory_share <= most;
    }
    return n;
}

typedef bool group_test(const tt_study_ratio *r);

static bool is_slower(const tt_study_ratio *r)
{
    return r->tested ? r->low > 1 : r->value > 1;
}
static bool is_two_to_five(const tt_study_ratio *r)
{
    return r->value >= 2 && r->value <= 5;
}
static bool is_below_two(const tt_study_ratio *r)
{
    return r->value < 2;
}

/* A hypothesis of the groups with such a share of memory. */
static void ask_limited(tt_study *s, const char *id, const char *question, double least,
                        double most, group_test *test, const char *why_open)
{
    const char *text = "";
    size_t runs = 0;
    bool holds = true;
    for (size_t i = 0; i < s->n_groups; i++) {
        const tt_study_group *g = &s->groups[i];
        if (!g->baseline || g->memory_share < least || g->memory_share > most) continue;
        text = also(s, text, slowdown_of(s, g));
        runs += g->n_runs + g->baseline->n_runs;
        holds = holds && g->slowdown.known && test(&g->slowdown);
    }
    if (*text)
        ask(s, id, question, holds ? TT_STUDY_HOLDS : TT_STUDY_FAILS, count_runs(s, runs), "%s",
            text);
    else
        ask(s, id, question, TT_STUDY_OPEN, "", "%s", why_open);
}

static void ask_memory(tt_study *s)
{
    static const char none[] = "no run with a memory limit below the model's size has runs without "
                               "one that are else alike "
                               "(conditions.memory_limit: [null, \"60%\"])";
    double least = INFINITY;
    for (size_t i = 0; i < s->n_groups; i++)
        if (s->groups[i].baseline) least = fmin(least, s->groups[i].memory_share);
    const bool little = least <= LITTLE_MOST;
    ask_limited(s, "H2.1", "With all of the model in RAM generation is fastest", 0, 1, is_slower,
                none);
    ask_limited(s, "H2.2", "With the least memory a token takes 2 to 5 times as long",
                little ? least : INFINITY, least, is_two_to_five,
                isinf(least) ? none
                             : tt_study_text(s,
                                             "the smallest limit is %.0f %% of the model: half "
                                             "of it, or less, would be little",
                                             100 * least));
    ask_limited(s, "H2.3", "With half of it in RAM a token takes less than twice as long",
                HALF_LEAST, HALF_MOST, is_below_two,
                count_limited(s, 0, 1) ? "no limit is 40 to 60 % of the model" : none);
}

/* --- one setting --- */

/* What it changes, if there are conditions that differ in it only. */
static void ask_effect(tt_study *s, const char *id, const char *question, const char *const *keys)
{
    const char *text = "";
    size_t runs = 0, tested = 0, certain = 0;
    for (size_t i = 0; i < s->n_effects; i++) {
        const tt_study_effect *e = &s->effects[i];
        bool found = false;
        for (size_t k = 0; keys[k]; k++)
            found = found || strcmp(keys[k], e->setting) == 0;
        if (!found || !e->tokens_per_s.known) continue;
        text = also(s, text,
                    tt_study_text(s, "%s=%s instead of %s: %s as many tokens a second%s",
                                  e->setting, e->to, e->from, times(s, &e->tokens_per_s),
                                  *e->others ? tt_study_text(s, " (%s)", e->others) : ""));
        runs += e->a->n_runs + e->b->n_runs;
        tested += e->tokens_per_s.tested;
        certain += e->tokens_per_s.tested && (e->tokens_per_s.low > 1 || e->tokens_per_s.high < 1);
    }
    if (!*text)
        ask(s, id, question, TT_STUDY_OPEN, "", "no two conditions differ in %s only", keys[0]);
    else if (!tested)
        ask(s, id, question, TT_STUDY_OPEN, count_runs(s, runs), "%s: more repetitions would tell",
            text);
    else
        ask(s, id, question, certain ? TT_STUDY_HOLDS : TT_STUDY_FAILS, count_runs(s, runs), "%s",
            text);
}

static void ask_settings(tt_study *s)
{
    static const char *const swappiness[] = {"swappiness", NULL},
                             *const readahead[] = {"readahead", NULL},
                             *const batch[] = {"batch_tokens", "ubatch_tokens", NULL};
    ask_effect(s, "H3", "Swappiness changes the speed", swappiness);
    ask_effect(s, "Q2", "Does how far the kernel reads ahead change the speed?", readahead);
    ask_effect(s, "Q3", "Does the size of a batch change the speed?", batch);
}

/* --- the disk --- */

static void ask_disk(tt_study *s)
{
    static const char h41[] = "While generating, the disk gives 40 to 70 % of what it can",
                      h42[] = "Models that are read more in sequence get more of the disk";
    const char *text = "";
    size_t runs = 0;
    bool holds = true;
    for (size_t i = 0; i < s->n_groups; i++) {
        const tt_study_group *g = &s->groups[i];
        char rate[TT_UNITS_TEXT];
        if (!g->memory_limit_bytes || !g->read_bytes_per_s.n) continue;
        const double share = g->read_bytes_per_s.value / s->disk_bytes_per_s;
        text = also(s, text,
                    tt_study_text(
                        s, "at %s: %s%s", limit_of(s, g),
                        tt_units_rate(rate, g->read_bytes_per_s.value),
                        s->disk_bytes_per_s > 0 ? tt_study_text(s, ", %.0f %%", 100 * share) : ""));
        runs += g->n_runs;
        holds = holds && share >= 0.4 && share <= 0.7;
    }
    if (!*text)
        ask(s, "H4.1", h41, TT_STUDY_OPEN, "",
            "no run with a memory limit counted what was read (capture.faults: true)");
    else if (!(s->disk_bytes_per_s > 0))
        ask(s, "H4.1", h41, TT_STUDY_OPEN, count_runs(s, runs),
            "%s: what the disk can is not known (--disk RATE; `tensortrace doctor --disk MODEL` "
            "measures it)",
            text);
    else
        ask(s, "H4.1", h41, holds ? TT_STUDY_HOLDS : TT_STUDY_FAILS, count_runs(s, runs), "%s",
            text);

    const tt_study_group *in_order = NULL, *at_random = NULL;
    double most = 0, least = INFINITY;
    for (size_t i = 0; i < s->n_groups; i++) {
        const tt_study_group *g = &s->groups[i];
        const picked in = median_of(s, g->model_file, get_in_sequence);
        if (!g->memory_limit_bytes || !g->read_bytes_per_s.n || !in.n) continue;
        if (in.value > most) most = in.value, in_order = g;
        if (in.value < least) least = in.value, at_random = g;
    }
    if (!in_order || !at_random || strcmp(in_order->model_file, at_random->model_file) == 0) {
        ask(s, "H4.2", h42, TT_STUDY_OPEN, "",
            "that takes runs of two models under a memory limit, with what they read");
        return;
    }
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    ask(s, "H4.2", h42,
        in_order->read_bytes_per_s.value > at_random->read_bytes_per_s.value ? TT_STUDY_HOLDS
                                                                             : TT_STUDY_FAILS,
        count_runs(s, in_order->n_runs + at_random->n_runs),
        "%s (%.1f %% in sequence): %s; %s (%.1f %%): %s", tt_base_name(in_order->model_file),
        100 * most, tt_units_rate(a, in_order->read_bytes_per_s.value),
        tt_base_name(at_random->model_file), 100 * least,
        tt_units_rate(b, at_random->read_bytes_per_s.value));
}

/* --- loading, hot and cold, experts, the KV cache --- */

static void ask_loading(tt_study *s)
{
    static const char question[] = "What does loading fetch in vain?";
    const picked loaded = median_of(s, NULL, get_loaded), vain = median_of(s, NULL, get_vain);
    if (!loaded.n)
        ask(s, "Q4", question, TT_STUDY_OPEN, "",
            "the pages in RAM were not looked at (capture.residency_every: 1)");
    else if (!vain.n)
        ask(s, "Q4", question, TT_STUDY_OPEN, count_runs(s, loaded.n),
            "%s are fetched before the first batch; what became of them is not known",
            bytes(s, loaded.value));
    else
        ask(s, "Q4", question, TT_STUDY_ANSWERED, count_runs(s, vain.n),
            "%s are fetched before the first batch; %s are not read by any op or evicted before "
            "(medians)",
            bytes(s, loaded.value), bytes(s, vain.value));
}

/* Rank correlations of how often experts are read, over pairs of prompts. */
static const char *stability(tt_study *s, const tt_study_model *m, size_t *pairs)
{
    double sum = 0, least = INFINITY;
    *pairs = 0;
    for (size_t i = 0; i < s->n_runs; i++)
        for (size_t k = i + 1; k < s->n_runs; k++) {
            const tt_study_run *a = &s->runs[i], *b = &s->runs[k];
            if (a->is_repeat || b->is_repeat || strcmp(a->result->model_file, m->file) != 0 ||
                strcmp(b->result->model_file, m->file) != 0)
                continue;
            const double r = tt_study_rank_correlation(a, b);
            if (isnan(r)) continue;
            sum += r;
            least = fmin(least, r);
            (*pairs)++;
        }
    return *pairs
               ? tt_study_text(s,
                               ", and how often an expert is read in one prompt and in another "
                               "has a rank correlation of %.2f (least %.2f, %zu pairs of prompts)",
                               sum / (double)*pairs, least, *pairs)
               : "";
}

static void ask_heat(tt_study *s)
{
    static const char question[] =
        "Which parameters are hot, and are they the same in each prompt?";
    const char *text = "";
    size_t runs = 0;
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_study_model *m = &s->models[i];
        const picked every = median_of(s, m->file, get_every),
                     never = median_of(s, m->file, get_never),
                     hottest = median_of(s, m->file, get_hottest);
        size_t pairs;
        if (!every.n) continue;
        runs += every.n;
        text = also(s, text,
                    tt_study_text(s,
                                  "%s%.1f %% of the model are read in every batch, %.1f %% in "
                                  "none; half of the bytes are read of %.1f %% of the weights%s",
                                  prefix(s, m), 100 * every.value, 100 * never.value,
                                  100 * hottest.value, stability(s, m, &pairs)));
    }
    ask(s, "Q5", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, count_runs(s, runs), "%s",
        *text ? text : "no run has reads of weights");
}

static void ask_domains(tt_study *s)
{
    static const char question[] = "Do domains choose different experts?";
    const char *text = "";
    uint64_t runs = 0;
    bool experts = false;
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_study_model *m = &s->models[i];
        const tt_domains *d = &m->domains;
        size_t certain = 0;
        double most = 0;
        experts |= m->has_experts;
        if (!m->has_domains) continue;
        for (size_t k = 0; k < d->n_domains; k++)
            runs += d->domains[k].runs;
        for (size_t k = 0; k < d->n_layers; k++) {
            certain += d->layers[k].p_corrected < TT_STUDY_LEVEL;
            if (d->layers[k].test.cramers_v > most) most = d->layers[k].test.cramers_v;
        }
        text = also(s, text,
                    tt_study_text(s,
                                  "%sin %zu of %zu layers the %zu domains differ by more than "
                                  "chance (corrected, 5 %%); Cramer's V is %.3f at most",
                                  prefix(s, m), certain, d->n_layers, d->n_domains, most));
    }
    if (*text)
        ask(s, "Q6", question, TT_STUDY_ANSWERED, count_runs(s, (size_t)runs), "%s", text);
    else
        ask(s, "Q6", question, TT_STUDY_OPEN, "", "%s",
            experts ? "all prompts are of one domain" : "no model has experts");
}

static void ask_kv(tt_study *s)
{
    static const char question[] = "How does the KV cache grow?";
    const char *text = "";
    size_t runs = 0;
    for (size_t i = 0; i < s->n_models; i++) {
        const picked kv = median_of(s, s->models[i].file, get_kv);
        if (!kv.n) continue;
        runs += kv.n;
        text =
            also(s, text,
                 tt_study_text(s, "%sby %s a token", prefix(s, &s->models[i]), bytes(s, kv.value)));
    }
    ask(s, "Q7", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, count_runs(s, runs), "%s",
        *text ? text : "no writes to a KV cache were observed");
}

/* --- prompts and models --- */

/* How much longer the prompt takes with each of its tokens: of the runs without a limit, the slope
 * of least squares. */
static void ask_prompts(tt_study *s)
{
    static const char question[] = "Does the length of the prompt change the access?";
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        const double tokens = (double)r->prompt_tokens;
        if (r->result->ending || r->result->memory_limit_bytes || !(r->first_token_ns > 0) ||
            strcmp(r->result->model_file, s->models[0].file) != 0)
            continue;
        n++;
        x += tokens;
        y += r->first_token_ns;
        xx += tokens * tokens;
        xy += tokens * r->first_token_ns;
        if (r->prompt_tokens < least) least = r->prompt_tokens;
        if (r->prompt_tokens > most) most = r->prompt_tokens;
    }
    const double spread = n * xx - x * x;
    if (n < 3 || most < 2 * least || !(spread > 0))
        ask(s, "Q8", question, TT_STUDY_OPEN, "",
            "that takes prompts of which one is twice as long as another, without a memory limit");
    else
        ask(s, "Q8", question, TT_STUDY_ANSWERED, count_runs(s, (size_t)n),
            "%s: prompts of %llu to %llu tokens take %s longer with each token",
            tt_base_name(s->models[0].file), (unsigned long long)least, (unsigned long long)most,
            span(s, (n * xy - x * y) / spread));
}

static void ask_models(tt_study *s)
{
    static const char quantization[] = "What does another quantization, or model, change?",
                      sustained[] = "What takes longer, the first token or those after it?";
    const char *text = "";
    size_t runs = 0;
    for (size_t i = 0; i < s->n_models; i++) {
        const picked token = median_of(s, s->models[i].file, get_token);
        if (!token.n) continue;
        runs += token.n;
        text =
            also(s, text,
                 tt_study_text(s, "%s: %s a token", name_of(&s->models[i]), span(s, token.value)));
    }
    if (s->n_models > 1 && *text)
        ask(s, "Q9", quantization, TT_STUDY_ANSWERED, count_runs(s, runs),
            "%s (medians over all conditions)", text);
    else
        ask(s, "Q9", quantization, TT_STUDY_OPEN, "", "all runs are of one model");
    const picked first = median_of(s, NULL, get_first), token = median_of(s, NULL, get_token);
    if (first.n && token.n)
        ask(s, "Q10", sustained, TT_STUDY_ANSWERED, count_runs(s, first.n),
            "the first token takes %s in the batches of the prompt, each further one %s (medians)",
            span(s, first.value), span(s, token.value));
    else
        ask(s, "Q10", sustained, TT_STUDY_OPEN, "", "no run has a prompt and generated tokens");
    ask(s, "H5", "Larger pages help dense models, smaller ones models with experts", TT_STUDY_OPEN,
        "",
        "the size of pages is no condition that a run can ask for: files are mapped in pages "
        "of 4 KiB");
}

void tt_study_ask(tt_study *s)
{
    ask_order(s);
    ask_memory(s);
    ask_settings(s);
    ask_disk(s);
    ask_loading(s);
    ask_heat(s);
    ask_domains(s);
    ask_kv(s);
    ask_prompts(s);
    ask_models(s);
}
