/* Texts of any bytes, written into HTML, SVG or Markdown. Bytes that are not UTF-8, and control
 * characters, become U+FFFD. */
#ifndef TT_REPORT_TEXT_H
#define TT_REPORT_TEXT_H

#include <stdio.h>

/* Between tags, or in an attribute in quotes. */
void tt_text_markup(const char *text, FILE *out);
/* In Markdown (CommonMark with tables): no character means anything but itself. */
void tt_text_markdown(const char *text, FILE *out);

#endif
