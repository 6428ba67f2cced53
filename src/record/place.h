/* Paths of a trace: while it is written, and when it is finished. */
#ifndef TT_RECORD_PLACE_H
#define TT_RECORD_PLACE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define TT_PLACE_PART_SUFFIX ".part"

/* path, made absolute with the working directory (the file need not exist). */
tt_status tt_place_absolute(char *out, size_t size, const char *path, tt_error *err);
/* The folder of path ("." when it has none). */
void tt_place_dir(char *out, size_t size, const char *path);
/* path + ".part". */
tt_status tt_place_part(char *out, size_t size, const char *path, tt_error *err);
/* The name of a finished `part`: without ".part", if it ends in that. */
void tt_place_finished(char *out, size_t size, const char *part);
/* path with "-<n>" before its extension: "run.ttrace", 17 -> "run-17.ttrace". */
tt_status tt_place_numbered(char *out, size_t size, const char *path, long n, tt_error *err);
/* path with "-snapshot-<n>" before its extension. */
tt_status tt_place_snapshot(char *out, size_t size, const char *path, long n, tt_error *err);
/* Whether a trace can be written to `path`: it does not exist, or is a regular file or a symbolic
 * link to one. TT_E_USAGE otherwise: the rename would replace a folder, a device, a pipe, or a link
 * such as /dev/stdout (refused whatever is open there). */
tt_status tt_place_check(const char *path, tt_error *err);
/* Whether a file of 4 KiB can be written there: writes one that was not there, and removes it.
 * Beyond a limit on the size of files the process gets SIGXFSZ. */
tt_status tt_place_try(const char *path, tt_error *err);
/* Renames `part` to `path` (of `size` bytes of room). With `replace` it replaces a file of that
 * name; of a symbolic link the link is replaced and the target kept. Without, and where
 * tt_place_check refuses, the existing file is kept, the trace gets the first free "-2", "-3", ...,
 * and path is set to that. */
tt_status tt_place_rename(const char *part, char *path, size_t size, bool replace, tt_error *err);

#endif
