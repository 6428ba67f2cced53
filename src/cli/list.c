#include "cli/list.h"

#include "cli/command.h"
#include "cli/complete.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_TEXT 320

/* Each key once, with its meaning: columns of several kinds of rows may share one. */
static bool is_listed(const tt_schema *s, size_t column)
{
    for (size_t i = 0; i < column; i++)
        if (strcmp(s->columns[i].key, s->columns[column].key) == 0) return true;
    return false;
}

static void complete_columns(const tt_schema *s)
{
    for (size_t i = 0; i < s->n_columns; i++)
        if (!is_listed(s, i))
            printf("%s%s\t%s\n", tt_complete_columns(), s->columns[i].key, s->columns[i].about);
}

static void print_columns(const tt_schema *s)
{
    const char *heads[] = {"COLUMN", "TITLE"};
    int key = (int)strlen(heads[0]), title = (int)strlen(heads[1]);
    for (size_t i = 0; i < s->n_columns; i++) {
        const tt_column *c = &s->columns[i];
        if ((int)strlen(c->key) > key) key = (int)strlen(c->key);
        if (c->title && (int)strlen(c->title) > title) title = (int)strlen(c->title);
    }
    printf("%-*s  %-*s  MEANS\n", key, heads[0], title, heads[1]);
    for (size_t i = 0; i < s->n_columns; i++) {
        const tt_column *c = &s->columns[i];
        char line[CELL_TEXT];
        if (is_listed(s, i)) continue;
        (void)snprintf(line, sizeof line, "%-*s  %-*s  %s%s", key, c->key, title,
                       c->title ? c->title : "", c->about,
                       tt_column_nested(c) ? "; has parts, in JSON only" : "");
        tt_table_text(stdout, (size_t)(key + title + 4), line);
    }
}

static void take_columns(void *options, char *arg, tt_parse *p)
{
    tt_list_options *o = options;
    (void)p;
    o->columns = arg;
    if (strcmp(arg, "help") != 0) return;
    if (tt_complete_columns())
        complete_columns(o->schema);
    else
        print_columns(o->schema);
    exit(tt_report_output(true));
}

#define COLUMNS_OPTION                                                                             \
    {                                                                                              \
        .name = "columns", .arg = "LIST",                                                          \
        .about = "Columns, separated by commas; all; help lists them", .group = 2,                 \
        .kind = TT_OPTION_TAKE, .take = take_columns, .flags = TT_OPTION_COLUMN                    \
    }
#define CSV_OPTION                                                                                 \
    {                                                                                              \
        .name = "csv", .about = "Print the rows as CSV, all columns", .group = 8,                  \
        .excludes = "json", TT_FLAG(tt_list_options, csv)                                          \
    }

const tt_option tt_list_options_of_rows[] = {
    COLUMNS_OPTION,
    {"sort", 0, "COLUMN",
     "Sort by a column: numbers from the largest, names and ids from the smallest; +COLUMN from "
     "the smallest, -COLUMN from the largest; key: as in the file",
     2, TT_TEXT(tt_list_options, sort), .flags = TT_OPTION_COLUMN},
    {"limit", 0, "N", "Only the first N rows; 0: all", 2,
     TT_WHOLE(tt_list_options, limit, 0, INT64_MAX), TT_GIVEN(tt_list_options, limited)},
    CSV_OPTION,
    {0},
};

const tt_option tt_list_options_of_stream[] = {COLUMNS_OPTION, CSV_OPTION, {0}};

int tt_list_error(const tt_error *err)
{
    if (err->status != TT_E_USAGE) return tt_report_error(err);
    return tt_report_usage("--%s; --columns help lists them", err->message);
}

tt_listing_wish tt_list_wish(const tt_list_options *o, bool json, const char *sort)
{
    return (tt_listing_wish){.columns = o->columns,
                             .sort = o->sort ? o->sort : sort,
                             .limit = o->limit,
                             .text = !json && !o->csv,
                             .csv = o->csv};
}

int tt_list_make(tt_listing *l, const tt_rowset *set, const tt_listing_wish *wish)
{
    tt_error err;
    return tt_listing_make(l, set, wish, &err) == TT_OK ? TT_EXIT_OK : tt_list_error(&err);
}

int tt_list_check(const tt_rowset *set, const tt_listing_wish *wish)
{
    tt_listing l;
    const int code = tt_list_make(&l, set, wish);
    tt_listing_free(&l);
    return code;
}

void tt_list_check_options(void *options, tt_parse *p)
{
    const tt_list_options *o = options;
    const tt_rowset none = {.schema = o->schema, .kind = o->kind};
    const tt_listing_wish wish = tt_list_wish(o, tt_parse_given(p, "json"), NULL);
    const int code = o->schema ? tt_list_check(&none, &wish) : TT_EXIT_OK;
    if (code != TT_EXIT_OK) exit(code);
}

/* How a column stands in a table. Those that were named, and the one by which the rows are sorted,
 * are not left out; a number is not shortened, whatever its column identifies. */
static int layout(const tt_listing *l, const tt_column *c)
{
    const bool chosen = l->chosen || c == l->sorted_by;
    int flags = tt_column_right(c) ? TT_COLUMN_RIGHT : TT_COLUMN_LEFT;
    if (c->show & TT_SHOW_WIDE && !chosen) flags |= TT_COLUMN_WIDE;
    if (c->show & TT_SHOW_WIDEST && !chosen) flags |= TT_COLUMN_WIDEST;
    if (c->show & TT_SHOW_KNOWN && !chosen) flags |= TT_COLUMN_IF_KNOWN;
    if (c->show & TT_SHOW_CUT && c->type == TT_CELL_NAME) flags |= TT_COLUMN_SHRINK;
    if (c->show & TT_SHOW_WRAP) flags |= TT_COLUMN_WRAP;
    if (chosen) flags |= TT_COLUMN_KEEP;
    if (c->show & TT_SHOW_KEY) flags |= TT_COLUMN_KEY;
    return flags;
}

/* The column that identifies the rows; n_columns: none of the listed ones. */
static size_t key_column(const tt_listing *l)
{
    size_t i = 0;
    while (i < l->n_columns && !(l->columns[i]->show & TT_SHOW_KEY))
        i++;
    return i;
}

/* key: the column that says "all"; n_columns: none. */
static void print_row(tt_table *t, const tt_listing *l, const void *row, size_t key)
{
    char text[TT_LISTING_COLUMNS_MAX][CELL_TEXT];
    const char *cells[TT_LISTING_COLUMNS_MAX];
    for (size_t i = 0; i < l->n_columns; i++) {
        cells[i] = text[i];
        if (i == key)
            cells[i] = "all";
        else
            tt_cell_show(l->columns[i], l->set->context, row, text[i], sizeof text[i]);
    }
    tt_table_row(t, cells);
}

tt_table *tt_list_table(const tt_listing *l, FILE *out)
{
    tt_table *t = tt_table_new(out);
    for (size_t i = 0; t && i < l->n_columns; i++) {
        const tt_column *c = l->columns[i];
        tt_table_column(t, c->title ? c->title : c->key, layout(l, c));
    }
    return t;
}

void tt_list_row(tt_table *t, const tt_listing *l, const void *row)
{
    print_row(t, l, row, l->n_columns);
}

bool tt_list_write(const tt_listing *l, const void *total, FILE *out)
{
    tt_table *t = tt_list_table(l, out);
    if (!t) return false;
    for (size_t i = 0; i < l->n; i++)
        tt_list_row(t, l, tt_listing_row(l, i));
    /* A sum without a name would look like a row. */
    if (total && key_column(l) < l->n_columns) print_row(t, l, total, key_column(l));
    const bool ok = tt_table_print(t);
    if (l->n_all > l->n)
        tt_report_note("%zu more row%s; --limit 0 shows all", l->n_all - l->n,
                       l->n_all - l->n == 1 ? "" : "s");
    return ok;
}

bool tt_list_print(const tt_listing *l, const void *total)
{
    return tt_list_write(l, total, stdout);
}

bool tt_list_print_set(const tt_rowset *set, const tt_listing_wish *wish, FILE *out)
{
    tt_listing l;
    bool ok = tt_listing_make(&l, set, wish, NULL) == TT_OK;
    l.chosen = false;
    ok = ok && tt_list_write(&l, NULL, out);
    tt_listing_free(&l);
    return ok;
}

bool tt_list_print_under(const char *heading, const tt_rowset *set, const tt_listing_wish *wish,
                         const void *total)
{
    tt_listing l;
    bool ok = tt_listing_make(&l, set, wish, NULL) == TT_OK;
    l.chosen = false;
    l.n_all = l.n;
    if (ok && l.n) {
        tt_table_printf(stdout, 0, "\n%s", heading);
        ok = tt_list_write(&l, total, stdout);
    }
    tt_listing_free(&l);
    return ok;
}

bool tt_list_write_csv(const tt_listing *l, FILE *to)
{
    tt_bytes out;
    tt_bytes_init(&out, (size_t)1 << 24);
    tt_listing_csv_header(&out, l);
    for (size_t i = 0; i <= l->n && !out.failed; i++) {
        (void)fwrite(out.data, 1, out.size, to);
        out.size = 0;
        if (i < l->n) tt_listing_csv_row(&out, l, tt_listing_row(l, i));
    }
    const bool ok = !out.failed && !ferror(to);
    tt_bytes_free(&out);
    return ok;
}

bool tt_list_print_csv(const tt_listing *l)
{
    return tt_list_write_csv(l, stdout);
}

int tt_list_show(const tt_rowset *set, const tt_list_options *o, const char *sort)
{
    const tt_listing_wish wish = tt_list_wish(o, false, sort);
    tt_listing rows;
    int code = tt_list_make(&rows, set, &wish);
    if (code == TT_EXIT_OK)
        code = tt_report_output(o->csv ? tt_list_print_csv(&rows) : tt_list_print(&rows, NULL));
    tt_listing_free(&rows);
    return code;
}

/* --- a page --- */

static void page_text(FILE *out, size_t indent, const char *before, const char *what)
{
    char line[2048], safe[2048];
    (void)snprintf(line, sizeof line, "%s%s", before, what);
    tt_table_text(out, indent, tt_trace_text(safe, sizeof safe, line));
}

static bool page_table(const tt_page_table *t, FILE *out)
{
    tt_page_cursor c;
    tt_table *to = tt_table_new(out);
    if (!to) return false;
    for (unsigned i = 0; i < t->n_columns; i++)
        tt_table_column(to, t->titles[i],
                        t->set.schema ? layout(&t->listing, t->listing.columns[i])
                        : t->right[i] ? TT_COLUMN_RIGHT
                                      : TT_COLUMN_LEFT);
    const size_t n = t->listing.n, shown = t->shown && t->shown < n ? t->shown : n;
    for (tt_page_cursor_begin(&c, t); tt_page_cursor_next(&c);)
        if (c.i < shown || c.i >= n) tt_table_row(to, c.cells);
    const bool ok = tt_table_print(to);
    if (shown < n)
        fprintf(out, "%zu more%s%s; --limit 0 shows all\n", n - shown, *t->more ? " " : "",
                t->more);
    return ok;
}

bool tt_page_print(const tt_page *p, FILE *out)
{
    bool ok = !p->failed;
    for (const tt_page_block *b = p->summary; b; b = b->next)
        page_text(out, 0, "", b->text);
    for (const tt_page_section *s = p->sections; s; s = s->next) {
        if (s->blocks) tt_table_printf(out, 0, "\n%s", s->title);
        for (const tt_page_block *b = s->blocks; b; b = b->next) {
            if (b->kind == TT_BLOCK_TABLE)
                ok &= b->table && page_table(b->table, out);
            else if (b->kind == TT_BLOCK_POINT)
                page_text(out, 2, "- ", b->text);
            else if (b->kind != TT_BLOCK_PLOT)
                page_text(out, 0, "", b->text);
        }
    }
    return ok && !ferror(out);
}
