/* The format `parquet`: a dataset for many runs, DIR/TABLE/run_id=HEX/part-0.parquet for each of
 * the tables (columns.h). The run id is only in the folders' names: if the files had it too, some
 * readers would use one, some the other, and pyarrow would fail. */
#ifndef TT_EXPORT_PARQUET_PARQUET_H
#define TT_EXPORT_PARQUET_PARQUET_H

#include "export/export.h"

/* With `force` the same run is replaced if it exists; other runs are never changed. */
extern const tt_export_format tt_format_parquet;

#endif
