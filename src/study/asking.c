#include "study/asking.h"

#include "base/array.h"
#include "base/path.h"
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the runs behind an answer --- */

#define RUNS_TEXT_MAX 100u

static int by_number(const void *a, const void *b)
{
    const unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;
    return x < y ? -1 : x > y;
}

/* "01, 03-05" for folders that begin with a number; "" if one does not. */
static const char *list_numbers(tt_study *s, unsigned long *numbers, size_t n)
{
    const char *text = "";
    qsort(numbers, n, sizeof *numbers, by_number);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && numbers[end] == numbers[end - 1] + 1; end++)
            ;
        if (strlen(text) > RUNS_TEXT_MAX) return tt_study_text(s, "%s, ...", text);
        text = tt_study_text(s, "%s%s%02lu", text, *text ? ", " : "", numbers[i]);
        if (end > i + 1)
            text = tt_study_text(s, "%s%s%02lu", text, end > i + 2 ? "-" : ", ", numbers[end - 1]);
    }
    return text;
}

/* "4 runs: 01, 03-05"; clears the list. */
static const char *take_used(tt_study *s)
{
    size_t n = 0, numbered = 0;
    unsigned long *numbers = calloc(s->n_runs + 1, sizeof *numbers);
    s->failed |= !numbers;
    for (size_t i = 0; numbers && i < s->n_runs; i++) {
        const char *folder = s->runs[i].result->folder;
        char *end;
        if (!s->used[i]) continue;
        n++;
        if (!isdigit((unsigned char)folder[0])) continue;
        numbers[numbered] = strtoul(folder, &end, 10);
        numbered += *end == '-';
    }
    memset(s->used, 0, s->n_runs * sizeof *s->used);
    const char *list = numbers && numbered == n ? list_numbers(s, numbers, n) : "";
    free(numbers);
    if (n == 0) return "";
    return tt_study_text(s, "%zu run%s%s%s", n, n == 1 ? "" : "s", *list ? ": " : "", list);
}

void tt_ask(tt_study *s, const char *id, const char *question, tt_study_verdict verdict,
            const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0) text = NULL;
    va_end(args);
    const char *runs = take_used(s);
    tt_study_answer *a = tt_array_add(s->answers, s->n_answers, s->answers_capacity);
    s->failed |= !a || !text;
    if (a)
        *a = (tt_study_answer){id, question, verdict, tt_study_text(s, "%s", text ? text : ""),
                               runs};
    free(text);
}

void tt_ask_use_group(tt_study *s, const tt_study_group *g)
{
    for (size_t i = 0; i < s->n_runs; i++)
        s->used[i] |= tt_study_is_in(g, &s->runs[i]);
}

void tt_ask_use_choices(tt_study *s, const char *model_file)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        s->used[i] |= r->traced && !r->is_repeat && strcmp(r->result->model_file, model_file) == 0;
    }
}

/* --- figures --- */

static bool is_in(const tt_ask_scope *scope, const tt_result *r)
{
    return (!scope->model_file || strcmp(scope->model_file, r->model_file) == 0) &&
           (!scope->by_limit || scope->memory_limit_bytes == r->memory_limit_bytes);
}

tt_study_median tt_ask_median(tt_study *s, const tt_ask_scope *scope, tt_study_figure *get)
{
    tt_study_median m = {0};
    double *values = calloc(s->n_runs + 1, sizeof *values);
    size_t n = 0;
    for (size_t i = 0; values && i < s->n_runs; i++) {
        const tt_study_run *r = &s->runs[i];
        const double v = r->traced && !r->result->ending && is_in(scope, r->result) ? get(r) : NAN;
        if (isnan(v)) continue;
        s->used[i] = true;
        values[n++] = v;
    }
    s->failed |= !values || !tt_study_median_of(values, n, &m);
    free(values);
    return m;
}

bool tt_ask_next_limit(const tt_study *s, tt_ask_scope *scope)
{
    for (; scope->at < s->n_groups; scope->at++) {
        const tt_study_group *g = &s->groups[scope->at];
        if (scope->by_limit && strcmp(g->model_file, scope->model_file) == 0 &&
            g->memory_limit_bytes == scope->memory_limit_bytes)
            continue;
        scope->model_file = g->model_file;
        scope->by_limit = true;
        scope->memory_limit_bytes = g->memory_limit_bytes;
        return true;
    }
    return false;
}

/* --- words --- */

const char *tt_study_text_model(tt_study *s, const char *model_file)
{
    return s->n_models > 1 ? tt_study_text(s, "%s: ", tt_base_name(model_file)) : "";
}

const char *tt_study_text_append(tt_study *s, const char *list, const char *more)
{
    return tt_study_text(s, "%s%s%s", list, *list ? "; " : "", more);
}

static const char *limit_name(tt_study *s, uint64_t bytes, double share)
{
    char text[TT_UNITS_TEXT];
    tt_units_bytes(text, bytes);
    return share > 0 ? tt_study_text(s, "%.0f %% of the model (%s)", 100 * share, text)
                     : tt_study_text(s, "%s", text);
}

const char *tt_ask_limit_name(tt_study *s, const tt_study_group *g)
{
    return tt_study_text(
        s, "%s%s", tt_study_text_model(s, g->model_file),
        g->memory_limit_bytes ? limit_name(s, g->memory_limit_bytes, g->memory_share) : "no limit");
}

const char *tt_ask_scope_name(tt_study *s, const tt_ask_scope *scope)
{
    return tt_ask_limit_name(s, &s->groups[scope->at]);
}

typedef const char *one_text(tt_study *s, double v);

static const char *as_share(tt_study *s, double v)
{
    return tt_study_text(s, "%.1f %%", 100 * v);
}

static const char *as_size(tt_study *s, double v)
{
    char text[TT_UNITS_TEXT];
    return tt_study_text(s, "%s", tt_units_bytes(text, (uint64_t)fmax(0, v)));
}

static const char *as_time(tt_study *s, double v)
{
    char text[TT_UNITS_TEXT];
    return tt_study_text(s, "%s", tt_units_ns(text, v));
}

static const char *as_number(tt_study *s, double v)
{
    char text[TT_UNITS_TEXT];
    return !(fabs(v) >= 1000 && fabs(v) < 1e15)
               ? tt_study_text(s, "%.3g", v)
               : tt_study_text(s, "%s", tt_units_count(text, (uint64_t)llround(v)));
}

static bool is_end(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* The unit once, if all three have the same. */
static const char *format(tt_study *s, const tt_study_median *m, one_text *one)
{
    const char *value = one(s, m->value), *low = one(s, m->low), *high = one(s, m->high),
               *unit = strchr(value, ' ');
    if (unit && is_end(low, unit) && is_end(high, unit) && strcmp(low, high) != 0)
        return tt_study_text(s, "%s (%.*s to %.*s)", value, (int)(strlen(low) - strlen(unit)), low,
                             (int)(strlen(high) - strlen(unit)), high);
    return strcmp(low, high) == 0 ? value : tt_study_text(s, "%s (%s to %s)", value, low, high);
}

const char *tt_study_text_shares(tt_study *s, const tt_study_median *m)
{
    return format(s, m, as_share);
}
const char *tt_study_text_sizes(tt_study *s, const tt_study_median *m)
{
    return format(s, m, as_size);
}
const char *tt_study_text_times(tt_study *s, const tt_study_median *m)
{
    return format(s, m, as_time);
}
const char *tt_study_text_numbers(tt_study *s, const tt_study_median *m)
{
    return format(s, m, as_number);
}

const char *tt_study_text_ratio(tt_study *s, const tt_study_ratio *r)
{
    const char *value = as_number(s, r->value);
    return r->tested ? tt_study_text(s, "%s times (%s to %s)", value, as_number(s, r->low),
                                     as_number(s, r->high))
                     : tt_study_text(s, "%s times (too few runs for an interval)", value);
}

/* --- verdicts --- */

tt_study_verdict tt_ask_evaluate(double low, double high, double least, double most)
{
    if (low >= least && high <= most) return TT_STUDY_HOLDS;
    return high < least || low > most ? TT_STUDY_FAILS : TT_STUDY_OPEN;
}

tt_study_verdict tt_ask_both(tt_study_verdict a, tt_study_verdict b)
{
    if (a == TT_STUDY_FAILS || b == TT_STUDY_FAILS) return TT_STUDY_FAILS;
    return a == TT_STUDY_OPEN || b == TT_STUDY_OPEN ? TT_STUDY_OPEN : TT_STUDY_HOLDS;
}
