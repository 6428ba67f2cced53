/* The KV caches of a trace: where the keys and values of each layer are, and how many cells have
 * been written as positions fill.
 *
 * A cell is the space of one position of one sequence. The cells that an op writes are given by the
 * row numbers of SET_ROWS or, in engines that copy instead, by the offset of the CPY's destination
 * in the cache. Freeing a cell (removing a sequence) is not observed: counts are of cells that were
 * ever written. */
#ifndef TT_ANALYZE_KVCACHE_H
#define TT_ANALYZE_KVCACHE_H

#include "analyze/filter.h"
#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Limit of cells in a trace; caches beyond it are not counted. */
#define TT_KV_CELLS_MAX ((uint64_t)1 << 28)

/* One layer's part of a cache: a tensor named like cache_k_l0. */
typedef struct tt_kv_tensor {
    const char *name;
    const char *type_name;
    uint32_t buffer;       /* in tt_model.buffers, or TT_NONE */
    uint64_t offset_bytes; /* in the buffer; an address without one */
    uint64_t size_bytes;
    int32_t layer_id;   /* with its stack and model */
    char role;          /* 'k', 'v', or another letter: a recurrent state */
    uint64_t cells;     /* 0: not observed */
    uint64_t written;   /* of these */
    bool observed;      /* some writes were; else `written` is not valid */
    bool at_least;      /* there were writes to unknown cells */
    uint32_t leader;    /* whose cells it uses: a layer's values are in the same cells as its
                           keys */
    uint64_t row_bytes; /* private: of a cell, for keys */
    uint64_t *bits;     /* private: for keys: written cells */
} tt_kv_tensor;

/* After a token (batch) that wrote to it. */
typedef struct tt_kv_step {
    uint32_t batch; /* in tt_model.batches */
    uint32_t cache; /* in tt_kv.caches */
    uint64_t cells_written;
    uint64_t written_bytes;
} tt_kv_step;

/* The cache in one buffer. */
typedef struct tt_kv_cache {
    uint32_t buffer; /* in tt_model.buffers, or TT_NONE */
    uint32_t first;  /* in tt_kv.tensors */
    uint32_t n_tensors;
    uint64_t size_bytes; /* of its tensors */
    bool observed;       /* then: */
    uint64_t cells;      /* of the layer with the most */
    uint64_t written;    /* of the layer with the most */
    uint64_t written_bytes;
    bool at_least;     /* both are lower bounds */
    tt_kv_step *steps; /* of tt_kv.steps; none if not observed */
    uint32_t n_steps;
    uint32_t capacity; /* private */
} tt_kv_cache;

typedef struct tt_kv {
    tt_kv_tensor *tensors; /* by ascending buffer, offset */
    uint32_t n_tensors;
    tt_kv_cache *caches;
    uint32_t n_caches;
    tt_kv_step *steps; /* of all caches, one cache after the other */
    size_t n_steps;
} tt_kv;

/* Free *out with tt_kv_free; NULL on failure. Empty for a trace without a cache. tt_kv_of: only
 * what the graphs of runs that pass the filter (model, context; NULL: any) use and write. */
tt_status tt_kv_of(const tt_model *m, const tt_filter *f, tt_kv **out, tt_error *err);
static inline tt_status tt_kv_analyze(const tt_model *m, tt_kv **out, tt_error *err)
{
    return tt_kv_of(m, NULL, out, err);
}
void tt_kv_free(tt_kv *kv);

/* Bytes of the tensor's written cells; 0 if not observed. */
uint64_t tt_kv_written_bytes(const tt_kv *kv, const tt_kv_tensor *t);

/* The row numbers of a SET_ROWS of that run, whose node is t; NULL: not observed. */
const tt_indices *tt_kv_row_numbers(const tt_model *m, uint32_t run, const tt_graph *g,
                                    const tt_tensor *t);

#endif
