/* Patterns of stage maps. */
#ifndef TT_ANALYZE_STAGES_MATCH_H
#define TT_ANALYZE_STAGES_MATCH_H

#include "analyze/dumps/stages.h"

/* Whether the text fits: `*` is any text, `?` one byte, `%` all the digits that stand there (up to
 * TT_STAGE_DIGITS_MAX), whose number *number gets, the last one's where there are several. */
#define TT_STAGE_DIGITS_MAX 7u
bool tt_stage_match(const char *pattern, const char *text, int32_t *number);

/* A name without its layer: "Qcur-3 (view)" is "Qcur (view)" of layer 3, "cache_k_l0" is "cache_k"
 * of layer 0, "t0/blk2/q_proj" and "blk.2.q_proj" are "q_proj" of layer 2. TT_STAGE_LAYER_UNKNOWN
 * when the name has none. False: the name only numbers nodes ("node_21", "leaf_3", ""). */
bool tt_stage_strip(const char *name, tt_stage *out);

#endif
