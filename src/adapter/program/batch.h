/* Batches that a program reports op by op: the nodes so far, which become the graph. */
#ifndef TT_ADAPTER_PROGRAM_BATCH_H
#define TT_ADAPTER_PROGRAM_BATCH_H

#include "adapter/ggml/engine.h"
#include "format/meta.h"
#include "record/recorder.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define TT_PROGRAM_BATCHES 64u         /* active at one time */
#define TT_PROGRAM_NODES_MAX 65536u    /* per batch; ops beyond are counted as lost */
#define TT_PROGRAM_TENSORS_MAX 196608u /* nodes and what they read */

/* What a program reported of a node; see again.h. */
typedef struct tt_program_reported {
    const char *op; /* NULL: this node is always described anew */
    const void *data;
    uint32_t n_dims, n_sources;
    uint32_t n_tensors;   /* of the batch, behind the node */
    uint32_t new_sources; /* bits: these came with it */
    int32_t layer;
    uint8_t name_bytes, op_bytes;
    bool has_strides, executes;
    char stage[64];
} tt_program_reported;

/* A slot for an active batch. Slots are reused with their memory: a batch that repeats the
 * computation of the previous one finds its nodes there. */
typedef struct tt_program_batch {
    _Alignas(128) _Atomic uint32_t generation; /* odd: a batch is active. Threads have slots of
                                                  their own, so that slots share no cache line */
    _Atomic uint32_t run;                      /* the batch's only run */
    uint32_t id;
    uint64_t node_0;         /* what the program holds of its nodes, without their number */
    tt_meta_run meta;        /* as last recorded */
    const tt_engine *engine; /* engine of its tensors */
    uint32_t context;
    _Atomic uint64_t own_ticks;  /* end of the last op of the thread that began it, if known */
    _Atomic uint64_t last_ticks; /* ... of any other thread */
    bool described;              /* its BATCH record has been written */
    bool is_loose;               /* implicit: for ops and values outside of any batch */
    int64_t position;            /* of a loose batch */
    bool same;                   /* so far, the nodes equal the first ones of the slot's previous
                                    batch */
    uint64_t buffers;            /* buffers' generation when the graph was identified */
    uint64_t buffers_begin;      /* buffers' generation when the batch began */
    uint32_t n_nodes, n_before;  /* so far; in the previous batch */
    uint32_t n_tensors;
    uint32_t n_indexed;            /* of these are in the index */
    tt_program_reported *reported; /* by node */
    uint32_t reported_capacity;
    uint8_t *taken;               /* by node: its output has been captured, or is being captured */
    struct ggml_tensor **nodes;   /* in the order they were added */
    struct ggml_tensor **tensors; /* all, in the order met; addresses never change */
    uint32_t nodes_capacity, tensors_capacity;
    struct tt_program_key {
        uint64_t key;
        uint32_t node; /* + 1; 0: not a node */
    } * keys;          /* by tensor */
    uint32_t keys_capacity;
    struct tt_program_index {
        uint64_t key;
        struct ggml_tensor *tensor;
        uint32_t node;  /* + 1; 0: not a node */
        uint32_t stamp; /* generation of its batch */
    } * index;
    uint32_t index_capacity;
} tt_program_batch;

/* tt_process_lock is held by callers of all functions here. */

/* Begins a batch. NULL, and counted, if too many are active, recording has stopped, or this batch
 * is not selected. */
tt_program_batch *tt_program_batch_begin(tt_recorder *r, const tt_engine *e, uint32_t context,
                                         uint32_t threads);
/* Records the BATCH, once: m has n_tokens, phase and vocabulary. If it is not called, the end of
 * the batch records them as unknown. tokens, positions: n_tokens each, or NULL. */
void tt_program_batch_describe(tt_recorder *r, tt_program_batch *b, tt_meta_batch *m,
                               const int32_t *tokens, const int32_t *positions);
/* ticks: when it ended; 0: when its last op ended. */
void tt_program_batch_end(tt_recorder *r, tt_program_batch *b, uint64_t ticks, int status);
void tt_program_batches_end(tt_recorder *r);
/* Call in a forked child, or when recording begins anew: drops all active batches. */
void tt_program_batches_reset(void);

/* Adds the node: a copy of *t, whose sources are tensors of the batch. Returns its number + 1; 0 if
 * there are too many. key: see tt_program_batch_find. */
uint32_t tt_program_batch_add(tt_recorder *r, tt_program_batch *b, const struct ggml_tensor *t,
                              uint64_t key);
/* The newest tensor added with the key, or NULL. *node, unless NULL: its number + 1 or 0. */
struct ggml_tensor *tt_program_batch_find(tt_program_batch *b, uint64_t key, uint32_t *node);
/* Adds a tensor that is only read: a copy of *t. NULL if there are too many. */
struct ggml_tensor *tt_program_batch_add_leaf(tt_recorder *r, tt_program_batch *b,
                                              const struct ggml_tensor *t, uint64_t key);

/* Sets stage (a string id) and layer, as reported by the program, of a tensor in the batch. */
void tt_program_batch_stage(tt_recorder *r, tt_program_batch *b, struct ggml_tensor *t,
                            uint32_t stage, int32_t layer);

/* A node of a batch as a number for the program; 0 for none. */
static inline uint64_t tt_program_node(const tt_program_batch *b, uint32_t node_plus_1)
{
    return node_plus_1 ? b->node_0 | node_plus_1 : 0;
}
/* The batch of such a number, with its run, while it is active; any thread, no lock. */
tt_program_batch *tt_program_batch_of(uint64_t node, uint32_t *run, uint32_t *number);

#endif
