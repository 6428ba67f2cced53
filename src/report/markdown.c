#include "report/render.h"

#include "report/text.h"

static void line(const char *before, const char *text, const char *behind, FILE *out)
{
    fputs(before, out);
    tt_text_markdown(text, out);
    fputs(behind, out);
}

static void table(const tt_page_table *t, FILE *out)
{
    tt_page_cursor c;
    char title[TT_PAGE_CELL_TEXT];
    if (t->captioned) line("**", t->caption, "**\n\n", out);
    fputc('|', out);
    for (unsigned i = 0; i < t->n_columns; i++) {
        tt_page_title(t, i, title);
        line(" ", title, " |", out);
    }
    fputs("\n|", out);
    for (unsigned i = 0; i < t->n_columns; i++)
        fputs(t->right[i] ? " ---: |" : " --- |", out);
    fputc('\n', out);
    for (tt_page_cursor_begin(&c, t); tt_page_cursor_next(&c);) {
        fputc('|', out);
        for (unsigned i = 0; i < t->n_columns; i++)
            line(" ", c.cells[i], " |", out);
        fputc('\n', out);
    }
    fputc('\n', out);
}

/* A path in a URL: unsafe characters become %XX. */
static void address(const char *text, FILE *out)
{
    for (const char *c = text; *c; c++) {
        bool safe = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z') ||
                    *c == '-' || *c == '.' || *c == '_' || *c == '/';
        fprintf(out, safe ? "%c" : "%%%02X", (unsigned char)*c);
    }
}

static void plot(const tt_plot *p, const char *folder, FILE *out)
{
    if (!folder || tt_plot_is_empty(p)) return;
    line("![", p->title, "](", out);
    address(folder, out);
    fprintf(out, "/%s.svg)\n\n", p->id);
}

void tt_page_markdown(const tt_page *p, const char *folder, FILE *out)
{
    line("# ", p->title, "\n\n", out);
    line("", p->subtitle, "\n\n", out);
    for (const tt_page_block *b = p->summary; b; b = b->next)
        line(b == p->summary ? "> **" : "> ", b->text,
             b == p->summary ? "**\n>\n"
             : b->next       ? "\n>\n"
                             : "\n\n",
             out);
    fputc('\n', out);
    for (const tt_page_figure *f = p->figures; f; f = f->next) {
        line("- ", f->label, ": ", out);
        line("**", f->value, "**\n", out);
    }
    for (const tt_page_section *s = p->sections; s; s = s->next) {
        line("\n## ", s->title, "\n\n", out);
        for (const tt_page_block *b = s->blocks; b; b = b->next) {
            if (b->kind == TT_BLOCK_PLOT && b->plot) plot(b->plot, folder, out);
            if (b->kind == TT_BLOCK_TABLE && b->table && tt_page_table_rows(b->table))
                table(b->table, out);
            if (b->kind == TT_BLOCK_ANSWER) line("**", b->text, "**\n\n", out);
            if (b->kind == TT_BLOCK_TEXT || b->kind == TT_BLOCK_NOTE)
                line("", b->text, "\n\n", out);
            if (b->kind == TT_BLOCK_POINT) line("- ", b->text, "\n", out);
        }
    }
    line("\n---\n\n", p->footer, "\n", out);
}
