/* The questions about what is read: in loading, hot and cold, by expert and domain, by prompt and
 * model; and about the KV cache. */
#include "analyze/diff/stats.h"
#include "base/path.h"
#include "base/units.h"
#include "study/asking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GET(name, test, figure_)                                                                   \
    static double name(const tt_study_run *r)                                                      \
    {                                                                                              \
        return (test) ? (figure_) : NAN;                                                           \
    }
GET(get_loaded, r->has_loading, (double)r->loaded_bytes)
GET(get_vain, r->has_loading && r->has_vain, (double)r->vain_bytes)
GET(get_every, r->has_reads, r->every)
GET(get_never, r->has_reads, r->never)
GET(get_hottest, r->has_reads && r->hottest > 0, r->hottest)
GET(get_weights, r->batch_weights_bytes > 0, r->batch_weights_bytes)
GET(get_repeated, r->has_repeated, r->repeated)
GET(get_major_experts, r->has_major_parts, r->major_experts)
GET(get_major_layers, r->has_major_parts, r->major_layers)
GET(get_major_others, r->has_major_parts, r->major_others)
GET(get_kv, r->has_kv && r->kv_token_bytes > 0, r->kv_token_bytes)
GET(get_kv_end, r->has_kv, (double)r->kv_bytes)
GET(get_first, r->first_token_ns > 0, r->first_token_ns)
GET(get_token, r->tokens_per_s > 0, 1e9 / r->tokens_per_s)

/* --- loading, hot and cold --- */

static void ask_loading(tt_study *s)
{
    static const char question[] = "What does loading fetch in vain?";
    const char *text = "";
    bool evaluated = false;
    for (tt_ask_scope scope = {0}; tt_ask_next_limit(s, &scope);) {
        const tt_study_median loaded = tt_ask_median(s, &scope, get_loaded),
                              vain = tt_ask_median(s, &scope, get_vain);
        if (!loaded.n) continue;
        evaluated |= vain.n > 0;
        text = tt_study_text_append(
            s, text,
            tt_study_text(s, "%s: %s are fetched before the first batch%s%s",
                          tt_ask_scope_name(s, &scope), tt_study_text_sizes(s, &loaded),
                          vain.n ? ", in vain " : "", vain.n ? tt_study_text_sizes(s, &vain) : ""));
    }
    if (!*text)
        tt_ask(s, "Q7", question, TT_STUDY_OPEN,
               "the pages in RAM were not looked at (capture.residency_every: 1)");
    else
        tt_ask(s, "Q7", question, evaluated ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s%s", text,
               evaluated ? "" : "; what became of them is not known");
}

/* Rank correlations of how often experts are read, over pairs of prompts. */
static const char *stability(tt_study *s, const tt_study_model *m)
{
    double sum = 0, least = INFINITY;
    size_t pairs = 0;
    for (size_t i = 0; i < s->n_runs; i++)
        for (size_t k = i + 1; k < s->n_runs; k++) {
            const tt_study_run *a = &s->runs[i], *b = &s->runs[k];
            double r;
            if (a->is_repeat || b->is_repeat || strcmp(a->result->model_file, m->file) != 0 ||
                strcmp(b->result->model_file, m->file) != 0)
                continue;
            s->failed |= !tt_study_rank_correlation(a, b, &r);
            if (isnan(r)) continue;
            sum += r;
            least = fmin(least, r);
            pairs++;
        }
    return pairs
               ? tt_study_text(s,
                               ", and how often an expert is read in one prompt and in another "
                               "has a rank correlation of %.2f (least %.2f, %zu pairs of prompts)",
                               sum / (double)pairs, least, pairs)
               : "";
}

static void ask_heat(tt_study *s)
{
    static const char question[] =
        "Which parameters are hot, and are they the same in each prompt?";
    const char *text = "";
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_study_model *m = &s->models[i];
        const tt_ask_scope model = {.model_file = m->file};
        const tt_study_median every = tt_ask_median(s, &model, get_every),
                              never = tt_ask_median(s, &model, get_never),
                              hottest = tt_ask_median(s, &model, get_hottest),
                              weights = tt_ask_median(s, &model, get_weights);
        if (!every.n) continue;
        const char *half = hottest.n ? tt_study_text(s,
                                                     "; half of the bytes are read of %s of the "
                                                     "weights",
                                                     tt_study_text_shares(s, &hottest))
                                     : "",
                   *one = weights.n ? tt_study_text(s, "; a batch reads %s of weights",
                                                    tt_study_text_sizes(s, &weights))
                                    : "";
        text = tt_study_text_append(
            s, text,
            tt_study_text(s,
                          "%s%s of the model are read in every batch, %s in "
                          "none%s%s%s",
                          tt_study_text_model(s, m->file), tt_study_text_shares(s, &every),
                          tt_study_text_shares(s, &never), half, one, stability(s, m)));
    }
    tt_ask(s, "Q8", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : "no run has reads of weights");
}

static void ask_faults(tt_study *s)
{
    static const char question[] = "What is read from the disk again and again?";
    const char *text = "";
    for (tt_ask_scope scope = {0}; tt_ask_next_limit(s, &scope);) {
        const tt_study_median experts = tt_ask_median(s, &scope, get_major_experts),
                              layers = tt_ask_median(s, &scope, get_major_layers),
                              others = tt_ask_median(s, &scope, get_major_others);
        if (!experts.n) continue;
        text = tt_study_text_append(
            s, text,
            tt_study_text(s,
                          "%s: of the major faults %s in experts, %s in the rest of "
                          "the layers, %s outside of layers",
                          tt_ask_scope_name(s, &scope), tt_study_text_shares(s, &experts),
                          tt_study_text_shares(s, &layers), tt_study_text_shares(s, &others)));
    }
    tt_ask(s, "Q9", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text
                 : "no run had major faults in ops while it generated (capture.faults: true)");
}

static void ask_repeated(tt_study *s)
{
    static const char question[] = "Can the next token's reads be predicted?";
    const char *text = "";
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_ask_scope model = {.model_file = s->models[i].file};
        const tt_study_median m = tt_ask_median(s, &model, get_repeated);
        if (m.n)
            text = tt_study_text_append(
                s, text,
                tt_study_text(
                    s, "%sof the bytes that a token reads %s are those that the one before read",
                    tt_study_text_model(s, model.model_file), tt_study_text_shares(s, &m)));
    }
    tt_ask(s, "Q10", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : "no run generated two tokens");
}

/* --- experts --- */

/* The excess of an expert's repetition for the next token over that expected from its share: r in
 * the dependence (1 + r) / (1 - r). */
static double again_of(const tt_domain_layer *l)
{
    return (l->dependence - 1) / (l->dependence + 1);
}

static void ask_next_token(tt_study *s)
{
    static const char question[] = "Is an expert that was chosen chosen for the next token, too?";
    const char *text = "";
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_study_model *m = &s->models[i];
        double least = INFINITY, most = -INFINITY, sum = 0;
        size_t n = 0;
        for (size_t k = 0; m->has_choices && k < m->domains.n_layers; k++) {
            const double r = again_of(&m->domains.layers[k]);
            if (!isfinite(r)) continue;
            least = fmin(least, r);
            most = fmax(most, r);
            sum += r;
            n++;
        }
        if (!n) continue;
        tt_ask_use_choices(s, m->file);
        text = tt_study_text_append(
            s, text,
            tt_study_text(s,
                          "%son a scale from 0, as often as its share alone lets expect, to 1, "
                          "always: %.2f (mean of %zu layers; %.2f to %.2f)",
                          tt_study_text_model(s, m->file), sum / (double)n, n, least, most));
    }
    tt_ask(s, "Q11", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : "no run shows choices of experts");
}

static const char *why_no_domains(const tt_study *s)
{
    for (size_t i = 0; i < s->n_models; i++)
        if (s->models[i].has_choices) return "all prompts are of one domain";
    return "no run shows choices of experts";
}

static void ask_domains(tt_study *s)
{
    static const char question[] = "Do domains choose different experts?";
    const char *text = "";
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_study_model *m = &s->models[i];
        const tt_domains *d = &m->domains;
        size_t certain = 0, alone = 0;
        double most = 0;
        if (!m->has_domains) continue;
        tt_ask_use_choices(s, m->file);
        for (size_t k = 0; k < d->n_layers; k++) {
            const tt_domain_layer *l = &d->layers[k];
            certain += l->separates;
            if (l->separates && l->test.cramers_v > most) most = l->test.cramers_v;
        }
        for (size_t k = 0; k < d->n_domains; k++)
            alone += d->domains[k].runs == 1;
        text = tt_study_text_append(
            s, text,
            tt_study_text(
                s,
                "%sin %zu of %zu layers the %zu domains differ by more "
                "than chance (corrected, 5 %%)%s%s",
                tt_study_text_model(s, m->file), certain, d->n_layers, d->n_domains,
                certain ? tt_study_text(s, "; there Cramer's V is %.3f at most", most) : "",
                certain && alone ? ". Of a domain with one prompt it may be the prompt that differs"
                                 : ""));
    }
    tt_ask(s, "Q12", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : why_no_domains(s));
}

static void ask_specialists(tt_study *s)
{
    static const char question[] = "Are hot experts hot everywhere, or in one domain?";
    const char *text = "";
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_study_model *m = &s->models[i];
        uint64_t kinds[4] = {0};
        if (!m->has_domains) continue;
        tt_ask_use_choices(s, m->file);
        for (size_t l = 0; l < m->domains.n_layers; l++)
            for (size_t k = 0; k < 4; k++)
                kinds[k] += m->domains.layers[l].kinds[k];
        text = tt_study_text_append(
            s, text,
            tt_study_text(s,
                          "%sof the layers' experts %llu are generalists, %llu specialists of a "
                          "domain, %llu between, %llu were not chosen",
                          tt_study_text_model(s, m->file),
                          (unsigned long long)kinds[TT_EXPERT_GENERALIST],
                          (unsigned long long)kinds[TT_EXPERT_SPECIALIST],
                          (unsigned long long)kinds[TT_EXPERT_MIXED],
                          (unsigned long long)kinds[TT_EXPERT_UNUSED]));
    }
    tt_ask(s, "Q13", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : why_no_domains(s));
}

/* --- the KV cache --- */

static void ask_kv(tt_study *s)
{
    static const char question[] = "How does the KV cache grow?";
    const char *text = "";
    for (size_t i = 0; i < s->n_models; i++) {
        const tt_ask_scope model = {.model_file = s->models[i].file};
        const tt_study_median kv = tt_ask_median(s, &model, get_kv),
                              end = tt_ask_median(s, &model, get_kv_end);
        if (!kv.n) continue;
        text = tt_study_text_append(s, text,
                                    tt_study_text(s, "%sby %s a token, to %s at the end",
                                                  tt_study_text_model(s, model.model_file),
                                                  tt_study_text_sizes(s, &kv),
                                                  tt_study_text_sizes(s, &end)));
    }
    tt_ask(s, "Q14", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : "no writes to a KV cache were observed");
}

/* --- prompts and models --- */

typedef struct line_fit {
    double n, x, y, xx, xy, yy;
    uint64_t least, most;
} line_fit;

/* The time of the prompt's batches over its tokens, for the runs of a condition. */
static line_fit fit_prompts(const tt_study *s, const tt_study_group *g)
{
    line_fit f = {.least = UINT64_MAX};
    for (size_t i = 0; i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        const double tokens = (double)r->prompt_tokens;
        if (!tt_study_is_in(g, r) || r->result->ending || !(r->first_token_ns > 0)) continue;
        f.n++;
        f.x += tokens;
        f.y += r->first_token_ns;
        f.xx += tokens * tokens;
        f.xy += tokens * r->first_token_ns;
        f.yy += r->first_token_ns * r->first_token_ns;
        if (r->prompt_tokens < f.least) f.least = r->prompt_tokens;
        if (r->prompt_tokens > f.most) f.most = r->prompt_tokens;
    }
    return f;
}

/* How much longer the prompt takes per token: the least-squares slope in one condition, the one
 * with the most runs among those without a limit. */
static void ask_prompts(tt_study *s)
{
    static const char question[] = "Does the length of the prompt change the access?";
    const tt_study_group *best = NULL;
    line_fit f = {0};
    for (size_t i = 0; i < s->n_groups; i++) {
        const line_fit next = fit_prompts(s, &s->groups[i]);
        if (s->groups[i].memory_limit_bytes || next.n < 3 || next.most < 2 * next.least) continue;
        if (next.n > f.n) f = next, best = &s->groups[i];
    }
    const double x = f.xx - f.x * f.x / f.n, xy = f.xy - f.x * f.y / f.n,
                 yy = f.yy - f.y * f.y / f.n;
    if (!best || !(x > 0)) {
        tt_ask(s, "Q15", question, TT_STUDY_OPEN,
               "that takes prompts of which one is twice as long as another, without a memory "
               "limit");
        return;
    }
    const double slope = xy / x, left = fmax(0, yy - slope * xy), df = f.n - 2,
                 margin = sqrt(left / df / x) * tt_student_quantile(1 - TT_STUDY_LEVEL / 2, df);
    char value[TT_UNITS_TEXT], low[TT_UNITS_TEXT], high[TT_UNITS_TEXT];
    tt_ask_use_group(s, best);
    tt_ask(s, "Q15", question, TT_STUDY_ANSWERED,
           "%sprompts of %llu to %llu tokens take %s longer with each token (%s to %s)",
           tt_study_text_model(s, best->model_file), (unsigned long long)f.least,
           (unsigned long long)f.most, tt_units_ns(value, slope), tt_units_ns(low, slope - margin),
           tt_units_ns(high, slope + margin));
}

static void ask_models(tt_study *s)
{
    static const char question[] = "What does another quantization, or model, change?";
    const char *text = "";
    size_t n = 0;
    for (tt_ask_scope scope = {0}; tt_ask_next_limit(s, &scope);) {
        if (scope.memory_limit_bytes) continue;
        const tt_study_median token = tt_ask_median(s, &scope, get_token),
                              weights = tt_ask_median(s, &scope, get_weights);
        if (!token.n) continue;
        n++;
        text = tt_study_text_append(s, text,
                                    tt_study_text(s, "%s: %s a token; a batch reads %s of weights",
                                                  tt_base_name(scope.model_file),
                                                  tt_study_text_times(s, &token),
                                                  weights.n ? tt_study_text_sizes(s, &weights)
                                                            : "it is not known how much"));
    }
    if (n < 2) memset(s->used, 0, s->n_runs * sizeof *s->used);
    tt_ask(s, "Q16", question, n > 1 ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           n > 1             ? text
           : s->n_models > 1 ? "that takes runs of two models without a memory limit"
                             : "all runs are of one model");
}

static void ask_first_token(tt_study *s)
{
    static const char question[] = "What takes longer, the first token or those after it?";
    const char *text = "";
    for (tt_ask_scope scope = {0}; tt_ask_next_limit(s, &scope);) {
        const tt_study_median first = tt_ask_median(s, &scope, get_first),
                              token = tt_ask_median(s, &scope, get_token);
        if (!first.n || !token.n) continue;
        text = tt_study_text_append(
            s, text,
            tt_study_text(s,
                          "%s: the prompt's batches take %s, each token after "
                          "them %s",
                          tt_ask_scope_name(s, &scope), tt_study_text_times(s, &first),
                          tt_study_text_times(s, &token)));
    }
    tt_ask(s, "Q17", question, *text ? TT_STUDY_ANSWERED : TT_STUDY_OPEN, "%s",
           *text ? text : "no run has a prompt and generated tokens");
}

void tt_ask_content(tt_study *s)
{
    static const char pages[] = "the size of pages is no condition that a run can ask for: files "
                                "are mapped in pages of 4 KiB";
    ask_loading(s);
    ask_heat(s);
    ask_faults(s);
    ask_repeated(s);
    ask_next_token(s);
    ask_domains(s);
    ask_specialists(s);
    ask_kv(s);
    ask_prompts(s);
    ask_models(s);
    ask_first_token(s);
    tt_ask(s, "H5.1", "Larger pages help dense models", TT_STUDY_OPEN, "%s", pages);
    tt_ask(s, "H5.2", "Small pages help models with experts", TT_STUDY_OPEN, "%s", pages);
}
