/* Binary replies in columns: a header in JSON that describes them, then the columns.
 *
 *     u32  length of the header
 *     the header, padded with blanks to a multiple of 8
 *     the columns, each at a multiple of 8
 *
 * The header is one object. Its "columns" are objects {"name", "type" ("u8", "u32" or "f64"),
 * "offset_bytes" (from the end of the header), "n"}. */
#ifndef TT_SERVE_COLUMNS_H
#define TT_SERVE_COLUMNS_H

#include "base/status.h"
#include "serve/reply.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TT_REPLY_COLUMNS_MAX 24u
/* In a u32 and an f64 column: not known. */
#define TT_COLUMNS_NO_U32 UINT32_MAX

typedef enum tt_column_type { TT_COLUMN_U8, TT_COLUMN_U32, TT_COLUMN_F64 } tt_column_type;

typedef struct tt_columns_one {
    const char *name;
    tt_column_type type;
    size_t offset, n;
} tt_columns_one;

/* Private. */
typedef struct tt_columns {
    tt_bytes data;
    bool no_memory; /* for rows */
    tt_columns_one list[TT_REPLY_COLUMNS_MAX];
    size_t n;
    FILE *text;
    char *header;
    size_t header_size;
    tt_json json;
} tt_columns;

/* head: a row with further members of the header; NULL: none. Ended with tt_columns_end. */
void tt_columns_begin(tt_columns *c, const tt_rowset *head);
/* A new column of n zeros, for the caller to fill before the next call; NULL: too large, which
 * tt_columns_end reports. The name is static. */
void *tt_columns_add(tt_columns *c, const char *name, tt_column_type type, size_t n);
/* The requested columns of the rows: BOOL and U8 as u8 (not known: 0), other unsigned numbers of up
 * to 32 bits as u32, all others as f64. The named columns must exist. */
void tt_columns_add_rows(tt_columns *c, const tt_rowset *set, const tt_listing_wish *wish);
/* Puts everything into the reply, or reports why that is impossible. NULL: discards it. */
tt_status tt_columns_end(tt_columns *c, tt_reply *r, tt_error *err);

#endif
