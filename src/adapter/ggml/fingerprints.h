/* Fingerprints of op outputs, computed by the compute threads.
 *
 * Buffers are reused at once, so an output is certain to be intact only between two ops: a thread
 * that begins the next op has passed the barrier of the previous one, so all threads have finished
 * it. There each thread processes its share of the output, and all synchronise once more before any
 * continues. */
#ifndef TT_ADAPTER_GGML_FINGERPRINTS_H
#define TT_ADAPTER_GGML_FINGERPRINTS_H

#include "adapter/ggml/engine.h"
#include "record/detail_writer.h"
#include "record/recorder.h"
#include "value/fingerprint.h"
#include "value/select.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* State of one run. Zero-initialised; memory is kept for the next run. */
typedef struct tt_fingerprints {
    const tt_engine *engine;
    unsigned with;          /* of tt_value_take */
    uint8_t *wanted;        /* by node; valid if `any` */
    uint32_t capacity;      /* of wanted */
    tt_recorder *recorder;  /* also gets the data; NULL: data is not recorded */
    tt_value_piece *pieces; /* TT_VALUE_PIECES_MAX; NULL: out of memory, nothing is captured */
    bool any;
    bool marked; /* for the run's graph, see tt_graphs_executes */
    /* Synchronises the threads. */
    _Atomic uint32_t arrived, generation;
    _Atomic bool abandoned; /* no thread waits: recording ended, or a thread did not arrive */
} tt_fingerprints;

/* Selects the nodes of a run whose outputs are captured; token: the batch's number. */
void tt_fingerprints_choose(tt_fingerprints *f, const tt_engine *e, const tt_select *s,
                            uint64_t token, struct ggml_tensor *const *nodes, uint32_t n_nodes);
/* The layer, from the tensor's name or a weight that it uses; TT_SELECT_NO_LAYER. */
int32_t tt_fingerprints_layer(const struct ggml_tensor *t);
/* Prepares for tt_fingerprints_take_alone. False if out of memory. */
bool tt_fingerprints_begin(tt_fingerprints *f, const tt_engine *e, tt_value_level level);
/* From now on no thread waits and nothing is captured. Any thread. */
void tt_fingerprints_abandon(tt_fingerprints *f);

/* The op that all threads begin next. */
typedef struct tt_next_op {
    const struct ggml_tensor *first, *last; /* of its nodes, if it is fused */
} tt_next_op;

/* Processes the share of thread `ith` of `nth` of the node's output. All threads call it with the
 * same node and next op (NULL: the graph has been computed, nth is 1). It returns when the next op
 * can do no harm: when all shares are done, or at once if that op does not touch the output. One
 * thread writes the fingerprint into its w (lost if w's ring is NULL). Waiting is bounded: see
 * `abandoned`. Returns whether it delayed this thread. */
bool tt_fingerprints_take(tt_fingerprints *f, const struct ggml_tensor *t, uint32_t run,
                          uint32_t node, uint32_t ith, uint32_t nth, const tt_next_op *next,
                          tt_detail_writer *w);
/* The same by one thread, for an output that may be on a device, from which it is then copied.
 * Nothing may write to the output. Allocates. */
void tt_fingerprints_take_alone(tt_fingerprints *f, const struct ggml_tensor *t, uint32_t run,
                                uint32_t node, tt_detail_writer *w);
void tt_fingerprints_free(tt_fingerprints *f);

#endif
