/* The format `npy`: a folder with a NumPy file for each output whose data is in the trace, and
 * index.json, which describes each: docs/values.md.
 *
 * NPY 1.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef TT_EXPORT_NPY_NPY_H
#define TT_EXPORT_NPY_NPY_H

#include "base/idmap.h"
#include "export/export.h"
#include "value/fingerprint.h"

#include <stdint.h>

/* Names of the files of an export of outputs: safe in any file system, unique. */

#define TT_NPY_NAME_TEXT 192u

/* Zero-filled is ready. */
typedef struct tt_npy_names {
    tt_idmap numbers; /* of each name: its index in `used` */
    uint32_t *used;   /* how often */
    uint32_t n, capacity;
} tt_npy_names;

/* "token-00003/ffn_out-2.npy", or "outside/..." for a negative token; the second file of that name
 * is "ffn_out-2~2.npy". Bytes other than letters, digits, "+", "-", "_" and "." become "_". False
 * if out of memory. */
bool tt_npy_name(tt_npy_names *n, int64_t token, const char *node, char out[TT_NPY_NAME_TEXT]);
void tt_npy_names_free(tt_npy_names *n);

extern const tt_export_format tt_format_npy;

/* The numpy dtype for elements of a type; for types that numpy lacks, that of float32 with
 * *converted set. NULL: not possible. */
const char *tt_npy_dtype(tt_value_type type, bool *converted);

/* The file's header for ne elements (ne[0] varies fastest: numpy's last axis), without trailing
 * dimensions of 1. Returns its length, a multiple of 64. */
#define TT_NPY_HEADER_MAX 192u
size_t tt_npy_header(const char *dtype, const uint64_t ne[TT_VALUE_DIMS],
                     char out[TT_NPY_HEADER_MAX]);

#endif
