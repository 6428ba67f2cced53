/* Writes a page in a readable format. */
#ifndef TT_REPORT_RENDER_H
#define TT_REPORT_RENDER_H

#include "report/page.h"

#include <stdio.h>

/* One self-contained HTML document: no scripts, no other files. */
void tt_page_html(const tt_page *p, FILE *out);
/* Markdown with tables (as on GitHub). folder: of the plots' files ID.svg, relative to the
 * document; NULL: no plots. */
void tt_page_markdown(const tt_page *p, const char *folder, FILE *out);

#endif
