/* A walk over the ops of a trace in the order of execution, with what is known of their outputs.
 *
 * Infinities are not always a fault: attention masks are made of them. Those of an output are taken
 * for a mask's when it holds no NaN, no infinity that is known to be positive, and
 *   - its op makes them on purpose: DIAG_MASK_INF, FILL, LOG of a STEP (which is 0 or 1); or
 *   - its op only moves, adds or scales (CPY, CONT, DUP, CONCAT, REPEAT, PAD, SET, SET_ROWS,
 *     GET_ROWS, ACC, ADD, ADD1, SCALE) and one of its sources is such an output, or floats that the
 *     program gives for the batch (a leaf marked as input), and none of its sources is bad. */
#ifndef TT_ANALYZE_VALUES_WALK_H
#define TT_ANALYZE_VALUES_WALK_H

#include "analyze/join.h"
#include "analyze/op_table.h"
#include "analyze/values/values.h"
#include "model/model.h"

#include <stdint.h>

/* Which outputs may hold the infinities of a mask, by what computes them. */

/* By tensor of the graph: 1 when it may, by the rules in analyze/values/values_walk.h. malloc'ed;
 * NULL without memory. */
uint8_t *tt_values_mask_of(const tt_graph *g);

/* What is known of a value at the time that an op reads it. */
typedef enum tt_values_state {
    TT_STATE_UNMEASURED = 0, /* the output that it is (or the last write to it) was not taken */
    TT_STATE_FINITE,
    TT_STATE_MASKING, /* infinities of a mask, and nothing else */
    TT_STATE_INFINITE,
    TT_STATE_NAN,
    TT_STATE_WEIGHT, /* of the model's file: not measured while it runs */
    TT_STATE_INPUT   /* given by the program for each batch (tokens, a mask): not measured */
} tt_values_state;

/* "unmeasured" "finite" "masking" "infinite" "nan" "weight" "input" */
const char *tt_values_state_name(tt_values_state s);

static inline bool tt_values_state_is_bad(tt_values_state s)
{
    return s == TT_STATE_INFINITE || s == TT_STATE_NAN;
}

/* An executed op and its output. */
typedef struct tt_values_seen {
    uint32_t run;   /* in m->runs */
    uint32_t graph; /* in m->graphs: the run's */
    uint32_t node;  /* whose output it is: the op's last */
    uint32_t first; /* the op's first node ... */
    uint8_t covers; /* ... and how many executing ones behind it belong to it */
    bool passes;    /* filter and name */
    tt_values_state state;
    const tt_fingerprint *print; /* NULL: not measured. Valid until the run ends */
} tt_values_seen;

typedef struct tt_values_walk tt_values_walk;
typedef tt_status tt_values_visit(void *context, tt_values_walk *w, const tt_values_seen *seen,
                                  tt_error *err);

/* What is seen, as a row; it was measured. */
tt_values_row tt_values_seen_row(const tt_values_seen *seen);

/* everything: visits also what does not pass. counts: of what passes. */
tt_status tt_values_walk_all(const tt_model *m, const tt_values_query *q, bool everything,
                             const tt_over *over, tt_values_visit *visit, void *context,
                             tt_values_counts *counts, tt_error *err);

/* The same run by run: for those who divide the work. m, q and counts outlive the walk; NULL
 * without memory. */
tt_values_walk *tt_values_walk_new(const tt_model *m, const tt_values_query *q, bool everything,
                                   tt_values_visit *visit, void *context, tt_values_counts *counts);
/* The run with that index in m->runs. What is known of an output does not depend on the runs that
 * were walked before. */
tt_status tt_values_walk_run(tt_values_walk *w, uint32_t run, tt_error *err);
void tt_values_walk_free(tt_values_walk *w);

/* While visiting: what the op reads; NULL without memory. Valid until the next call. */
const tt_op *tt_values_walk_op(tt_values_walk *w, const tt_values_seen *seen);
/* While visiting: the node of this run that last wrote to the memory of that tensor of the run's
 * graph, or the first that left something bad there; TT_NONE: none did yet. */
uint32_t tt_values_walk_writer(const tt_values_walk *w, uint32_t tensor);
/* While visiting: what is known of the output of a node that was executed in this run already, and
 * its fingerprint or NULL. */
tt_values_state tt_values_walk_state(const tt_values_walk *w, uint32_t node,
                                     const tt_fingerprint **print);

#endif
