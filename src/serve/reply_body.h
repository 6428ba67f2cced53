/* Internals of a reply, for the code that sends it. */
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
    char name[TT_REPLY_NAME_MAX]; /* to save as; "": to display */
    uint64_t generation;          /* of its trace; 0: none */
    unsigned retry_after_s;       /* 0: omitted */
    /* Private: while a document is written. */
    bool is_json;
    FILE *stream;
    tt_json json;
};

/* A stream that appends to the bytes and fails at their limit; it is unbuffered. NULL without
 * memory. */
FILE *tt_reply_stream(tt_bytes *out);
/* Initialises an empty reply; free its content with tt_reply_free. */
void tt_reply_init(tt_reply *r);
void tt_reply_free(tt_reply *r);
/* After the endpoint: ends the document; reports what was too large or could not be written. */
tt_status tt_reply_finish(tt_reply *r, tt_error *err);
/* Discards what was written and replies {"error": {"status": ..., "message": ...}}. */
void tt_reply_error(tt_reply *r, unsigned status, const char *message);

#endif
