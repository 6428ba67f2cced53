/* The usual batch: what a batch's time is compared with.
 *
 * Batches are comparable if they are of the same context and phase and have about as many tokens;
 * the first one of a trace never is, as it allocates. A batch that also holds a prompt is compared
 * with those that only generate. A batch counts among those that it is compared with, so that there
 * is one median for all of them. Medians and deviations are robust: some slow batches do not change
 * what is usual. */
#ifndef TT_ANALYZE_WHY_USUAL_H
#define TT_ANALYZE_WHY_USUAL_H

#include "analyze/ops.h"
#include "analyze/over.h"
#include "analyze/why/parts.h"
#include "model/arena.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer comparable batches tell nothing. */
#define TT_USUAL_LEAST 6u
/* So many of them, evenly spread, are read for the usual time of parts and ops. */
#define TT_USUAL_SAMPLES 48u
/* So many comparable batches before and behind one are near it: a context that grows makes each
 * token slower than those long before it, and a slow one may be faster than those long behind it.
 */
#define TT_USUAL_NEAR 64u
/* Different ops; further ones are not compared. */
#define TT_USUAL_OPS_MAX 65536u

/* What values are usual. */
typedef struct tt_usual_value {
    uint32_t n;                        /* of the values; below TT_USUAL_LEAST: not known */
    double median_ns, low_ns, high_ns; /* of 10 values, 8 are from low to high */
    double slow_ns;                    /* more than this is unusual */
} tt_usual_value;

static inline bool tt_usual_known(const tt_usual_value *u)
{
    return u->n >= TT_USUAL_LEAST;
}

/* Of n finite values, which are sorted. */
tt_usual_value tt_usual_of(double *values, size_t n);

/* The ops of one name: their time in the batch in question, and in each sample. */
typedef struct tt_usual_op {
    const char *name;
    const char *op;
    int32_t layer_id;
    bool attends; /* attention's ops without a weight: longer with the context */
    bool picks_experts;
    uint32_t run, node; /* in the batch in question: the longest one; run TT_NONE: none */
    double longest_ns;
    double time_ns;                     /* in the batch in question, all of that name */
    double part_ns[TT_PARTS];           /* likewise */
    bool read;                          /* from a device, in the batch in question */
    float samples_ns[TT_USUAL_SAMPLES]; /* 0: not in it */
} tt_usual_op;

typedef struct tt_usual {
    const tt_model *m;
    tt_usual_value time;      /* from a batch's begin to its end */
    tt_usual_value before;    /* from the end of the context's batch before it to its begin */
    bool near;                /* both are of the batches near it: tt_usual_narrow */
    uint32_t n_tokens;        /* of a usual batch */
    uint8_t phase;            /* likewise */
    uint32_t n_samples;       /* after tt_usual_sample: */
    double part_ns[TT_PARTS]; /* medians */
    tt_usual_op *ops;
    size_t n_ops;
    /* Private: */
    uint32_t *batches;
    uint32_t *previous; /* of each, tt_usual_batch_before; in the same memory */
    uint32_t n_batches;
    double low_ns, high_ns; /* of which samples are taken */
    size_t capacity;
    tt_idmap op_of_key;
    tt_op_table *table;
    tt_arena texts;
    bool failed;
} tt_usual;

/* The batch before this one (indices in m->batches), of the same context; TT_NONE: none. One
 * without tokens, which moves the positions of a full context, is part of the time before the next
 * token's.
 */
uint32_t tt_usual_batch_before(const tt_model *m, uint32_t batch);
/* The time between the end of that one and the begin of this one; NAN: they overlap. */
double tt_usual_before_ns(const tt_model *m, uint32_t before, uint32_t batch);

/* For a batch (index in m->batches); reads no ops. Free *u with tt_usual_free, also after an
 * error. TT_NONE: for all generated tokens. */
tt_status tt_usual_find(const tt_model *m, uint32_t batch, tt_usual *u, tt_error *err);
/* What is usual near a batch (index in m->batches); false: all comparable batches are near it, or
 * they are too few. */
bool tt_usual_near(const tt_usual *u, uint32_t batch, tt_usual_value *time, tt_usual_value *before);
/* Then only those are comparable. */
void tt_usual_narrow(tt_usual *u, uint32_t batch);
/* Whether a batch is unusual that took `ns`, and began before_ns (NAN: not known) after the one
 * before it. */
bool tt_usual_is_slow(const tt_usual_value *time, const tt_usual_value *before, double ns,
                      double before_ns);
/* The typical ones of the comparable batches, at most n of them, evenly spread; returns their
 * number. */
uint32_t tt_usual_typical(const tt_usual *u, uint32_t *chosen, uint32_t n);
/* Reads the ops of some typical ones. */
tt_status tt_usual_sample(tt_usual *u, tt_parts_walker *w, const tt_over *over, tt_error *err);
void tt_usual_free(tt_usual *u);

/* The row of that op, made on demand; NULL: out of memory, or too many. */
tt_usual_op *tt_usual_op_of(tt_usual *u, const tt_parts_op *op, const tt_op **described);
/* Of its times in the samples. */
tt_usual_value tt_usual_op_time(const tt_usual *u, const tt_usual_op *op);

#endif
