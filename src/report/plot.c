#include "report/plot.h"

#include <math.h>
#include <string.h>

#define LABEL_CHARS 44u /* of names of a trace */
#define TEXT_CHARS 100u

tt_series *tt_plot_series(tt_plot *p, const char *name, tt_series_style style, unsigned color,
                          size_t capacity)
{
    if (!p || p->n_series == TT_PLOT_SERIES_MAX) return NULL;
    tt_series *s = &p->series[p->n_series];
    if (capacity > TT_PLOT_POINTS_MAX) capacity = TT_PLOT_POINTS_MAX;
    *s = (tt_series){.name = tt_arena_text(p->arena, name, strlen(name)),
                     .style = style,
                     .color = color,
                     .capacity = capacity};
    double **columns[] = {&s->x, &s->y, &s->x2, &s->y2};
    for (size_t i = 0; i < 4; i++) {
        *columns[i] = tt_arena_take(p->arena, capacity + 1, sizeof(double));
        *p->failed |= !*columns[i];
    }
    if (!s->name || *p->failed) {
        *p->failed = true;
        return NULL;
    }
    p->n_series++;
    return s;
}

void tt_series_add(tt_series *s, double x, double y, double x2, double y2)
{
    if (!s || s->n == s->capacity || !isfinite(x) || !isfinite(y) || !isfinite(x2) || !isfinite(y2))
        return;
    s->x[s->n] = x;
    s->y[s->n] = y;
    s->x2[s->n] = x2;
    s->y2[s->n] = y2;
    s->n++;
}

void tt_series_label(tt_plot *p, tt_series *s, const char *text)
{
    if (!s || s->n == 0) return;
    if (!s->texts) s->texts = tt_arena_take(p->arena, s->capacity + 1, sizeof *s->texts);
    if (s->texts) s->texts[s->n - 1] = tt_arena_text(p->arena, text, strlen(text));
    *p->failed |= !s->texts;
}

void tt_plot_label(tt_plot *p, const char *text)
{
    if (!p || p->n_labels == TT_PLOT_LABELS_MAX) return;
    const char *copy = tt_arena_text(p->arena, text, strlen(text));
    *p->failed |= !copy;
    p->labels[p->n_labels++] = copy ? copy : "";
}

void tt_plot_describe(tt_plot *p, const char *text)
{
    if (!p) return;
    const char *copy = tt_arena_text(p->arena, text, strlen(text));
    *p->failed |= !copy;
    p->description = copy ? copy : "";
}

bool tt_plot_is_empty(const tt_plot *p)
{
    for (unsigned i = 0; i < p->n_series; i++)
        if (p->series[i].n > 0) return false;
    return true;
}

/* In double quotes. What could end the text, or mean something to gnuplot, becomes '?': quotes,
 * backslashes, backquotes, and all that is not ASCII. Long ones are cut. */
static void quoted_with(const char *text, const char *others, size_t most, FILE *out)
{
    size_t n = 0;
    fputc('"', out);
    for (const char *c = text; *c && n < most; c++, n++) {
        bool harmless = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z') ||
                        strchr(others, *c) != NULL;
        fputc(harmless ? *c : '?', out);
    }
    fputs(text[n] ? "...\"" : "\"", out);
}

/* A name of the trace: at tics, '%' would mean something, too. */
static void quoted(const char *text, FILE *out)
{
    quoted_with(text, " _.+-()/,:<>=", LABEL_CHARS, out);
}

/* A text of this program's. */
static void quoted_text(const char *text, FILE *out)
{
    quoted_with(text, " _.+-()/,:<>=%'", TEXT_CHARS, out);
}

/* --- data --- */

static void data(const tt_series *s, unsigned at, FILE *out)
{
    fprintf(out, "$d%u << END\n", at);
    for (size_t i = 0; i < s->n; i++) {
        fprintf(out, "%.9g %.9g %.9g %.9g ", s->x[i], s->y[i], s->x2[i], s->y2[i]);
        if (s->texts) quoted(s->texts[i] ? s->texts[i] : "", out);
        fputc('\n', out);
    }
    fputs("END\n", out);
}

static void series(const tt_series *s, unsigned at, FILE *out)
{
    static const int marks[] = {7, 7, 9, 5, 13, 11, 15};
    static const int dashes[] = {1, 1, 2, 4, 3, 5, 1};
    const unsigned c = s->color < 7 ? s->color : 0;
    fprintf(out, "$d%u using ", at);
    switch (s->style) {
    case TT_SERIES_LINE:
        fprintf(out, "1:2 with lines lw 2 dt %d lc rgb '#00000%u'", dashes[c], s->color);
        break;
    case TT_SERIES_STEPS:
        fprintf(out, "1:2 with steps lw 2 dt %d lc rgb '#00000%u'", dashes[c], s->color);
        break;
    case TT_SERIES_POINTS:
        fprintf(out, "1:2 with points pt %d ps %s lc rgb '#00000%u'", marks[c],
                s->n > 200 ? "0.3" : "0.9", s->color);
        break;
    case TT_SERIES_SPANS:
        fprintf(out, "1:2:($3-$1):($4-$2) with vectors nohead lw 2 lc rgb '#00000%u'", s->color);
        break;
    case TT_SERIES_BARS:
        fprintf(out,
                "1:2:1:3:($2-0.36):($2+0.36) with boxxyerror fs solid noborder lc rgb '#00000%u'",
                s->color);
        break;
    case TT_SERIES_COLUMNS:
        fprintf(out,
                "1:2:($1-0.4):($1+0.4):2:4 with boxxyerror fs solid noborder lc rgb '#00000%u'",
                s->color);
        break;
    case TT_SERIES_CELLS:
        fprintf(out,
                "1:2:($1-0.48):($1+0.48):($2-0.46):($2+0.46):(65536*int(255*$3)+s) with boxxyerror "
                "fs solid noborder lc rgb variable");
        break;
    }
    fputs(s->name[0] ? " title " : " notitle", out);
    if (s->name[0]) quoted_text(s->name, out);
    if (s->style == TT_SERIES_POINTS && s->texts)
        fprintf(out, ", $d%u using 1:2:5 with labels left offset 1,0.1 tc rgb '#000102' notitle",
                at);
}

/* --- axes --- */

static void rows_axis(const tt_plot *p, FILE *out)
{
    fputs("set ytics scale 0 (", out);
    for (unsigned i = 0; i < p->n_labels; i++) {
        if (i) fputs(", ", out);
        quoted(p->labels[i], out);
        fprintf(out, " %u", i);
    }
    fprintf(
        out,
        ")\nset yrange [%g:-0.6]\nset border 1\nunset grid\nset grid xtics lc rgb '#000103' lt 1\n",
        p->n_labels - 0.4);
}

static void axes(const tt_plot *p, FILE *out)
{
    if (p->x_label[0]) {
        fputs("set xlabel ", out);
        quoted_text(p->x_label, out);
        fputs(" textcolor rgb '#000102'\n", out);
    }
    if (p->y_label[0]) {
        fputs("set ylabel ", out);
        quoted_text(p->y_label, out);
        fputs(" textcolor rgb '#000102'\n", out);
    }
    if (p->log_x) fputs("set logscale x\n", out);
    if (p->log_y) fputs("set logscale y\n", out);
    if (p->has_x) fprintf(out, "set xrange [%.9g:%.9g]\n", p->x_min, p->x_max);
    if (p->has_y) fprintf(out, "set yrange [%.9g:%.9g]\n", p->y_min, p->y_max);
    if (p->x_integers && p->has_x && p->x_max - p->x_min < 12) fputs("set xtics 1\n", out);
    if (p->y_integers && p->has_y && p->y_max - p->y_min < 12) fputs("set ytics 1\n", out);
    if (p->y_rows) rows_axis(p, out);
}

void tt_plot_write(const tt_plot *p, FILE *out)
{
    bool any = false;
    fprintf(out,
            "set encoding utf8\n"
            "set terminal svg size %u,%u dynamic noenhanced font 'sans-serif,13'\n"
            "s = 256\n" /* of shaded cells: what says that they are */
            "set border 3 lc rgb '#000103'\n"
            "set tics nomirror out textcolor rgb '#000102'\n"
            "set grid ytics lc rgb '#000103' lt 1\n"
            "set key top outside center horizontal Left reverse samplen 2 textcolor rgb '#000102'\n"
            "set style fill solid noborder\n",
            TT_PLOT_WIDTH, p->height);
    axes(p, out);
    for (unsigned i = 0; i < p->n_series; i++)
        if (p->series[i].n > 0) data(&p->series[i], i, out);
    for (unsigned i = 0; i < p->n_series; i++) {
        if (p->series[i].n == 0) continue;
        fputs(any ? ", " : "plot ", out);
        series(&p->series[i], i, out);
        any = true;
    }
    fputc('\n', out);
}
