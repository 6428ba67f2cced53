/* Routing recorded by others: the experts that a router chose, as CSV with a header, JSON lines, or
 * plain lists. docs/import.md has the forms. */
#ifndef TT_IMPORT_READ_H
#define TT_IMPORT_READ_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TT_IMPORT_LAYERS_MAX 4096u
#define TT_IMPORT_EXPERTS_MAX 65536u
#define TT_IMPORT_PICKED_MAX 1024u /* experts of a token in a layer */
#define TT_IMPORT_LINE_MAX ((size_t)1 << 20)
#define TT_IMPORT_PICKS_MAX ((size_t)1 << 22) /* of a batch */
#define TT_IMPORT_SEQUENCES_MAX ((uint32_t)1 << 20)
#define TT_IMPORT_IGNORED_MAX 32u

typedef struct tt_import_pick {
    uint32_t layer;
    uint32_t token; /* in the batch, from 0 */
    uint32_t rank;  /* among the token's experts in the layer */
    uint32_t expert;
    float weight; /* NAN: not given */
} tt_import_pick;

/* Tokens computed together: those of one number in a column such as "batch", or else a single
 * token. */
typedef struct tt_import_batch {
    const tt_import_pick *picks; /* by layer, token, rank */
    size_t n;
    const int64_t *numbers;    /* of the tokens, as in the text; -1: not given */
    const uint32_t *sequences; /* of the tokens: from 0 by first appearance; TT_NONE: not given */
    uint32_t n_tokens;
} tt_import_batch;

typedef tt_status tt_import_visit(void *context, const tt_import_batch *batch, tt_error *err);

/* Columns of CSV and keys of JSON that are skipped whatever they say. */
typedef struct tt_import_ignored {
    const char *names[TT_IMPORT_IGNORED_MAX];
    unsigned n;
} tt_import_ignored;

/* Reads all of `in` and visits each batch; memory is bounded by the limits above. A column or key
 * that is not understood is an error unless `ignored` (NULL: none) names it. TT_E_FORMAT with line
 * and column of the error; TT_E_USAGE if nothing has one of the ignored names. */
tt_status tt_import_read(FILE *in, const tt_import_ignored *ignored, tt_import_visit *visit,
                         void *context, tt_error *err);

#endif
