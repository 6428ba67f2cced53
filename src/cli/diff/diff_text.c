#include "cli/diff/diff_view.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <math.h>
#include <string.h>

typedef struct terminal {
    FILE *out;
    tt_table *table;
    size_t columns;
    size_t left_out; /* rows of the table, of which what_left_out says what they are */
    const char *what_left_out;
    bool ok;
} terminal;

#define COLUMNS_MAX 16u

static void heading(void *context, const char *text)
{
    fprintf(((terminal *)context)->out, "\n%s\n", text);
}

static void line(void *context, const char *text)
{
    tt_table_text(((terminal *)context)->out, strncmp(text, "- ", 2) == 0 ? 2 : 0, text);
}

static void table(void *context, const tt_diff_column *columns, size_t n, const char *full_bar)
{
    terminal *t = context;
    (void)full_bar;
    t->left_out = 0;
    t->table = tt_table_new(t->out);
    t->columns = n;
    t->ok &= t->table != NULL;
    for (size_t i = 0; t->table && i < n; i++)
        tt_table_column(t->table, columns[i].title,
                        (columns[i].right ? TT_COLUMN_RIGHT : TT_COLUMN_LEFT) |
                            (columns[i].wide ? TT_COLUMN_SHRINK : 0) |
                            (columns[i].wide && i == 0 ? TT_COLUMN_KEY : 0) | columns[i].drop);
}

static void row(void *context, const char *const *cells, double bar, bool marked)
{
    terminal *t = context;
    char text[COLUMNS_MAX][512];
    const char *safe[COLUMNS_MAX];
    (void)bar;
    (void)marked;
    for (size_t i = 0; i < t->columns && i < COLUMNS_MAX; i++)
        safe[i] = tt_trace_text(text[i], sizeof text[i], cells[i] ? cells[i] : "");
    if (t->table) tt_table_row(t->table, safe);
}

static bool more(void *context, size_t n, const char *what)
{
    terminal *t = context;
    t->left_out = n;
    t->what_left_out = what;
    return false;
}

static void table_end(void *context)
{
    terminal *t = context;
    if (t->table) t->ok &= tt_table_print(t->table);
    t->table = NULL;
    if (t->left_out)
        fprintf(t->out, "%zu more%s%s; --limit 0 shows all\n", t->left_out,
                *t->what_left_out ? " " : "", t->what_left_out);
}

bool tt_diff_print(FILE *out, tt_diff_say *say, const void *view)
{
    terminal t = {.out = out, .ok = true};
    const tt_diff_sink sink = {&t, heading, line, table, row, more, table_end};
    say(view, &sink);
    return t.ok && !ferror(out);
}
