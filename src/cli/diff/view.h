/* The output of `diff`, as a page. */
#ifndef TT_CLI_DIFF_VIEW_H
#define TT_CLI_DIFF_VIEW_H

#include "answer/diff.h"
#include "report/page.h"

#include <stdbool.h>
#include <stdio.h>

/* Builds the page. `file`: for a separate file, which names the runs. Opened here; closed by the
 * caller; the view must outlive it. */
void tt_diff_page_make(tt_page *p, const tt_diff_view *v, bool file);
/* Writes that page as HTML. False if the output failed or memory ran out. */
bool tt_diff_write_html(const tt_diff_view *v, FILE *out);

#endif
