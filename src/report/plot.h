/* What a plot shows; report/svg.h draws it. */
#ifndef TT_REPORT_PLOT_H
#define TT_REPORT_PLOT_H

#include "model/arena.h"

#include <stdbool.h>
#include <stddef.h>

#define TT_PLOT_SERIES_MAX 6u
#define TT_PLOT_LABELS_MAX 256u
#define TT_PLOT_POINTS_MAX 20000u
#define TT_PLOT_WIDTH 760u

typedef enum tt_series_style {
    TT_SERIES_LINE,
    TT_SERIES_STEPS,   /* holds from a point to the next */
    TT_SERIES_POINTS,  /* labelled ones with their texts */
    TT_SERIES_SPANS,   /* from (x, y) to (x2, y2) */
    TT_SERIES_BARS,    /* lying: y = row, from x to x2 */
    TT_SERIES_COLUMNS, /* standing: x = place, from y to y2 */
    TT_SERIES_CELLS    /* at (x, y), shaded by x2 from 0 to 1 */
} tt_series_style;

typedef struct tt_series {
    const char *name; /* in the key; "": not there */
    tt_series_style style;
    unsigned color; /* 1.. of the page's; also dashes, or marks */
    bool thin;      /* of many lines: each is faint */
    size_t n, capacity;
    double *x, *y, *x2, *y2;
    const char **texts; /* or NULL; of points */
} tt_series;

typedef struct tt_plot {
    const char *id;
    const char *title;
    const char *description; /* for those who cannot see it: what it shows */
    const char *x_label, *y_label;
    bool log_x, log_y;
    bool has_x, has_y; /* then: */
    double x_min, x_max, y_min, y_max;
    unsigned height;
    bool y_rows;                 /* the y axis has `labels`, the first on top */
    bool x_labelled;             /* the x axis has them, at 0, 1, ... */
    bool x_integers, y_integers; /* whole numbers only on the axis */
    const char *labels[TT_PLOT_LABELS_MAX];
    unsigned n_labels;
    tt_series series[TT_PLOT_SERIES_MAX];
    unsigned n_series;
    tt_arena *arena; /* of the page */
    bool *failed;
} tt_plot;

/* All of these take a NULL plot or series, and then do nothing. */
tt_series *tt_plot_series(tt_plot *p, const char *name, tt_series_style style, unsigned color,
                          size_t capacity);
/* Beyond the capacity, or not finite: left out. */
void tt_series_add(tt_series *s, double x, double y, double x2, double y2);
void tt_series_label(tt_plot *p, tt_series *s, const char *text); /* of the point added last */
void tt_plot_label(tt_plot *p, const char *text);
void tt_plot_describe(tt_plot *p, const char *text);

/* Whether there is anything to draw. */
bool tt_plot_is_empty(const tt_plot *p);

#endif
