/* Whether an input is what it was: path, size and time of last change (ns) of its files. Never
 * their content: to read a model would bring it into RAM, and what of it is there is what many
 * study. */
#ifndef TT_EXPERIMENT_STAMP_H
#define TT_EXPERIMENT_STAMP_H

#include "base/bytes.h"
#include "base/status.h"

#include <stddef.h>

#define TT_STAMP_KEY 17
#define TT_STAMP_BYTES_MAX ((size_t)16 << 20) /* a good limit for the buffers below */

/* Appends what tells this file from another state of it. */
tt_status tt_stamp_file(tt_bytes *out, const char *path, tt_error *err);
/* The same of the shared libraries in a folder ("*.so", "*.so.*"), sorted by name. */
tt_status tt_stamp_libraries(tt_bytes *out, const char *folder, tt_error *err);
/* Appends the checksum of a file's content, of at most `limit` bytes; TT_E_LIMIT when it is
 * larger. For small files that are input themselves. */
tt_status tt_stamp_content(tt_bytes *out, const char *path, size_t limit, tt_error *err);
/* 16 hexadecimal digits. TT_E_MEMORY when the buffer has failed. */
tt_status tt_stamp_key(const tt_bytes *stamp, char out[TT_STAMP_KEY], tt_error *err);

#endif
