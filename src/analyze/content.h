/* What the bytes of a trace file are for. */
#ifndef TT_ANALYZE_CONTENT_H
#define TT_ANALYZE_CONTENT_H

#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_CONTENT_ROWS_MAX 64u

/* One kind of content. */
typedef struct tt_content_row {
    const char *part;      /* "container", "meta", "ops" or "detail" */
    const char *column;    /* a record type, a column, a kind of detail */
    uint64_t count;        /* records of that type or kind; for a column: records of OPS chunks */
    uint64_t raw_bytes;    /* before compression */
    uint64_t stored_bytes; /* in the file */
    bool apportioned; /* part of it was compressed with other content: a chunk's stored bytes are
                         divided in proportion to the uncompressed sizes */
} tt_content_row;

typedef struct tt_content {
    tt_content_row rows[TT_CONTENT_ROWS_MAX]; /* only nonempty ones */
    size_t n;
    uint64_t records; /* of readable OPS chunks */
    uint64_t file_bytes;
} tt_content;

/* Reads the whole file. The rows' stored bytes add up to its size: chunks of unknown types have a
 * row, and so ("damaged") has everything unreadable, to the end of a file that was cut off. */
tt_status tt_content_measure(const tt_model *m, tt_content *content, tt_error *err);

extern const tt_schema tt_content_schema; /* rows are tt_content_row; context: the tt_content */

#endif
