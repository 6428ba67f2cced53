#include "cli/overview_text.h"

#include "base/units.h"
#include "cli/table.h"

#include <inttypes.h>
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

bool tt_parts_print(const tt_why_part *parts, size_t n, double total_ns, bool compared)
{
    char time[TT_UNITS_TEXT], usual[TT_UNITS_TEXT], share[16];
    tt_table *t = n ? tt_table_new(stdout) : NULL;
    if (n == 0) return true;
    if (!t) return false;
    printf("\nWhere the time went\n");
    tt_table_column(t, "PART", TT_COLUMN_LEFT);
    tt_table_column(t, "TIME", TT_COLUMN_RIGHT);
    tt_table_column(t, "SHARE", TT_COLUMN_RIGHT);
    if (compared) tt_table_column(t, "USUAL", TT_COLUMN_RIGHT);
    for (size_t i = 0; i < n; i++) {
        const tt_why_part *p = &parts[i];
        (void)snprintf(share, sizeof share, "%.1f %%", 100 * p->time_ns / total_ns);
        const char *cells[] = {tt_part_title(p->part),
                               p->known ? tt_units_ns(time, p->time_ns) : "-",
                               p->known && total_ns > 0 ? share : "",
                               p->known ? tt_units_ns(usual, p->usual_ns) : "-"};
        tt_table_row(t, cells);
    }
    const char *all[] = {"all", tt_units_ns(time, total_ns), "", ""};
    tt_table_row(t, all);
    return tt_table_print(t);
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
    char time[TT_UNITS_TEXT];
    if (tt_usual_known(&o->usual)) {
        char low[TT_UNITS_TEXT], high[TT_UNITS_TEXT];
        printf("\n");
        item("A generated token usually takes %s; 8 of 10 take %s to %s.",
             tt_units_ns(time, o->usual.median_ns), tt_units_ns(low, o->usual.low_ns),
             tt_units_ns(high, o->usual.high_ns));
    }
    if (!o->n_slow) return true;
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    printf("\nSlow or late tokens\n");
    tt_table_column(t, "BATCH", TT_COLUMN_RIGHT | TT_COLUMN_KEY);
    tt_table_column(t, "TIME", TT_COLUMN_RIGHT);
    tt_table_column(t, "WHY", TT_COLUMN_WRAP);
    for (size_t i = 0; i < o->n_slow; i++) {
        char batch[16];
        (void)snprintf(batch, sizeof batch, "%" PRIu32,
                       tt_model_batch_number(o->m, o->slow[i].batch));
        const char *cells[] = {batch, tt_units_ns(time, o->slow[i].time_ns), o->slow[i].text};
        tt_table_row(t, cells);
    }
    return tt_table_print(t);
}

static bool print_tensors(const tt_overview *o)
{
    tt_table *t = o->n_tensors ? tt_table_new(stdout) : NULL;
    char read[TT_UNITS_TEXT], work[TT_UNITS_TEXT], share[16];
    if (!o->n_tensors) return true;
    if (!t) return false;
    printf("\nTensors that took most own work\n");
    tt_table_column(t, "TENSOR", TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(t, "SHARE", TT_COLUMN_RIGHT);
    tt_table_column(t, "WORK", TT_COLUMN_RIGHT);
    tt_table_column(t, "READ", TT_COLUMN_RIGHT);
    for (size_t i = 0; i < o->n_tensors; i++) {
        const tt_overview_tensor *r = &o->tensors[i];
        (void)snprintf(share, sizeof share, "%.1f %%", 100 * r->share);
        const char *cells[] = {r->tensor, share, tt_units_ns(work, r->work_ns),
                               tt_units_bytes(read, r->read_bytes)};
        tt_table_row(t, cells);
    }
    return tt_table_print(t);
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
    const bool ok = tt_parts_print(o->parts, o->n_parts, o->total_ns, false) && print_slow(o);
    print_findings(o);
    return ok;
}

bool tt_overview_print(const tt_overview *o)
{
    tt_table_text(stdout, 0, o->headline);
    print_tiles(o);
    const bool ok =
        (o->total_ns <= 0 || tt_parts_print(o->parts, o->n_parts, o->total_ns, false)) &&
        print_slow(o) && print_tensors(o);
    print_findings(o);
    print_missing(o);
    return ok;
}
