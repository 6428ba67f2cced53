/* Reads BitNet-style traces of any program. Unreadable input is an error with file and line: no
 * record is skipped silently. */
#ifndef TT_BITNET_READ_H
#define TT_BITNET_READ_H

#include "base/status.h"
#include "bitnet/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_BITNET_TEXT_MAX ((size_t)4 << 20) /* bytes of a .trace, or of a line of a .jsonl */
#define TT_BITNET_FIRST_MAX 64u              /* first_values that are kept */
#define TT_BITNET_DIMS_MAX 16u               /* dimensions of a shape */
#define TT_BITNET_RECORDS_MAX ((size_t)2 << 20)
#define TT_BITNET_FILES_MAX ((size_t)2 << 20)
#define TT_BITNET_MEMORY_MAX ((size_t)1 << 30) /* for the records of one folder together */

/* A record and its location. seq, layer and stage come from the keys, or else from the name
 * (bitnet/names.h). */
typedef struct tt_bitnet_item {
    tt_bitnet_record record;
    const char *file; /* the file's name */
    uint64_t line;    /* where the record begins, from 1 on */
    bool has_stage;   /* the stage comes from the key */
} tt_bitnet_item;

/* Records as they were read: by file, numbered ones by number, then by line. A folder does not
 * define the order of computation: analyze/dumps/dump.h finds one. */
typedef struct tt_bitnet_folder {
    tt_bitnet_item *items;
    size_t n, capacity;
    char **files; /* by name, and by number */
    size_t n_files, files_capacity;
    struct tt_bitnet_block *blocks; /* private: what the records point to */
    size_t size_bytes;              /* private: its size */
} tt_bitnet_folder;

/* Whether the path is a folder that contains a *.trace or *.jsonl, or such a file itself. Looks
 * at names only. */
bool tt_bitnet_is(const char *path);

/* Reads every *.trace and *.jsonl of the folder (not of subfolders), or the one file. A file
 * holds one object in any layout, or several in sequence; a .jsonl one per line. TT_E_NOT_FOUND:
 * there is no such file or folder. TT_E_FORMAT, TT_E_TRUNCATED, TT_E_LIMIT, TT_E_IO: the first
 * file (in their order) that cannot be used, with place and reason; a file without a record is
 * one. Freed with tt_bitnet_free, also on failure. */
tt_status tt_bitnet_read(tt_bitnet_folder *f, const char *path, tt_error *err);
void tt_bitnet_free(tt_bitnet_folder *f);

/* The steps of tt_bitnet_read, for callers that continue after an error. f is zero-initialised. */

/* Lists the files; sets *single when the path is a file, which is then the list. */
tt_status tt_bitnet_list(tt_bitnet_folder *f, const char *path, bool *single, tt_error *err);
/* Adds the records of a file (of the folder; NULL: `file` is a path), whose name lives as long
 * as f. On failure some may have been added. The message begins with the file's name. */
tt_status tt_bitnet_read_file(tt_bitnet_folder *f, const char *folder, const char *file,
                              tt_error *err);
/* The same for a text; line: the line on which it begins. */
tt_status tt_bitnet_read_text(tt_bitnet_folder *f, const char *file, uint64_t line,
                              const char *text, size_t n, tt_error *err);
/* Private to the reader: n bytes that live as long as f; NULL if out of memory or beyond the
 * limit. */
void *tt_bitnet_keep(tt_bitnet_folder *f, size_t n);

#endif
