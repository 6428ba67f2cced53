/* Which outputs of a trace somebody wants to see: the fingerprints that its filters let pass, in
 * the order of execution or by what is said of them, a page at a time. */
#ifndef TT_ANALYZE_VALUES_H
#define TT_ANALYZE_VALUES_H

#include "analyze/filter.h"
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
    uint32_t first; /* the op's first node, by which it is known elsewhere ... */
    uint8_t covers; /* ... and how many executing ones behind it belong to it */
    bool masking;   /* its infinities are those of a mask: analyze/values/values_walk.h */
    tt_fingerprint print;
} tt_values_row;

typedef enum tt_values_which {
    TT_VALUES_ALL = 0,
    TT_VALUES_BAD,      /* NaN, or infinities that are not a mask's */
    TT_VALUES_MASKING,  /* infinities that are a mask's */
    TT_VALUES_CONSTANT, /* more than one element, all finite and the same; zeros too */
    TT_VALUES_ZERO      /* all zero */
} tt_values_which;

/* What is wanted. Zero-filled: everything. Texts belong to the caller. */
typedef struct tt_values_query {
    tt_filter filter; /* token, phase, layer, op, tensor, text, time */
    const char *name; /* fnmatch pattern for the node's own name; NULL: any */
    tt_values_which which;
    uint64_t offset; /* rows that are left out at the beginning */
    uint64_t limit;  /* rows, at most; 0: all */
} tt_values_query;

/* What the outputs are that pass, all together. */
typedef struct tt_values_counts {
    uint64_t outputs;    /* measured */
    uint64_t unmeasured; /* ops that were executed, and pass, and whose output nobody took */
    uint64_t elements;
    uint64_t bad;            /* outputs with NaN, or with infinities that are not a mask's */
    uint64_t n_nan, n_inf;   /* elements, of those */
    uint64_t masking;        /* outputs with infinities that are a mask's */
    uint64_t constant, zero; /* outputs */
    uint64_t runs;           /* with outputs */
    uint64_t incomplete;     /* fingerprints of which a part was lost */
    bool has_range;          /* min and max hold */
    float min, max;          /* of the finite elements */
} tt_values_counts;

typedef struct tt_values_page {
    tt_values_row *rows;
    size_t n;
    uint64_t total; /* rows of the kind that is wanted, also those that are not on the page */
    tt_values_counts counts;
} tt_values_page;

/* Time: one walk over what the trace holds of details. Memory: the rows. *out is freed with
 * tt_values_page_free, also after an error. */
tt_status tt_values_list(const tt_model *m, const tt_values_query *q, const tt_over *over,
                         tt_values_page *out, tt_error *err);
void tt_values_page_free(tt_values_page *p);

/* The largest magnitude of its finite elements; 0 when none is. */
double tt_values_max_abs(const tt_fingerprint *p);
bool tt_values_is_constant(const tt_fingerprint *p);
bool tt_values_is_zero(const tt_fingerprint *p);
/* Coordinates [i0, i1, i2, i3] (i0 runs fastest, as in ggml's ne) of element `index` of the node's
 * output; false when it has none there. Of SET_ROWS, i1 counts the rows that were written. */
bool tt_values_coordinates(const tt_graph *g, uint32_t node, uint64_t index, uint64_t out[4]);

/* Where and when NaN and infinities were put out: bad outputs with the ops that computed them, for
 * what marks them in a picture. */

/* The first ones in the order of execution; of more, only the number is told. */
#define TT_VALUES_MARKS_MAX 65536u

typedef struct tt_values_mark {
    uint32_t run;   /* in m->runs */
    uint32_t node;  /* in the run's graph: whose output it is */
    uint32_t op;    /* the first node of the op that computed it */
    int32_t layer;  /* TT_LAYER_NONE */
    uint32_t token; /* batch number, or TT_NONE */
    uint64_t n_nan, n_inf;
    bool timed;          /* the two below hold */
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

#endif
