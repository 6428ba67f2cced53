/* A Parquet file: the row groups that tt_parquet_group_encode made, one after the other, and the
 * footer that tells what they are.
 *
 * Source: parquet-format, README.md ("File format"), parquet.thrift (FileMetaData),
 * LogicalTypes.md. */
#ifndef TT_EXPORT_PARQUET_FILE_H
#define TT_EXPORT_PARQUET_FILE_H

#include "base/bytes.h"
#include "base/status.h"
#include "export/tables/columns.h"

#include <stdint.h>
#include <stdio.h>

/* Of all footers: about 2 KB for 262,144 rows. */
#define TT_PARQUET_FOOTER_MAX ((size_t)1 << 30)

/* A line of the file's own metadata. */
typedef struct tt_parquet_pair {
    const char *key;
    const char *value; /* UTF-8 */
} tt_parquet_pair;

typedef struct tt_parquet_file {
    FILE *out;
    const char *name; /* of the file, for messages */
    const tt_export_table *table;
    uint32_t first; /* column that the file begins with */
    uint64_t size_bytes, n_rows;
    size_t n_groups;
    tt_bytes groups; /* their part of the footer */
} tt_parquet_file;

/* Begins a file of the table's columns from `first` on. `out` stays the caller's, who also learns
 * of failed writes when he closes it; here they end the work early. `name` stays valid. */
tt_status tt_parquet_file_begin(tt_parquet_file *f, FILE *out, const char *name,
                                const tt_export_table *table, uint32_t first, tt_error *err);
/* Appends what tt_parquet_group_encode made; nothing when that is empty. */
tt_status tt_parquet_file_group(tt_parquet_file *f, const tt_bytes *made, tt_error *err);
/* Writes the footer. */
tt_status tt_parquet_file_end(tt_parquet_file *f, const tt_parquet_pair *pairs, size_t n,
                              tt_error *err);
/* In any case, at the end. */
void tt_parquet_file_free(tt_parquet_file *f);

#endif
