/* Rows of an analysis as files in a folder: Parquet or CSV, with the columns of CSV on standard
 * output. Lists of ops of one trace are written by the formats of `export`; this is for lists over
 * several traces. */
#ifndef TT_EXPORT_ROWFILE_H
#define TT_EXPORT_ROWFILE_H

#include "base/outfile.h"
#include "base/status.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_rowfile tt_rowfile;

/* Begins NAME.parquet, or NAME.csv, in the folder. `like` defines the columns; its rows are
 * ignored. `dir` and `name` must stay valid until the end. NULL with the reason in *err. */
tt_rowfile *tt_rowfile_begin(const tt_outdir *dir, const char *name, bool csv,
                             const tt_rowset *like, tt_error *err);
/* Appends rows of the schema and kind of `like`. Their texts, unless formatted by the column, must
 * stay valid until the end. */
tt_status tt_rowfile_put(tt_rowfile *f, const tt_rowset *set, tt_error *err);
/* Ends the file and frees f, also after an error. *rows gets the number of rows written. */
tt_status tt_rowfile_end(tt_rowfile *f, uint64_t *rows, tt_error *err);

#endif
