/* gnuplot's SVG made fit for a page: no fixed colours, no ids that two plots share, a title and a
 * description for those who cannot see it.
 *
 * A colour of red 0, green 0 and blue N becomes var(--cN), the text's (0, 1, 2) var(--text), that
 * of lines around and behind (0, 1, 3) var(--line); shades (S, 1, 0) of S of 255 become a mixture
 * of var(--cold) and var(--hot). */
#ifndef TT_REPORT_SVG_H
#define TT_REPORT_SVG_H

#include "report/plot.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes it. `alone`: as a file of its own, which brings the colours along. False when `svg` is not
 * what gnuplot writes; then nothing was written. */
bool tt_svg_write(const tt_plot *p, const char *svg, size_t size, bool alone, FILE *out);

#endif
