/* The least and the most of a column's values in a row group, as the footer keeps them.
 *
 * Source: parquet-format, parquet.thrift (Statistics, ColumnOrder): numbers as they are stored,
 * texts by their bytes; -0 below +0; nothing when there is a NaN. */
#ifndef TT_EXPORT_PARQUET_BOUNDS_H
#define TT_EXPORT_PARQUET_BOUNDS_H

#include "export/parquet/group.h"

#include <stddef.h>
#include <stdint.h>

/* Each sets bounded, least and most. */
void tt_parquet_bound_integers(tt_parquet_chunk *chunk, const tt_parquet_integers *v);
void tt_parquet_bound_bools(tt_parquet_chunk *chunk, const uint8_t *values, size_t n);
void tt_parquet_bound_reals(tt_parquet_chunk *chunk, const void *values, size_t n, bool wide);
/* Of the n texts of a dictionary page (each 4 bytes of length, then UTF-8) those that are used. */
void tt_parquet_bound_texts(tt_parquet_chunk *chunk, const tt_bytes *page, size_t n,
                            const uint8_t *used);

#endif
