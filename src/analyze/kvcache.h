/* The KV caches of a trace: where each layer's keys and values lie, and how many cells have
 * been written as positions fill.
 *
 * A cell is what one position of one sequence takes. Which cells an op writes is given by the row
 * numbers that SET_ROWS is given, or, in engines that copy instead, by where in the cache the
 * destination of the CPY lies. That a cell was given up again (a sequence removed) is not seen:
 * counts are of cells that were ever written. */
#ifndef TT_ANALYZE_KVCACHE_H
#define TT_ANALYZE_KVCACHE_H

#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Cells followed in a trace; those of caches beyond it are not counted. */
#define TT_KV_CELLS_MAX ((uint64_t)1 << 28)

/* One layer's part of a cache: a tensor named like cache_k_l0. */
typedef struct tt_kv_tensor {
    const char *name;
    const char *type_name;
    uint32_t buffer;       /* in tt_model.buffers, or TT_NONE */
    uint64_t offset_bytes; /* in the buffer; an address without one */
    uint64_t size_bytes;
    int32_t layer_id;
    char role;          /* 'k', 'v', or another letter: a recurrent state */
    uint64_t cells;     /* 0: not observed */
    uint64_t written;   /* of these */
    bool observed;      /* some writes were; else `written` says nothing */
    bool at_least;      /* there were writes of which the cells are not known */
    uint32_t leader;    /* whose cells these are: a layer's values go where its keys go */
    uint64_t row_bytes; /* private: of a cell, of keys */
    uint64_t *bits;     /* private: of keys: which cells are written */
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
    bool at_least; /* both are lower bounds */
    tt_kv_step *steps; /* of tt_kv.steps; none when not observed */
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

/* *out is freed with tt_kv_free; NULL on failure. A trace without a cache gives an empty one. */
tt_status tt_kv_analyze(const tt_model *m, tt_kv **out, tt_error *err);
void tt_kv_free(tt_kv *kv);

/* Bytes of the tensor that its written cells take; 0 when not observed. */
uint64_t tt_kv_written_bytes(const tt_kv *kv, const tt_kv_tensor *t);

/* The row numbers of a SET_ROWS of that run, whose node is t; NULL: they were not observed. */
const tt_indices *tt_kv_row_numbers(const tt_model *m, uint32_t run, const tt_graph *g,
                                    const tt_tensor *t);

#endif
