/* Classifies tensors by name: layer, category, component, expert.
 *
 * Understands the names of stored weights ("blk.3.attn_q.weight"), of expert slices
 * ("blk.3.ffn_up_exps.weight[5]"), and of values in llama.cpp's graphs ("Qcur-3 (reshaped)",
 * "cache_k_l0 (view)", "ffn_moe_gate-1", "result_output"), so that a weight and the values
 * computed from it are counted together. Only names of weights tell their stack; values get it from
 * the weights of their graph (model/link.c). */
#ifndef TT_GGUF_MEMORY_MAP_H
#define TT_GGUF_MEMORY_MAP_H

#include "base/layer.h"
#include "gguf/reader.h"

#include <stdint.h>

#define TT_COMPONENT_TEXT 64
#define TT_LAYOUT_LAYER_MAX 65534 /* 65535 means "none" in the 64-byte record format */

/* Categories, each also a string in tt_component. */
#define TT_CATEGORY_INPUT "input"
#define TT_CATEGORY_ATTENTION "attention"
#define TT_CATEGORY_FFN "ffn"
#define TT_CATEGORY_NORM "norm"
#define TT_CATEGORY_OUTPUT "output"
#define TT_CATEGORY_SSM "ssm"   /* a state space model's scan, or a layer like it: Mamba */
#define TT_CATEGORY_RWKV "rwkv" /* time mix and channel mix */
#define TT_CATEGORY_CONV "conv"
#define TT_CATEGORY_PROJECTOR                                                                      \
    "projector" /* from a tower of images or sound to the text's model                             \
                 */
#define TT_CATEGORY_OTHER "other"
#define TT_CATEGORY_EMBEDDING "embedding" /* by tt_layout_old_words only */

typedef struct tt_component {
    int32_t layer_id;                       /* with its stack (base/layer.h); -1: of no layer */
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

/* A model file as a map: one entry per tensor, or one per expert slice. */

/* More than any model has; a tensor with more is not sliced. */
#define TT_MEMORY_MAP_EXPERTS_MAX 65535u

typedef struct tt_memory_entry {
    char name[TT_GGUF_NAME_MAX + 17]; /* the tensor's; a slice's is followed by "[3]" */
    const tt_gguf_tensor *tensor;     /* the tensor, or the one it is a slice of */
    uint64_t offset_start;            /* absolute, in the tensor's part */
    uint64_t offset_end;              /* the first byte after it */
    uint64_t size_bytes;
    uint32_t n_dims; /* trailing ones dropped, but at least 1 */
    uint64_t ne[TT_GGUF_DIMS_MAX];
    tt_component component; /* expert_id -1: not of a single expert */
    bool says_none;         /* no layer is the number -1, for earlier readers */
} tt_memory_entry;

/* The tensor's number of slices: the number of experts if it holds them all (as its last
 * dimension), otherwise 1. n_experts as in tt_gguf_shape, -1 unknown. */
uint32_t tt_memory_map_slices(const tt_gguf_tensor *tensor, int64_t n_experts);
/* Fills in entry `slice` (from 0) of `slices`. */
void tt_memory_map_entry(tt_memory_entry *entry, const tt_gguf_tensor *tensor, uint32_t slice,
                         uint32_t slices);

#endif
