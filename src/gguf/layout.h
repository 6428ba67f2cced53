/* Classifies tensors by name: layer, category, component, expert.
 *
 * Understands the names of stored weights ("blk.3.attn_q.weight"), of expert slices
 * ("blk.3.ffn_up_exps.weight[5]"), and of values in llama.cpp's graphs ("Qcur-3 (reshaped)",
 * "cache_k_l0 (view)", "ffn_moe_gate-1", "result_output"), so that a weight and the values
 * computed from it are counted together. */
#ifndef TT_GGUF_LAYOUT_H
#define TT_GGUF_LAYOUT_H

#include <stdint.h>

#define TT_COMPONENT_TEXT 64
#define TT_LAYOUT_LAYER_MAX 65534 /* 65535 means "none" in the 64-byte record format */

/* Categories, each also a string in tt_component. */
#define TT_CATEGORY_INPUT "input"
#define TT_CATEGORY_ATTENTION "attention"
#define TT_CATEGORY_FFN "ffn"
#define TT_CATEGORY_NORM "norm"
#define TT_CATEGORY_OUTPUT "output"
#define TT_CATEGORY_OTHER "other"
#define TT_CATEGORY_EMBEDDING "embedding" /* by tt_layout_old_words only */

typedef struct tt_component {
    int32_t layer_id;                       /* -1: belongs to no layer */
    int32_t expert_id;                      /* -1: not of a single expert */
    const char *category;                   /* one of the above; static storage */
    char component[TT_COMPONENT_TEXT];      /* short: "attn_q", "ffn_down_exps", "kq" */
    char component_type[TT_COMPONENT_TEXT]; /* for display: "Attention Q", "Other" */
} tt_component;

/* Never fails: an unknown name gets the category "other", the type "Other", and as component the
 * name itself (without layer and decoration). */
tt_component tt_layout_classify(const char *name);

/* Replaces category, component and component_type by the words of earlier converters: "query" for
 * attn_q, "embedding" for input; docs/dataset.md. The name is that of a stored weight
 * or of an expert's slice, and c what it was classified as. */
void tt_layout_old_words(const char *name, tt_component *c);

#endif
