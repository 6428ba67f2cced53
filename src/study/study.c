#include "study/study.h"

#include "analyze/diff/stats.h"
#include "base/array.h"
#include "experiment/chosen.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_BYTES_MAX ((size_t)64 << 20)

const char *tt_study_text(tt_study *s, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    const int n = vasprintf(&text, fmt, args);
    va_end(args);
    const char *kept = n < 0 ? NULL : tt_arena_text(&s->arena, text, (size_t)n);
    if (n >= 0) free(text);
    if (!kept) s->failed = true;
    return kept ? kept : "";
}

/* --- medians --- */

/* Of n values in order, the k-th from both ends: the largest k for which less than half of the
 * level lies on each side; 0: there is none. */
static size_t interval_rank(size_t n)
{
    double p = pow(0.5, (double)n), sum = 0;
    size_t k = 0;
    while (sum + p <= TT_STUDY_LEVEL / 2 && k < n / 2) {
        sum += p;
        k++;
        p *= (double)(n - k + 1) / (double)k;
    }
    return k;
}

#define MAD_TO_SD 1.4826 /* of a normal distribution */

tt_study_median tt_study_median_of(const double *values, size_t n, bool *outlier)
{
    tt_study_median m = {.n = (uint32_t)n};
    double *sorted = n ? malloc(n * sizeof *sorted) : NULL;
    if (!sorted) return (tt_study_median){0};
    memcpy(sorted, values, n * sizeof *sorted);
    tt_sort_doubles(sorted, n);
    m.value = tt_sorted_quantile(sorted, n, 0.5);
    const size_t k = interval_rank(n);
    m.is_interval = k > 0;
    m.low = sorted[k ? k - 1 : 0];
    m.high = sorted[n - (k ? k : 1)];
    for (size_t i = 0; i < n; i++)
        sorted[i] = fabs(values[i] - m.value);
    tt_sort_doubles(sorted, n);
    const double limit = 3.5 * MAD_TO_SD * tt_sorted_quantile(sorted, n, 0.5);
    for (size_t i = 0; outlier && i < n; i++)
        outlier[i] = n >= 4 && limit > 0 && fabs(values[i] - m.value) > limit;
    free(sorted);
    return m;
}

/* --- groups --- */

static bool is_in(const tt_study_group *g, const tt_study_run *r)
{
    const char *condition = r->result->condition ? r->result->condition : "";
    return strcmp(g->model_file, r->result->model_file) == 0 &&
           strcmp(g->condition, condition) == 0;
}

typedef double figure(const tt_study_run *r);

static double get_rate(const tt_study_run *r)
{
    return r->tokens_per_s > 0 ? r->tokens_per_s : NAN;
}
static double get_prompt_rate(const tt_study_run *r)
{
    return r->prompt_tokens_per_s > 0 ? r->prompt_tokens_per_s : NAN;
}
static double get_first(const tt_study_run *r)
{
    return r->first_token_ns > 0 ? r->first_token_ns : NAN;
}
static double get_read(const tt_study_run *r)
{
    return r->has_io ? r->token_read_bytes : NAN;
}
static double get_major(const tt_study_run *r)
{
    return r->has_faults ? r->token_major : NAN;
}
static double get_device_rate(const tt_study_run *r)
{
    return r->has_io && r->generate_ns > 0
               ? r->token_read_bytes * (double)r->generated_tokens / (r->generate_ns / 1e9)
               : NAN;
}

/* The known values of the runs that ended, in `values`, and which runs these are. */
static size_t collect(const tt_study *s, const tt_study_group *g, figure *get, double *values,
                      size_t *which)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        if (!r->traced || r->result->ending || !is_in(g, r) || isnan(get(r))) continue;
        if (which) which[n] = i;
        values[n++] = get(r);
    }
    return n;
}

static bool sum_up(tt_study *s, tt_study_group *g)
{
    double *values = calloc(s->n_runs, sizeof *values);
    size_t *which = calloc(s->n_runs, sizeof *which);
    bool *outlier = calloc(s->n_runs, sizeof *outlier);
    const struct {
        figure *get;
        tt_study_median *out;
    } figures[] = {{get_prompt_rate, &g->prompt_tokens_per_s},
                   {get_first, &g->first_token_ns},
                   {get_read, &g->token_read_bytes},
                   {get_major, &g->token_major},
                   {get_device_rate, &g->read_bytes_per_s}};
    const bool ok = values && which && outlier;
    for (size_t i = 0; ok && i < sizeof figures / sizeof *figures; i++) {
        const size_t n = collect(s, g, figures[i].get, values, NULL);
        *figures[i].out = tt_study_median_of(values, n, NULL);
    }
    if (ok) {
        const size_t n = collect(s, g, get_rate, values, which);
        g->tokens_per_s = tt_study_median_of(values, n, outlier);
        for (size_t i = 0; i < n; i++) {
            s->runs[which[i]].is_outlier = outlier[i];
            g->n_outliers += outlier[i];
        }
    }
    free(values);
    free(which);
    free(outlier);
    return ok;
}

static int by_limit(const void *a, const void *b)
{
    const tt_study_group *x = a, *y = b;
    const int model = strcmp(x->model_file, y->model_file);
    const uint64_t p = x->memory_limit_bytes - 1, q = y->memory_limit_bytes - 1; /* none: most */
    if (model) return model;
    if (p != q) return p > q ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static tt_status make_groups(tt_study *s, tt_error *err)
{
    s->groups = calloc(s->n_runs, sizeof *s->groups);
    if (!s->groups) return tt_error_memory(err, "a study");
    for (size_t i = 0; i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        size_t k = 0;
        while (k < s->n_groups && !is_in(&s->groups[k], r))
            k++;
        if (k == TT_STUDY_GROUPS_MAX)
            return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                "runs under more than %u conditions: choose some with --where",
                                TT_STUDY_GROUPS_MAX);
        tt_study_group *g = &s->groups[k];
        if (k == s->n_groups) {
            s->n_groups++;
            g->model_file = r->result->model_file;
            g->condition = r->result->condition ? r->result->condition : "";
            g->order = k;
        }
        g->n_runs++;
        g->n_killed += r->result->ending != NULL;
        g->n_unmet += r->result->unmet != NULL;
        g->memory_limit_bytes = r->result->memory_limit_bytes;
        g->has_experts |= r->has_experts;
        if (r->model_bytes) g->model_bytes = r->model_bytes;
    }
    qsort(s->groups, s->n_groups, sizeof *s->groups, by_limit);
    for (size_t i = 0; i < s->n_groups; i++) {
        tt_study_group *g = &s->groups[i];
        for (size_t k = 0; k < s->n_groups && !g->model_bytes; k++)
            if (strcmp(s->groups[k].model_file, g->model_file) == 0)
                g->model_bytes = s->groups[k].model_bytes;
        if (g->memory_limit_bytes && g->model_bytes)
            g->memory_share = (double)g->memory_limit_bytes / (double)g->model_bytes;
        if (!sum_up(s, g)) return tt_error_memory(err, "a study");
    }
    return TT_OK;
}

/* --- settings that differ --- */

#define LIMIT_KEY "memory_limit"
#define COLD_KEY "cold_start"

size_t tt_study_split(tt_study *s, const char *condition, tt_study_pair *list, size_t n)
{
    size_t found = 0;
    for (const char *at = condition, *end; found < n && (end = strchr(at, '=')); found++) {
        /* A value (a path) may hold blanks: it ends where the next key begins. */
        const char *value = end + 1, *stop = value + strlen(value), *p = strchr(value, '=');
        for (; p && p > value; p--)
            if (p[-1] == ' ') {
                stop = p - 1;
                break;
            }
        list[found] = (tt_study_pair){tt_study_text(s, "%.*s", (int)(end - at), at),
                                      tt_study_text(s, "%.*s", (int)(stop - value), value)};
        at = stop + strspn(stop, " ");
    }
    return found;
}

const char *tt_study_setting(const tt_study_group *g, const char *key)
{
    for (size_t i = 0; i < g->n_settings; i++)
        if (strcmp(g->settings[i].key, key) == 0) return g->settings[i].value;
    return NULL;
}

static bool is_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether the groups have the same settings but for `key` (and, where that is the memory limit, for
 * the start: a limited run is cold whatever is asked for). */
static bool is_alike_but(const tt_study_group *a, const tt_study_group *b, const char *key)
{
    const bool limit = strcmp(key, LIMIT_KEY) == 0;
    for (int side = 0; side < 2; side++) {
        const tt_study_group *here = side ? b : a, *there = side ? a : b;
        for (size_t i = 0; i < here->n_settings; i++) {
            const tt_study_pair *p = &here->settings[i];
            if (strcmp(p->key, key) == 0 || (limit && strcmp(p->key, COLD_KEY) == 0)) continue;
            if (!is_equal(p->value, tt_study_setting(there, p->key))) return false;
        }
    }
    return true;
}

/* Whether all groups have this setting with this value. */
static bool is_common(const tt_study *s, const tt_study_pair *p)
{
    for (size_t i = 0; i < s->n_groups; i++)
        if (!is_equal(tt_study_setting(&s->groups[i], p->key), p->value)) return false;
    return true;
}

static const char *append(tt_study *s, const char *text, const tt_study_pair *p)
{
    return tt_study_text(s, "%s%s%s=%s", text, *text ? " " : "", p->key, p->value);
}

/* The settings that all groups have, or those that not all have, but for `except` (or NULL). */
static const char *part_of(tt_study *s, const tt_study_group *g, bool common, const char *except)
{
    const char *part = "";
    for (size_t i = 0; i < g->n_settings; i++)
        if (is_common(s, &g->settings[i]) == common &&
            !(except && strcmp(g->settings[i].key, except) == 0))
            part = append(s, part, &g->settings[i]);
    return part;
}

static void find_differences(tt_study *s)
{
    tt_study_pair list[TT_STUDY_SETTINGS_MAX];
    for (size_t i = 0; i < s->n_groups; i++) {
        tt_study_group *g = &s->groups[i];
        g->n_settings = tt_study_split(s, g->condition, list, TT_STUDY_SETTINGS_MAX);
        g->settings = tt_arena_take(&s->arena, g->n_settings, sizeof *g->settings);
        if (!g->settings) g->n_settings = 0, s->failed = true;
        if (g->n_settings) memcpy(g->settings, list, g->n_settings * sizeof *list);
    }
    if (s->n_groups) s->common = part_of(s, &s->groups[0], true, NULL);
    for (size_t i = 0; i < s->n_groups; i++) {
        tt_study_group *g = &s->groups[i];
        g->differs = part_of(s, g, false, NULL);
        for (size_t k = 0; k < s->n_runs; k++)
            if (is_in(g, &s->runs[k])) s->runs[k].differs = g->differs;
    }
}

static tt_study_ratio compare(const tt_study *s, const tt_study_group *a, const tt_study_group *b)
{
    tt_study_ratio ratio = {.known = false};
    double *values = calloc(2 * s->n_runs + 1, sizeof *values), low, high;
    tt_shift shift;
    if (!values) return ratio;
    const size_t n_a = collect(s, a, get_rate, values, NULL);
    double *of_b = values + n_a;
    const size_t n_b = collect(s, b, get_rate, of_b, NULL);
    for (size_t i = 0; i < n_a + n_b; i++)
        values[i] = log(values[i]);
    if (n_a && n_b) {
        ratio.known = true;
        ratio.value = b->tokens_per_s.value / a->tokens_per_s.value;
        tt_shift_of_runs(&shift, values, n_a, of_b, n_b);
        if (shift.tested) {
            tt_shift_interval(&shift, TT_STUDY_LEVEL, &low, &high);
            ratio.tested = isfinite(low) && isfinite(high);
            ratio.low = exp(low);
            ratio.high = exp(high);
        }
    }
    free(values);
    return ratio;
}

static tt_study_ratio inverse(tt_study_ratio r)
{
    return (tt_study_ratio){r.known, r.tested, 1 / r.value, 1 / r.high, 1 / r.low};
}

static void find_baselines(tt_study *s)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        tt_study_group *g = &s->groups[i];
        if (!g->memory_limit_bytes) continue;
        for (size_t k = 0; k < s->n_groups && !g->baseline; k++) {
            const tt_study_group *b = &s->groups[k];
            if (!b->memory_limit_bytes && b->tokens_per_s.n &&
                strcmp(b->model_file, g->model_file) == 0 && is_alike_but(b, g, LIMIT_KEY))
                g->baseline = b;
        }
        if (g->baseline && g->tokens_per_s.n) g->slowdown = inverse(compare(s, g->baseline, g));
    }
}

static bool add_effect(tt_study *s, size_t *capacity, const tt_study_group *a,
                       const tt_study_group *b, const char *key)
{
    const char *from = tt_study_setting(a, key), *to = tt_study_setting(b, key);
    const double read_a = a->token_read_bytes.value, read_b = b->token_read_bytes.value;
    if (!tt_array_one_more(s->effects, s->n_effects, *capacity)) return false;
    s->effects[s->n_effects++] = (tt_study_effect){
        .model_file = a->model_file,
        .setting = key,
        .from = from ? from : "default",
        .to = to ? to : "default",
        .others = part_of(s, a, false, key),
        .a = a,
        .b = b,
        .tokens_per_s = compare(s, a, b),
        .read_ratio =
            a->token_read_bytes.n && b->token_read_bytes.n && read_a > 0 ? read_b / read_a : NAN};
    return true;
}

/* The key in which two groups differ, if it is one only. */
static const char *only_difference(const tt_study_group *a, const tt_study_group *b)
{
    for (int side = 0; side < 2; side++) {
        const tt_study_group *here = side ? b : a, *there = side ? a : b;
        for (size_t i = 0; i < here->n_settings; i++) {
            const tt_study_pair *p = &here->settings[i];
            if (!is_equal(p->value, tt_study_setting(there, p->key)))
                return is_alike_but(a, b, p->key) ? p->key : NULL;
        }
    }
    return NULL;
}

static bool find_effects(tt_study *s)
{
    size_t capacity = 0;
    for (size_t i = 0; i < s->n_groups; i++)
        for (size_t k = i + 1; k < s->n_groups; k++) {
            const tt_study_group *a = &s->groups[i], *b = &s->groups[k];
            if (strcmp(a->model_file, b->model_file) != 0) continue;
            const char *key = only_difference(a, b);
            if (key && strcmp(key, LIMIT_KEY) != 0 && strcmp(key, "seed") != 0 &&
                !add_effect(s, &capacity, a, b, key))
                return false;
        }
    return true;
}

/* --- the whole --- */

static tt_study_model *model_of(tt_study *s, const tt_result *r, tt_error *err)
{
    size_t i = 0;
    while (i < s->n_models && strcmp(s->models[i].file, r->model_file) != 0)
        i++;
    if (i == TT_STUDY_MODELS_MAX) {
        (void)tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                           "runs of more than %u models: choose some with --where model_file=...",
                           TT_STUDY_MODELS_MAX);
        return NULL;
    }
    if (i == s->n_models) s->models[s->n_models++].file = r->model_file;
    return &s->models[i];
}

/* Whether a run before the last one that ended has the same prompt: its routing counts once. */
static bool is_repeat(const tt_study *s, const tt_result *r)
{
    for (size_t i = 0; i + 1 < s->n_runs; i++)
        if (!s->runs[i].result->ending && tt_chosen_is_repeat(s->runs[i].result, r)) return true;
    return false;
}

/* Of each model and domain the first run without a limit is drawn. */
static bool wants_picture(const tt_study *s, const tt_result *r)
{
    size_t n = 0;
    if (r->ending) return false;
    for (size_t i = 0; i < s->n_runs; i++) {
        const tt_study_run *before = &s->runs[i];
        n += before->picture != NULL;
        if (before->picture && strcmp(before->result->model_file, r->model_file) == 0 &&
            strcmp(tt_study_domain(before->result), tt_study_domain(r)) == 0)
            return false;
    }
    return n < TT_STUDY_PICTURES_MAX;
}

tt_status tt_study_make(tt_study *s, const char *folder, const tt_result *const *results,
                        char *const *paths, size_t n, double disk_bytes_per_s,
                        tt_study_progress *progress, void *context, tt_error *err)
{
    memset(s, 0, sizeof *s);
    s->folder = folder;
    s->disk_bytes_per_s = disk_bytes_per_s;
    tt_arena_init(&s->arena, TEXTS_BYTES_MAX);
    s->runs = calloc(n + 1, sizeof *s->runs);
    if (!s->runs) return tt_error_memory(err, "a study");
    tt_status status = TT_OK;
    for (size_t i = 0; status == TT_OK && i < n; i++) {
        tt_study_model *m = model_of(s, results[i], err);
        if (!m) return err->status;
        if (progress) progress(context, i, n);
        tt_study_run *r = &s->runs[s->n_runs++];
        r->result = results[i];
        const bool is_first = !results[i]->ending && !is_repeat(s, results[i]);
        status = tt_study_run_make(r, results[i], paths[i], wants_picture(s, results[i]),
                                   is_first ? &m->domains : NULL, err);
        r->is_repeat = !is_first;
        m->has_experts |= r->has_experts;
    }
    if (status != TT_OK) return status;
    for (size_t i = 0; i < s->n_models; i++) {
        tt_study_model *m = &s->models[i];
        m->has_domains = m->domains.n_domains > 1 && tt_domains_finish(&m->domains);
    }
    status = make_groups(s, err);
    if (status != TT_OK) return status;
    find_differences(s);
    find_baselines(s);
    if (!find_effects(s)) return tt_error_memory(err, "a study");
    tt_study_ask(s);
    return s->failed ? tt_error_memory(err, "a study") : TT_OK;
}

void tt_study_free(tt_study *s)
{
    for (size_t i = 0; i < s->n_runs; i++)
        tt_study_run_free(&s->runs[i]);
    for (size_t i = 0; i < s->n_models; i++)
        tt_domains_free(&s->models[i].domains);
    free(s->runs);
    free(s->groups);
    free(s->effects);
    free(s->answers);
    tt_arena_free(&s->arena);
    memset(s, 0, sizeof *s);
}
