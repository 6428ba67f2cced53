/* A page in the formats that people read. */
#ifndef TT_REPORT_RENDER_H
#define TT_REPORT_RENDER_H

#include "base/status.h"
#include "report/page.h"

#include <stdbool.h>
#include <stdio.h>

/* A plot as gnuplot drew it; NULL: it was not drawn. By the plots' order in the page. */
typedef struct tt_drawings {
    char **svg;
    size_t *sizes;
    unsigned n;
} tt_drawings;

/* Draws every plot of the page. *drawings is freed with tt_drawings_free, also after an error; then
 * plots that could not be drawn are NULL, and *err says why the first of them could not. */
tt_status tt_drawings_make(const tt_page *p, tt_drawings *drawings, tt_error *err);
void tt_drawings_free(tt_drawings *d);
/* That of the plot, or NULL. */
const char *tt_drawings_of(const tt_drawings *d, const tt_plot *p, size_t *size);

/* One HTML document that needs nothing else: no scripts, no other files. Plots that were not drawn
 * are left to their tables. */
void tt_page_html(const tt_page *p, const tt_drawings *d, FILE *out);
/* Markdown with tables (as on GitHub). folder: where the plots' files ID.svg are, from the
 * document; NULL: nowhere. */
void tt_page_markdown(const tt_page *p, const tt_drawings *d, const char *folder, FILE *out);

#endif
