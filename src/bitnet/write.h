/* Writes BitNet-style traces: a folder, one file a record. Made to be used in a program that is not
 * ours: nothing here prints or aborts, and the locale does not matter. */
#ifndef TT_BITNET_WRITE_H
#define TT_BITNET_WRITE_H

#include "base/bytes.h"
#include "base/status.h"
#include "bitnet/names.h"
#include "bitnet/record.h"

/* Appends the record as JSON: byte for byte what Rust's serde_json writes with to_string_pretty. An
 * RMS that is not finite, and values that are not, become null, as does a missing BLAKE3; other
 * keys that are not there are left out. Bytes that are not UTF-8 become U+FFFD. Without memory
 * out->failed is set. */
void tt_bitnet_put(tt_bytes *out, const tt_bitnet_record *r);

/* A folder being written. Any thread may write at any time. */
typedef struct tt_bitnet_writer tt_bitnet_writer;

/* Begins to write below `path`; the folder, and those above it, are made when they are missing. One
 * that holds traces already is TT_E_EXISTS: what two programs wrote could not be told apart. */
tt_status tt_bitnet_writer_open(const char *path, tt_bitnet_writer **out, tt_error *err);
/* Writes the record into a new file, which appears whole or not at all: at once for other programs,
 * after a loss of power perhaps not. file (or NULL) is told its name. Never over another file: see
 * tt_bitnet_file_name. TT_E_USAGE: the name is empty. */
tt_status tt_bitnet_writer_put(tt_bitnet_writer *w, const tt_bitnet_record *r,
                               char file[TT_BITNET_FILE_NAME], tt_error *err);
/* Files so far, and those of them that had to be numbered because their name was taken; file (or
 * NULL) is the first of them, or "". */
void tt_bitnet_writer_count(tt_bitnet_writer *w, uint64_t *n_files, uint64_t *n_numbered,
                            char file[TT_BITNET_FILE_NAME]);
/* Nobody writes any more. NULL is harmless. */
void tt_bitnet_writer_close(tt_bitnet_writer *w);

#endif
