/* summary.md: the same for people. */
#include "base/units.h"
#include "crossval/summary.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define TEXT_SHOWN 640 /* of a cell */
#define BANDS                                                                                      \
    "cosine_ge_0_9999,cosine_ge_0_999,cosine_ge_0_99,cosine_ge_0_9,cosine_below_0_9,cosine_nan,"   \
    "cosine_unknown"

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
    if (t->agreement.n_compared)
        fprintf(out,
                "Tokens that the sides would have chosen alike: %" PRIu64 " of %" PRIu64 ".\n\n",
                t->agreement.n_same, t->agreement.n_compared);
    else
        fputs("Tokens that the sides would have chosen alike: not measured.\n\n", out);
}

/* The scenarios, with these columns; NULL: those that text shows. */
static bool put_table(FILE *out, const tt_crossval_summary *s, const char *columns)
{
    const tt_rowset set = tt_crossval_scenarios(s);
    const tt_listing_wish wish = {.columns = columns, .text = true};
    tt_listing l;
    if (tt_listing_make(&l, &set, &wish, NULL) != TT_OK) {
        errno = ENOMEM;
        return false;
    }
    for (size_t c = 0; c < l.n_columns; c++) {
        fputs(c ? " | " : "| ", out);
        for (const char *at = l.columns[c]->title; *at; at++)
            putc(tolower((unsigned char)*at), out);
    }
    fputs(" |\n|", out);
    for (size_t c = 0; c < l.n_columns; c++)
        fputs(tt_column_right(l.columns[c]) ? "---:|" : "---|", out);
    for (size_t i = 0; i < l.n; i++) {
        fputs("\n|", out);
        for (size_t c = 0; c < l.n_columns; c++) {
            char text[TEXT_SHOWN];
            tt_cell_show(l.columns[c], s, tt_listing_row(&l, i), text, sizeof text);
            putc(' ', out);
            put_text(out, text);
            fputs(" |", out);
        }
    }
    putc('\n', out);
    tt_listing_free(&l);
    return true;
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
    bool ok = put_table(out, s, NULL);
    fputs("\n## Values by cosine\n\n", out);
    ok &= put_table(out, s, "name," BANDS);
    put_causes(out, s);
    put_next(out, s);
    return ok && fflush(out) == 0 && !ferror(out);
}
