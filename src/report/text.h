/* Writes texts of any bytes into HTML, SVG or Markdown. Bytes that are not UTF-8, and control
 * characters, become U+FFFD. */
#ifndef TT_REPORT_TEXT_H
#define TT_REPORT_TEXT_H

#include <stdio.h>

/* Between tags, or in a quoted attribute. */
void tt_text_markup(const char *text, FILE *out);
/* In Markdown (CommonMark with tables): every character is literal. */
void tt_text_markdown(const char *text, FILE *out);

#endif
