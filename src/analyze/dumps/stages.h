/* Stage maps: common names for the stages of a layer, whatever an engine calls them.
 *
 * A map is text with one rule per line; the first rule that matches a value applies:
 *
 *     NAME  OP  STAGE  [LAYER]
 *
 *   NAME   pattern of the value's name: `*` is any text, even none; `?` one character; `%` a
 *          number, which is the layer
 *   OP     pattern of its op ("MUL_MAT", "GET_ROWS"; "UNARY", not the function)
 *   STAGE  the stage, or `=`: the name itself, without its layer
 *   LAYER  -1 before and after the layers (embeddings, logits), -2 after all layers; without it
 *          the layer is the number in the name, or that of the value's inputs
 *
 * Blanks separate, `#` begins a comment; `?` matches a blank in a name. The order of the rules is
 * the execution order in a layer, for sides without one (tt_stages_rank).
 *
 * A value that no rule matches keeps its own name without the layer as its stage; for names that
 * the engine only numbered ("node_21") it is the op in lower case. A stage reported by a program
 * that recorded itself takes precedence. docs/diff-values.md lists the stages. */
#ifndef TT_ANALYZE_DUMPS_STAGES_H
#define TT_ANALYZE_DUMPS_STAGES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_STAGE_TEXT 64u /* size of a stage's name, with NUL; longer ones are cut */
#define TT_STAGE_RULES_MAX 4096u
#define TT_STAGES_BYTES_MAX ((size_t)1 << 20) /* of a map */

#define TT_STAGE_LAYER_OUTER (-1)      /* embeddings, logits: outside the layers */
#define TT_STAGE_LAYER_AFTER_ALL (-2)  /* after all layers, before the logits */
#define TT_STAGE_LAYER_UNKNOWN (-1000) /* not given by name or rule */

typedef struct tt_stages tt_stages;

/* A stage of a layer. */
typedef struct tt_stage {
    int32_t layer; /* 0, 1, ...; or TT_STAGE_LAYER_* */
    char name[TT_STAGE_TEXT];
} tt_stage;

/* The built-in map (stages/llama.cpp.map, installed too). NULL: out of memory. */
tt_stages *tt_stages_builtin(void);
/* Parses a text of n bytes; `what` names it in errors ("FILE:LINE: ..."). *out is freed with
 * tt_stages_free; NULL on failure. */
tt_status tt_stages_parse(const char *text, size_t n, const char *what, tt_stages **out,
                          tt_error *err);
/* Reads a file of at most TT_STAGES_BYTES_MAX bytes. */
tt_status tt_stages_read(const char *path, tt_stages **out, tt_error *err);
void tt_stages_free(tt_stages *s);

/* The stage of a value with that name, computed by that op ("" if unknown: then rules with any OP
 * match, the first one by name). */
tt_stage tt_stages_of(const tt_stages *s, const char *name, const char *op);
/* The stage's position in a layer, ascending in execution order; UINT32_MAX for a stage without a
 * rule. */
uint32_t tt_stages_rank(const tt_stages *s, const char *stage);

/* Patterns of stage maps. */

/* Whether the text matches: `*` is any text, `?` one byte, `%` all digits there (up to
 * TT_STAGE_DIGITS_MAX), whose value *number gets, the last one's if there are several. */
#define TT_STAGE_DIGITS_MAX 7u
bool tt_stage_match(const char *pattern, const char *text, int32_t *number);

/* A name without its layer: "Qcur-3 (view)" is "Qcur (view)" of layer 3, "cache_k_l0" is "cache_k"
 * of layer 0, "t0/blk2/q_proj" and "blk.2.q_proj" are "q_proj" of layer 2. TT_STAGE_LAYER_UNKNOWN
 * if the name has none. False: the name only numbers nodes ("node_21", "leaf_3", ""). */
bool tt_stage_strip(const char *name, tt_stage *out);

#endif
