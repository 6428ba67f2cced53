/* Which outputs are recorded, and in which form: the argument of `run --values`.
 *
 *   LEVEL[:TERM[,TERM]...]
 *
 * LEVEL: off, stats, hash (stats and BLAKE3), full (hash and the data). TERM: name=GLOB or GLOB
 * (the node's name), op=GLOB ("MUL_MAT", any case), layer=A..B, batch=A..B (formerly token=A..B).
 * Terms of one kind are alternatives; of different kinds all must hold. */
#ifndef TT_VALUE_SELECT_H
#define TT_VALUE_SELECT_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_SELECT_TERMS_MAX 16u /* per kind */
#define TT_SELECT_TEXT_MAX 64u  /* longest name of a node, terminator included */
#define TT_SELECT_NO_LAYER (-1)

typedef enum tt_value_level {
    TT_VALUES_OFF = 0,
    TT_VALUES_STATS,
    TT_VALUES_HASH,
    TT_VALUES_FULL
} tt_value_level;

typedef struct tt_select_range {
    uint64_t first, last;
} tt_select_range;

typedef struct tt_select {
    tt_value_level level;
    uint32_t n_names, n_ops, n_layers, n_tokens;
    char names[TT_SELECT_TERMS_MAX][TT_SELECT_TEXT_MAX];
    char ops[TT_SELECT_TERMS_MAX][TT_SELECT_TEXT_MAX];
    tt_select_range layers[TT_SELECT_TERMS_MAX];
    tt_select_range tokens[TT_SELECT_TERMS_MAX];
} tt_select;

/* TT_E_USAGE with a sentence when the text is invalid. */
tt_status tt_select_parse(const char *text, tt_select *s, tt_error *err);
/* "off", "stats", "hash", "full". */
const char *tt_value_level_name(tt_value_level level);
/* Whether outputs of that batch may be wanted. */
bool tt_select_token(const tt_select *s, uint64_t token);
/* Whether the node's output is wanted, in wanted batches. layer: or TT_SELECT_NO_LAYER. */
bool tt_select_node(const tt_select *s, const char *name, const char *op, int32_t layer);

#endif
