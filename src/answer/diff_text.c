/* The sentences of `diff`. */
#include "answer/diff.h"
#include "base/layer.h"
#include "base/path.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Minimum share of a cause's change in computing or waiting to be named alone. */
#define MOSTLY 0.67

static void add(char *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* To a sentence of TT_DIFF_SENTENCE bytes. */
static void add(char *out, const char *fmt, ...)
{
    va_list args;
    size_t used = strlen(out);
    va_start(args, fmt);
    (void)vsnprintf(out + used, TT_DIFF_SENTENCE - used, fmt, args);
    va_end(args);
}

const char *tt_diff_short_unit(const tt_diff_phase *p)
{
    if (p->phase == TT_PHASE_GENERATE) return p->pairs.one_token ? "token" : "batch";
    return p->phase == TT_PHASE_PROMPT  ? "prompt batch"
           : p->phase == TT_PHASE_MIXED ? "mixed batch"
                                        : "computation";
}

const char *tt_diff_unit(const tt_diff_phase *p)
{
    if (p->phase == TT_PHASE_GENERATE)
        return p->pairs.one_token ? "generated token" : "generated batch";
    return tt_diff_short_unit(p);
}

static const char *plural_of(const char *unit)
{
    return strcmp(unit + strlen(unit) - 5, "batch") == 0 ? "es" : "s";
}

/* "12.0 % more", "3.00 times as long": how much time B takes. */
static void add_change(char *out, double change)
{
    if (change >= TT_DIFF_TIMES_MOST)
        add(out, "any number of times as long");
    else if (change >= TT_DIFF_TIMES_FROM)
        add(out, "%.*f times as long", change < 9 ? 2 : 0, 1 + change);
    else
        add(out, "%.*f %% %s", fabs(change) < 0.0005 ? 3 : 1, 100 * fabs(change),
            change < 0 ? "less" : "more");
}

/* "5.6 % less to 14.0 % more" */
static void add_range(char *out, const tt_diff_row *total)
{
    add_change(out, total->low);
    add(out, " to ");
    add_change(out, total->high);
}

/* How sure that is. */
static void add_interval(const tt_diff_view *v, char *out, const tt_diff_phase *p)
{
    const tt_diff_row *total = &p->rows[TT_DIFF_TOTAL][0];
    if (!total->shift.tested) return;
    add(out, "; %.4g %% sure: ", 100 * (1 - v->d->options.level));
    add_range(out, total);
}

static void add_layers(char *out, const tt_diff_cause *c)
{
    if (c->n_layers == 0) return;
    if (c->all_layers) {
        add(out, " in all layers");
        return;
    }
    add(out, c->n_layers == 1 ? " in layer" : " in layers");
    for (uint32_t i = 0, end, listed = 0; i < c->n_layers; i = end) {
        for (end = i + 1; end < c->n_layers && c->layers[end] == c->layers[end - 1] + 1;)
            end++;
        if (listed++ == 8) {
            add(out, ", ...");
            return;
        }
        char first[TT_LAYER_TEXT], last[TT_LAYER_TEXT];
        add(out, "%s %s", i ? "," : "", tt_layer_text(first, c->layers[i]));
        if (end - i > 1)
            add(out, "%s%s", end - i == 2 ? ", " : " to ", tt_layer_text(last, c->layers[end - 1]));
    }
}

/* How a cause's time changed: in waiting for the slowest thread, in computing, or both. */
static const char *kind_of(const tt_diff_cause *c)
{
    double wait = c->delta_wait_ns / c->delta_ns;
    if (strcmp(c->component, "between ops") == 0 || isnan(wait)) return "";
    if (wait >= MOSTLY) return ", waiting";
    return wait <= 1 - MOSTLY ? ", computing" : ", computing and waiting";
}

static void add_ns(char *out, double ns)
{
    char text[TT_UNITS_TEXT];
    add(out, "%s%s", ns < 0 ? "-" : "+", tt_units_ns(text, fabs(ns)));
}

/* Which causes changed significantly by themselves: a significant total does not imply it for its
 * parts. */
static void add_surety(char *out, const tt_diff_phase *p)
{
    size_t sure = 0;
    for (size_t i = 0; i < p->n_causes; i++)
        sure += p->causes[i].significant;
    if (sure == p->n_causes) {
        add(out, sure == 1 ? ", sure by itself" : "; each sure by itself");
        return;
    }
    if (sure == 0) {
        add(out, p->n_causes == 1 ? ", not sure by itself" : "; none of these sure by itself");
        return;
    }
    add(out, "; sure by itself only");
    for (size_t i = 0, listed = 0; i < p->n_causes; i++)
        if (p->causes[i].significant) add(out, "%s %s", listed++ ? "," : "", p->causes[i].title);
}

static void add_causes(char *out, const tt_diff_phase *p)
{
    bool shifted = p->verdict == TT_DIFF_SHIFTED;
    double whole = p->rows[TT_DIFF_TOTAL][0].delta_ns;
    if (p->n_causes == 0) return;
    add(out, shifted ? ". What changed:" : ". Most of the difference is in");
    for (size_t i = 0; i < p->n_causes; i++) {
        const tt_diff_cause *c = &p->causes[i];
        add(out, "%s %s", i ? ";" : "", c->title);
        add_layers(out, c);
        add(out, "%s (", kind_of(c));
        add_ns(out, c->delta_ns);
        if (i == 0 && !shifted) {
            add(out, " of ");
            add_ns(out, whole);
        }
        add(out, ")");
    }
    add_surety(out, p);
}

/* "29.4 ms -> 20.6 ms a generated token": the two values of the change. */
static void add_both_times(char *out, const tt_diff_phase *p)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    const tt_diff_row *total = &p->rows[TT_DIFF_TOTAL][0];
    tt_units_ns_apart(a, b, total->a.time_ns, total->b.time_ns);
    add(out, "%s -> %s a %s", a, b, tt_diff_unit(p));
}

static bool same_run(const tt_diff *d)
{
    return d->n_files == 2 &&
           memcmp(d->files[0]->trace.header.run_id, d->files[1]->trace.header.run_id,
                  sizeof d->files[0]->trace.header.run_id) == 0;
}

/* Preconditions. */
static void add_who(const tt_diff_view *v, char *out)
{
    const tt_model *a = v->d->files[0], *b = v->d->files[v->d->n_a];
    char size[2][TT_UNITS_TEXT];
    const tt_diff_models *models = &v->d->around.models;
    if (models->differ)
        add(out,
            "These are different models (%.80s, %s; %.80s, %s; %.320s): their times say little "
            "about a change. ",
            tt_base_name(a->files[0].path), tt_units_bytes(size[0], a->files[0].size_bytes),
            tt_base_name(b->files[0].path), tt_units_bytes(size[1], b->files[0].size_bytes),
            models->text);
    else if (same_run(v->d))
        add(out, "A and B are the same run: ");
    else if (models->text[0])
        add(out, "%.320s: ", models->text);
}

static bool guesses(const tt_summary *s)
{
    return s->generate.delivered_known && s->generate.delivered != s->generate.tokens;
}

/* Where tokens are guessed, a batch delivers more than one of them, or none: its time says nothing
 * of how fast a text comes. */
static void add_delivered(const tt_diff_view *v, char *out)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    const tt_summary *s = &v->d->around.summary_a, *t = &v->d->around.summary_b;
    if ((!guesses(s) && !guesses(t)) || s->generate.tokens_per_s <= 0 ||
        t->generate.tokens_per_s <= 0)
        return;
    add(out, "B delivers %s tokens/s, A %s: %s ahead. Batch by batch, ",
        tt_units_speed(b, t->generate.tokens_per_s), tt_units_speed(a, s->generate.tokens_per_s),
        !guesses(s)   ? "B guesses tokens"
        : !guesses(t) ? "A guesses tokens"
                      : "both guess tokens");
}

/* On a busy machine, where the whole is not sure: rows that are, compared with others. */
static void add_sure_rows(char *out, const tt_diff_phase *p)
{
    static const tt_diff_family families[] = {TT_DIFF_COMPONENTS, TT_DIFF_OPS, TT_DIFF_LAYERS,
                                              TT_DIFF_KINDS};
    unsigned listed = 0;
    for (size_t f = 0; f < sizeof families / sizeof *families && listed == 0; f++)
        for (size_t i = 0; i < p->n_rows[families[f]]; i++) {
            const tt_diff_row *row = &p->rows[families[f]][i];
            char name[TT_DIFF_PERCENT + TT_LAYER_TEXT], layer[TT_LAYER_TEXT];
            if (!row->significant || isnan(row->expected_ns)) continue;
            if (listed == 4) {
                add(out, ", ...");
                return;
            }
            if (families[f] == TT_DIFF_LAYERS)
                (void)snprintf(name, sizeof name, row->layer_id < 0 ? "no layer" : "layer %s",
                               tt_layer_text(layer, row->layer_id));
            add(out, "%s %s takes ",
                listed++ ? "," : "; sure by itself, against the other ops of its kind:",
                families[f] == TT_DIFF_LAYERS ? name : row->key);
            add_change(out, row->change);
        }
}

bool tt_diff_few_runs(const tt_diff_view *v)
{
    return v->d->n_a < 5 || v->d->n_files - v->d->n_a < 5;
}

/* A change that the test of the total time does not confirm. */
static void add_uncertain(const tt_diff_view *v, char *out, const tt_diff_phase *p)
{
    const tt_diff_row *total = &p->rows[TT_DIFF_TOTAL][0];
    add(out, "B seems to take ");
    add_change(out, total->change);
    add(out, total->change < TT_DIFF_TIMES_FROM ? " time (" : " (");
    add_both_times(out, p);
    if (!total->shift.tested) {
        add(out, "), but on a busy machine that takes more runs%s",
            tt_diff_few_runs(v) ? ", such as 5 of each side" : "");
        return;
    }
    if (total->high < 0 || total->low > 0)
        add(out, "), but not surely by more than %.4g %%: anywhere from ",
            100 * v->d->options.threshold);
    else
        add(out, "), but the runs vary too much to be sure: anywhere from ");
    add_range(out, total);
    add(out, " (%.4g %% sure)", 100 * (1 - v->d->options.level));
    if (p->verdict == TT_DIFF_SHIFTED)
        add(out, "; that parts of it changed is sure");
    else
        add_sure_rows(out, p);
}

/* What would show whether the times differ by more than matters. */
static void add_advice(const tt_diff_view *v, char *out, const tt_diff_phase *p)
{
    const tt_diff_row *total = &p->rows[TT_DIFF_TOTAL][0];
    const char *unit = tt_diff_short_unit(p);
    if (p->busy) {
        add(out, ". Repeat with %s runs of each side, or longer ones",
            tt_diff_few_runs(v) ? "5" : "more");
        return;
    }
    add(out, ". Repeat with more %s%s", unit, plural_of(unit));
    if (!total->shift.tested || v->d->n_files > 2) return;
    /* An interval is narrower by the root of their number. */
    const double reach = log1p(total->high) - total->shift.estimate;
    const double wanted = fabs(fabs(total->shift.estimate) - total->edge);
    const double times = ceil(reach * reach / (wanted * wanted));
    if (times >= 2 && times < 100) add(out, " (about %.0f times as many)", times);
}

static void add_verdict(const tt_diff_view *v, char *out, const tt_diff_phase *p)
{
    const tt_diff_row *total = &p->rows[TT_DIFF_TOTAL][0];
    switch (p->verdict) {
    case TT_DIFF_SLOWER:
    case TT_DIFF_FASTER:
        add(out, "B takes ");
        add_change(out, total->change);
        if (total->change < TT_DIFF_TIMES_FROM) add(out, " time");
        break;
    case TT_DIFF_SAME:
        add(out, total->identical ? "the times are exactly equal"
                                  : "no difference in time that matters");
        break;
    case TT_DIFF_UNDECIDED:
    case TT_DIFF_SHIFTED:
        add_uncertain(v, out, p);
        return;
    case TT_DIFF_UNTESTED:
        add(out, "too few %s%s to tell a difference from noise", tt_diff_unit(p),
            plural_of(tt_diff_unit(p)));
        break;
    }
    add(out, " (");
    add_both_times(out, p);
    add(out, ")");
    if (!total->identical) add_interval(v, out, p);
}

char *tt_diff_write_times(const tt_diff_view *v, char out[TT_DIFF_SENTENCE])
{
    const tt_diff_phase *p = tt_diff_main(v->d);
    out[0] = '\0';
    if (!p || tt_diff_common(v->d) == 0) {
        add(out, "A and B have no op in common: no time was compared");
        return out;
    }
    if (v->d->options.structure_only) {
        add(out, "times were not compared (--structure-only)");
        return out;
    }
    add_who(v, out);
    add_delivered(v, out);
    add_verdict(v, out, p);
    add_causes(out, p);
    if (p->verdict == TT_DIFF_UNDECIDED || p->verdict == TT_DIFF_SHIFTED ||
        p->verdict == TT_DIFF_UNTESTED)
        add_advice(v, out, p);
    return out;
}

char *tt_diff_write_structure(const tt_diff_view *v, char out[TT_DIFF_SENTENCE])
{
    uint64_t added = 0, removed = 0, changed = 0, fused = 0, names = 0;
    char n[4][TT_UNITS_TEXT];
    out[0] = '\0';
    for (size_t i = 0; i < TT_DIFF_PHASES; i++) {
        const tt_diff_structure *s = &v->d->phases[i].structure;
        added += s->added;
        removed += s->removed;
        changed += s->changed;
        for (size_t k = 0; k < s->n; k++) {
            fused += (s->list[k].what & TT_CHANGE_FUSION) != 0;
            names += s->list[k].what == TT_CHANGE_NAME;
        }
    }
    if (tt_diff_changes(v->d) == 0) {
        add(out, "both computed the same: %s nodes", tt_units_count(n[0], tt_diff_common(v->d)));
        return out;
    }
    add(out, "they computed different things: %s nodes are new in B, %s of A's are gone, %s differ",
        tt_units_count(n[0], added), tt_units_count(n[1], removed), tt_units_count(n[2], changed));
    if (fused) add(out, " (%s by what is fused)", tt_units_count(n[3], fused));
    if (names) add(out, " (%s only by name)", tt_units_count(n[3], names));
    add(out, "; %s are common", tt_units_count(n[0], tt_diff_common(v->d)));
    return out;
}

tt_diff_outcome tt_diff_outcome_of(const tt_diff_view *v)
{
    const tt_diff *d = v->d;
    const tt_diff_phase *p = tt_diff_main(d);
    if (tt_diff_common(d) == 0 || tt_diff_changes(d) > 0 || tt_diff_times_differ(d))
        return TT_DIFF_DIFFERS;
    if (d->options.structure_only) return TT_DIFF_ALIKE;
    if (p->verdict == TT_DIFF_UNTESTED) return TT_DIFF_UNKNOWN;
    return v->strict && p->verdict != TT_DIFF_SAME ? TT_DIFF_DIFFERS : TT_DIFF_ALIKE;
}
