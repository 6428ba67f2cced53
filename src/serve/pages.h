/* Plain pages, for when there is nothing better to show. */
#ifndef TT_SERVE_PAGES_H
#define TT_SERVE_PAGES_H

#include "base/bytes.h"

/* A page that says what went wrong. */
void tt_page_error(tt_bytes *out, unsigned status, const char *message);
/* A page that sends the browser to "/" by itself. */
void tt_page_enter(tt_bytes *out);

#endif
