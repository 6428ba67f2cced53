/* A file that appears completely or not at all: it is written without a name (or under a temporary
 * one in the same folder, if the file system has no such files), synced, and then named. If
 * interrupted or killed before that, it disappears. */
#ifndef TT_BASE_OUTFILE_H
#define TT_BASE_OUTFILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct tt_outfile {
    FILE *stream; /* write here */
    char *path;
    char *temporary; /* NULL for a device or a pipe, which is written directly */
    bool nameless;   /* it has the temporary name only while it replaces another file */
    bool force;
} tt_outfile;

/* Opens for writing, mode 0666 & ~umask. An existing path is TT_E_EXISTS unless
 * `force`. On failure nothing is left behind. */
tt_status tt_outfile_open(tt_outfile *f, const char *path, bool force, tt_error *err);
/* Renames into place; on failure the temporary file is removed. */
tt_status tt_outfile_commit(tt_outfile *f, tt_error *err);
/* Gives up: removes the temporary file. Harmless after commit. */
void tt_outfile_abandon(tt_outfile *f);

/* A folder that appears completely or not at all: filled under a temporary name beside `path`, then
 * renamed. */

typedef struct tt_outdir {
    char *path;
    char *temporary; /* write below this */
    bool force;
    const char *ending; /* when a folder is replaced, files whose names end in this are all of one
                           kind; NULL. The caller may set it after the open */
} tt_outdir;

/* Makes the temporary folder, and missing folders above `path`. An existing path is TT_E_EXISTS
 * unless `force`; then it is kept until the commit. It must be a folder, but not the current one or
 * one above it. */
tt_status tt_outdir_open(tt_outdir *d, const char *path, bool force, tt_error *err);
/* Creates a file NAME in the folder; folders in NAME are made. NULL with the reason in *err. The
 * caller ends it with tt_outdir_close. */
FILE *tt_outdir_file(const tt_outdir *d, const char *name, tt_error *err);
/* Closes a file and reports errors of its writes; errors of the disk itself appear in
 * tt_outdir_sync. `name` is for the message. */
tt_status tt_outdir_close(FILE *file, const char *name, tt_error *err);
/* Waits until everything is on the disk, and reports errors; a commit begins with it. */
tt_status tt_outdir_sync(const tt_outdir *d, tt_error *err);
/* Renames the folder to its path. With `force` it is exchanged with an existing folder in one step
 * (in two if the file system cannot), which is then removed; unless that has an entry unlike any in
 * this folder: TT_E_EXISTS, whose message names some. Names are compared on every level, ignoring
 * digits and compression (see `ending`), and whether a table is .csv or .parquet; files with files
 * and folders with folders; a link never matches. On failure the temporary folder is removed. */
tt_status tt_outdir_commit(tt_outdir *d, tt_error *err);
/* Gives up: removes the temporary folder. Harmless after commit. */
void tt_outdir_abandon(tt_outdir *d);

/* Makes the folder and missing folders above it. */
tt_status tt_outdir_make(const char *path, tt_error *err);
/* Removes a folder and everything below it, following no links. False with errno set. */
bool tt_outdir_remove(const char *path);

#endif
