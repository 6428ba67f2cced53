#include "report/svg.h"

#include "report/style.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

#define COLORS 6u
#define LETTER 7.0 /* approximate width of a letter */
#define LINE 18.0
#define TICKS_MAX 16u

typedef struct axis {
    double min, max;   /* of the values; on a logarithmic axis, of their logarithms */
    double from, size; /* in the picture, from the low end; size < 0: upwards */
    bool log;
    double ticks[TICKS_MAX];
    unsigned n_ticks;
} axis;

typedef struct canvas {
    const tt_plot *p;
    axis x, y;
    FILE *out;
} canvas;

/* --- scales --- */

static double scaled(const axis *a, double v)
{
    return a->log ? log10(v) : v;
}

/* The position of a value in the picture; values beyond an end are at that end. */
static double place(const axis *a, double v)
{
    const double share = (scaled(a, v) - a->min) / (a->max - a->min);
    return a->from + a->size * fmin(1, fmax(0, share > 0 ? share : 0));
}

static void reach(axis *a, double v)
{
    if (a->log && !(v > 0)) return;
    a->min = fmin(a->min, scaled(a, v));
    a->max = fmax(a->max, scaled(a, v));
}

static void reach_all(const tt_plot *p, axis *x, axis *y)
{
    for (unsigned i = 0; i < p->n_series; i++) {
        const tt_series *s = &p->series[i];
        for (size_t k = 0; k < s->n; k++) {
            const double half = s->style >= TT_SERIES_COLUMNS ? 0.5 : 0;
            reach(x, s->x[k] - half);
            reach(x, s->x[k] + half);
            reach(y, s->y[k]);
            if (s->style == TT_SERIES_SPANS || s->style == TT_SERIES_BARS) reach(x, s->x2[k]);
            if (s->style == TT_SERIES_SPANS || s->style == TT_SERIES_COLUMNS) reach(y, s->y2[k]);
        }
    }
}

/* The least of 1, 2, 5, 10, ... that divides a range into at most `most` parts. */
static double step_of(double range, unsigned most)
{
    const double least = range / most, decade = pow(10, floor(log10(least)));
    const double by = least / decade;
    return decade * (by <= 1 ? 1 : by <= 2 ? 2 : by <= 5 ? 5 : 10);
}

/* Sets the range, widened to whole steps unless given, and its ticks. */
static void divide(axis *a, bool given, bool integers, unsigned most)
{
    if (!(a->min <= a->max)) a->min = a->max = 0;
    if (!(a->max - a->min > 1e-12 * fmax(fabs(a->min), fabs(a->max)))) {
        a->min -= a->log ? 0.5 : fmax(0.5, fabs(a->min) / 2);
        a->max += a->log ? 0.5 : fmax(0.5, fabs(a->max) / 2);
    }
    double step = step_of(a->max - a->min, most);
    if ((integers || a->log) && step < 1) step = 1;
    if (!given) {
        a->min = step * floor(a->min / step + 1e-9);
        a->max = step * ceil(a->max / step - 1e-9);
    }
    for (double k = ceil(a->min / step - 1e-9);
         k * step <= a->max + 1e-9 * step && a->n_ticks < TICKS_MAX; k++)
        a->ticks[a->n_ticks++] = k * step;
}

static void tick_text(const axis *a, unsigned i, char out[32])
{
    const double v = a->ticks[i];
    if (a->log && (v < -3 || v > 5))
        (void)snprintf(out, 32, "1e%.0f", v);
    else
        (void)snprintf(out, 32, "%.6g", a->log ? pow(10, v) : fabs(v) < 1e-12 ? 0 : v);
}

static double tick_place(const axis *a, unsigned i)
{
    return a->from + a->size * (a->ticks[i] - a->min) / (a->max - a->min);
}

/* --- texts and lines --- */

static void text(const canvas *c, double x, double y, const char *more, const char *what)
{
    fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\" fill=\"var(--text)\"%s>", x, y, more);
    tt_text_markup(what, c->out);
    fputs("</text>\n", c->out);
}

static void line(const canvas *c, double x, double y, double x2, double y2)
{
    fprintf(c->out,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"var(--line)\"/>\n", x,
            y, x2, y2);
}

/* The width of the texts left of the plot. */
static double left_of(const canvas *c)
{
    size_t longest = 0;
    char tick[32];
    for (unsigned i = 0; c->p->y_rows && i < c->p->n_labels; i++)
        if (strlen(c->p->labels[i]) > longest) longest = strlen(c->p->labels[i]);
    for (unsigned i = 0; !c->p->y_rows && i < c->y.n_ticks; i++) {
        tick_text(&c->y, i, tick);
        if (strlen(tick) > longest) longest = strlen(tick);
    }
    return 14 + (c->p->y_label[0] ? LINE : 0) + LETTER * (double)(longest < 44 ? longest : 44);
}

/* Of labels along the x axis, each so many-th has room. */
static unsigned labels_apart(const canvas *c)
{
    size_t longest = 2;
    for (unsigned i = 0; i < c->p->n_labels; i++)
        if (strlen(c->p->labels[i]) > longest) longest = strlen(c->p->labels[i]);
    const double width = place(&c->x, c->p->n_labels) - place(&c->x, 0);
    const double needed = LETTER * (double)(longest + 1) * c->p->n_labels;
    if (!(width > 0) || needed <= width) return 1;
    return needed / width < c->p->n_labels ? (unsigned)ceil(needed / width) : c->p->n_labels;
}

static void axes(const canvas *c)
{
    const tt_plot *p = c->p;
    const double bottom = c->y.from, top = c->y.from + c->y.size, right = c->x.from + c->x.size;
    char tick[32];
    for (unsigned i = 0; !p->x_labelled && i < c->x.n_ticks; i++) {
        const double x = tick_place(&c->x, i);
        tick_text(&c->x, i, tick);
        line(c, x, p->y_rows ? top : bottom, x, bottom + 4);
        text(c, x, bottom + LINE, " text-anchor=\"middle\"", tick);
    }
    const unsigned every = labels_apart(c);
    for (unsigned i = 0; p->x_labelled && i < p->n_labels; i += every)
        text(c, place(&c->x, i), bottom + LINE, " text-anchor=\"middle\"", p->labels[i]);
    for (unsigned i = 0; !p->y_rows && i < c->y.n_ticks; i++) {
        const double y = tick_place(&c->y, i);
        tick_text(&c->y, i, tick);
        line(c, c->x.from, y, right, y);
        text(c, c->x.from - 6, y + 4, " text-anchor=\"end\"", tick);
    }
    for (unsigned i = 0; p->y_rows && i < p->n_labels; i++) {
        char label[48];
        (void)snprintf(label, sizeof label, "%.44s%s", p->labels[i],
                       strlen(p->labels[i]) > 44 ? "..." : "");
        text(c, c->x.from - 6, place(&c->y, i) + 4, " text-anchor=\"end\"", label);
    }
    line(c, c->x.from, bottom, right, bottom);
    line(c, c->x.from, bottom, c->x.from, top);
    text(c, (c->x.from + right) / 2, bottom + 2 * LINE, " text-anchor=\"middle\"", p->x_label);
    if (!p->y_label[0]) return;
    fprintf(c->out, "<g transform=\"translate(13 %.1f) rotate(-90)\">", (bottom + top) / 2);
    text(c, 0, 0, " text-anchor=\"middle\"", p->y_label);
    fputs("</g>\n", c->out);
}

/* --- series --- */

/* A mark around (x, y), as a path: each colour has its own shape. */
static void mark(FILE *out, unsigned color, double x, double y, double r)
{
    switch (color % COLORS) {
    case 2:
        fprintf(out, "M%.1f %.1fl%.1f %.1fh%.1fz", x, y - r, r, 2 * r, -2 * r);
        return;
    case 3:
        fprintf(out, "M%.1f %.1fh%.1fv%.1fh%.1fz", x - r, y - r, 2 * r, 2 * r, -2 * r);
        return;
    case 4:
        fprintf(out, "M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz", x, y - r, r, r, -r, r, -r, -r);
        return;
    case 5:
        fprintf(out, "M%.1f %.1fl%.1f %.1fh%.1fz", x, y + r, r, -2 * r, -2 * r);
        return;
    default:
        fprintf(out, "M%.1f %.1fa%.1f %.1f 0 1 0 %.1f 0a%.1f %.1f 0 1 0 %.1f 0z", x - r, y, r, r,
                2 * r, r, r, -2 * r);
        return;
    }
}

static void box(const canvas *c, double x, double y, double x2, double y2)
{
    const double from = place(&c->x, x), to = place(&c->x, x2);
    const double low = place(&c->y, y), high = place(&c->y, y2);
    fprintf(c->out, "M%.1f %.1fH%.1fV%.1fH%.1fz", from, low, to, high, from);
}

/* What point i adds to the path of a series. */
static void point(const canvas *c, const tt_series *s, size_t i)
{
    const double x = place(&c->x, s->x[i]), y = place(&c->y, s->y[i]);
    switch (s->style) {
    case TT_SERIES_LINE:
        fprintf(c->out, "%c%.1f %.1f", i ? 'L' : 'M', x, y);
        return;
    case TT_SERIES_STEPS:
        if (i)
            fprintf(c->out, "H%.1fV%.1f", x, y);
        else
            fprintf(c->out, "M%.1f %.1f", x, y);
        return;
    case TT_SERIES_POINTS:
        mark(c->out, s->color, x, y, s->n > 200 ? 1.5 : 4);
        return;
    case TT_SERIES_SPANS:
        fprintf(c->out, "M%.1f %.1fL%.1f %.1f", x, y, place(&c->x, s->x2[i]),
                place(&c->y, s->y2[i]));
        return;
    case TT_SERIES_BARS:
        box(c, s->x[i], s->y[i] - 0.36, s->x2[i], s->y[i] + 0.36);
        return;
    case TT_SERIES_COLUMNS:
        box(c, s->x[i] - 0.4, s->y[i], s->x[i] + 0.4, s->y2[i]);
        return;
    case TT_SERIES_CELLS:
        box(c, s->x[i] - 0.48, s->y[i] - 0.46, s->x[i] + 0.48, s->y[i] + 0.46);
        return;
    }
}

static bool is_line(const tt_series *s)
{
    return s->style == TT_SERIES_LINE || s->style == TT_SERIES_STEPS || s->style == TT_SERIES_SPANS;
}

/* Writes a path element's style, up to its points. */
static void path(const tt_series *s, FILE *out)
{
    static const char *const dashes[] = {"", "", "8 4", "2 3", "8 3 2 3", "12 4", "4 4"};
    const unsigned c = s->color <= COLORS ? s->color : 1;
    if (!is_line(s)) {
        fprintf(out, "<path fill=\"var(--c%u)\" d=\"", c);
        return;
    }
    fprintf(out, "<path fill=\"none\" stroke=\"var(--c%u)\" stroke-width=\"2\"", c);
    if (s->style != TT_SERIES_SPANS && dashes[c][0])
        fprintf(out, " stroke-dasharray=\"%s\"", dashes[c]);
    if (s->thin) fputs(" stroke-opacity=\".35\"", out);
    fputs(" d=\"", out);
}

/* Draws the cells of one shade after another, each shade as one path. */
static void cells(const canvas *c, const tt_series *s)
{
    for (int shade = 0; shade <= 100; shade++) {
        bool any = false;
        for (size_t i = 0; i < s->n; i++) {
            if ((int)(100 * fmin(1, fmax(0, s->x2[i]))) != shade) continue;
            if (!any)
                fprintf(c->out,
                        "<path fill=\"color-mix(in srgb,var(--hot) %d%%,var(--cold))\" d=\"",
                        shade);
            any = true;
            point(c, s, i);
        }
        if (any) fputs("\"/>\n", c->out);
    }
}

static void series(const canvas *c, const tt_series *s)
{
    if (s->n == 0) return;
    if (s->style == TT_SERIES_CELLS) {
        cells(c, s);
        return;
    }
    path(s, c->out);
    for (size_t i = 0; i < s->n; i++)
        point(c, s, i);
    fputs("\"/>\n", c->out);
    for (size_t i = 0; s->texts && i < s->n; i++)
        if (s->texts[i] && *s->texts[i])
            text(c, place(&c->x, s->x[i]) + 6, place(&c->y, s->y[i]) + 3, "", s->texts[i]);
}

/* A sample of the series and its name. */
static void key_entry(const canvas *c, const tt_series *s, double x, double y)
{
    path(s, c->out);
    if (is_line(s))
        fprintf(c->out, "M%.1f %.1fh20", x, y - 4);
    else if (s->style == TT_SERIES_POINTS)
        mark(c->out, s->color, x + 12, y - 4, 4);
    else
        fprintf(c->out, "M%.1f %.1fh16v10h-16z", x, y - 9);
    fputs("\"/>\n", c->out);
    text(c, x + 25, y, "", s->name);
}

/* The names of the series in lines at the top; returns their height. */
static double key(const canvas *c, bool draw)
{
    double x = 60, y = LINE - 4;
    bool any = false;
    for (unsigned i = 0; i < c->p->n_series; i++) {
        const tt_series *s = &c->p->series[i];
        const double width = 40 + LETTER * (double)strlen(s->name);
        if (!*s->name || s->n == 0) continue;
        if (any && x + width > TT_PLOT_WIDTH) {
            x = 60;
            y += LINE;
        }
        any = true;
        if (draw) key_entry(c, s, x, y);
        x += width;
    }
    return any ? y + 10 : 10;
}

/* --- the picture --- */

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
    if (!alone) return;
    fprintf(out,
            "<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"var(--ground)\"/>\n",
            tt_style_colors());
}

void tt_svg_write(const tt_plot *p, bool alone, FILE *out)
{
    canvas c = {.p = p,
                .x = {.min = INFINITY, .max = -INFINITY, .log = p->log_x},
                .y = {.min = INFINITY, .max = -INFINITY, .log = p->log_y},
                .out = out};
    reach_all(p, &c.x, &c.y);
    if (p->has_x) {
        c.x.min = scaled(&c.x, p->x_min);
        c.x.max = scaled(&c.x, p->x_max);
    }
    if (p->has_y) {
        c.y.min = scaled(&c.y, p->y_min);
        c.y.max = scaled(&c.y, p->y_max);
    }
    if (p->y_rows) { /* the first is at the top */
        c.y.min = p->n_labels - 0.4;
        c.y.max = -0.6;
    } else {
        divide(&c.y, p->has_y, p->y_integers, p->height < 200 ? 4 : 7);
    }
    divide(&c.x, p->has_x, p->x_integers, 10);
    const double top = key(&c, false), bottom = p->height - 30 - (p->x_label[0] ? LINE : 0);
    c.y.from = bottom;
    c.y.size = top - bottom;
    c.x.from = left_of(&c);
    c.x.size = TT_PLOT_WIDTH - 24 - c.x.from;
    head(p, alone, out);
    axes(&c);
    for (unsigned i = 0; i < p->n_series; i++)
        series(&c, &p->series[i]);
    (void)key(&c, true);
    fputs("</svg>\n", out);
}
