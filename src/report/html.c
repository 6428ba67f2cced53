#include "report/render.h"

#include "report/style.h"
#include "report/svg.h"
#include "report/text.h"

#include <math.h>

static void element(const char *open, const char *text, const char *close, FILE *out)
{
    fputs(open, out);
    tt_text_markup(text, out);
    fputs(close, out);
}

static void cell(const tt_page_table *t, unsigned column, const char *text, bool title, FILE *out)
{
    const bool head = title || (t->head && column == 0);
    fprintf(out, "<%s%s%s>", head ? "th" : "td",
            title  ? " scope=\"col\""
            : head ? " scope=\"row\""
                   : "",
            t->right[column] ? " class=\"n\"" : "");
    tt_text_markup(text, out);
    fputs(head ? "</th>" : "</td>", out);
}

/* The start of what is below the caption, used again for the rows that unfold. */
static void table_begin(const tt_page_table *t, bool caption, FILE *out)
{
    char title[TT_PAGE_CELL_TEXT];
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", out);
    tt_text_markup(t->caption, out);
    fputs(caption ? "\"><table>\n" : ": all\"><table>\n", out);
    if (caption && t->captioned && !t->folded)
        element("<caption>", t->caption, "</caption>\n", out);
    fputs("<thead><tr>", out);
    for (unsigned i = 0; i < t->n_columns; i++) {
        tt_page_title(t, i, title);
        cell(t, i, title, true, out);
    }
    if (t->bar) {
        element("<th scope=\"col\" class=\"bar\"><div><span>-", t->full_text, "</span>", out);
        element("<span>+", t->full_text, "</span></div></th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void row(const tt_page_cursor *c, FILE *out)
{
    fputs(c->marked ? "<tr class=\"m\">" : "<tr>", out);
    for (unsigned i = 0; i < c->t->n_columns; i++)
        cell(c->t, i, c->cells[i], false, out);
    if (isfinite(c->bar))
        fprintf(
            out, "<td class=\"bar\"><div>%s<i class=\"%c\" style=\"width:%.1f%%\"></i></div></td>",
            c->bar < 0 ? "" : "<span></span>", c->bar < 0 ? 'l' : 'r', 100 * fmin(fabs(c->bar), 1));
    fputs("</tr>\n", out);
}

static void table(const tt_page_table *t, FILE *out)
{
    static const char end[] = "</tbody></table></div>\n";
    const size_t n = tt_page_table_rows(t), shown = t->shown && t->shown < n ? t->shown : n;
    tt_page_cursor c;
    if (t->folded) element("<details><summary>", t->caption, "</summary>\n", out);
    table_begin(t, true, out);
    for (tt_page_cursor_begin(&c, t); tt_page_cursor_next(&c);) {
        if (t->set.schema && c.i == shown && shown < n) {
            fprintf(out, "%s<details><summary>%zu more %s</summary>\n", end, n - shown,
                    *t->more ? t->more : "rows");
            table_begin(t, false, out);
        }
        row(&c, out);
    }
    fputs(end, out);
    if (t->folded || shown < n) fputs("</details>\n", out);
}

static void plot(const tt_plot *p, FILE *out)
{
    if (tt_plot_is_empty(p)) return;
    element("<figure><figcaption>", p->title, "</figcaption>\n", out);
    tt_svg_write(p, false, out);
    fputs("</figure>\n", out);
}

static void block(const tt_page_block *b, FILE *out)
{
    switch (b->kind) {
    case TT_BLOCK_ANSWER:
        element("<p class=\"answer\">", b->text, "</p>\n", out);
        return;
    case TT_BLOCK_TEXT:
        element("<p>", b->text, "</p>\n", out);
        return;
    case TT_BLOCK_NOTE:
    case TT_BLOCK_POINT:
        element("<p class=\"note\">", b->text, "</p>\n", out);
        return;
    case TT_BLOCK_PLOT:
        if (b->plot) plot(b->plot, out);
        return;
    case TT_BLOCK_TABLE:
        if (b->table && tt_page_table_rows(b->table)) table(b->table, out);
        return;
    }
}

static void head(const tt_page *p, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'\">\n"
          "<meta name=\"generator\" content=\"tensortrace " TT_VERSION "\">\n",
          out);
    element("<title>", p->title, "</title>\n", out);
    fprintf(out, "<style>\n%s\n%s\n</style>\n</head>\n<body%s>\n", tt_style_colors(),
            tt_style_page(), p->wide ? " class=\"wide\"" : "");
    element("<header>\n<h1>", p->title, "</h1>\n", out);
    element("<p class=\"sub\">", p->subtitle, "</p>\n", out);
    fprintf(out, "<div class=\"summary%s\">\n", p->alarming ? " alarming" : "");
    for (const tt_page_block *b = p->summary; b; b = b->next)
        element("<p>", b->text, "</p>\n", out);
    fputs("</div>\n", out);
    if (p->figures) fputs("<dl class=\"figures\">\n", out);
    for (const tt_page_figure *f = p->figures; f; f = f->next) {
        element("<div><dt>", f->label, "</dt>", out);
        element("<dd>", f->value, "</dd></div>\n", out);
    }
    if (p->figures) fputs("</dl>\n", out);
    fputs("<nav aria-label=\"Sections\"><ul>\n", out);
    for (const tt_page_section *s = p->sections; s; s = s->next) {
        fprintf(out, "<li><a href=\"#%s\">", s->id);
        element("", s->title, "</a></li>\n", out);
    }
    fputs("</ul></nav>\n</header>\n<main>\n", out);
}

void tt_page_html(const tt_page *p, FILE *out)
{
    head(p, out);
    for (const tt_page_section *s = p->sections; s; s = s->next) {
        fprintf(out, "<section aria-labelledby=\"%s\">\n<h2 id=\"%s\">", s->id, s->id);
        element("", s->title, "</h2>\n", out);
        for (const tt_page_block *b = s->blocks; b; b = b->next)
            block(b, out);
        fputs("</section>\n", out);
    }
    element("</main>\n<footer><p>", p->footer, "</p></footer>\n</body>\n</html>\n", out);
}
