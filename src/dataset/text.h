/* A file's text, unpacked when it is compressed. */
#ifndef TT_DATASET_TEXT_H
#define TT_DATASET_TEXT_H

#include "base/bytes.h"
#include "base/status.h"

/* Of one file, unpacked. */
#define TT_DATASET_FILE_MAX ((size_t)128 << 20)

/* Reads the file into *text, which is initialised with the limit TT_DATASET_FILE_MAX and may hold
 * something, that is forgotten. By its name's end it is unpacked: .zst, .gz. Messages do not name
 * the file. TT_E_LIMIT: it is larger than that. TT_E_TRUNCATED, TT_E_FORMAT: what is compressed is
 * cut off or damaged. TT_E_IO, TT_E_MEMORY. */
tt_status tt_dataset_text_read(const char *path, tt_bytes *text, tt_error *err);

#endif
