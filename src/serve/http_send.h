/* What is sent, with the headers that everything has. Each queues one answer, and is MHD_NO without
 * memory: then the connection is closed. */
#ifndef TT_SERVE_HTTP_SEND_H
#define TT_SERVE_HTTP_SEND_H

#include "serve/access.h"
#include "serve/assets.h"
#include "serve/reply_body.h"

#include <microhttpd.h>

/* Takes what the reply holds. */
enum MHD_Result tt_http_send_reply(struct MHD_Connection *c, tt_reply *r);
enum MHD_Result tt_http_send_asset(struct MHD_Connection *c, const tt_asset *a);
/* As JSON for the API, else as a page. */
enum MHD_Result tt_http_send_error(struct MHD_Connection *c, bool as_json, unsigned status,
                                   const char *message);
/* Gives the cookie, and sends the browser to "/". */
enum MHD_Result tt_http_send_entry(struct MHD_Connection *c, const tt_access_key *key,
                                   tt_access_kind kind);

#endif
