/* With an odd first byte: bytes as a packed fingerprint, which is refused or comes back as it was.
 * Else: bytes as a value, whose fingerprint is the same in pieces, packed, and read back. */
#include "value/fingerprint.h"
#include "value/pack.h"
#include "value/type.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(const uint8_t *data, size_t size)
{
    tt_fingerprint f, again;
    uint8_t packed[TT_VALUE_PACKED_MAX];
    if (!tt_value_unpack(data, size, &f)) return;
    if (f.n_nan + f.n_inf > f.n || f.n_prefix > TT_VALUE_PREFIX || f.n_samples > TT_VALUE_SAMPLES)
        abort();
    size_t n = tt_value_pack(&f, packed);
    if (n > sizeof packed || n > size || memcmp(packed, data, n) != 0) abort();
    if (!tt_value_unpack(packed, n, &again)) abort();
}

/* Rows of `width` blocks, with gaps in between. */
static void take(const uint8_t *data, size_t size)
{
    if (size < 4) return;
    tt_value_type type = (tt_value_type)(1 + data[0] % (TT_VALUE_TYPES - 1));
    uint32_t block = tt_value_block_elements(type), bytes = tt_value_block_bytes(type);
    uint64_t width = 1 + data[1] % 31, gap = data[2] % 3;
    uint64_t stride = (width + gap) * bytes;
    uint64_t rows = (size - 3) / stride;
    tt_value_data v = {.type = type,
                       .ne = {width * block, rows, 1, 1},
                       .nb = {bytes, stride, rows * stride, rows * stride},
                       .data = data + 3};
    uint32_t n = tt_value_pieces(&v);
    if (rows == 0 || size > BYTES_MAX) return;
    tt_value_piece *pieces = malloc(n * sizeof *pieces);
    tt_fingerprint f, again;
    uint8_t packed[TT_VALUE_PACKED_MAX], twice[TT_VALUE_PACKED_MAX];
    if (!pieces || n > TT_VALUE_PIECES_MAX) abort();
    for (uint32_t k = n; k-- > 0;)
        tt_value_take(&v, k, TT_VALUE_WITH_BLAKE3, &pieces[k]);
    tt_value_look(&v, &f);
    tt_value_finish(pieces, n, TT_VALUE_WITH_BLAKE3, &f);
    free(pieces);
    if (f.n != width * block * rows) abort();
    size_t used = tt_value_pack(&f, packed);
    if (!tt_value_unpack(packed, used, &again)) abort();
    if (tt_value_pack(&again, twice) != used || memcmp(packed, twice, used) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if (data[0] & 1)
        unpack(data + 1, size - 1);
    else
        take(data + 1, size - 1);
    return 0;
}
