/* zstd in the recorder, found at run time: the traced process is not made to link a
 * library it does not have, and without one chunks are simply stored as they are. */
#ifndef TT_RECORD_CODEC_H
#define TT_RECORD_CODEC_H

#include "base/bytes.h"

#include <stdbool.h>

typedef struct tt_codec_zstd tt_codec_zstd;

/* NULL when libzstd.so.1 cannot be loaded or memory is out. */
tt_codec_zstd *tt_codec_zstd_new(void);
void tt_codec_zstd_free(tt_codec_zstd *z);
/* Compresses into *out (cleared first). fast: for what hardly gets smaller by trying harder, as
 * fingerprints and data of outputs. False when that fails or does not save a sixteenth: then the
 * payload is better stored as it is. */
bool tt_codec_zstd_pack(tt_codec_zstd *z, tt_span raw, bool fast, tt_bytes *out);
/* Unpacks into *out (cleared first); false unless it yields raw_bytes exactly. */
bool tt_codec_zstd_unpack(tt_codec_zstd *z, tt_span packed, size_t raw_bytes, tt_bytes *out);

#endif
