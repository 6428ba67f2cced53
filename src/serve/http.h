/* HTTP requests (libmicrohttpd): checked, passed to worker threads, and answered. */
#ifndef TT_SERVE_HTTP_H
#define TT_SERVE_HTTP_H

#include "base/status.h"
#include "serve/server_inside.h"

/* Serves that listening socket, which it takes over, on a thread of its own. */
tt_status tt_http_start(tt_server *s, int listening, tt_error *err);
/* No request may be suspended any more: call it after tt_pool_end. */
void tt_http_stop(tt_server *s);

#endif
