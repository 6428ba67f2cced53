/* Names of the files of an export of outputs: safe anywhere, no two alike. */
#ifndef TT_EXPORT_NPY_NAME_H
#define TT_EXPORT_NPY_NAME_H

#include "base/idmap.h"

#include <stdint.h>

#define TT_NPY_NAME_TEXT 192u

/* Zero-filled is ready. */
typedef struct tt_npy_names {
    tt_idmap numbers; /* of each name: its place in `used` */
    uint32_t *used;   /* how often */
    uint32_t n, capacity;
} tt_npy_names;

/* "token-00003/ffn_out-2.npy", or "outside/..." for a token below 0; the second of that name is
 * "ffn_out-2~2.npy". Bytes other than letters, digits, "+", "-", "_" and "." become "_". False
 * without memory. */
bool tt_npy_name(tt_npy_names *n, int64_t token, const char *node, char out[TT_NPY_NAME_TEXT]);
void tt_npy_names_free(tt_npy_names *n);

#endif
