#include "report/svg.h"

#include "report/style.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

/* Past blanks. */
static const char *skip(const char *at)
{
    return at + strspn(at, " ");
}

static bool number(const char **at, unsigned long *v, char behind)
{
    const char *c = skip(*at);
    if (*c < '0' || *c > '9') return false;
    for (*v = 0; *c >= '0' && *c <= '9' && *v <= 255; c++)
        *v = *v * 10 + (unsigned)(*c - '0');
    c = skip(c);
    if (*c != behind || *v > 255) return false;
    *at = c + 1;
    return true;
}

/* "rgb(  0,   0,   1)" at `at`: writes what it stands for and returns what is behind it. */
static const char *color(const char *at, FILE *out)
{
    const char *behind = at + 4;
    unsigned long r, g, b;
    if (!number(&behind, &r, ',') || !number(&behind, &g, ',') || !number(&behind, &b, ')')) {
        fputs("rgb(", out);
        return at + 4;
    }
    if (r == 0 && g == 0 && b > 0)
        fprintf(out, "var(--c%lu)", b);
    else if (r == 0 && g == 1 && b == 2)
        fputs("var(--text)", out);
    else if (r == 0 && g == 1 && b == 3)
        fputs("var(--line)", out);
    else if (g == 1 && b == 0)
        fprintf(out, "color-mix(in srgb,var(--hot) %lu%%,var(--cold))", r * 100 / 255);
    else
        fputs("var(--text)", out);
    return behind;
}

static bool begins(const char *at, const char *end, const char *with)
{
    size_t n = strlen(with);
    return (size_t)(end - at) >= n && memcmp(at, with, n) == 0;
}

/* One line, with colours and ids replaced. */
static void line(const tt_plot *p, const char *at, const char *end, FILE *out)
{
    while (at < end) {
        if (begins(at, end, "rgb(")) {
            at = color(at, out);
        } else if (begins(at, end, "xlink:href='#gpPt")) {
            fprintf(out, "href='#%s-", p->id);
            at += strlen("xlink:href='#");
        } else if (begins(at, end, "id='gp")) {
            fprintf(out, "id='%s-", p->id);
            at += strlen("id='");
        } else if (begins(at, end, " color=\"black\"")) {
            at += strlen(" color=\"black\"");
        } else if (begins(at, end, " color=\"white\"")) {
            at += strlen(" color=\"white\"");
        } else if (begins(at, end, "stroke=\"black\"")) {
            fputs("stroke=\"var(--text)\"", out);
            at += strlen("stroke=\"black\"");
        } else if (begins(at, end, " id=\"gnuplot_plot_")) {
            /* of every plot alike, and nothing refers to it */
            at += strlen(" id=\"gnuplot_plot_");
            while (at < end && *at++ != '"') {
            }
        } else {
            fputc(*at++, out);
        }
    }
    fputc('\n', out);
}

static void head(const tt_plot *p, bool alone, FILE *out)
{
    fprintf(out, "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\"",
            TT_PLOT_WIDTH, p->height);
    if (alone) fprintf(out, " width=\"%u\" height=\"%u\"", TT_PLOT_WIDTH, p->height);
    fprintf(out, " role=\"img\" aria-labelledby=\"%s-title %s-desc\">\n<title id=\"%s-title\">",
            p->id, p->id, p->id);
    tt_text_markup(p->title, out);
    fprintf(out, "</title>\n<desc id=\"%s-desc\">", p->id);
    tt_text_markup(p->description, out);
    fputs("</desc>\n", out);
    if (alone) fprintf(out, "<style>%s</style>\n", tt_style_colors());
}

/* Groups that hold nothing are most of what gnuplot writes. */
static bool is_empty_group(const char *at, const char *end, const char *next, const char *stop)
{
    return begins(at, end, "<g ") && end > at && end[-1] == '>' && begins(next, stop, "</g>\n");
}

bool tt_svg_write(const tt_plot *p, const char *svg, size_t size, bool alone, FILE *out)
{
    const char *stop = svg + size, *at = strstr(svg, "<g id=\"gnuplot_canvas\">");
    bool filter = false;
    if (!at) return false;
    head(p, alone, out);
    fputs("<g>\n", out);
    for (at = strchr(at, '\n'); at && at + 1 < stop;) {
        const char *from = ++at, *end = strchr(at, '\n');
        if (!end) end = stop;
        at = end;
        from += strspn(from, " \t");
        if (from >= end) continue;
        if (begins(from, end, "<filter")) filter = true;
        bool dropped =
            filter || begins(from, end, "<rect x=\"0\" y=\"0\"") || begins(from, end, "<title>");
        if (begins(from, end, "</filter")) filter = false;
        if (dropped) continue;
        const char *title =
            begins(from, end, "<g id=\"gnuplot_plot_") ? strstr(from, "<title>") : NULL;
        if (end < stop && is_empty_group(from, end, end + 1, stop)) {
            at = end + strlen("</g>\n");
            continue;
        }
        line(p, from, title && title < end ? title : end, out);
    }
    return true;
}
