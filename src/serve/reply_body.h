/* The inside of a reply, for what sends it. */
#ifndef TT_SERVE_REPLY_BODY_H
#define TT_SERVE_REPLY_BODY_H

#include "base/status.h"
#include "serve/reply.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_REPLY_NAME_MAX 96u

struct tt_reply {
    unsigned status;  /* of HTTP */
    const char *type; /* of the body */
    tt_bytes body;    /* unless there is a file */
    FILE *file;
    char name[TT_REPLY_NAME_MAX]; /* to save as; "": to be shown */
    uint64_t generation;          /* of the trace it tells of; 0: of none */
    unsigned retry_after_s;       /* 0: not said */
    /* Private: while a document is written. */
    bool is_json;
    FILE *stream;
    tt_json json;
};

/* A stream that ends in the bytes and stops at their limit; what writes to it has to have a buffer
 * of its own. NULL without memory. */
FILE *tt_reply_stream(tt_bytes *out);
/* An empty one; what it holds is freed with tt_reply_free. */
void tt_reply_init(tt_reply *r);
void tt_reply_free(tt_reply *r);
/* After the endpoint: ends the document; says what was too large or could not be written. */
tt_status tt_reply_finish(tt_reply *r, tt_error *err);
/* Throws away what was written and says {"error": {"status": ..., "message": ...}}. */
void tt_reply_error(tt_reply *r, unsigned status, const char *message);

#endif
