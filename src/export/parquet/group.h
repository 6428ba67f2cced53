/* Parquet's row groups: a part's rows as compressed pages, column by column.
 *
 * Source: parquet-format, README.md ("Data Pages") and parquet.thrift (PageHeader): data pages of
 * version 1, which every reader supports. */
#ifndef TT_EXPORT_PARQUET_GROUP_H
#define TT_EXPORT_PARQUET_GROUP_H

#include "base/bytes.h"
#include "base/status.h"
#include "export/parquet/pack.h"
#include "export/tables/columns.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_PARQUET_PAGE_ROWS 65536u
/* Limit of a bound's length: longer ones are truncated, and marked as such in the file. */
#define TT_PARQUET_BOUND_MAX 64u
#define TT_PARQUET_GROUP_MAX ((size_t)1 << 30) /* bytes: sizes are signed 32-bit numbers */

typedef struct tt_parquet_bound {
    uint8_t bytes[TT_PARQUET_BOUND_MAX];
    uint8_t n;
    bool exact;
} tt_parquet_bound;

/* The pages of a column in a row group. Offsets are from the group's first byte. */
typedef struct tt_parquet_chunk {
    uint64_t offset_bytes;               /* of its first page */
    uint64_t data_bytes;                 /* offset of its first data page */
    uint64_t size_bytes, unpacked_bytes; /* with the pages' headers */
    uint64_t n_values, n_nulls;          /* values include nulls */
    tt_parquet_encoding encoding;
    uint32_t n_data_pages;
    bool compressed;
    bool bounded; /* least and most are known */
    tt_parquet_bound least, most;
} tt_parquet_chunk;

/* The result for a part: the pages, then a tt_parquet_chunk per column, then this. */
typedef struct tt_parquet_group {
    uint64_t n_rows;
    uint64_t pages_bytes;
    uint64_t n_chunks;
} tt_parquet_group;

typedef struct tt_parquet_encoder tt_parquet_encoder;

/* A thread's own memory; NULL if out of memory. */
tt_parquet_encoder *tt_parquet_encoder_open(void);
void tt_parquet_encoder_close(tt_parquet_encoder *e);

/* Appends the columns of the rows from column `first` on. In names, each byte that is not UTF-8
 * becomes U+FFFD. */
tt_status tt_parquet_group_encode(tt_parquet_encoder *e, const tt_rows *rows, uint32_t first,
                                  tt_bytes *out, tt_error *err);

#endif
