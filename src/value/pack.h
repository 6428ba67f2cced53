/* A fingerprint as bytes, as in a trace: docs/format.md, "Fingerprints". */
#ifndef TT_VALUE_PACK_H
#define TT_VALUE_PACK_H

#include "value/fingerprint.h"

#include <stddef.h>

#define TT_VALUE_PACKED_MAX 207u

/* Returns the number of bytes written to `out`. */
size_t tt_value_pack(const tt_fingerprint *f, uint8_t out[TT_VALUE_PACKED_MAX]);
/* False when the n bytes are not a valid fingerprint. */
bool tt_value_unpack(const uint8_t *bytes, size_t n, tt_fingerprint *f);

#endif
