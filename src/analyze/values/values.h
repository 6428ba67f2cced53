/* Lists the fingerprints that pass a filter, in execution order or by a statistic, a page at a
 * time. */
#ifndef TT_ANALYZE_VALUES_VALUES_H
#define TT_ANALYZE_VALUES_VALUES_H

#include "analyze/filter.h"
#include "analyze/join.h"
#include "analyze/ops.h"
#include "analyze/over.h"
#include "analyze/values/outputs.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The output of a node in a run. */
typedef struct tt_values_row {
    uint32_t run;   /* in m->runs */
    uint32_t node;  /* in the run's graph: whose output it is, the op's last */
    uint32_t first; /* the op's first node, which identifies it elsewhere ... */
    uint8_t covers; /* ... and the number of further executing nodes of the op */
    bool masking;   /* its infinities are those of a mask (tt_values_mask_of) */
    tt_fingerprint print;
} tt_values_row;

typedef enum tt_values_which {
    TT_VALUES_ALL = 0,
    TT_VALUES_BAD,      /* NaN, or infinities that are not a mask's */
    TT_VALUES_MASKING,  /* infinities that are a mask's */
    TT_VALUES_CONSTANT, /* several elements, all finite and equal; zeros too */
    TT_VALUES_ZERO      /* all zero */
} tt_values_which;

/* The request. Zero-filled: everything. Texts belong to the caller. */
typedef struct tt_values_query {
    tt_filter filter; /* token, phase, layer, op, tensor, text, time */
    const char *name; /* fnmatch pattern for the node's own name; NULL: any */
    tt_values_which which;
    uint64_t offset; /* rows to skip */
    uint64_t limit;  /* rows, at most; 0: all */
} tt_values_query;

/* Counts of all outputs that pass. */
typedef struct tt_values_counts {
    uint64_t outputs;    /* measured */
    uint64_t unmeasured; /* executed ops that pass, but whose output was not captured */
    uint64_t elements;
    uint64_t bad;            /* outputs with NaN, or with infinities that are not a mask's */
    uint64_t n_nan, n_inf;   /* elements, of those */
    uint64_t masking;        /* outputs with infinities that are a mask's */
    uint64_t constant, zero; /* outputs */
    uint64_t runs;           /* with outputs */
    uint64_t incomplete;     /* fingerprints that lack a part */
    bool has_range;          /* min and max are valid */
    float min, max;          /* of the finite elements */
} tt_values_counts;

typedef struct tt_values_page {
    tt_values_row *rows;
    size_t n;
    uint64_t total; /* rows of the requested kind, including those that are not on the page */
    tt_values_counts counts;
} tt_values_page;

/* Takes one walk over the trace's details, and memory for the rows. *out is freed with
 * tt_values_page_free, also after an error. */
tt_status tt_values_list(const tt_model *m, const tt_values_query *q, const tt_over *over,
                         tt_values_page *out, tt_error *err);
void tt_values_page_free(tt_values_page *p);

/* The largest magnitude of its finite elements; 0 if none is. */
double tt_values_max_abs(const tt_fingerprint *p);
bool tt_values_is_constant(const tt_fingerprint *p);
bool tt_values_is_zero(const tt_fingerprint *p);
/* Coordinates [i0, i1, i2, i3] (i0 varies fastest, as in ggml's ne) of element `index` of the
 * node's output; false if it has none there. For SET_ROWS, i1 counts the rows that were written. */
bool tt_values_coordinates(const tt_graph *g, uint32_t node, uint64_t index, uint64_t out[4]);

/* Where and when NaN and infinities were computed: bad outputs with their ops, for marks in a
 * drawing. */

/* The first ones in execution order; further ones are only counted. */
#define TT_VALUES_MARKS_MAX 65536u

typedef struct tt_values_mark {
    uint32_t run;   /* in m->runs */
    uint32_t node;  /* in the run's graph: whose output it is */
    uint32_t op;    /* the first node of the op that computed it */
    int32_t layer;  /* TT_LAYER_NONE */
    uint32_t token; /* batch number, or TT_NONE */
    uint64_t n_nan, n_inf;
    bool timed;          /* the two below are valid */
    uint64_t start, end; /* of the op, ticks */
} tt_values_mark;

typedef struct tt_values_marks {
    tt_values_mark *list; /* by ascending run, node */
    size_t n;
    uint64_t total;
} tt_values_marks;

/* *out is freed with tt_values_marks_free, also after an error. */
tt_status tt_values_marks_make(const tt_model *m, const tt_over *over, tt_values_marks *out,
                               tt_error *err);
void tt_values_marks_free(tt_values_marks *marks);

/* A walk over the ops of a trace in execution order, with the known state of their outputs.
 *
 * Infinities are not always an error: attention masks contain them. Those of an output count as a
 * mask's if it has no NaN, no infinity known to be positive, and
 *   - its op makes them on purpose: DIAG_MASK_INF, FILL, LOG of a STEP (which is 0 or 1); or
 *   - its op only moves, adds or scales (CPY, CONT, DUP, CONCAT, REPEAT, PAD, SET, SET_ROWS,
 *     GET_ROWS, ACC, ADD, ADD1, SCALE) and one of its sources is such an output, or floats that the
 *     program gives for the batch (a leaf marked as input), and none of its sources is bad. */

/* Which outputs may have the infinities of a mask, judging by their op: 1 by tensor of the graph.
 * malloc'ed; NULL if out of memory. */
uint8_t *tt_values_mask_of(const tt_graph *g);

/* The state of a value when an op reads it. */
typedef enum tt_values_state {
    TT_STATE_UNMEASURED = 0, /* the output that it is (or the last write to it) was not captured */
    TT_STATE_FINITE,
    TT_STATE_MASKING, /* only infinities of a mask */
    TT_STATE_INFINITE,
    TT_STATE_NAN,
    TT_STATE_WEIGHT, /* of the model's file: not measured at run time */
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
    uint8_t covers; /* ... and the number of further executing nodes of the op */
    bool passes;    /* filter and name */
    tt_values_state state;
    const tt_fingerprint *print; /* NULL: not measured. Valid until the run ends */
} tt_values_seen;

typedef struct tt_values_walk tt_values_walk;
typedef tt_status tt_values_visit(void *context, tt_values_walk *w, const tt_values_seen *seen,
                                  tt_error *err);

/* The output as a row; it was measured. */
tt_values_row tt_values_seen_row(const tt_values_seen *seen);

/* everything: also visits what does not pass. counts: of what passes. */
tt_status tt_values_walk_all(const tt_model *m, const tt_values_query *q, bool everything,
                             const tt_over *over, tt_values_visit *visit, void *context,
                             tt_values_counts *counts, tt_error *err);

/* The same run by run, to divide the work. m, q and counts must outlive the walk; NULL if out of
 * memory. */
tt_values_walk *tt_values_walk_new(const tt_model *m, const tt_values_query *q, bool everything,
                                   tt_values_visit *visit, void *context, tt_values_counts *counts);
/* The run (index in m->runs). Results do not depend on runs that were walked before. */
tt_status tt_values_walk_run(tt_values_walk *w, uint32_t run, tt_error *err);
void tt_values_walk_free(tt_values_walk *w);

/* During a visit: what the op reads; NULL if out of memory. Valid until the next call. */
const tt_op *tt_values_walk_op(tt_values_walk *w, const tt_values_seen *seen);
/* During a visit: the node of this run that last wrote to the memory of that tensor of the run's
 * graph, or the first that left something bad there; TT_NONE: none yet. */
uint32_t tt_values_walk_writer(const tt_values_walk *w, uint32_t tensor);
/* During a visit: the state of the output of a node that was already executed in this run, and its
 * fingerprint or NULL. */
tt_values_state tt_values_walk_state(const tt_values_walk *w, uint32_t node,
                                     const tt_fingerprint **print);

#endif
