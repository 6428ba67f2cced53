/* The routers of a trace: choices of experts, layer by layer, with the experts' bytes in the file;
 * and the texts (intervals of one sequence in one phase) with the experts that each used. */
#ifndef TT_ANALYZE_ROUTERS_H
#define TT_ANALYZE_ROUTERS_H

#include "analyze/filter.h"
#include "analyze/over.h"
#include "analyze/routing.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ROUTERS_SLICES_MAX 16u
#define TT_ROUTERS_SEQUENCES_MAX 64u /* of one token; others are ignored */
#define TT_ROUTERS_TEXTS_MAX 256u
#define TT_ROUTERS_EXPERTS_MAX (1u << 18) /* in all layers: ten times what models have */

/* A tensor with a slice for each expert. */
typedef struct tt_router_slice {
    uint32_t weight;       /* in tt_model.weights */
    uint64_t expert_bytes; /* expert i begins at the weight's offset + i x this */
} tt_router_slice;

typedef struct tt_router_layer {
    int32_t layer_id; /* TT_LAYER_NONE: not known */
    uint32_t file;    /* of the experts, in tt_model.files; TT_NONE: unknown */
    uint32_t n_experts;
    uint32_t n_slices;
    tt_router_slice slices[TT_ROUTERS_SLICES_MAX];
    uint64_t expert_bytes; /* of one expert, all slices; 0: not known */
    uint64_t unplaced;     /* tokens whose row in the batch is unknown */
    tt_router *router;
    size_t first_count; /* of its experts, in a text's counts */
} tt_router_layer;

/* Consecutive tokens of one sequence in one phase. */
typedef struct tt_router_text {
    uint32_t context;
    bool has_sequence;
    int32_t sequence;
    uint8_t phase;        /* enum tt_phase */
    uint32_t first_token; /* tt_model_batch_number of the first batch */
    uint32_t last_token;
    uint64_t tokens;
    uint32_t *counts; /* choices by layer and expert, n_counts of them */
    size_t n_counts;
} tt_router_text;

typedef struct tt_routers tt_routers;
typedef void tt_routers_progress(void *context, uint64_t done, uint64_t total);

/* NULL if out of memory. Uses the filter's token, phase and time; it is copied. Without a phase or
 * batches, warm-ups are left out. `texts_of`: the
 * phase of the texts to list (enum tt_phase). */
tt_routers *tt_routers_new(const tt_model *m, const tt_filter *filter, uint8_t texts_of);
void tt_routers_free(tt_routers *r);
/* Before the walk: also counts transitions between experts, for the router of the filter's layer;
 * without one for all layers, up to TT_ROUTERS_TRANSITIONS_MAX bytes. */
#define TT_ROUTERS_TRANSITIONS_MAX ((uint64_t)256 << 20)
void tt_routers_keep_transitions(tt_routers *r);
/* Checked occasionally during the walk: if cancelled, it ends with TT_E_IO. */
void tt_routers_until(tt_routers *r, tt_over over);
/* TT_E_LIMIT for more than TT_ROUTERS_EXPERTS_MAX experts. */
tt_status tt_routers_walk(tt_routers *r, tt_routers_progress *progress, void *context,
                          tt_error *err);

/* By file and layer. */
const tt_router_layer *tt_routers_layers(const tt_routers *r, size_t *n);
/* In the order observed, at most TT_ROUTERS_TEXTS_MAX; *left_out: the number of further ones. */
const tt_router_text *tt_routers_texts(const tt_routers *r, size_t *n, uint64_t *left_out);
/* Sequences were not observed: all tokens of a context count as one. */
bool tt_routers_sequences_assumed(const tt_routers *r);
/* The token of each row of a router's ids: in most layers the token of the same number; in the last
 * one, which computes only the rows whose output is requested, one of those. */
typedef struct tt_router_rows {
    uint64_t n;
    bool known;
    const int64_t *picked; /* n tokens, ascending; NULL: row i is token i */
} tt_router_rows;

/* For a run whose graph is known, and a router in it (as of tt_access_router). */
tt_router_rows tt_routers_rows(const tt_model *m, uint32_t run, uint32_t router);
/* The token (< the batch's n_tokens, or beyond) of a row < n, if known. */
static inline uint64_t tt_router_rows_token(const tt_router_rows *rows, uint32_t row)
{
    return rows->picked ? (uint64_t)rows->picked[row] : row;
}

/* Expert matmuls among the executed nodes of the trace's graphs. */
uint64_t tt_routers_expert_nodes(const tt_model *m);
/* Whether the counts of both's texts refer to the same experts. */
bool tt_routers_same_shape(const tt_routers *a, const tt_routers *b);

/* For two texts whose routers have the same shape. */
double tt_router_texts_jaccard(const tt_router_text *a, const tt_router_text *b);
double tt_router_texts_cosine(const tt_router_text *a, const tt_router_text *b);

#endif
