/* What is answered: JSON, a binary tile, or a file to save. An endpoint fills exactly one.
 *
 * Bodies in memory are at most TT_REPLY_BYTES_MAX; what can be larger goes into a file. */
#ifndef TT_SERVE_REPLY_H
#define TT_SERVE_REPLY_H

#include "base/bytes.h"
#include "base/json.h"
#include "base/status.h"
#include "table/table.h"

#include <stdio.h>

#define TT_REPLY_BYTES_MAX ((size_t)64 << 20)

typedef struct tt_reply tt_reply;

/* A JSON document; the endpoint writes one value, the caller ends it. */
tt_json *tt_reply_json(tt_reply *r);
/* The document is that row of a schema. TT_OK. */
tt_status tt_reply_row(tt_reply *r, const tt_schema *schema, const void *context, const void *row);
/* Bytes, little-endian (application/octet-stream). Failure (too large) is noticed by the caller. */
tt_bytes *tt_reply_binary(tt_reply *r);
/* A file for the user to save, called `name` (ASCII letters, digits, '.', '-', '_'), of that media
 * type. It has no name on disk, and is sent from there. NULL (errno) without room. */
FILE *tt_reply_file(tt_reply *r, const char *name, const char *type);

#endif
