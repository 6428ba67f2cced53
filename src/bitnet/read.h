/* Reads BitNet-style traces, whoever wrote them. What cannot be read is an error that names file
 * and line: never a record that is silently missing. */
#ifndef TT_BITNET_READ_H
#define TT_BITNET_READ_H

#include "base/status.h"
#include "bitnet/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_BITNET_TEXT_MAX ((size_t)4 << 20) /* bytes of a .trace, or of a line of a .jsonl */
#define TT_BITNET_FIRST_MAX 64u              /* first_values that are kept */
#define TT_BITNET_DIMS_MAX 16u               /* of a shape */
#define TT_BITNET_RECORDS_MAX ((size_t)2 << 20)
#define TT_BITNET_FILES_MAX ((size_t)2 << 20)
#define TT_BITNET_MEMORY_MAX ((size_t)1 << 30) /* of the records of one folder, together */

/* A record and where it was read. seq, layer and stage are those of the keys, or else of the name
 * (bitnet/names.h). */
typedef struct tt_bitnet_item {
    tt_bitnet_record record;
    const char *file; /* its name */
    uint64_t line;    /* where in it the record begins, from 1 on */
    bool has_stage;   /* the stage is the key's */
} tt_bitnet_item;

/* Records as they were read: by file, numbered ones by their number, then by line. In what order
 * they were computed no folder tells: analyze/dumps/dump_bitnet.h puts them in one. */
typedef struct tt_bitnet_folder {
    tt_bitnet_item *items;
    size_t n, capacity;
    char **files; /* by name, and by number */
    size_t n_files, files_capacity;
    struct tt_bitnet_block *blocks; /* private: what the records point to */
    size_t size_bytes;              /* private: of it */
} tt_bitnet_folder;

/* Whether the path is a folder in which a *.trace or *.jsonl is, or such a file itself. Looks at
 * names only. */
bool tt_bitnet_is(const char *path);

/* Reads every *.trace and *.jsonl of the folder (not of folders in it), or the one file. A file
 * holds one object, laid out anyhow, or several one behind the other; a .jsonl one on each line.
 * TT_E_NOT_FOUND: there is no such file, or no such folder. TT_E_FORMAT, TT_E_TRUNCATED,
 * TT_E_LIMIT, TT_E_IO: the first file (in their order) that cannot be used, where in it and why;
 * one without a record is such a file. Freed with tt_bitnet_free, also on failure. */
tt_status tt_bitnet_read(tt_bitnet_folder *f, const char *path, tt_error *err);
void tt_bitnet_free(tt_bitnet_folder *f);

/* The parts of it, for who goes on after an error. f is zero-filled at first. */

/* Lists the files; *single is set when the path is a file, and that is the list. */
tt_status tt_bitnet_list(tt_bitnet_folder *f, const char *path, bool *single, tt_error *err);
/* Adds the records of a file (of the folder; NULL: of the path `file`), which lives as long as f.
 * On failure some may have been added. The message begins with the file. */
tt_status tt_bitnet_read_file(tt_bitnet_folder *f, const char *folder, const char *file,
                              tt_error *err);
/* The same of a text; line: that it begins on. */
tt_status tt_bitnet_read_text(tt_bitnet_folder *f, const char *file, uint64_t line,
                              const char *text, size_t n, tt_error *err);
/* Private to the reader: n bytes that live as long as f; NULL: there is no memory, or it is too
 * much. */
void *tt_bitnet_keep(tt_bitnet_folder *f, size_t n);

#endif
