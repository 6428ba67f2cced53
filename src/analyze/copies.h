/* Weights that ops read from a copy in a buffer, not from the mapped file, because the engine
 * repacks them or reads the file into memory. */
#ifndef TT_ANALYZE_COPIES_H
#define TT_ANALYZE_COPIES_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_COPIES_OPTION "count-copies-as-file" /* maps them to their file offsets */

typedef struct tt_copies {
    uint64_t copied_bytes, file_bytes; /* of the weights that graphs read, each once */
    uint32_t n_copied, n_file;
    bool repacked; /* some copies are in a buffer of repacked weights */
} tt_copies;

/* False if out of memory. */
bool tt_copies_find(const tt_model *m, tt_copies *out);
/* One line of advice for people; "" if nothing was copied. */
#define TT_COPIES_TEXT 240
const char *tt_copies_text(const tt_copies *c, char out[TT_COPIES_TEXT]);

#endif
