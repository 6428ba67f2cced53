/* A Parquet file: the row groups of tt_parquet_group_encode, one after another, and the footer that
 * describes them.
 *
 * Source: parquet-format, README.md ("File format"), parquet.thrift (FileMetaData),
 * LogicalTypes.md. */
#ifndef TT_EXPORT_PARQUET_FILE_H
#define TT_EXPORT_PARQUET_FILE_H

#include "base/bytes.h"
#include "base/status.h"
#include "export/parquet/pack.h"
#include "export/tables/columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes Thrift's compact protocol, for Parquet's footer and page headers.
 *
 * Source: Thrift, doc/specs/thrift-compact-protocol.md. A field is one byte, the difference to the
 * previous field's id (at most 15) above its type, or the type and the id if the difference is
 * larger; integers are zigzag varints. */

#define TT_THRIFT_DEPTH_MAX 8u

/* Type of a list's elements. */
typedef enum tt_thrift_type {
    TT_THRIFT_I32 = 5,
    TT_THRIFT_I64 = 6,
    TT_THRIFT_BINARY = 8,
    TT_THRIFT_LIST = 9,
    TT_THRIFT_STRUCT = 12
} tt_thrift_type;

/* One struct at a time, fields by ascending id. Failure is that of `out`. */
typedef struct tt_thrift {
    tt_bytes *out;
    unsigned depth;
    int16_t last[TT_THRIFT_DEPTH_MAX]; /* the last field of each open struct */
} tt_thrift;

/* A struct that is not a field: the whole document, or an element of a list. */
void tt_thrift_begin(tt_thrift *t);
void tt_thrift_end(tt_thrift *t);
void tt_thrift_struct(tt_thrift *t, int16_t id); /* a field; ended by tt_thrift_end */
void tt_thrift_i32(tt_thrift *t, int16_t id, int32_t v);
/* A list field: n elements follow, each written by one of the two functions below, by begin and
 * end, or as bytes of another tt_thrift. */

/* Limit of a bound's length: longer ones are truncated, and marked as such in the file. */
#define TT_PARQUET_BOUND_MAX 64u

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

/* Limit of the footers: about 2 KB for 262,144 rows. */
#define TT_PARQUET_FOOTER_MAX ((size_t)1 << 30)

/* An entry of the file's own metadata. */
typedef struct tt_parquet_pair {
    const char *key;
    const char *value; /* UTF-8 */
} tt_parquet_pair;

typedef struct tt_parquet_file {
    FILE *out;
    const char *name; /* of the file, for messages */
    const tt_export_table *table;
    uint32_t first; /* first column in the file */
    uint64_t size_bytes, n_rows;
    size_t n_groups;
    tt_bytes groups; /* their part of the footer */
} tt_parquet_file;

/* Begins a file of the table's columns from `first` on. `out` stays the caller's, who must check it
 * for failed writes when closing it; here they end the work early. `name` must stay valid. */
tt_status tt_parquet_file_begin(tt_parquet_file *f, FILE *out, const char *name,
                                const tt_export_table *table, uint32_t first, tt_error *err);
/* Appends the result of tt_parquet_group_encode; nothing if that is empty. */
tt_status tt_parquet_file_group(tt_parquet_file *f, const tt_bytes *made, tt_error *err);
/* Writes the footer. */
tt_status tt_parquet_file_end(tt_parquet_file *f, const tt_parquet_pair *pairs, size_t n,
                              tt_error *err);
/* Call it in every case, at the end. */
void tt_parquet_file_free(tt_parquet_file *f);

#endif
