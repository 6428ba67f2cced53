/* A page in the formats that people read. */
#ifndef TT_REPORT_RENDER_H
#define TT_REPORT_RENDER_H

#include "report/page.h"

#include <stdio.h>

/* One HTML document that needs nothing else: no scripts, no other files. */
void tt_page_html(const tt_page *p, FILE *out);
/* Markdown with tables (as on GitHub). folder: where the plots' files ID.svg are, from the
 * document; NULL: nowhere. */
void tt_page_markdown(const tt_page *p, const char *folder, FILE *out);

#endif
