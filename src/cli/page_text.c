/* A page on a terminal, or as plain text in a file. */
#include "cli/list.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "report/page.h"

static void text(FILE *out, size_t indent, const char *before, const char *what)
{
    char line[2048], safe[2048];
    (void)snprintf(line, sizeof line, "%s%s", before, what);
    tt_table_text(out, indent, tt_trace_text(safe, sizeof safe, line));
}

static bool table(const tt_page_table *t, FILE *out)
{
    tt_page_cursor c;
    tt_table *to = tt_table_new(out);
    if (!to) return false;
    for (unsigned i = 0; i < t->n_columns; i++)
        tt_table_column(to, t->titles[i],
                        t->set.schema ? tt_list_layout(t->listing.columns[i], t->listing.chosen)
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
        text(out, 0, "", b->text);
    for (const tt_page_section *s = p->sections; s; s = s->next) {
        if (s->blocks) fprintf(out, "\n%s\n", s->title);
        for (const tt_page_block *b = s->blocks; b; b = b->next) {
            if (b->kind == TT_BLOCK_TABLE)
                ok &= b->table && table(b->table, out);
            else if (b->kind == TT_BLOCK_POINT)
                text(out, 2, "- ", b->text);
            else if (b->kind != TT_BLOCK_PLOT)
                text(out, 0, "", b->text);
        }
    }
    return ok && !ferror(out);
}
