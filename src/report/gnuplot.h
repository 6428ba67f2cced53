/* gnuplot, when it is on the PATH. */
#ifndef TT_REPORT_GNUPLOT_H
#define TT_REPORT_GNUPLOT_H

#include "base/status.h"
#include "report/plot.h"

#include <stddef.h>

/* Draws the plot: *svg, of *size bytes, is for free(). TT_E_NOT_FOUND: there is no gnuplot;
 * TT_E_IO: it failed (what it said is in the message); TT_E_MEMORY. Nothing of the user's settings
 * counts, no shell takes part, and the plot goes in and out through memory alone. */
tt_status tt_gnuplot_svg(const tt_plot *p, char **svg, size_t *size, tt_error *err);

#endif
