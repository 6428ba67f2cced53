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

/* --- groups --- */

bool tt_study_is_in(const tt_study_group *g, const tt_study_run *r)
{
    const char *condition = r->result->condition ? r->result->condition : "";
    return strcmp(g->model_file, r->result->model_file) == 0 &&
           strcmp(g->condition, condition) == 0;
}

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
static double get_weights(const tt_study_run *r)
{
    return r->batch_weights_bytes > 0 ? r->batch_weights_bytes : NAN;
}
static double get_loaded(const tt_study_run *r)
{
    return r->has_loading ? (double)r->loaded_bytes : NAN;
}
static double get_vain(const tt_study_run *r)
{
    return r->has_vain ? (double)r->vain_bytes : NAN;
}
static double get_device_rate(const tt_study_run *r)
{
    return r->has_io && r->generate_ns > 0
               ? r->token_read_bytes * (double)r->generated_tokens / (r->generate_ns / 1e9)
               : NAN;
}

/* The known values of the runs that ended, in `values`, and which runs these are. */
static size_t collect(const tt_study *s, const tt_study_group *g, tt_study_figure *get,
                      double *values, size_t *which)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        if (!r->traced || r->result->ending || !tt_study_is_in(g, r) || isnan(get(r))) continue;
        if (which) which[n] = i;
        values[n++] = get(r);
    }
    return n;
}

/* The group's medians, and its outliers. */
static bool sum_up(tt_study *s, tt_study_group *g)
{
    double *values = calloc(s->n_runs, sizeof *values);
    size_t *which = calloc(s->n_runs, sizeof *which);
    uint32_t *prompts = calloc(s->n_runs, sizeof *prompts);
    bool *outlier = calloc(s->n_runs, sizeof *outlier);
    const struct {
        tt_study_figure *get;
        tt_study_median *out;
    } figures[] = {{get_prompt_rate, &g->prompt_tokens_per_s},
                   {get_first, &g->first_token_ns},
                   {get_read, &g->token_read_bytes},
                   {get_major, &g->token_major},
                   {get_device_rate, &g->read_bytes_per_s},
                   {get_weights, &g->batch_weights_bytes},
                   {get_loaded, &g->loaded_bytes},
                   {get_vain, &g->vain_bytes},
                   {get_rate, &g->tokens_per_s}};
    bool ok = values && which && prompts && outlier;
    size_t n = 0;
    for (size_t i = 0; ok && i < sizeof figures / sizeof *figures; i++) {
        n = collect(s, g, figures[i].get, values, which);
        ok = tt_study_median_of(values, n, figures[i].out);
    }
    for (size_t i = 0; ok && i < n; i++)
        prompts[i] = s->runs[which[i]].prompt;
    ok = ok && tt_study_outliers(values, prompts, n, outlier);
    for (size_t i = 0; ok && i < n; i++) {
        s->runs[which[i]].is_outlier = outlier[i];
        g->n_outliers += outlier[i];
    }
    free(values);
    free(which);
    free(prompts);
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
        while (k < s->n_groups && !tt_study_is_in(&s->groups[k], r))
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
        /* A value (a path) may have blanks: it ends where the next key begins. */
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

/* Whether the groups have the same settings except for `key` (and, if that is the memory limit, the
 * start: a limited run is always cold). */
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

/* The settings that all groups have, or those that not all have, except `except` (or NULL). */
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
            if (tt_study_is_in(g, &s->runs[k])) s->runs[k].differs = g->differs;
    }
}

tt_study_ratio tt_study_ratio_of(tt_study *s, const tt_study_group *a, const tt_study_group *b,
                                 tt_study_figure *get)
{
    tt_study_ratio ratio = {.known = false};
    double *values = calloc(2 * s->n_runs + 1, sizeof *values);
    size_t *which = calloc(2 * s->n_runs + 1, sizeof *which);
    uint32_t *prompts = calloc(2 * s->n_runs + 1, sizeof *prompts);
    bool ok = values && which && prompts;
    if (ok) {
        const size_t n_a = collect(s, a, get, values, which),
                     n = n_a + collect(s, b, get, values + n_a, which + n_a);
        for (size_t i = 0; i < n; i++)
            prompts[i] = s->runs[which[i]].prompt;
        ok = tt_study_compare(values, prompts, n, n_a, &ratio);
    }
    s->failed |= !ok;
    free(values);
    free(which);
    free(prompts);
    return ratio;
}

static tt_study_ratio inverse(tt_study_ratio r)
{
    if (!r.known) return r;
    return (tt_study_ratio){r.known,   r.tested,  1 / r.value,  1 / r.high,
                            1 / r.low, r.p_value, r.p_corrected};
}

/* Whether this setting was not in force in some run of the group. */
static bool is_unmet(const tt_study *s, const tt_study_group *g, const char *key)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        if (tt_study_is_in(g, r) && r->result->unmet && strstr(r->result->unmet, key)) return true;
    }
    return false;
}

static void find_baselines(tt_study *s)
{
    for (size_t i = 0; i < s->n_groups; i++) {
        tt_study_group *g = &s->groups[i];
        if (!g->memory_limit_bytes || is_unmet(s, g, LIMIT_KEY)) continue;
        for (size_t k = 0; k < s->n_groups && !g->baseline; k++) {
            const tt_study_group *b = &s->groups[k];
            if (!b->memory_limit_bytes && b->tokens_per_s.n &&
                strcmp(b->model_file, g->model_file) == 0 && is_alike_but(b, g, LIMIT_KEY))
                g->baseline = b;
        }
        if (g->baseline && g->tokens_per_s.n)
            g->slowdown = inverse(tt_study_ratio_of(s, g->baseline, g, get_rate));
    }
}

static bool add_effect(tt_study *s, size_t *capacity, const tt_study_group *a,
                       const tt_study_group *b, const char *key)
{
    const char *from = tt_study_setting(a, key), *to = tt_study_setting(b, key);
    if (!tt_array_one_more(s->effects, s->n_effects, *capacity)) return false;
    tt_study_effect *e = &s->effects[s->n_effects++];
    *e = (tt_study_effect){.model_file = a->model_file,
                           .setting = key,
                           .from = from ? from : "default",
                           .to = to ? to : "default",
                           .others = part_of(s, a, false, key),
                           .a = a,
                           .b = b,
                           .is_unmet = is_unmet(s, a, key) || is_unmet(s, b, key)};
    if (e->is_unmet) return true;
    e->tokens_per_s = tt_study_ratio_of(s, a, b, get_rate);
    e->token_read = tt_study_ratio_of(s, a, b, get_read);
    return true;
}

/* The key in which two groups differ, if it is the only one. */
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

/* The n-th ratio of a kind, or NULL after the last. */
typedef tt_study_ratio *nth_ratio(tt_study *s, size_t i);

static tt_study_ratio *nth_slowdown(tt_study *s, size_t i)
{
    return i < s->n_groups ? &s->groups[i].slowdown : NULL;
}
static tt_study_ratio *nth_speed(tt_study *s, size_t i)
{
    return i < s->n_effects ? &s->effects[i].tokens_per_s : NULL;
}
static tt_study_ratio *nth_read(tt_study *s, size_t i)
{
    return i < s->n_effects ? &s->effects[i].token_read : NULL;
}

/* Some of many comparisons differ by chance. */
static void correct(tt_study *s, nth_ratio *nth)
{
    size_t n = 0;
    while (nth(s, n))
        n++;
    double *p = calloc(n + 1, sizeof *p);
    for (size_t i = 0; p && i < n; i++)
        p[i] = nth(s, i)->tested ? nth(s, i)->p_value : NAN;
    s->failed |= !p || !tt_holm(p, n);
    for (size_t i = 0; p && i < n; i++)
        nth(s, i)->p_corrected = p[i];
    free(p);
}

/* --- everything --- */

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
    if (i == s->n_models) {
        s->models[i].domains.keeps_course = true;
        s->models[s->n_models++].file = r->model_file;
    }
    return &s->models[i];
}

/* The number of the run's prompt, and whether an earlier run that ended has the same routing. */
static void find_prompt(tt_study *s, tt_study_run *r)
{
    r->prompt = s->n_prompts;
    for (const tt_study_run *before = s->runs; before < r; before++) {
        if (!tt_chosen_is_repeat(before->result, r->result)) continue;
        r->prompt = before->prompt;
        r->is_repeat = true;
        if (!before->result->ending && !before->unread) return;
    }
    r->is_repeat = false;
    s->n_prompts += r->prompt == s->n_prompts;
}

/* Whether it is that trace that is missing or broken, and no reason to give up the others. */
static bool is_of_trace(tt_status status)
{
    return status != TT_E_MEMORY && status != TT_E_LIMIT;
}

/* Of a run whose trace cannot be read only the result counts. */
static void leave_out(tt_study *s, tt_study_run *r, const tt_error *why)
{
    const tt_result *result = r->result;
    tt_study_run_free(r);
    r->result = result;
    r->unread = tt_study_text(s, "left out: %s", why->message);
    s->n_unread++;
}

/* The first run of each model and domain is drawn: what ops read does not depend on the memory. */
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
    s->used = calloc(n + 1, sizeof *s->used);
    if (!s->runs || !s->used) return tt_error_memory(err, "a study");
    tt_status status = TT_OK;
    for (size_t i = 0; status == TT_OK && i < n; i++) {
        tt_study_model *m = model_of(s, results[i], err);
        if (!m) return err->status;
        if (progress) progress(context, i, n);
        tt_study_run *r = &s->runs[s->n_runs];
        const bool wants = wants_picture(s, results[i]);
        r->result = results[i];
        find_prompt(s, r);
        const uint32_t prompt = r->prompt;
        const bool is_repeat = r->is_repeat || results[i]->ending;
        s->n_runs++;
        status =
            tt_study_run_make(r, results[i], paths[i], wants, is_repeat ? NULL : &m->domains, err);
        if (status != TT_OK && is_of_trace(status)) {
            leave_out(s, r, err);
            status = TT_OK;
        }
        r->prompt = prompt;
        r->is_repeat = is_repeat;
        m->has_experts |= r->has_experts;
    }
    if (status != TT_OK) return status;
    for (size_t i = 0; i < s->n_models; i++) {
        tt_study_model *m = &s->models[i];
        m->has_choices = m->domains.n_domains > 0;
        m->has_domains = m->domains.n_domains > 1;
        if (m->has_choices && !tt_domains_finish(&m->domains))
            return tt_error_memory(err, "a study");
    }
    status = make_groups(s, err);
    if (status != TT_OK) return status;
    find_differences(s);
    find_baselines(s);
    if (!find_effects(s)) return tt_error_memory(err, "a study");
    correct(s, nth_slowdown);
    correct(s, nth_speed);
    correct(s, nth_read);
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
    free(s->used);
    free(s->groups);
    free(s->effects);
    free(s->answers);
    tt_arena_free(&s->arena);
    memset(s, 0, sizeof *s);
}
