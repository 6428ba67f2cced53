/* The format `parquet`: a dataset that takes many runs, DIR/TABLE/run_id=HEX/part-0.parquet for
 * each of the tables (columns.h). The run id is in the folders' names alone: of a reader that found
 * it in the files as well some would take the one, some the other, and pyarrow neither. */
#ifndef TT_EXPORT_PARQUET_PARQUET_H
#define TT_EXPORT_PARQUET_PARQUET_H

#include "export/export.h"

/* With `force` the same run, if it is there, is replaced; other runs are never touched. */
extern const tt_export_format tt_format_parquet;

#endif
