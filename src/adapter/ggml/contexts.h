/* State of each scheduler (one per llama_context): how its ops are observed, and the phases of
 * its sequences. */
#ifndef TT_ADAPTER_GGML_CONTEXTS_H
#define TT_ADAPTER_GGML_CONTEXTS_H

#include "adapter/ggml/engine.h"
#include "adapter/ggml/fingerprints.h"
#include "adapter/ggml/phases.h"
#include "adapter/ggml/tracepoints.h"
#include "record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

/* The tensors of a batch's graph that describe the batch; NULL: absent. */
typedef struct tt_batch_inputs {
    const struct ggml_tensor *tokens;
    const struct ggml_tensor *positions;
    const struct ggml_tensor *embeddings;
    const struct ggml_tensor *output; /* logits or pooled embeddings: one row per output */
    const struct ggml_tensor *idle;   /* like tokens, but no computed node reads rows by them */
} tt_batch_inputs;

typedef bool (*tt_eval_callback)(struct ggml_tensor *tensor, bool ask, void *user_data);
typedef void (*tt_set_callback)(void *sched, tt_eval_callback callback, void *user_data);

typedef struct tt_context {
    void *sched;
    uint32_t id;                  /* in the trace, from 1 */
    bool callback;                /* ops are observed by the scheduler's callback */
    bool has_remote;              /* some backend is as in tt_engine_is_remote */
    bool installed;               /* our callback is set in the scheduler */
    bool computes;                /* now, on some thread */
    bool forgotten;               /* meanwhile: it is no longer listed */
    tt_set_callback set_callback; /* the engine's */
    /* The word of the scheduler that holds the callback, before its argument; 0: not known. */
    size_t callback_word;
    /* The layout of the scheduler's graphs, see tt_contexts_laid_out; 0: not observed. */
    uint64_t layout;
    const struct ggml_cgraph *graph; /* whose inputs are stored here */
    uint64_t inputs_layout;          /* the layout in which they were found */
    tt_batch_inputs inputs;
    tt_phases phases;
    /* The program's own callback, which ours calls. */
    tt_eval_callback user_callback;
    void *user_data;
    bool user_wants;            /* it requested the current node */
    tt_tracepoints tracepoints; /* of the current run, with `callback` */
    uint32_t next_tracepoint;
    tt_fingerprints fingerprints; /* of the current run, with `callback` */
    struct tt_context *next;
} tt_context;

/* The context of a scheduler; the first call creates it and chooses its mode. NULL if out of
 * memory. tt_process_lock is held. */
tt_context *tt_contexts_get(tt_recorder *r, const tt_engine *e, void *sched);
/* A program without a scheduler (so far) computes a graph whose ops reach the hooks.
 * tt_process_lock is held. */
void tt_contexts_none(tt_recorder *r);
/* The scheduler gets another graph or reallocates its tensors: discards what is known of its graph.
 * Layout numbers are unique among all schedulers. tt_process_lock is held. */
void tt_contexts_laid_out(void *sched);
/* Finds the other contexts; call it before reading c's phases. tt_process_lock is held. */
void tt_contexts_find_others(tt_context *c);
/* That of the engine's context, or of the context with that memory; NULL: it has computed nothing.
 * tt_process_lock is held. */
tt_context *tt_contexts_find(const void *handle);
/* The scheduler is about to be freed. */
void tt_contexts_drop(void *sched);
/* Whether the scheduler calls ours: not where the program has set its own since, even unseen. */
bool tt_contexts_is_installed(const tt_context *c);
/* Makes the scheduler call `callback` with c, whatever the program has set by now, which becomes
 * c's user_callback. is_hooked: all calls of the setter are seen. False: what the program has set
 * cannot be known, so nothing was changed. */
bool tt_contexts_install(tt_context *c, tt_set_callback set, tt_eval_callback callback,
                         bool is_hooked);
/* Gives the scheduler the program's own callback back, unless it has set another one meanwhile. */
void tt_contexts_uninstall(tt_context *c);
/* The scheduler of a forgotten context has computed: gives it its own callback back, and frees c.
 */
void tt_contexts_leave(tt_context *c);
/* Whether any of them computes now. tt_process_lock is held. */
bool tt_contexts_compute(void);
/* Recording has ended, but not the program: schedulers get their own callbacks back, at once or
 * when they have computed. tt_process_lock is held. */
void tt_contexts_forget(void);

#endif
