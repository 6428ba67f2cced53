/* Writes BitNet-style traces: a folder with one file per record. It runs inside other programs:
 * it never prints or aborts, and is independent of the locale. */
#ifndef TT_BITNET_WRITE_H
#define TT_BITNET_WRITE_H

#include "base/bytes.h"
#include "base/status.h"
#include "bitnet/names.h"
#include "bitnet/record.h"

/* Appends the record as JSON, byte for byte as Rust's serde_json writes it with
 * to_string_pretty. A non-finite RMS, non-finite values and a missing BLAKE3 become null; other
 * absent keys are left out. Bytes that are not UTF-8 become U+FFFD. Without memory out->failed
 * is set. */
void tt_bitnet_put(tt_bytes *out, const tt_bitnet_record *r);

/* A folder being written. Thread-safe. */
typedef struct tt_bitnet_writer tt_bitnet_writer;

/* Opens a folder for writing; missing folders of the path are made. TT_E_EXISTS: it holds traces
 * already, which could not be distinguished from the new ones. */
tt_status tt_bitnet_writer_open(const char *path, tt_bitnet_writer **out, tt_error *err);
/* Writes the record into a new file, which appears complete or not at all to other programs;
 * after a loss of power perhaps not. file (or NULL) gets its name. Never overwrites: see
 * tt_bitnet_file_name. TT_E_USAGE: the name is empty. */
tt_status tt_bitnet_writer_put(tt_bitnet_writer *w, const tt_bitnet_record *r,
                               char file[TT_BITNET_FILE_NAME], tt_error *err);
/* The files so far, and how many of them were numbered because their name was taken; file (or
 * NULL) gets the first of those, or "". */
void tt_bitnet_writer_count(tt_bitnet_writer *w, uint64_t *n_files, uint64_t *n_numbered,
                            char file[TT_BITNET_FILE_NAME]);
/* Call when no thread writes any more. NULL is allowed. */
void tt_bitnet_writer_close(tt_bitnet_writer *w);

#endif
