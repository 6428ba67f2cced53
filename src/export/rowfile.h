/* Rows of an analysis as files of a folder: Parquet or CSV, with the columns that CSV has on
 * standard output. What comes from a trace op by op is written by the formats of `export`; this is
 * for lists that stand on several traces. */
#ifndef TT_EXPORT_ROWFILE_H
#define TT_EXPORT_ROWFILE_H

#include "base/outfile.h"
#include "base/status.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_rowfile tt_rowfile;

/* Begins NAME.parquet, or NAME.csv, in the folder. `like` says what the columns are; its rows are
 * not looked at. `dir` and `name` stay valid until the end. NULL with the reason in *err. */
tt_rowfile *tt_rowfile_begin(const tt_outdir *dir, const char *name, bool csv,
                             const tt_rowset *like, tt_error *err);
/* Appends rows: of the schema and kind of `like`. Their texts, unless put together by the column,
 * stay valid until the end. */
tt_status tt_rowfile_put(tt_rowfile *f, const tt_rowset *set, tt_error *err);
/* Ends the file and frees f, also after an error. *rows gets how many were written. */
tt_status tt_rowfile_end(tt_rowfile *f, uint64_t *rows, tt_error *err);

#endif
