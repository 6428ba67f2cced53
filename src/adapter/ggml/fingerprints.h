/* Fingerprints of what ops put out, taken by the threads that compute.
 *
 * Outputs are in buffers that are used again at once, so the only moment at which one is there for
 * certain is between two ops: when the next op begins on a thread, that thread has passed the
 * barrier that ended the op before, and so all have done their work. There each thread takes its
 * share of the output, and all meet once more before any goes on. */
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

/* Of one run. Zero-filled is ready; memory is kept for the next run. */
typedef struct tt_fingerprints {
    const tt_engine *engine;
    unsigned with;          /* of tt_value_take */
    uint8_t *wanted;        /* by node; valid when `any` */
    uint32_t capacity;      /* of wanted */
    tt_recorder *recorder;  /* that the data goes to as well; NULL: none does */
    tt_value_piece *pieces; /* TT_VALUE_PIECES_MAX; NULL: no memory, nothing is taken */
    bool any;
    bool marked; /* of the run's graph, see tt_graphs_executes */
    /* Where the threads meet. */
    _Atomic uint32_t arrived, generation;
    _Atomic bool abandoned; /* nobody waits any more: recording ends, or somebody did not come */
} tt_fingerprints;

/* Chooses the nodes of a run whose outputs are wanted; token: the batch's number. */
void tt_fingerprints_choose(tt_fingerprints *f, const tt_engine *e, const tt_select *s,
                            uint64_t token, struct ggml_tensor *const *nodes, uint32_t n_nodes);
/* The layer that a tensor's name or a weight that it is made with tells; TT_SELECT_NO_LAYER. */
int32_t tt_fingerprints_layer(const struct ggml_tensor *t);
/* Makes ready to take outputs one by one, by tt_fingerprints_take_alone. False without memory. */
bool tt_fingerprints_begin(tt_fingerprints *f, const tt_engine *e, tt_value_level level);
/* Nobody waits from here on, and no more is taken. Any thread. */
void tt_fingerprints_abandon(tt_fingerprints *f);

/* The op that all threads are about to begin. */
typedef struct tt_next_op {
    const struct ggml_tensor *first, *last; /* of its nodes, where it is fused */
} tt_next_op;

/* Takes the share of thread `ith` of `nth` of the node's output; all of them call this with the
 * same node and next op (NULL: the graph has been computed, nth is 1), and each returns when the
 * next op can do no harm: when all have taken theirs, or at once where that does not touch the
 * output. One of them writes the fingerprint into its w (ring NULL: it is lost). Never waits for
 * long: see `abandoned`. Whether this thread was held up by it. */
bool tt_fingerprints_take(tt_fingerprints *f, const struct ggml_tensor *t, uint32_t run,
                          uint32_t node, uint32_t ith, uint32_t nth, const tt_next_op *next,
                          tt_detail_writer *w);
/* The same by one thread, of an output that may be on a device: then it is copied from there.
 * Nothing may be writing to it. Allocates. */
void tt_fingerprints_take_alone(tt_fingerprints *f, const struct ggml_tensor *t, uint32_t run,
                                uint32_t node, tt_detail_writer *w);
void tt_fingerprints_free(tt_fingerprints *f);

#endif
