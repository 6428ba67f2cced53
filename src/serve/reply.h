/* A reply: JSON, a binary tile, or a file to save. An endpoint fills exactly one.
 *
 * Bodies in memory are at most TT_REPLY_BYTES_MAX; larger ones go into a file. */
#ifndef TT_SERVE_REPLY_H
#define TT_SERVE_REPLY_H

#include "base/bytes.h"
#include "base/json.h"
#include "base/status.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TT_REPLY_BYTES_MAX ((size_t)64 << 20)

#define TT_REPLY_NAME_MAX 96u

typedef struct tt_reply {
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
} tt_reply;

/* A JSON document; the endpoint writes one value, the caller ends it. */
tt_json *tt_reply_json(tt_reply *r);
/* Writes the document as that row of a schema. TT_OK. */
tt_status tt_reply_row(tt_reply *r, const tt_schema *schema, const void *context, const void *row);
/* Bytes, little-endian (application/octet-stream). The caller detects that it got too large. */
tt_bytes *tt_reply_binary(tt_reply *r);
/* A file for the user to save as `name` (ASCII letters, digits, '.', '-', '_'), of that media type.
 * It is sent from an unnamed file on disk. NULL (errno) without space. */
FILE *tt_reply_file(tt_reply *r, const char *name, const char *type);

/* --- for the code that sends it --- */

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
