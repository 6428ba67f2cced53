/* Internals of the server. */
#ifndef TT_SERVE_SERVER_INSIDE_H
#define TT_SERVE_SERVER_INSIDE_H

#include "serve/access.h"
#include "serve/server.h"
#include "serve/traces.h"

#include <stdatomic.h>

struct MHD_Daemon;
typedef struct tt_visitor tt_visitor;

struct tt_server {
    struct MHD_Daemon *daemon;
    tt_access_key key;
    tt_traces *traces;
    tt_pool *pool;
    atomic_bool is_ending;
    bool keeps_notes;
    tt_visitor *oldest, *newest; /* of http.c: connections */
    unsigned n_visitors;         /* that were not disconnected */
    char url[96], once_url[96];
};

#endif
