/* What to run next, depending on a sweep's results. docs/crossval.md has the rules. */
#include "crossval/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Commands are assembled as text: names with other characters are quoted. */
static bool is_plain(const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+";
    return *word && strspn(word, plain) == strlen(word);
}

static void put_word(FILE *out, const char *word)
{
    (void)fputc(' ', out);
    if (is_plain(word)) {
        (void)fputs(word, out);
        return;
    }
    (void)fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            (void)fputs("'\\''", out);
        else
            (void)fputc(*word, out);
    (void)fputc('\'', out);
}

static void put_path(FILE *out, const char *folder, const char *scenario, const char *name)
{
    char path[8192];
    (void)snprintf(path, sizeof path, "%s/%s/%s", folder, scenario, name);
    put_word(out, path);
}

/* The path of a side's values after the sweep. */
static void put_values(FILE *out, const tt_crossval_summary *s, const char *scenario, size_t side)
{
    const tt_crossval_side *of = &s->settings->sides[side];
    const bool is_folder = of->kind == TT_SIDE_COMMAND && of->records == TT_RECORDS_BITNET;
    const tt_crossval_words words = {.scenario = scenario};
    char *trace = of->kind == TT_SIDE_TRACE ? tt_crossval_fill(of->trace, &words) : NULL;
    if (trace)
        put_word(out, trace);
    else
        put_path(out, s->folder, scenario,
                 is_folder ? side ? "b" : "a"
                 : side    ? "b.ttrace"
                           : "a.ttrace");
    free(trace);
}

static const tt_crossval_end *first_of(const tt_crossval_summary *s, tt_scenario_state state)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->ends[i].state == state) return &s->ends[i];
    return NULL;
}

/* The earliest of those that diverge first at the most frequent stage. */
static const tt_crossval_end *typical(const tt_crossval_summary *s, const char *stage)
{
    for (size_t i = 0; stage && i < s->n; i++)
        if (s->ends[i].state == TT_SCENARIO_DIVERGED && s->ends[i].first.known &&
            strcmp(s->ends[i].first.stage, stage) == 0)
            return &s->ends[i];
    return first_of(s, TT_SCENARIO_DIVERGED);
}

static void put_diff(FILE *out, const tt_crossval_summary *s, const tt_crossval_end *end,
                     const char *more)
{
    (void)fprintf(out, "tensortrace diff --values%s", more);
    for (size_t side = 0; side < 2; side++) {
        if (!s->settings->sides[side].stages) continue;
        (void)fprintf(out, " --stages-%c", "ab"[side]);
        put_word(out, s->settings->sides[side].stages);
    }
    for (size_t side = 0; side < 2; side++)
        put_values(out, s, end->name, side);
}

static void put_sweep(FILE *out, const tt_crossval_summary *s, const char *more)
{
    (void)fprintf(out, "tensortrace crossval%s", more);
    put_word(out, s->settings_file);
}

/* --- the rules: whether one applies; then the reason, a zero byte, and the command --- */

static bool finish(const tt_crossval_summary *s, const tt_crossval_totals *t, FILE *out)
{
    if (!s->interrupted) return false;
    (void)fprintf(out, "%" PRIu64 " scenarios were not tried: run the sweep to its end%c",
                  t->n[TT_SCENARIO_NOT_TRIED], 0);
    put_sweep(out, s, " --force");
    return true;
}

static bool failed(const tt_crossval_summary *s, const tt_crossval_totals *t, FILE *out)
{
    const tt_crossval_end *end = first_of(s, TT_SCENARIO_FAILED);
    (void)t;
    if (!end) return false;
    (void)fprintf(out, "%s failed: what its program said comes before any comparison%c", end->name,
                  0);
    if (end->failed_side) {
        (void)fputs("less", out);
        put_path(out, s->folder, end->name, end->failed_side == 'a' ? "a.log" : "b.log");
    } else {
        put_sweep(out, s, " --dry-run");
    }
    return true;
}

static bool look_there(const tt_crossval_summary *s, const tt_crossval_totals *t, FILE *out)
{
    char where[64] = "";
    const tt_crossval_end *end = typical(s, t->stage);
    if (!end || !end->first.known) return false;
    if (end->first.position >= 0)
        (void)snprintf(where, sizeof where, " --position %" PRId32, end->first.position);
    if (end->first.layer >= 0)
        (void)snprintf(where + strlen(where), sizeof where - strlen(where), " --layer %" PRId32,
                       end->first.layer);
    (void)fprintf(out, "%s diverges first at %s, as %" PRIu64 " of %zu scenarios do: look there%c",
                  end->name, *end->first.stage ? end->first.stage : "a value without a stage",
                  t->n_stage, s->n, 0);
    put_diff(out, s, end, where);
    return true;
}

static bool take_data(const tt_crossval_summary *s, const tt_crossval_totals *t, FILE *out)
{
    const tt_crossval_end *end = typical(s, t->stage);
    const char *values = s->settings->values;
    if (!end || !end->first.known || !values || strncmp(values, "full", 4) == 0) return false;
    if (end->first.blame != TT_BLAME_UNKNOWN && end->first.verdict != TT_VALUE_OTHER_BITS)
        return false;
    (void)fprintf(out,
                  "the first divergence of %s cannot be measured, or blamed, by what was kept of "
                  "the values: say \"values\": \"full\" in the settings, then all elements are "
                  "compared%c",
                  end->name, 0);
    put_sweep(out, s, " --force");
    return true;
}

static bool unmeasured(const tt_crossval_summary *s, const tt_crossval_totals *t, FILE *out)
{
    const tt_crossval_end *end = first_of(s, TT_SCENARIO_UNMEASURED);
    (void)t;
    if (!end) return false;
    for (size_t side = 0; side < 2; side++) {
        if (!end->lacks_values[side]) continue;
        (void)fprintf(out, "%s has nothing to compare (%s): see how that side was recorded%c",
                      end->name, end->cause, 0);
        (void)fputs("tensortrace info", out);
        put_values(out, s, end->name, side);
        return true;
    }
    (void)fprintf(out, "%s has nothing to compare (%s): pair the batches by their order%c",
                  end->name, end->cause, 0);
    put_diff(out, s, end, " --by-order");
    return true;
}

static bool exactly(const tt_crossval_summary *s, const tt_crossval_totals *t, FILE *out)
{
    if (t->n[TT_SCENARIO_MATCHED] != s->n || s->settings->exact) return false;
    for (size_t i = 0; i < s->n; i++) {
        if (s->ends[i].counts[TT_VALUE_CLOSE] == 0) continue;
        (void)fprintf(out, "all match, but not to the bit: see where rounding begins, in %s%c",
                      s->ends[i].name, 0);
        put_diff(out, s, &s->ends[i], " --exact");
        return true;
    }
    return false;
}

bool tt_crossval_next(const tt_crossval_summary *s, tt_crossval_rule rule, tt_crossval_advice *out)
{
    typedef bool rule_of(const tt_crossval_summary *, const tt_crossval_totals *, FILE *);
    static rule_of *const rules[TT_RULE_NONE] = {
        [TT_RULE_FINISH] = finish,  [TT_RULE_FAILED] = failed,         [TT_RULE_FIRST] = look_there,
        [TT_RULE_DATA] = take_data, [TT_RULE_UNMEASURED] = unmeasured, [TT_RULE_EXACT] = exactly};
    const tt_crossval_totals totals = tt_crossval_totals_of(s);
    size_t size = 0;
    *out = (tt_crossval_advice){.reason = NULL};
    FILE *stream = open_memstream(&out->text, &size);
    bool applies = stream && rules[rule](s, &totals, stream);
    if (stream) applies &= fclose(stream) == 0;
    if (!applies) {
        free(out->text);
        out->text = NULL;
        return false;
    }
    out->reason = out->text;
    out->command = out->text + strlen(out->text) + 1;
    return true;
}
