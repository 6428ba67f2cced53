#include "report/plot.h"

#include <math.h>
#include <string.h>

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
