/* A file's text, decompressed if necessary. */
#ifndef TT_DATASET_TEXT_H
#define TT_DATASET_TEXT_H

#include "base/bytes.h"
#include "base/status.h"

/* Of one file, unpacked. */
#define TT_DATASET_FILE_MAX ((size_t)128 << 20)

/* Reads the file into *text, which is initialised with the limit TT_DATASET_FILE_MAX; its content
 * is replaced. Files whose names end in .zst or .gz are decompressed. Messages do not name the
 * file. TT_E_LIMIT: larger than that. TT_E_TRUNCATED, TT_E_FORMAT: compressed data is cut off or
 * damaged. TT_E_IO, TT_E_MEMORY. */
tt_status tt_dataset_text_read(const char *path, tt_bytes *text, tt_error *err);

#endif
