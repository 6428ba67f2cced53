/* Why a batch, a layer or an op took as long as it did.
 *
 * Its wall time in parts (analyze/why/parts.h), against what is usual (analyze/why/usual.h), the
 * ops that took longer than their own median, the page faults with their tensors; and a cause,
 * where the trace holds enough evidence for one. */
#ifndef TT_ANALYZE_WHY_WHY_H
#define TT_ANALYZE_WHY_WHY_H

#include "analyze/filter.h"
#include "analyze/over.h"
#include "analyze/recomputed.h"
#include "analyze/why/parts.h"
#include "analyze/why/usual.h"
#include "model/arena.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_WHY_OPS_MAX 10u
#define TT_WHY_FAULTS_MAX 10u
#define TT_WHY_TEXTS_MAX 24u
#define TT_WHY_LANES_MAX 512u /* further ones count as none */

typedef enum tt_why_kind { TT_WHY_BATCH, TT_WHY_LAYER, TT_WHY_OP } tt_why_kind;

typedef enum tt_cause {
    TT_CAUSE_UNKNOWN, /* or nothing to explain */
    TT_CAUSE_LONG_PROMPT,
    TT_CAUSE_RECOMPUTED,
    TT_CAUSE_DISK,
    TT_CAUSE_COLD_EXPERT,
    TT_CAUSE_KERNEL,
    TT_CAUSE_PROCESSOR,
    TT_CAUSE_MORE_THREADS,
    TT_CAUSE_THROTTLED,
    TT_CAUSE_OFF_CPU,
    TT_CAUSE_STOPPED,
    TT_CAUSE_WAITS,
    TT_CAUSE_BETWEEN_OPS,
    TT_CAUSE_BETWEEN_BATCHES,
    TT_CAUSE_CONTEXT,
    TT_CAUSE_MORE_BYTES,
    TT_CAUSES
} tt_cause;

const char *tt_why_kind_name(tt_why_kind kind);
const char *tt_cause_name(tt_cause cause);   /* "off_cpu"; NULL: unknown */
const char *tt_cause_phrase(tt_cause cause); /* "its threads were off CPU" */

typedef struct tt_why_part {
    tt_part_kind part;
    bool known; /* else it is in another part, see tt_why.not_known */
    double time_ns;
    double share;    /* of all parts; NAN: they are none */
    double usual_ns; /* NAN: not known */
} tt_why_part;

typedef struct tt_why_op {
    uint32_t run; /* in tt_model.runs */
    uint32_t node;
    uint32_t batch; /* in tt_model.batches, or TT_NONE */
    const char *name, *op;
    int32_t layer_id;
    double time_ns;
    double usual_ns; /* NAN: not known */
    double excess_ns;
} tt_why_op;

typedef struct tt_why_fault {
    const char *tensor;
    uint64_t major, minor;
    uint64_t read_bytes;
    bool reads_known;
} tt_why_fault;

typedef struct tt_sentences {
    const char *list[TT_WHY_TEXTS_MAX];
    size_t n;
} tt_sentences;

typedef struct tt_why {
    const tt_model *m;
    tt_why_kind kind;
    uint32_t batch; /* in m->batches, or TT_NONE */
    bool has_layer;
    int32_t layer_id;
    uint32_t run, node; /* TT_NONE: none */
    const char *name;   /* "token 12", "batch 3", "layer 5", "ffn_down-15 in token 12" */
    double time_ns;     /* NAN: not known */
    double before_ns;   /* of a batch: since the one before it ended; NAN: not known */
    double late_ns;     /* of a batch that began late: what of that is unusual; else NAN */
    uint32_t
        shift; /* of a batch: the one that moved the context's positions before it; or TT_NONE */
    bool has_recomputed; /* of a batch: it computed tokens again, most of them of this prompt: */
    tt_recomputed recomputed;
    tt_usual_value usual, usual_before;
    bool near; /* both are of the batches near it */
    bool slow; /* unusually long, or began unusually late */
    tt_cause cause;
    tt_why_part parts[TT_PARTS];
    size_t n_parts;
    bool kernel_untold; /* of them: tt_parts_tell_kernel */
    tt_why_op ops[TT_WHY_OPS_MAX];
    size_t n_ops;
    tt_why_fault faults[TT_WHY_FAULTS_MAX];
    size_t n_faults;
    uint64_t faults_total; /* also of the tensors that are not among them */
    tt_sentences text, excluded, not_known;
    tt_arena texts; /* private */
    bool failed;    /* private: out of memory */
} tt_why;

/* All of these: w->... is owned by *out, which is freed with tt_why_free, also after an error.
 * They read the ops of the batch and of some comparable ones. `over` may be NULL. */
tt_status tt_why_batch(const tt_model *m, uint32_t batch, const tt_over *over, tt_why *out,
                       tt_error *err);
/* The filter's layer, also of its model and context, over the generated tokens (batch TT_NONE), or
 * in one batch. TT_E_NOT_FOUND: no op is of it; TT_E_USAGE: ops of several layers or models are,
 * two of which the error names. */
tt_status tt_why_layer(const tt_model *m, const tt_filter *f, uint32_t batch, const tt_over *over,
                       tt_why *out, tt_error *err);
/* One executed op; and the ops of that name ("ffn_down-15"), and of the filter's layer, model and
 * context, over the generated tokens (batch TT_NONE), or the one in a batch. Likewise. */
tt_status tt_why_op_at(const tt_model *m, uint32_t run, uint32_t node, const tt_over *over,
                       tt_why *out, tt_error *err);
tt_status tt_why_op_named(const tt_model *m, const char *name, const tt_filter *f, uint32_t batch,
                          const tt_over *over, tt_why *out, tt_error *err);
/* The batch of that number (as in commands); TT_NONE and TT_E_NOT_FOUND: it is not in the trace. */
tt_status tt_why_find_batch(const tt_model *m, uint32_t number, uint32_t *batch, tt_error *err);
void tt_why_free(tt_why *w);

/* For analyses that ask for several batches: a walker that is kept. */
tt_status tt_why_batch_with(tt_parts_walker *walker, const tt_model *m, uint32_t batch,
                            const tt_over *over, tt_why *out, tt_error *err);

/* Private to this folder: a sentence in the texts of w. */
void tt_why_write(tt_why *w, tt_sentences *list, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "13x", "2.4x" */
const char *tt_why_times(tt_why *w, double ratio);
/* `none` of no time, else `some` with the time for its "%s": "off CPU for only %s". */
const char *tt_why_only(tt_why *w, double ns, const char *none, const char *some);
const char *tt_why_keep(tt_why *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tt_why_begin(tt_why *w, const tt_model *m, tt_why_kind kind);
/* Whether there are no times; then the sentences say so. */
bool tt_why_untimed(tt_why *w);
/* Sets the parts from the ticks of `p`; usual_ns may be NULL. */
void tt_why_set_parts(tt_why *w, const tt_parts_walker *walker, const double part_ns[TT_PARTS],
                      const double *usual_ns);
/* Adds a row, kept if it exceeds the usual more than those before. */
void tt_why_add_op(tt_why *w, const tt_why_op *row);
/* The faults of one batch, or of one op in it (run not TT_NONE), by tensor. */
tt_status tt_why_add_faults(tt_why *w, uint32_t batch, const tt_filter *filter, const tt_over *over,
                            tt_error *err);
/* A sentence on a prompt that was computed again. */
void tt_why_note_recomputed(tt_why *w, const tt_recomputed *r);
/* Sentences about what the trace does not hold. */
void tt_why_note_unknown(tt_why *w, const tt_parts_walker *walker);

#endif
