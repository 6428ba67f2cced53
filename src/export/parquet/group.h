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
#define TT_PARQUET_GROUP_MAX ((size_t)1 << 30) /* bytes: sizes are signed 32-bit numbers */
typedef struct tt_parquet_encoder tt_parquet_encoder;

/* A thread's own memory; NULL if out of memory. */
tt_parquet_encoder *tt_parquet_encoder_open(void);
void tt_parquet_encoder_close(tt_parquet_encoder *e);

/* Appends the columns of the rows from column `first` on. In names, each byte that is not UTF-8
 * becomes U+FFFD. */
tt_status tt_parquet_group_encode(tt_parquet_encoder *e, const tt_rows *rows, uint32_t first,
                                  tt_bytes *out, tt_error *err);

#endif
