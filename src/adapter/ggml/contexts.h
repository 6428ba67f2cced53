/* What is known of each scheduler (one per llama_context): how its ops are observed, and
 * where its sequences stand. */
#ifndef TT_ADAPTER_GGML_CONTEXTS_H
#define TT_ADAPTER_GGML_CONTEXTS_H

#include "adapter/ggml/engine.h"
#include "adapter/ggml/fingerprints.h"
#include "adapter/ggml/phases.h"
#include "adapter/ggml/taps.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

/* The tensors of a batch's graph that say what it is about; NULL: there is none. */
typedef struct tt_batch_inputs {
    const struct ggml_tensor *tokens;
    const struct ggml_tensor *positions;
    const struct ggml_tensor *embeddings;
    const struct ggml_tensor *output; /* logits or pooled embeddings: a row an output */
    const struct ggml_tensor *idle;   /* as tokens, but nothing that is computed gathers by them */
} tt_batch_inputs;

typedef bool (*tt_eval_callback)(struct ggml_tensor *tensor, bool ask, void *user_data);

typedef struct tt_context {
    void *sched;
    uint32_t id;    /* in the trace, from 1 */
    bool callback;  /* ops are seen by the scheduler callback */
    bool installed; /* our callback is set in the scheduler */
    /* Which layout of graphs the scheduler holds, see tt_contexts_laid_out; 0: not observed. */
    uint64_t layout;
    const struct ggml_cgraph *graph; /* whose inputs are known */
    uint64_t inputs_layout;          /* and in which layout that was so */
    tt_batch_inputs inputs;
    tt_phases phases;
    /* The program's own callback, which ours calls. */
    tt_eval_callback user_callback;
    void *user_data;
    bool user_wants; /* it asked for the node under way */
    tt_taps taps;    /* of the run under way, with `callback` */
    uint32_t next_tap;
    tt_fingerprints fingerprints; /* likewise */
    struct tt_context *next;
} tt_context;

/* The context of a scheduler; made, its mode decided, at the first call. NULL without
 * memory. tt_process_lock is held. */
tt_context *tt_contexts_get(tt_recorder *r, const tt_engine *e, void *sched);
/* A graph is computed whose ops pass the hooks, for a program that has no scheduler (yet).
 * tt_process_lock is held. */
void tt_contexts_none(tt_recorder *r);
/* The scheduler gets another graph, or places its tensors anew: what was known of its graph does
 * not hold. Layouts are numbered through all schedulers. tt_process_lock is held. */
void tt_contexts_laid_out(void *sched);
/* Before c's phases are asked: which others there are. tt_process_lock is held. */
void tt_contexts_find_others(tt_context *c);
/* The phases of the engine's context, or of its memory; NULL: nothing was computed by it.
 * tt_process_lock is held. */
tt_phases *tt_contexts_phases(const void *handle);
/* The scheduler is about to be freed. */
void tt_contexts_drop(void *sched);

#endif
