#include "cli/overview_text.h"

#include "analyze/why/columns.h"
#include "base/units.h"
#include "cli/list.h"
#include "cli/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ITEM_MAX 640

static void item(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void item(const char *fmt, ...)
{
    char text[ITEM_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tt_table_text(stdout, 4, text);
}

void tt_sentences_print(const char *heading, const tt_sentences *texts)
{
    if (texts->n) printf("\n%s\n", heading);
    for (size_t i = 0; i < texts->n; i++)
        item("  %s", texts->list[i]);
}

bool tt_parts_print(const tt_model *m, const tt_why_part *parts, size_t n, double total_ns,
                    const tt_usual_value *usual)
{
    const bool compared = usual && tt_usual_known(usual);
    const tt_why_part all = {.known = true,
                             .time_ns = total_ns,
                             .share = NAN,
                             .usual_ns = compared ? usual->median_ns : NAN};
    const tt_rowset set =
        TT_ROWSET(&tt_why_part_schema, compared ? TT_PARTS_COMPARED : TT_PARTS_ALONE, m, parts, n);
    return tt_list_print_under("Where the time went", &set, &(tt_listing_wish){.text = true}, &all);
}

static void print_findings(const tt_overview *o)
{
    if (o->n_findings) printf("\nFindings\n");
    for (size_t i = 0; i < o->n_findings; i++) {
        const tt_finding *f = &o->findings[i];
        item("  %s: %s", tt_severity_name(f->severity), f->text);
    }
}

static void print_tiles(const tt_overview *o)
{
    printf("\n");
    for (size_t i = 0; i < TT_OVERVIEW_TILES; i++) {
        const tt_overview_tile *t = &o->tiles[i];
        char line[ITEM_MAX];
        (void)snprintf(line, sizeof line, "%-20s %s%s%s", t->title, t->why_not ? "not known: " : "",
                       t->why_not ? t->why_not : t->text, "");
        tt_table_text(stdout, 21, line);
    }
}

static bool print_slow(const tt_overview *o)
{
    if (o->usual_text) {
        printf("\n");
        item("%s", o->usual_text);
    }
    const tt_rowset set = TT_ROWSET(&tt_overview_slow_schema, 0, o->m, o->slow, o->n_slow);
    return tt_list_print_under("Slow or late tokens", &set, &(tt_listing_wish){.text = true}, NULL);
}

static bool print_tensors(const tt_overview *o)
{
    const tt_rowset set = TT_ROWSET(&tt_overview_tensor_schema, 0, o->m, o->tensors, o->n_tensors);
    const tt_listing_wish wish = {.columns = "tensor,share,time_ns,work_ns,read_bytes",
                                  .text = true};
    return tt_list_print_under("Tensors whose ops took most of the time", &set, &wish, NULL);
}

static void print_missing(const tt_overview *o)
{
    if (o->n_missing) printf("\nNot recorded\n");
    for (size_t i = 0; i < o->n_missing; i++) {
        const tt_missing *x = &o->missing[i];
        if (x->option)
            item("  %s (%s): %s", x->what, x->option, x->text);
        else
            item("  %s: %s", x->what, x->text);
    }
}

bool tt_overview_print_brief(const tt_overview *o)
{
    if (o->total_ns <= 0) return true;
    const bool ok = tt_parts_print(o->m, o->parts, o->n_parts, o->total_ns, NULL) && print_slow(o);
    print_findings(o);
    return ok;
}

bool tt_overview_print(const tt_overview *o)
{
    tt_table_text(stdout, 0, o->headline);
    print_tiles(o);
    const bool ok =
        (o->total_ns <= 0 || tt_parts_print(o->m, o->parts, o->n_parts, o->total_ns, NULL)) &&
        print_slow(o) && print_tensors(o);
    print_findings(o);
    print_missing(o);
    return ok;
}
