/* The error over depth as a picture: a line a batch, on a logarithmic scale. */
#include "cli/diff/valuediff_view.h"

#include <inttypes.h>
#include <math.h>

#define LINES_MAX 64u /* batches; of more, each so many-th */
#define DECADES 9     /* 1e-8 to 10 */
#define LEFT 58
#define TOP 34
#define HEIGHT 270
#define BOTTOM 46

static double y_of(double rel_l2)
{
    double decade = rel_l2 > 0 ? log10(rel_l2) + 8 : 0;
    if (!(decade > 0)) decade = 0;
    if (decade > DECADES) decade = DECADES;
    return TOP + HEIGHT - HEIGHT * decade / DECADES;
}

/* Which column a layer has: where it is in the rows by layer. */
static size_t column_of(const tt_valuediff *d, const tt_valuediff_depth *p)
{
    size_t c = 0;
    while (c < d->n_layers && (d->layers[c].layer != p->layer || d->layers[c].behind != p->behind))
        c++;
    return c;
}

static void axes(const tt_valuediff *d, double step, double width, FILE *out)
{
    for (int k = 0; k <= DECADES; k++) {
        double y = TOP + HEIGHT - (double)HEIGHT * k / DECADES;
        fprintf(out,
                "<line x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"g\"/>"
                "<text x=\"%d\" y=\"%.1f\" class=\"r\">1e%d</text>\n",
                LEFT, y, LEFT + width, y, LEFT - 6, y + 4, k - 8);
    }
    size_t every = d->n_layers > 24 ? (d->n_layers + 23) / 24 : 1;
    for (size_t c = 0; c < d->n_layers; c++) {
        char name[TT_VALUEDIFF_LAYER];
        const tt_valuediff_row *r = &d->layers[c];
        if (r->layer >= 0 && c % every) continue;
        if (r->layer >= 0)
            (void)snprintf(name, sizeof name, "%" PRId32, r->layer);
        else
            (void)snprintf(name, sizeof name, "%s",
                           r->layer == TT_STAGE_LAYER_AFTER_ALL ? "all"
                           : r->layer == TT_STAGE_LAYER_UNKNOWN ? "?"
                           : r->behind                          ? "out"
                                                                : "in");
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" class=\"m\">%s</text>\n",
                LEFT + step * ((double)c + 0.5), TOP + HEIGHT + 18, name);
    }
    fprintf(out,
            "<text x=\"%.1f\" y=\"%d\" class=\"m\">layer</text>"
            "<text x=\"%d\" y=\"16\">largest relative L2 error of each layer, a line a batch "
            "(the first is thick); a dot: it differs</text>\n",
            LEFT + width / 2, TOP + HEIGHT + 38, LEFT);
}

static void lines(const tt_valuediff *d, double step, FILE *out)
{
    size_t every = d->n_steps > LINES_MAX ? (d->n_steps + LINES_MAX - 1) / LINES_MAX : 1;
    for (size_t i = 0; i < d->n_depth;) {
        uint32_t pair = d->depth[i].pair;
        bool open = false;
        size_t end = i;
        for (; end < d->n_depth && d->depth[end].pair == pair; end++) {
            const tt_valuediff_depth *p = &d->depth[end];
            if ((pair % every && i) || isnan(p->rel_l2)) continue;
            if (!open) fprintf(out, "<polyline class=\"%s\" points=\"", i ? "l" : "l f");
            open = true;
            fprintf(out, "%.1f,%.1f ", LEFT + step * ((double)column_of(d, p) + 0.5),
                    y_of(p->rel_l2));
        }
        if (open) fprintf(out, "\"/>\n");
        for (; i < end; i++) {
            const tt_valuediff_depth *p = &d->depth[i];
            if (!tt_value_diverging(p->counts)) continue;
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n",
                    LEFT + step * ((double)column_of(d, p) + 0.5),
                    y_of(p->counts[TT_VALUE_NAN] ? INFINITY : p->rel_l2));
        }
    }
}

void tt_valuediff_svg(const tt_valuediff *d, bool own_file, FILE *out)
{
    double columns = d->n_layers ? (double)d->n_layers : 1;
    double width = fmin(900, fmax(560, 40 * columns)), step = width / columns;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" width=\"%.0f\" "
            "height=\"%d\" style=\"max-width:100%%;height:auto\" role=\"img\" "
            "aria-label=\"error over depth\">\n",
            LEFT + width + 12, TOP + HEIGHT + BOTTOM, LEFT + width + 12, TOP + HEIGHT + BOTTOM);
    fputs("<style>svg{--i:#1b1f24;--g:#d1d9e0;--m:#b35900;--b:#1f6feb}"
          "@media(prefers-color-scheme:dark){svg{--i:#e6edf3;--g:#3d444d;--m:#f0883e;--b:#58a6ff}}"
          "text{font:12px system-ui,sans-serif;fill:var(--i)}.r{text-anchor:end}"
          ".m{text-anchor:middle}.g{stroke:var(--g)}.l{fill:none;stroke:var(--b);"
          "stroke-opacity:.35}.l.f{stroke-width:2.5;stroke-opacity:1}circle{fill:var(--m)}"
          "</style>\n",
          out);
    if (own_file) fprintf(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"Canvas\"/>\n");
    axes(d, step, width, out);
    lines(d, step, out);
    fputs("</svg>\n", out);
}
