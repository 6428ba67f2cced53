/* A report's content: sections of sentences, tables and plots, independent of the output format.
 *
 * Texts are copied into the page and may hold any bytes: the output functions escape them. A
 * failure (no memory) is sticky: check `failed` once, at the end. Not thread-safe. */
#ifndef TT_REPORT_PAGE_H
#define TT_REPORT_PAGE_H

#include "model/arena.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>

/* The data of a plot; report/svg.h draws it. */

#define TT_PLOT_SERIES_MAX 6u
#define TT_PLOT_LABELS_MAX 256u
#define TT_PLOT_POINTS_MAX 20000u
#define TT_PLOT_WIDTH 760u

typedef enum tt_series_style {
    TT_SERIES_LINE,
    TT_SERIES_STEPS,   /* holds from one point to the next */
    TT_SERIES_POINTS,  /* labelled points have texts */
    TT_SERIES_SPANS,   /* from (x, y) to (x2, y2) */
    TT_SERIES_BARS,    /* horizontal: y = row, from x to x2 */
    TT_SERIES_COLUMNS, /* vertical: at x, from y to y2 */
    TT_SERIES_CELLS    /* at (x, y), shaded by x2 from 0 to 1 */
} tt_series_style;

typedef struct tt_series {
    const char *name; /* in the key; "": not in the key */
    tt_series_style style;
    unsigned color; /* 1.. of the page's; also selects dashes or marks */
    bool thin;      /* one of many lines: each is faint */
    size_t n, capacity;
    double *x, *y, *x2, *y2;
    const char **texts; /* or NULL; for points */
} tt_series;

typedef struct tt_plot {
    const char *id;
    const char *title;
    const char *description; /* for readers who cannot see the plot */
    const char *x_label, *y_label;
    bool log_x, log_y;
    bool has_x, has_y; /* if so: */
    double x_min, x_max, y_min, y_max;
    unsigned height;
    bool y_rows;                 /* the y axis has `labels`, the first at the top */
    bool x_labelled;             /* the x axis has `labels`, at 0, 1, ... */
    bool x_integers, y_integers; /* whole numbers only on the axis */
    const char *labels[TT_PLOT_LABELS_MAX];
    unsigned n_labels;
    tt_series series[TT_PLOT_SERIES_MAX];
    unsigned n_series;
    tt_arena *arena; /* of the page */
    bool *failed;
} tt_plot;

/* All of these do nothing when plot or series is NULL. */
tt_series *tt_plot_series(tt_plot *p, const char *name, tt_series_style style, unsigned color,
                          size_t capacity);
/* Ignores points beyond the capacity and non-finite ones. */
void tt_series_add(tt_series *s, double x, double y, double x2, double y2);
void tt_series_label(tt_plot *p, tt_series *s, const char *text); /* of the last point added */
void tt_plot_label(tt_plot *p, const char *text);
void tt_plot_describe(tt_plot *p, const char *text);

bool tt_plot_is_empty(const tt_plot *p);

#define TT_PAGE_COLUMNS_MAX 16u
/* Limit of a page's texts and plots. */
#define TT_PAGE_BYTES_MAX ((size_t)64 << 20)

typedef enum tt_block_kind {
    TT_BLOCK_ANSWER, /* the sentence that answers the section's question */
    TT_BLOCK_TEXT,
    TT_BLOCK_NOTE,  /* the method, or its limits */
    TT_BLOCK_POINT, /* an item in a list of notes */
    TT_BLOCK_PLOT,
    TT_BLOCK_TABLE
} tt_block_kind;

typedef struct tt_page_row {
    const char *cells[TT_PAGE_COLUMNS_MAX];
    struct tt_page_row *next;
} tt_page_row;

typedef struct tt_page_table {
    const char *caption;
    bool captioned; /* false: the section's title is the caption */
    unsigned n_columns;
    const char *titles[TT_PAGE_COLUMNS_MAX];
    bool right[TT_PAGE_COLUMNS_MAX]; /* right-aligned: numbers */
    bool folded;                     /* collapsed at first: it repeats a plot */
    bool head;                       /* the first column is a row header */
    tt_page_row *rows, *last;
    /* If there are columns, instead of `rows`: */
    tt_rowset set;
    tt_listing listing;
    const void *total; /* a last row of the set, "all"; or NULL */
    size_t shown;      /* rows shown at first, the others on demand; 0: all */
    const char *more;  /* what the others are called; "": rows */
    /* A bar behind each row; NULL: none. From -full to full; NAN: none in this row. */
    double (*bar)(const void *row);
    double full;
    const char *full_text;                                /* "2.16 ms" */
    bool (*marked)(const void *context, const void *row); /* highlighted; NULL: none */
    struct tt_page_table *next_listed;                    /* of the page */
} tt_page_table;

typedef struct tt_page_block {
    tt_block_kind kind;
    const char *text;
    tt_page_table *table;
    tt_plot *plot;
    struct tt_page_block *next;
} tt_page_block;

typedef struct tt_page_section {
    const char *id; /* of letters and dashes */
    const char *title;
    tt_page_block *blocks, *last;
    struct tt_page_section *next;
} tt_page_section;

/* A figure at the top of the page. */
typedef struct tt_page_figure {
    const char *value;
    const char *label;
    struct tt_page_figure *next;
} tt_page_figure;

typedef struct tt_page {
    const char *title;
    const char *subtitle;
    const char *footer;
    tt_page_figure *figures, *last_figure;
    tt_page_block *summary, *last_summary; /* sentences, the most important first */
    tt_page_section *sections, *last;
    bool alarming; /* the summary is bad news */
    bool wide;     /* its tables have many columns */
    unsigned n_plots;
    tt_page_table *listed; /* tables with listings, owned by the page */
    tt_arena arena;
    bool failed;
} tt_page;

void tt_page_open(tt_page *p);
void tt_page_close(tt_page *p);

/* n bytes, or a copy of them, in the page's memory; NULL if out of memory. */
void *tt_page_take(tt_page *p, size_t n);
const void *tt_page_keep(tt_page *p, const void *bytes, size_t n);
/* A copy in the page's memory; never NULL. */
const char *tt_page_text(tt_page *p, const char *text);
const char *tt_page_format(tt_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void tt_page_figure_add(tt_page *p, const char *value, const char *label);
void tt_page_summary(tt_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tt_page_section_begin(tt_page *p, const char *id, const char *title);
/* These add to the section begun last. */
void tt_page_add(tt_page *p, tt_block_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A title that ends in '>' makes a column of numbers. */
tt_page_table *tt_page_table_begin(tt_page *p, const char *caption, unsigned n,
                                   const char *const *titles);
/* Adds a row: as many cells as columns; copied; NULL is empty. */
void tt_page_table_row(tt_page *p, tt_page_table *t, const char *const *cells);
/* Adds rows of a set as a table; the set's rows and context must outlive the page. caption: NULL
 * where the section's title says it. NULL if out of memory. */
tt_page_table *tt_page_rows(tt_page *p, const char *caption, const tt_rowset *set,
                            const tt_listing_wish *wish);
/* Sets the column's title; ignores missing columns and a NULL table. */
void tt_page_retitle(tt_page *p, tt_page_table *t, const char *key, const char *title);
/* Adds an empty plot to the section, with a unique id in the page. NULL if out of memory, which
 * the plot functions accept. */
tt_plot *tt_page_plot(tt_page *p, const char *title, const char *x_label, const char *y_label);

/* --- for the output formats --- */

/* Room for the text of a listing's cell. */
#define TT_PAGE_CELL_TEXT 320

/* Iterates over a table's rows. */
typedef struct tt_page_cursor {
    const tt_page_table *t;
    const tt_page_row *next; /* of `rows` */
    size_t i;                /* rows before this one */
    const char *cells[TT_PAGE_COLUMNS_MAX];
    double bar; /* -1 .. 1; NAN: none */
    bool marked;
    char texts[TT_PAGE_COLUMNS_MAX][TT_PAGE_CELL_TEXT];
} tt_page_cursor;

void tt_page_cursor_begin(tt_page_cursor *c, const tt_page_table *t);
/* False after the last row. */
bool tt_page_cursor_next(tt_page_cursor *c);
size_t tt_page_table_rows(const tt_page_table *t); /* for `rows`: 1 if there are any */
/* A column title as used in a sentence: a terminal's "TENSOR OR EXPERT" is "Tensor or expert";
 * single letters, as in "B - A" and "REL L2", stay. */
void tt_page_title(const tt_page_table *t, unsigned column, char out[TT_PAGE_CELL_TEXT]);

#endif
