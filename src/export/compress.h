/* Files of an export, compressed in separate pieces: zstd frames or gzip members, which `zstd -d`
 * and `gunzip` read as one file (RFC 8878, RFC 1952). */
#ifndef TT_EXPORT_COMPRESS_H
#define TT_EXPORT_COMPRESS_H

#include "base/bytes.h"
#include "base/status.h"
#include "export/export.h"

#include <stddef.h>

/* For one thread at a time. */
typedef struct tt_compressor tt_compressor;

/* NULL if out of memory. */
tt_compressor *tt_compressor_new(tt_compress method);
void tt_compressor_free(tt_compressor *c);
/* Appends n bytes to *out as an independent piece; unchanged with TT_COMPRESS_NONE. */
tt_status tt_compressor_put(tt_compressor *c, const void *data, size_t n, tt_bytes *out,
                            tt_error *err);
/* A compressed file's extension: "", ".zst", ".gz". */
const char *tt_compress_suffix(tt_compress method);

#endif
