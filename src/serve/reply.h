/* A reply: JSON, a binary tile, or a file to save. An endpoint fills exactly one.
 *
 * Bodies in memory are at most TT_REPLY_BYTES_MAX; larger ones go into a file. */
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
/* Writes the document as that row of a schema. TT_OK. */
tt_status tt_reply_row(tt_reply *r, const tt_schema *schema, const void *context, const void *row);
/* Bytes, little-endian (application/octet-stream). The caller detects that it got too large. */
tt_bytes *tt_reply_binary(tt_reply *r);
/* A file for the user to save as `name` (ASCII letters, digits, '.', '-', '_'), of that media type.
 * It is sent from an unnamed file on disk. NULL (errno) without space. */
FILE *tt_reply_file(tt_reply *r, const char *name, const char *type);

#endif
