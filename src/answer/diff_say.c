/* The sentences of `diff`. */
#include "answer/diff.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Minimum share of a cause's change in computing or waiting to be named alone. */
#define MOSTLY 0.67

static void add(char *out, size_t room, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void add(char *out, size_t room, const char *fmt, ...)
{
    va_list args;
    size_t used = strlen(out);
    va_start(args, fmt);
    (void)vsnprintf(out + used, room - used, fmt, args);
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

/* "63 tokens", "1 prompt batch" */
static void add_units(char *out, const tt_diff_phase *p, size_t n)
{
    const char *unit = tt_diff_short_unit(p);
    add(out, TT_DIFF_SENTENCE, "%zu %s%s", n, unit, n == 1 ? "" : plural_of(unit));
}

/* "99 % sure of +10.2 % to +14.0 %", or what an interval would require. */
static void add_interval(const tt_diff_view *v, char *out, const tt_diff_phase *p)
{
    const tt_diff_row *total = &p->rows[TT_DIFF_TOTAL][0];
    char low[TT_DIFF_PERCENT], high[TT_DIFF_PERCENT];
    double sure = 100 * (1 - v->d->options.level);
    if (total->shift.tested && (isfinite(total->high) || total->shift.by_levels)) {
        add(out, TT_DIFF_SENTENCE, ", %.4g %% sure of %s to %s", sure,
            tt_diff_percent(low, total->low), tt_diff_percent(high, total->high));
        return;
    }
    if (total->shift.n < TT_SHIFT_SAMPLES_MIN || total->shift.by_levels) return;
    add(out, TT_DIFF_SENTENCE, "; ");
    add_units(out, p, total->shift.n);
    add(out, TT_DIFF_SENTENCE, " count as %.1f independent ones", total->shift.n_effective);
    if (!total->shift.tested)
        add(out, TT_DIFF_SENTENCE, ", and fewer than %g are not tested", TT_SHIFT_EFFECTIVE_MIN);
    else
        add(out, TT_DIFF_SENTENCE, ": to be %.4g %% sure of anything takes %.1f", sure,
            tt_shift_effective_least(total->shift.n, v->d->options.level));
}

static void add_layers(char *out, const tt_diff_cause *c)
{
    if (c->n_layers == 0) return;
    if (c->all_layers) {
        add(out, TT_DIFF_SENTENCE, " in all layers");
        return;
    }
    add(out, TT_DIFF_SENTENCE, c->n_layers == 1 ? " in layer" : " in layers");
    for (uint32_t i = 0, end, listed = 0; i < c->n_layers; i = end) {
        for (end = i + 1; end < c->n_layers && c->layers[end] == c->layers[end - 1] + 1;)
            end++;
        if (listed++ == 8) {
            add(out, TT_DIFF_SENTENCE, ", ...");
            return;
        }
        add(out, TT_DIFF_SENTENCE, "%s %d", i ? "," : "", c->layers[i]);
        if (end - i == 2) add(out, TT_DIFF_SENTENCE, ", %d", c->layers[end - 1]);
        if (end - i > 2) add(out, TT_DIFF_SENTENCE, " to %d", c->layers[end - 1]);
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
    add(out, TT_DIFF_SENTENCE, "%s%s", ns < 0 ? "-" : "+", tt_units_ns(text, fabs(ns)));
}

/* Which causes changed significantly by themselves: a significant total does not imply it for its
 * parts. */
static void add_surety(char *out, const tt_diff_phase *p)
{
    size_t sure = 0;
    for (size_t i = 0; i < p->n_causes; i++)
        sure += p->causes[i].significant;
    if (sure == p->n_causes) {
        add(out, TT_DIFF_SENTENCE, sure == 1 ? ", sure by itself" : "; each sure by itself");
        return;
    }
    if (sure == 0) {
        add(out, TT_DIFF_SENTENCE,
            p->n_causes == 1 ? ", not sure by itself" : "; none of these sure by itself");
        return;
    }
    add(out, TT_DIFF_SENTENCE, "; sure by itself only");
    for (size_t i = 0, listed = 0; i < p->n_causes; i++)
        if (p->causes[i].significant)
            add(out, TT_DIFF_SENTENCE, "%s %s", listed++ ? "," : "", p->causes[i].title);
}

static void add_causes(char *out, const tt_diff_phase *p)
{
    bool shifted = p->verdict == TT_DIFF_SHIFTED;
    double whole = p->rows[TT_DIFF_TOTAL][0].delta_ns;
    if (p->n_causes == 0) return;
    add(out, TT_DIFF_SENTENCE, shifted ? ". What changed:" : ". Most of the difference is in");
    for (size_t i = 0; i < p->n_causes; i++) {
        const tt_diff_cause *c = &p->causes[i];
        add(out, TT_DIFF_SENTENCE, "%s %s", i ? ";" : "", c->title);
        add_layers(out, c);
        add(out, TT_DIFF_SENTENCE, "%s (", kind_of(c));
        add_ns(out, c->delta_ns);
        if (i == 0 && !shifted) {
            add(out, TT_DIFF_SENTENCE, " of ");
            add_ns(out, whole);
        }
        add(out, TT_DIFF_SENTENCE, ")");
    }
    add_surety(out, p);
}

static void add_medians(char *out, const tt_diff_phase *p)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    const tt_diff_row *total = &p->rows[TT_DIFF_TOTAL][0];
    add(out, TT_DIFF_SENTENCE, "a %s takes %s -> %s", tt_diff_unit(p),
        tt_units_ns(a, total->a.median_ns), tt_units_ns(b, total->b.median_ns));
}

static bool same_run(const tt_diff *d)
{
    return d->n_files == 2 &&
           memcmp(d->files[0]->trace.header.run_id, d->files[1]->trace.header.run_id,
                  sizeof d->files[0]->trace.header.run_id) == 0;
}

static const char *file_name(const tt_model *m)
{
    const char *path = m->files[0].path, *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Compares files by size: a copy under another name is the same model. */
static bool other_models(const tt_model *a, const tt_model *b)
{
    if (a->n_files == 0 || b->n_files == 0) return false; /* not observed */
    if (a->n_files != b->n_files) return true;
    for (uint32_t i = 0; i < a->n_files; i++)
        if (a->files[i].size_bytes != b->files[i].size_bytes ||
            a->files[i].n_weights != b->files[i].n_weights)
            return true;
    return false;
}

/* Preconditions. */
static void add_who(const tt_diff_view *v, char *out)
{
    const tt_model *a = v->d->files[0], *b = v->d->files[v->d->n_a];
    char size[2][TT_UNITS_TEXT];
    if (other_models(a, b))
        add(out, TT_DIFF_SENTENCE,
            "A and B ran different models (%.80s, %s; %.80s, %s): ", file_name(a),
            tt_units_bytes(size[0], a->files[0].size_bytes), file_name(b),
            tt_units_bytes(size[1], b->files[0].size_bytes));
    else if (same_run(v->d))
        add(out, TT_DIFF_SENTENCE, "A and B are the same run: ");
}

/* A change that the test of the total time does not confirm. */
static void add_uncertain(const tt_diff_view *v, char *out, const tt_diff_phase *p)
{
    const double change = p->rows[TT_DIFF_TOTAL][0].change;
    char text[TT_DIFF_PERCENT];
    if (change >= TT_DIFF_TIMES_FROM)
        add(out, TT_DIFF_SENTENCE, "B seems to take %.*f times as long, but that is not certain",
            change < 9 ? 2 : 0, 1 + change);
    else if (p->verdict == TT_DIFF_SHIFTED)
        add(out, TT_DIFF_SENTENCE, "whether the whole time differs is not certain (%s)",
            tt_diff_percent(text, change));
    else
        add(out, TT_DIFF_SENTENCE, "not decided whether B's time differs by more than %.4g %% (%s)",
            100 * v->d->options.threshold, tt_diff_percent(text, change));
    if (p->verdict == TT_DIFF_SHIFTED)
        add(out, TT_DIFF_SENTENCE, "; certain is that parts of it changed");
}

char *tt_diff_say_times(const tt_diff_view *v, char out[TT_DIFF_SENTENCE])
{
    const tt_diff_phase *p = tt_diff_main(v->d);
    char change[TT_DIFF_PERCENT];
    out[0] = '\0';
    if (!p || tt_diff_common(v->d) == 0) {
        add(out, TT_DIFF_SENTENCE, "A and B have no op in common: no time was compared");
        return out;
    }
    if (v->d->options.structure_only) {
        add(out, TT_DIFF_SENTENCE, "times were not compared (--structure-only)");
        return out;
    }
    const tt_diff_row *total = &p->rows[TT_DIFF_TOTAL][0];
    add_who(v, out);
    switch (p->verdict) {
    case TT_DIFF_SLOWER:
    case TT_DIFF_FASTER:
        if (total->change >= TT_DIFF_TIMES_FROM)
            add(out, TT_DIFF_SENTENCE, "B takes %.2f times as long", 1 + total->change);
        else
            add(out, TT_DIFF_SENTENCE, "B takes %.1f %% %s time a %s", 100 * fabs(total->change),
                total->change > 0 ? "more" : "less", tt_diff_short_unit(p));
        break;
    case TT_DIFF_SAME:
        if (total->identical)
            add(out, TT_DIFF_SENTENCE, "the times are exactly equal");
        else
            add(out, TT_DIFF_SENTENCE, "no difference in time that matters (%s)",
                tt_diff_percent(change, total->change));
        break;
    case TT_DIFF_UNDECIDED:
    case TT_DIFF_SHIFTED:
        add_uncertain(v, out, p);
        break;
    case TT_DIFF_UNTESTED:
        add(out, TT_DIFF_SENTENCE, "too few %s%s to tell a difference from noise (%zu; %s)",
            tt_diff_unit(p), plural_of(tt_diff_unit(p)), total->shift.n,
            tt_diff_percent(change, total->change));
        break;
    }
    add(out, TT_DIFF_SENTENCE, "; ");
    add_medians(out, p);
    if (!total->identical) add_interval(v, out, p);
    add_causes(out, p);
    return out;
}

char *tt_diff_say_structure(const tt_diff_view *v, char out[TT_DIFF_SENTENCE])
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
        add(out, TT_DIFF_SENTENCE, "both computed the same: %s nodes",
            tt_units_count(n[0], tt_diff_common(v->d)));
        return out;
    }
    add(out, TT_DIFF_SENTENCE,
        "computed something else: of B's nodes %s are new, %s of A's are gone, %s differ",
        tt_units_count(n[0], added), tt_units_count(n[1], removed), tt_units_count(n[2], changed));
    if (fused) add(out, TT_DIFF_SENTENCE, " (%s by what is fused)", tt_units_count(n[3], fused));
    if (names) add(out, TT_DIFF_SENTENCE, " (%s only by name)", tt_units_count(n[3], names));
    add(out, TT_DIFF_SENTENCE, "; %s are common", tt_units_count(n[0], tt_diff_common(v->d)));
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
