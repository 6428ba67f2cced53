/* A comparison as one page that needs nothing else: no script, no font, no picture from outside. */
#include "base/json.h"
#include "cli/diff/diff_view.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

#define COLUMNS_MAX 16u

typedef struct page {
    FILE *out;
    tt_diff_column kept[COLUMNS_MAX];
    char titles[COLUMNS_MAX][48]; /* of these: the caller's are gone when the rows unfold */
    size_t n;
    char full_bar[32]; /* "": no bars */
    bool folded;       /* in the rows that unfold */
} page;

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--dim:#59636e;--line:#d1d9e0;--back:#fff;"
    "--more:#b35900;--less:#1f6feb}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9198a1;--line:#3d444d;"
    "--back:#0d1117;--more:#f0883e;--less:#58a6ff}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);"
    "max-width:76rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.3rem}h2{font-size:1.05rem;margin:2rem 0 .4rem}\n"
    ".verdict{font-size:1.1rem;border-left:.3rem solid var(--more);padding:.4rem .8rem}\n"
    ".verdict.same{border-color:var(--less)}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.2rem .4rem;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:top;white-space:nowrap}\n"
    "th{color:var(--dim);font-weight:600;font-size:.72rem;white-space:normal;"
    "vertical-align:bottom}.n{text-align:right}\n"
    "td.w{white-space:normal;min-width:7rem;overflow-wrap:anywhere}\n"
    "tr.m td{font-weight:600}\n"
    ".bar{min-width:7.5rem;padding:.2rem .3rem}\n"
    ".bar div{display:grid;grid-template-columns:1fr 1fr;align-items:center}\n"
    "td.bar div{background:linear-gradient(var(--line),var(--line)) center/1px 100% no-repeat}\n"
    "th.bar span+span{text-align:right}th.bar{font-weight:400;white-space:nowrap}\n"
    ".bar i{display:block;height:.8rem;margin:.2rem 0;min-width:1px}\n"
    ".bar .l{justify-self:end;background:var(--less)}.bar .r{background:var(--more)}\n"
    "summary{cursor:pointer;color:var(--dim);margin:.4rem 0}\n"
    "p.note,li{color:var(--dim)}dt{color:var(--dim)}dd{margin:0 0 .4rem;overflow-wrap:anywhere}\n";

static void heading(void *context, const char *text)
{
    page *p = context;
    fputs("<h2>", p->out);
    tt_text_markup(text, p->out);
    fputs("</h2>\n", p->out);
}

static void line(void *context, const char *text)
{
    page *p = context;
    fputs("<p class=\"note\">", p->out);
    tt_text_markup(text, p->out);
    fputs("</p>\n", p->out);
}

static const char *class_of(const tt_diff_column *c)
{
    return c->right ? " class=\"n\"" : c->wide ? " class=\"w\"" : "";
}

static void table_head(const page *p)
{
    fputs("<div class=\"scroll\"><table><thead><tr>", p->out);
    for (size_t i = 0; i < p->n; i++) {
        fprintf(p->out, "<th%s>", class_of(&p->kept[i]));
        tt_text_markup(p->titles[i], p->out);
        fputs("</th>", p->out);
    }
    if (p->full_bar[0]) {
        fputs("<th class=\"bar\"><div><span>-", p->out);
        tt_text_markup(p->full_bar, p->out);
        fputs("</span><span>+", p->out);
        tt_text_markup(p->full_bar, p->out);
        fputs("</span></div></th>", p->out);
    }
    fputs("</tr></thead><tbody>\n", p->out);
}

static void table(void *context, const tt_diff_column *columns, size_t n, const char *full_bar)
{
    page *p = context;
    p->n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    for (size_t i = 0; i < p->n; i++) {
        p->kept[i] = columns[i];
        (void)snprintf(p->titles[i], sizeof p->titles[i], "%s", columns[i].title);
    }
    (void)snprintf(p->full_bar, sizeof p->full_bar, "%s", full_bar ? full_bar : "");
    p->folded = false;
    table_head(p);
}

static void row(void *context, const char *const *cells, double bar, bool marked)
{
    page *p = context;
    fputs(marked ? "<tr class=\"m\">" : "<tr>", p->out);
    for (size_t i = 0; i < p->n; i++) {
        fprintf(p->out, "<td%s>", class_of(&p->kept[i]));
        tt_text_markup(cells[i] ? cells[i] : "", p->out);
        fputs("</td>", p->out);
    }
    if (isfinite(bar) && p->full_bar[0]) {
        /* Left of the middle B takes less, right of it more. */
        double width = 100 * fmin(fabs(bar), 1);
        fprintf(p->out,
                "<td class=\"bar\"><div>%s<i class=\"%c\" style=\"width:%.1f%%\"></i></div></td>",
                bar < 0 ? "" : "<span></span>", bar < 0 ? 'l' : 'r', width);
    }
    fputs("</tr>\n", p->out);
}

/* A page has room for all: folded away. */
static bool more(void *context, size_t n, const char *what)
{
    page *p = context;
    fprintf(p->out, "</tbody></table></div>\n<details><summary>%zu more %s</summary>\n", n,
            *what ? what : "rows");
    p->folded = true;
    table_head(p);
    return true;
}

static void table_end(void *context)
{
    page *p = context;
    fputs("</tbody></table></div>\n", p->out);
    if (p->folded) fputs("</details>\n", p->out);
}

static void point(void *context, const char *text)
{
    page *p = context;
    fputs("<li>", p->out);
    tt_text_markup(text, p->out);
    fputs("</li>\n", p->out);
}

bool tt_diff_write_page(const tt_diff_page *what, const void *view, FILE *out)
{
    page p = {.out = out};
    const tt_diff_sink sink = {&p, heading, line, table, row, more, table_end};
    const tt_diff_sink points = {&p, heading, point, table, row, more, table_end};
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'\">\n<title>",
          out);
    tt_text_markup(what->title, out);
    fputs("</title>\n<style>\n", out);
    fputs(style, out);
    fputs("</style></head><body>\n<h1>", out);
    tt_text_markup(what->title, out);
    fprintf(out, "</h1>\n<p class=\"verdict%s\">", what->same ? " same" : "");
    for (size_t i = 0; i < what->n; i++) {
        if (i) fputs("<br>", out);
        tt_text_markup(what->verdict[i], out);
    }
    fputs("</p>\n", out);
    if (what->above) what->above(view, out);
    what->say(view, &sink);
    fputs("<h2>To read this</h2>\n<ul>\n", out);
    what->points(view, &points);
    fputs("</ul>\n</body></html>\n", out);
    return !ferror(out);
}
