/* Batches that a program tells op by op: the nodes so far, from which the graph is put together. */
#ifndef TT_ADAPTER_PROGRAM_BATCH_H
#define TT_ADAPTER_PROGRAM_BATCH_H

#include "adapter/ggml/engine.h"
#include "format/meta.h"
#include "record/recorder.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TT_PROGRAM_BATCHES 64u         /* under way at a time */
#define TT_PROGRAM_NODES_MAX 65536u    /* of a batch; ops beyond are counted as lost */
#define TT_PROGRAM_TENSORS_MAX 196608u /* nodes and what they read */

/* A place for a batch under way. Places are used again and again, their memory with them: a batch
 * that computes what the one before did finds its nodes there already. */
typedef struct tt_program_batch {
    _Atomic uint32_t generation; /* odd: a batch is under way */
    _Atomic uint32_t run;        /* its only one */
    uint32_t id;
    tt_meta_run meta;        /* as it was told last */
    const tt_engine *engine; /* that its tensors are of */
    uint32_t context;
    _Atomic uint64_t last_ticks; /* when the last op ended, as far as that is known */
    bool told;                   /* the trace knows of it */
    bool is_loose;               /* nobody began it: of what is told outside any batch */
    int64_t position;            /* of these */
    bool same;              /* the nodes so far are the first of the batch before in this place */
    uint64_t buffers;       /* generation of buffers when the graph was identified */
    uint64_t buffers_begin; /* and when the batch began */
    uint32_t n_nodes, n_before; /* so far; of the batch before */
    uint32_t n_tensors;
    uint8_t *taken;               /* by node: its output has been taken, or is being */
    struct ggml_tensor **nodes;   /* in the order they were added */
    struct ggml_tensor **tensors; /* all, in the order met: addresses never change */
    uint32_t nodes_capacity, tensors_capacity;
    struct tt_program_index {
        uint64_t key;
        struct ggml_tensor *tensor;
        uint32_t node;  /* + 1; 0: it is no node */
        uint32_t stamp; /* generation that it is of */
    } * index;
    uint32_t index_capacity;
} tt_program_batch;

/* All with tt_process_lock held. */

/* Begins a batch. NULL, and counted, when too many are under way, recording has stopped, or this
 * one is not wanted. */
tt_program_batch *tt_program_batch_begin(tt_recorder *r, const tt_engine *e, uint32_t context,
                                         uint32_t threads);
/* Tells what it is about, once: m has n_tokens, phase and vocabulary. Otherwise its end tells that
 * nothing is known. tokens, positions: n_tokens each, or NULL. */
void tt_program_batch_tell(tt_recorder *r, tt_program_batch *b, tt_meta_batch *m,
                           const int32_t *tokens, const int32_t *positions);
/* ticks: when it ended; 0: when its last op did. */
void tt_program_batch_end(tt_recorder *r, tt_program_batch *b, uint64_t ticks, int status);
/* All that are under way. */
void tt_program_batches_end(tt_recorder *r);
/* In a forked child, or when recording begins anew: none is under way. */
void tt_program_batches_reset(void);

/* Adds the node: a copy of *t, whose sources are tensors of the batch. Its number + 1; 0 when there
 * are too many. key: see tt_program_batch_find. */
uint32_t tt_program_batch_add(tt_recorder *r, tt_program_batch *b, const struct ggml_tensor *t,
                              uint64_t key);
/* The newest tensor that was added with the key; NULL. *node (or NULL) its number + 1, 0 of none.
 */
struct ggml_tensor *tt_program_batch_find(tt_program_batch *b, uint64_t key, uint32_t *node);
/* Adds a tensor that is only read: a copy of *t. NULL when there are too many. */
struct ggml_tensor *tt_program_batch_add_leaf(tt_recorder *r, tt_program_batch *b,
                                              const struct ggml_tensor *t, uint64_t key);

/* What the program says of the place of a tensor that is in the batch (a string id). */
void tt_program_batch_stage(tt_recorder *r, tt_program_batch *b, struct ggml_tensor *t,
                            uint32_t stage, int32_t layer);

/* A node of a batch as a number for the program; 0 for none. */
uint64_t tt_program_node(const tt_program_batch *b, uint32_t node_plus_1);
/* The batch of such a number if it is still under way, with its run; any thread, no lock. */
tt_program_batch *tt_program_batch_of(uint64_t node, uint32_t *run, uint32_t *number);

#endif
