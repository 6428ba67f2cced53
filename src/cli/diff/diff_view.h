/* What `diff` says, as a page. */
#ifndef TT_CLI_DIFF_VIEW_H
#define TT_CLI_DIFF_VIEW_H

#include "answer/diff.h"
#include "report/page.h"

#include <stdbool.h>
#include <stdio.h>

/* What `diff` says. `file`: for a page by itself, which names the runs. Opened here; closed by the
 * caller, and the view outlives it. */
void tt_diff_page_make(tt_page *p, const tt_diff_view *v, bool file);
/* That page as HTML. False when the output failed or memory ran out. */
bool tt_diff_write_html(const tt_diff_view *v, FILE *out);

#endif
