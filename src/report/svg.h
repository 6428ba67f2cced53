/* A plot as SVG, in the page's colours (report/style.h), with a title and a description for
 * readers who cannot see it. */
#ifndef TT_REPORT_SVG_H
#define TT_REPORT_SVG_H

#include "report/page.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes the plot. `alone`: as a separate file, which includes the colours. Names may hold any
 * bytes. Values beyond a given axis are drawn at its end. */
void tt_svg_write(const tt_plot *p, bool alone, FILE *out);

#endif
