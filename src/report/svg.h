/* A plot as SVG: in the colours of the page (report/style.h), with a title and a description for
 * those who cannot see it. */
#ifndef TT_REPORT_SVG_H
#define TT_REPORT_SVG_H

#include "report/page.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes it. `alone`: as a file of its own, which brings the colours along. Names may hold any
 * bytes. What lies beyond an axis that was given is drawn at its end. */
void tt_svg_write(const tt_plot *p, bool alone, FILE *out);

#endif
