/* Where and when NaN and infinities were put out: bad outputs with the ops that computed them, for
 * what marks them in a picture. */
#ifndef TT_ANALYZE_VALUES_MARKS_H
#define TT_ANALYZE_VALUES_MARKS_H

#include "analyze/values/values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
