/* The questions and hypotheses about models larger than memory, each answered by the given runs, or
 * with the reason why they cannot decide it: order, memory, settings and the disk. docs/study.md
 * has all with their rules. */
#include "base/path.h"
#include "base/units.h"
#include "study/asking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shares of the model's size for "half of it" and "hardly any of it". */
#define HALF_LEAST 0.395 /* 40 %, in whole pages */
#define HALF_MOST 0.605
#define LITTLE_MOST 0.505
/* Appended if a hypothesis stays open. */
#define BOTH_WAYS ": the intervals leave it open; more repetitions would tell"

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
GET(get_layers, r->layer_steps > 0, (double)r->layers_forward / r->layer_steps)
GET(get_request, r->has_io && r->has_faults && r->token_major > 0 && r->token_read_bytes > 0,
    r->token_read_bytes / r->token_major)

/* --- the order of reading --- */

static const char *order_of(tt_study *s, const tt_ask_scope *model)
{
    const tt_study_median in = tt_ask_median(s, model, get_in_sequence),
                          adjacent = tt_ask_median(s, model, get_adjacent),
                          forward = tt_ask_median(s, model, get_forward),
                          sweeps = tt_ask_median(s, model, get_sweeps),
                          jump = tt_ask_median(s, model, get_jump);
    return tt_study_text(
        s,
        "%s%s of requests of 128 KiB continue where the last ended (%s of the steps from one "
        "tensor "
        "or expert to the next), %s of jumps lead forward%s%s; sweeps through the file a batch: %s",
        tt_study_text_model(s, model->model_file), tt_study_text_shares(s, &in),
        tt_study_text_shares(s, &adjacent), tt_study_text_shares(s, &forward),
        jump.n ? ", by a median of " : "", jump.n ? tt_study_text_sizes(s, &jump) : "",
        tt_study_text_numbers(s, &sweeps));
}

static void ask_order(tt_study *s)
{
    static const char question[] = "Is the file read in order or at random?";
    const char *text = "";
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_ask_scope model = {.model_file = s->models[i].file};
        if (tt_ask_median(s, &model, get_in_sequence).n)
            text = tt_study_text_append(s, text, order_of(s, &model));
    }
    tt_ask(s, "Q1", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : "no run has reads of weights at known places of the file");
}

/* For the models with experts, or those without: the share of their requests in sequence. */
static void ask_sequence(tt_study *s, bool experts, const char *id, const char *question,
                         double least, double most, const char *why)
{
    const char *text = "";
    tt_study_verdict verdict = TT_STUDY_HOLDS;
    bool high = true;
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_ask_scope model = {.model_file = s->models[i].file};
        if (s->models[i].has_experts != experts) continue;
        const tt_study_median in = tt_ask_median(s, &model, get_in_sequence);
        if (!in.n) continue;
        text = tt_study_text_append(s, text,
                                    tt_study_text(s, "%s%s in sequence",
                                                  tt_study_text_model(s, model.model_file),
                                                  tt_study_text_shares(s, &in)));
        verdict = tt_ask_both(verdict, tt_ask_evaluate(in.low, in.high, least, most));
        high = high && in.low > most;
    }
    if (*text)
        tt_ask(s, id, question, verdict, "%s%s", text,
               verdict == TT_STUDY_OPEN ? BOTH_WAYS
               : experts && high ? ": an expert is read in one piece, so that jumps are few among "
                                   "its requests"
                                 : "");
    else
        tt_ask(s, id, question, TT_STUDY_OPEN, "%s", why);
}

/* The cost of the tensors' order in the file: only two files of the same weights can show it. */
static void ask_layout(tt_study *s)
{
    static const char question[] = "Does the order of the tensors in the file matter?";
    const char *text = "";
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_ask_scope model = {.model_file = s->models[i].file};
        const tt_study_median layers = tt_ask_median(s, &model, get_layers),
                              sweeps = tt_ask_median(s, &model, get_sweeps);
        if (!layers.n || !sweeps.n) continue;
        text = tt_study_text_append(
            s, text,
            tt_study_text(s,
                          "%s%s of the steps from a layer to the next lead forward "
                          "in the file, and a batch sweeps through it %s times",
                          tt_study_text_model(s, model.model_file),
                          tt_study_text_shares(s, &layers), tt_study_text_numbers(s, &sweeps)));
    }
    tt_ask(s, "Q2", question, TT_STUDY_OPEN,
           "that takes two files of the same weights in other orders%s%s", *text ? ". " : "", text);
}

/* --- memory --- */

/* The effect of a limit, in words. */
static const char *slowdown_of(tt_study *s, const tt_study_group *g)
{
    const char *limit = tt_ask_limit_name(s, g);
    if (!g->tokens_per_s.n)
        return g->n_killed == g->n_runs
                   ? tt_study_text(s, "at %s: killed, all %u runs", limit, g->n_runs)
                   : tt_study_text(s, "at %s: nothing was generated", limit);
    if (!g->slowdown.known)
        return tt_study_text(s, "at %s: no prompt was run with and without it", limit);
    return tt_study_text(
        s, "at %s: %s as long a token%s", limit, tt_study_text_ratio(s, &g->slowdown),
        g->n_killed ? tt_study_text(s, ", %u of %u runs killed", g->n_killed, g->n_runs) : "");
}

/* The verdict over all groups whose limit is within these shares of the model: how many times as
 * long a token takes must be between low and high. A run that fails counts as slower. */
static void ask_limited(tt_study *s, const char *id, const char *question, double least,
                        double most, double low, double high, const char *why_open)
{
    const char *text = "";
    tt_study_verdict verdict = TT_STUDY_HOLDS;
    for (size_t i = 0; i < s->n_groups; i++) {
        const tt_study_group *g = &s->groups[i];
        const tt_study_ratio *r = &g->slowdown;
        if (!g->baseline || g->memory_share < least || g->memory_share > most) continue;
        text = tt_study_text_append(s, text, slowdown_of(s, g));
        tt_ask_use_group(s, g);
        tt_ask_use_group(s, g->baseline);
        if (!r->known && g->tokens_per_s.n)
            verdict = tt_ask_both(verdict, TT_STUDY_OPEN);
        else if (!r->known)
            verdict = tt_ask_both(verdict, isinf(high) ? TT_STUDY_HOLDS : TT_STUDY_FAILS);
        else
            verdict = tt_ask_both(verdict, r->tested ? tt_ask_evaluate(r->low, r->high, low, high)
                                                     : TT_STUDY_OPEN);
    }
    tt_ask(s, id, question, *text ? verdict : TT_STUDY_OPEN, "%s%s", *text ? text : why_open,
           *text && verdict == TT_STUDY_OPEN ? BOTH_WAYS : "");
}

static void ask_memory(tt_study *s)
{
    static const char none[] = "no run with a memory limit below the model's size has runs without "
                               "one that are else alike "
                               "(conditions.memory_limit: [null, \"60%\"])";
    double least = INFINITY;
    bool any = false;
    for (size_t i = 0; i < s->n_groups; i++) {
        const tt_study_group *g = &s->groups[i];
        if (!g->baseline || !(g->memory_share > 0 && g->memory_share < 1)) continue;
        any = true;
        least = fmin(least, g->memory_share);
    }
    /* A limit in which the model fits is not less memory. */
    const double below = nextafter(1, 0);
    ask_limited(s, "H2.1", "With all of the model in RAM generation is fastest", 1e-9, below, 1,
                INFINITY, none);
    ask_limited(s, "H2.2", "With the least memory a token takes 2 to 5 times as long",
                least <= LITTLE_MOST ? least : INFINITY, least, 2, 5,
                !any ? none
                     : tt_study_text(s,
                                     "the smallest limit is %.0f %% of the model: half of it, or "
                                     "less, would be little",
                                     100 * least));
    ask_limited(s, "H2.3", "With half of it in RAM a token takes less than twice as long",
                HALF_LEAST, HALF_MOST, 0, 2, any ? "no limit is 40 to 60 % of the model" : none);
}

/* --- one setting --- */

static bool is_effect_of(const tt_study_effect *e, const char *const *keys)
{
    for (size_t k = 0; keys[k]; k++)
        if (strcmp(keys[k], e->setting) == 0) return true;
    return false;
}

/* The pair of conditions, and their difference: "readahead=64K instead of 0: " */
static const char *pair_of(tt_study *s, const tt_study_effect *e)
{
    return tt_study_text(s, "%s=%s instead of %s%s%s%s: ", e->setting, e->to, e->from,
                         *e->others ? " (" : "", e->others, *e->others ? ")" : "");
}

/* The effect of a setting, if there are conditions that differ only in it: HOLDS if one is
 * significant, after correction for the number of pairs in the study. */
static void ask_effect(tt_study *s, const char *id, const char *question, const char *const *keys)
{
    const char *text = "";
    size_t pairs = 0, unmet = 0, tested = 0, certain = 0;
    for (size_t i = 0; i < s->n_effects; i++) {
        const tt_study_effect *e = &s->effects[i];
        const tt_study_ratio *r = &e->tokens_per_s;
        if (!is_effect_of(e, keys)) continue;
        pairs++;
        unmet += e->is_unmet;
        if (!r->known) continue;
        text = tt_study_text_append(s, text,
                                    tt_study_text(s, "%s%s as many tokens a second", pair_of(s, e),
                                                  tt_study_text_ratio(s, r)));
        tt_ask_use_group(s, e->a);
        tt_ask_use_group(s, e->b);
        tested += r->tested;
        certain += r->tested && r->p_corrected < TT_STUDY_LEVEL;
    }
    if (!pairs)
        tt_ask(s, id, question, TT_STUDY_OPEN, "no two conditions differ in %s only", keys[0]);
    else if (!*text)
        tt_ask(s, id, question, TT_STUDY_OPEN, "%s",
               unmet ? tt_study_text(s, "the system did not let %s be set (see the runs)", keys[0])
                     : "nothing was generated");
    else if (certain)
        tt_ask(s, id, question, TT_STUDY_HOLDS, "%s", text);
    else
        tt_ask(s, id, question, TT_STUDY_OPEN, "%s: %s", text,
               tested ? "no difference is larger than chance makes, so that there is none or "
                        "more repetitions would tell"
                      : "more repetitions would tell");
}

/* For pairs with different swappiness: whether more is read with the higher one. */
static void ask_swappiness(tt_study *s)
{
    static const char h31[] = "With high swappiness (100) more is read than with less",
                      h32[] = "With low swappiness (0) less is read than with more",
                      h33[] = "The best swappiness depends on the model";
    static const char none[] = "no two conditions differ in swappiness only",
                      unmet[] = "the system did not let swappiness be set (see the runs)";
    static const char *const key[] = {"swappiness", NULL};
    static const struct {
        const char *id, *question, *extreme;
    } asked[] = {{"H3.1", h31, "100"}, {"H3.2", h32, "0"}};
    bool any = false;
    for (size_t i = 0; i < s->n_effects; i++)
        any |= is_effect_of(&s->effects[i], key);
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        const char *text = "";
        tt_study_verdict verdict = TT_STUDY_HOLDS;
        for (size_t i = 0; i < s->n_effects; i++) {
            const tt_study_effect *e = &s->effects[i];
            const tt_study_ratio *r = &e->token_read;
            const bool up = strtol(e->to, NULL, 10) > strtol(e->from, NULL, 10);
            if (!is_effect_of(e, key) || !r->known) continue;
            if (strcmp(e->from, asked[k].extreme) != 0 && strcmp(e->to, asked[k].extreme) != 0)
                continue;
            text = tt_study_text_append(s, text,
                                        tt_study_text(s, "%s%s as much is read a token",
                                                      pair_of(s, e), tt_study_text_ratio(s, r)));
            tt_ask_use_group(s, e->a);
            tt_ask_use_group(s, e->b);
            verdict = tt_ask_both(verdict, !r->tested ? TT_STUDY_OPEN
                                           : up ? tt_ask_evaluate(r->low, r->high, 1, INFINITY)
                                                : tt_ask_evaluate(r->low, r->high, 0, 1));
        }
        tt_ask(s, asked[k].id, asked[k].question, *text ? verdict : TT_STUDY_OPEN, "%s",
               *text ? text
               : any ? unmet
                     : none);
    }
    tt_ask(s, "H3.3", h33, TT_STUDY_OPEN, "%s",
           !any              ? none
           : s->n_models < 2 ? "that takes runs of a dense model and of one with experts"
                             : "see the effects of swappiness on each model");
}

static void ask_settings(tt_study *s)
{
    static const char *const swappiness[] = {"swappiness", NULL},
                             *const readahead[] = {"readahead", NULL},
                             *const batch[] = {"batch_tokens", "ubatch_tokens", NULL},
                             *const mapped[] = {"mmap", "mlock", "repack", NULL};
    ask_effect(s, "H3", "Swappiness changes the speed", swappiness);
    ask_swappiness(s);
    ask_effect(s, "Q3", "Does how far the kernel reads ahead change the speed?", readahead);
    ask_effect(s, "Q4", "Does the size of a batch change the speed?", batch);
    ask_effect(s, "Q5", "Does it change the speed to map, lock or repack the weights?", mapped);
}

/* --- the disk --- */

static void ask_device(tt_study *s)
{
    static const char h41[] = "While generating, the disk gives 40 to 70 % of what it can";
    const char *text = "";
    tt_study_verdict verdict = TT_STUDY_HOLDS;
    const double disk = s->disk_bytes_per_s;
    for (size_t i = 0; i < s->n_groups; i++) {
        const tt_study_group *g = &s->groups[i];
        const tt_study_median *r = &g->read_bytes_per_s;
        char rate[TT_UNITS_TEXT];
        if (!g->memory_limit_bytes || !r->n || !(r->value > 0)) continue;
        const tt_study_median share = {r->n, r->is_interval, r->value / disk, r->low / disk,
                                       r->high / disk};
        text =
            tt_study_text_append(s, text,
                                 tt_study_text(s, "at %s: %s%s%s", tt_ask_limit_name(s, g),
                                               tt_units_rate(rate, r->value), disk > 0 ? ", " : "",
                                               disk > 0 ? tt_study_text_shares(s, &share) : ""));
        tt_ask_use_group(s, g);
        verdict = tt_ask_both(verdict, disk > 0 ? tt_ask_evaluate(share.low, share.high, 0.4, 0.7)
                                                : TT_STUDY_OPEN);
    }
    if (!*text)
        tt_ask(s, "H4.1", h41, TT_STUDY_OPEN,
               "no run with a memory limit counted what was read (capture.faults: true)");
    else
        tt_ask(s, "H4.1", h41, verdict, "%s%s", text,
               disk > 0 ? verdict == TT_STUDY_OPEN ? BOTH_WAYS : ""
                        : ": what the disk can is not known (--disk RATE; `tensortrace doctor "
                          "--disk MODEL` measures it)");
}

/* The group of a model with the smallest limit for which reads are known. */
static const tt_study_group *most_limited(const tt_study *s, const char *model_file)
{
    const tt_study_group *found = NULL;
    for (size_t i = 0; i < s->n_groups; i++) {
        const tt_study_group *g = &s->groups[i];
        if (g->memory_limit_bytes && g->read_bytes_per_s.n &&
            strcmp(g->model_file, model_file) == 0)
            found = g;
    }
    return found;
}

static void ask_sequential_models(tt_study *s)
{
    static const char h42[] = "Models that are read more in sequence get more of the disk";
    const tt_study_group *in_order = NULL, *at_random = NULL;
    double most = -1, least = 2;
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_ask_scope model = {.model_file = s->models[i].file};
        const tt_study_group *g = most_limited(s, model.model_file);
        const tt_study_median in = tt_ask_median(s, &model, get_in_sequence);
        if (!g || !in.n) continue;
        if (in.value > most) most = in.value, in_order = g;
        if (in.value < least) least = in.value, at_random = g;
    }
    memset(s->used, 0, s->n_runs * sizeof *s->used);
    if (!in_order || in_order == at_random) {
        tt_ask(s, "H4.2", h42, TT_STUDY_OPEN,
               "that takes runs of two models under a memory limit, with what they read");
        return;
    }
    /* Prompts and sizes differ: compares the medians' intervals. */
    const tt_study_median *x = &in_order->read_bytes_per_s, *y = &at_random->read_bytes_per_s;
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    tt_ask_use_group(s, in_order);
    tt_ask_use_group(s, at_random);
    tt_ask(s, "H4.2", h42,
           x->low > y->high   ? TT_STUDY_HOLDS
           : x->high < y->low ? TT_STUDY_FAILS
                              : TT_STUDY_OPEN,
           "%s (%.1f %% in sequence): %s; %s (%.1f %%): %s", tt_base_name(in_order->model_file),
           100 * most, tt_units_rate(a, x->value), tt_base_name(at_random->model_file), 100 * least,
           tt_units_rate(b, y->value));
}

static void ask_requests(tt_study *s)
{
    static const char question[] = "How much does a major fault bring?";
    const char *text = "";
    for (tt_ask_scope scope = {0}; tt_ask_next_limit(s, &scope);) {
        const tt_study_median m = tt_ask_median(s, &scope, get_request);
        if (m.n)
            text = tt_study_text_append(s, text,
                                        tt_study_text(s, "%s: %s", tt_ask_scope_name(s, &scope),
                                                      tt_study_text_sizes(s, &m)));
    }
    tt_ask(s, "Q6", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : "no run had major faults while it generated (capture.faults: true)");
}

static void ask_disk(tt_study *s)
{
    ask_device(s);
    ask_sequential_models(s);
    ask_requests(s);
}

void tt_study_ask(tt_study *s)
{
    ask_order(s);
    ask_sequence(s, false, "H1.1", "Dense models are read in sequence: more than 80 % of requests",
                 0.8, 1, "no run of a dense model");
    ask_sequence(s, true, "H1.2",
                 "Models with experts are read more at random: 40 to 60 % in sequence", 0.4, 0.6,
                 "no run of a model with experts");
    ask_layout(s);
    ask_memory(s);
    ask_settings(s);
    ask_disk(s);
    tt_ask_content(s);
}
