/* Adds a run to a dataset of many: DIR/TABLE/run_id=HEX/part-0.parquet, for each table.
 *
 * All files are written in a hidden folder of DIR, which readers skip, and renamed when all are
 * complete. After a failure or kill before that, the dataset is unchanged. After a kill during it,
 * the next export into DIR finishes the renames; it also removes abandoned hidden folders. Several
 * processes may add runs to the same DIR at once. */
#ifndef TT_EXPORT_PARQUET_PLACE_H
#define TT_EXPORT_PARQUET_PLACE_H

#include "base/outfile.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TT_PARQUET_RUN_ID_MAX 64u

typedef struct tt_parquet_place {
    const char *path; /* DIR; the caller's */
    char run_id[TT_PARQUET_RUN_ID_MAX + 1];
    const char *const *tables;
    size_t n_tables;
    bool force;
    bool made;  /* DIR did not exist before */
    int folder; /* DIR */
    int hidden; /* the hidden folder, which is locked */
    tt_outdir staged;
} tt_parquet_place;

/* Makes DIR if it is missing. If DIR has the run in one of the tables: TT_E_EXISTS, unless `force`.
 * `path` and `tables` must stay valid until the end; run_id is hexadecimal. */
tt_status tt_parquet_place_open(tt_parquet_place *p, const char *path, const char *run_id,
                                const char *const *tables, size_t n, bool force, tt_error *err);
/* A table's file, for writing; every table gets one. NULL with the reason in *err. Ended with
 * tt_outdir_close. */
FILE *tt_parquet_place_file(const tt_parquet_place *p, const char *table, tt_error *err);
/* Renames everything into place, replacing existing files. On failure the dataset is unchanged.
 * Frees p. */
tt_status tt_parquet_place_commit(tt_parquet_place *p, tt_error *err);
/* Gives up: removes the hidden folder. Harmless after commit. */
void tt_parquet_place_abandon(tt_parquet_place *p);

#endif
