/* Stage maps: what engines call the places of a layer, in the words of all of them.
 *
 * A map is text, a rule a line, read from the top; the first one that fits a value counts:
 *
 *     NAME  OP  STAGE  [LAYER]
 *
 *   NAME   pattern of the value's name: `*` is any text, also none; `?` one character; `%` a
 *          number, which is the layer
 *   OP     pattern of its op ("MUL_MAT", "GET_ROWS"; "UNARY", not what it computes)
 *   STAGE  the stage, or `=`: the name itself, without its layer
 *   LAYER  -1 before and behind the layers (embeddings, logits), -2 after all layers; without it
 *          the layer is the number in the name, or that of what the value was computed from
 *
 * Blanks divide, `#` begins a comment; a blank in a name is matched by `?`. The order of the rules
 * is the order of execution in a layer, for sides that do not tell it (tt_stages_rank).
 *
 * A value that no rule fits keeps its own name without the layer as its stage; names that the
 * engine only numbered ("node_21") are its op in small letters. Where a program that recorded
 * itself told the stage, that counts. docs/diff-values.md lists the stages. */
#ifndef TT_ANALYZE_DUMPS_STAGES_H
#define TT_ANALYZE_DUMPS_STAGES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_STAGE_TEXT 64u /* bytes of a stage, with its NUL; longer ones are cut */
#define TT_STAGE_RULES_MAX 4096u
#define TT_STAGES_BYTES_MAX ((size_t)1 << 20) /* of a map */

#define TT_STAGE_LAYER_OUTER (-1)      /* embeddings, logits: outside the layers */
#define TT_STAGE_LAYER_AFTER_ALL (-2)  /* what follows all layers, before the logits */
#define TT_STAGE_LAYER_UNKNOWN (-1000) /* neither the name nor a rule tells */

typedef struct tt_stages tt_stages;

/* A place in the network. */
typedef struct tt_stage {
    int32_t layer; /* 0, 1, ...; or TT_STAGE_LAYER_* */
    char name[TT_STAGE_TEXT];
} tt_stage;

/* The map that is built in (stages/llama.cpp.map, installed too). NULL: no memory. */
tt_stages *tt_stages_builtin(void);
/* Of a text of n bytes; `what` names it in errors ("FILE:LINE: ..."). *out is freed with
 * tt_stages_free; NULL on failure. */
tt_status tt_stages_parse(const char *text, size_t n, const char *what, tt_stages **out,
                          tt_error *err);
/* Of a file of at most TT_STAGES_BYTES_MAX bytes. */
tt_status tt_stages_read(const char *path, tt_stages **out, tt_error *err);
void tt_stages_free(tt_stages *s);

/* The stage of a value with that name, computed by that op ("" when it is not known: then rules
 * whose OP is not `*` fit too, the first one by name). */
tt_stage tt_stages_of(const tt_stages *s, const char *name, const char *op);
/* Where in a layer the stage comes: ascending in order of execution; UINT32_MAX for a stage that no
 * rule has. */
uint32_t tt_stages_rank(const tt_stages *s, const char *stage);

/* Patterns of stage maps. */

/* Whether the text fits: `*` is any text, `?` one byte, `%` all the digits that stand there (up to
 * TT_STAGE_DIGITS_MAX), whose number *number gets, the last one's where there are several. */
#define TT_STAGE_DIGITS_MAX 7u
bool tt_stage_match(const char *pattern, const char *text, int32_t *number);

/* A name without its layer: "Qcur-3 (view)" is "Qcur (view)" of layer 3, "cache_k_l0" is "cache_k"
 * of layer 0, "t0/blk2/q_proj" and "blk.2.q_proj" are "q_proj" of layer 2. TT_STAGE_LAYER_UNKNOWN
 * when the name has none. False: the name only numbers nodes ("node_21", "leaf_3", ""). */
bool tt_stage_strip(const char *name, tt_stage *out);

#endif
