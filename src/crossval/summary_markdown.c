/* summary.md: the same for people. */
#include "base/units.h"
#include "crossval/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Names and other programs' texts: nothing in them may end a cell or begin markup. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            putc(' ', out);
        else if (c == '<')
            fputs("&lt;", out);
        else if (c == '&')
            fputs("&amp;", out);
        else {
            if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '[' || c == ']')
                putc('\\', out);
            putc(c, out);
        }
    }
}

static void put_first(FILE *out, const tt_crossval_first *f)
{
    if (!f->known) {
        fputs("-", out);
        return;
    }
    if (f->position != TT_DUMP_POSITION_UNKNOWN)
        fprintf(out, "position %" PRId32 ", ", f->position);
    if (f->layer >= 0) fprintf(out, "layer %" PRId32 ", ", f->layer);
    put_text(out, f->stage);
    if (f->verdict == TT_VALUE_OTHER_BITS)
        fputs(", other bits by an amount that is not known", out);
    else if (f->verdict != TT_VALUE_DIFFERS)
        fprintf(out, " (%s)", tt_value_verdict_name(f->verdict));
    if (!isnan(f->rel_l2)) fprintf(out, ", relative error %.3g", f->rel_l2);
    if (f->blame == TT_BLAME_OWN) fputs(", made there", out);
    if (f->blame == TT_BLAME_INHERITED) fputs(", inherited", out);
}

static void put_agreement(FILE *out, const tt_agreement *a)
{
    if (a->n_compared)
        fprintf(out, "%" PRIu64 " of %" PRIu64, a->n_same, a->n_compared);
    else
        fputs("not measured", out);
}

static const char *state_word(tt_scenario_state state)
{
    static const char *const words[] = {"not tried", "matched", "**diverged**", "**not measured**",
                                        "**FAILED**"};
    return words[state];
}

static void put_head(FILE *out, const tt_crossval_summary *s, const tt_crossval_totals *t)
{
    char took[TT_UNITS_TEXT];
    fputs("# Cross-validation\n\n", out);
    for (size_t i = 0; i < 2; i++) {
        fprintf(out, "* side %c: ", "ab"[i]);
        put_text(out, s->sides[i].text);
        putc('\n', out);
    }
    fputs("* settings: ", out);
    put_text(out, s->settings_file);
    fprintf(out, ", begun %s, took %s, tensortrace %s\n\n", s->timestamp_start,
            tt_units_ns(took, (double)s->duration_ns), s->version);
    fprintf(out,
            "Of %zu scenarios %" PRIu64 " matched, %" PRIu64 " diverged, %" PRIu64
            " not measured, %" PRIu64 " FAILED",
            s->n, t->n[TT_SCENARIO_MATCHED], t->n[TT_SCENARIO_DIVERGED],
            t->n[TT_SCENARIO_UNMEASURED], t->n[TT_SCENARIO_FAILED]);
    if (s->interrupted)
        fprintf(out, "; interrupted: %" PRIu64 " not tried", t->n[TT_SCENARIO_NOT_TRIED]);
    fputs(".\n", out);
    if (t->stage) {
        fputs("Most often the first to diverge: ", out);
        put_text(out, t->stage);
        fprintf(out, " (%" PRIu64 " of %zu scenarios).\n", t->n_stage, s->n);
    }
    fputs("Tokens that the sides would have chosen alike: ", out);
    put_agreement(out, &t->agreement);
    fputs(".\n\n", out);
}

static void put_scenarios(FILE *out, const tt_crossval_summary *s)
{
    fputs("| scenario | result | batches | equal | close | other bits | differ | NaN | shape | "
          "unmeasured | "
          "worst relative "
          "error | tokens alike | first divergence |\n"
          "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n",
          out);
    for (size_t i = 0; i < s->n; i++) {
        const tt_crossval_end *end = &s->ends[i];
        fputs("| ", out);
        put_text(out, end->name);
        fprintf(out, " | %s | %" PRIu64, state_word(end->state), end->n_steps_compared);
        if (end->n_steps_alone) fprintf(out, " (%" PRIu64 " not measured)", end->n_steps_alone);
        fputs(" |", out);
        for (size_t k = 0; k < TT_VALUE_VERDICTS; k++)
            fprintf(out, " %" PRIu64 " |", end->counts[k]);
        if (isnan(end->worst_rel_l2))
            fputs(" - | ", out);
        else
            fprintf(out, " %.3g | ", end->worst_rel_l2);
        put_agreement(out, &end->agreement);
        fputs(" | ", out);
        put_first(out, &end->first);
        fputs(" |\n", out);
    }
}

static void put_bands(FILE *out, const tt_crossval_summary *s)
{
    fputs("\n## Values by cosine\n\n"
          "| scenario | >= 0.9999 | >= 0.999 | >= 0.99 | >= 0.9 | below | NaN | unknown |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|\n",
          out);
    for (size_t i = 0; i < s->n; i++) {
        fputs("| ", out);
        put_text(out, s->ends[i].name);
        fputs(" |", out);
        for (size_t k = 0; k < TT_COSINE_BANDS; k++)
            fprintf(out, " %" PRIu64 " |", s->ends[i].bands.counts[k]);
        putc('\n', out);
    }
}

static void put_causes(FILE *out, const tt_crossval_summary *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n; i++) {
        const tt_crossval_end *end = &s->ends[i];
        if (!end->cause[0]) continue;
        if (!any) fputs("\n## What failed, and what is unmeasured\n\n", out);
        any = true;
        fputs("* ", out);
        put_text(out, end->name);
        if (end->failed_side) fprintf(out, ", side %c", end->failed_side);
        fputs(": ", out);
        put_text(out, end->cause);
        if (end->failed_side) {
            fputs(" (see ", out);
            put_text(out, end->name);
            fprintf(out, "/%c.log)", end->failed_side);
        }
        putc('\n', out);
    }
}

static void put_next(FILE *out, const tt_crossval_summary *s)
{
    tt_crossval_advice advice;
    bool any = false;
    for (int rule = 0; rule < TT_RULE_NONE; rule++) {
        if (!tt_crossval_next(s, (tt_crossval_rule)rule, &advice)) continue;
        if (!any) fputs("\n## What to run next\n\n", out);
        any = true;
        fputs("* ", out);
        put_text(out, advice.reason);
        fputs(":\n\n      ", out);
        /* Indented lines are shown verbatim. */
        for (const char *at = advice.command; *at; at++)
            putc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, out);
        fputs("\n\n", out);
        free(advice.text);
    }
}

bool tt_crossval_summary_markdown(const tt_crossval_summary *s, FILE *out)
{
    tt_crossval_totals totals = tt_crossval_totals_of(s);
    put_head(out, s, &totals);
    put_scenarios(out, s);
    put_bands(out, s);
    put_causes(out, s);
    put_next(out, s);
    return fflush(out) == 0 && !ferror(out);
}
