/* A file that appears whole or not at all: written without a name (where the file system has no
 * such files: under a temporary name in the same folder), synced and named when everything is
 * there. Interrupted or killed before, it is gone. */
#ifndef TT_BASE_OUTFILE_H
#define TT_BASE_OUTFILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct tt_outfile {
    FILE *stream; /* write here */
    char *path;
    char *temporary; /* NULL for a device or a pipe, which is written directly */
    bool nameless;   /* the file has the temporary name only while it gets its own */
    bool force;
} tt_outfile;

/* Opens for writing, mode 0666 & ~umask. An existing path is TT_E_EXISTS unless
 * `force`. On failure nothing is left behind. */
tt_status tt_outfile_open(tt_outfile *f, const char *path, bool force, tt_error *err);
/* Renames into place; on failure the temporary file is removed. */
tt_status tt_outfile_commit(tt_outfile *f, tt_error *err);
/* Gives up: removes the temporary file. Harmless after commit. */
void tt_outfile_abandon(tt_outfile *f);

#endif
