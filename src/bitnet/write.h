/* Writes BitNet-style traces: a folder with one file per record, or one line per record in one
 * file. It runs inside other programs: it never prints or aborts, and is independent of the locale.
 */
#ifndef TT_BITNET_WRITE_H
#define TT_BITNET_WRITE_H

#include "base/bytes.h"
#include "base/status.h"
#include "bitnet/names.h"
#include "bitnet/record.h"

typedef enum tt_bitnet_layout {
    TT_BITNET_PRETTY,  /* as serde_json's to_string_pretty: a file each */
    TT_BITNET_ONE_LINE /* as its to_string: all in TT_BITNET_LINES_FILE */
} tt_bitnet_layout;

#define TT_BITNET_LINES_FILE "values.jsonl"

/* Appends the record as JSON, byte for byte as Rust's serde_json writes it. A non-finite RMS,
 * non-finite values and a missing BLAKE3 become null; other absent keys are left out. Bytes that
 * are not UTF-8 become U+FFFD. Without memory out->failed is set. */
void tt_bitnet_put(tt_bytes *out, const tt_bitnet_record *r, tt_bitnet_layout layout);

/* A folder being written. Thread-safe. */
typedef struct tt_bitnet_writer tt_bitnet_writer;

/* Opens a folder for writing; missing folders of the path are made. TT_E_EXISTS: it holds traces
 * already, which could not be distinguished from the new ones. */
tt_status tt_bitnet_writer_open(const char *path, tt_bitnet_layout layout, tt_bitnet_writer **out,
                                tt_error *err);
/* Writes the record into a new file, or as a line behind the others; a file appears complete or not
 * at all to other programs; after a loss of power perhaps not. file (or NULL) gets its name. Never
 * overwrites: see tt_bitnet_file_name. TT_E_USAGE: the name is empty. */
tt_status tt_bitnet_writer_put(tt_bitnet_writer *w, const tt_bitnet_record *r,
                               char file[TT_BITNET_FILE_NAME], tt_error *err);
/* The files or lines so far, and how many of them were numbered because their name was taken; file
 * (or NULL) gets the first of those, or "". */
void tt_bitnet_writer_count(tt_bitnet_writer *w, uint64_t *n_files, uint64_t *n_numbered,
                            char file[TT_BITNET_FILE_NAME]);
/* Call when no thread writes any more. NULL is allowed. */
void tt_bitnet_writer_close(tt_bitnet_writer *w);

#endif
