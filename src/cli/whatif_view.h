/* What `whatif` prints. */
#ifndef TT_CLI_WHATIF_VIEW_H
#define TT_CLI_WHATIF_VIEW_H

#include "answer/whatif.h"

/* False when the output failed. */
bool tt_whatif_print_text(const tt_whatif_view *v);

#endif
