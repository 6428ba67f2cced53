/* Builds of an engine that computed the same tokens, in order: what a batch costs in each, by kind
 * of op, and where the time or the values change.
 *
 * A run's time of an op kind is the median over the batches of one phase of the sum of its ops'
 * times in a batch; an op's time is as in analyze/stats.h. In the phase `generate` the first batch
 * is left out where there are more: caches are cold in it. A build's time is the median over its
 * runs.
 *
 * A build is slower or faster than the one before it, and so is an op kind, when the ranges over
 * their runs do not overlap, and the medians differ by at least `least` of the time of the batch
 * before. An op kind that a build does not have takes no time in it.
 *
 * Not thread-safe. */
#ifndef TT_ANALYZE_BISECT_H
#define TT_ANALYZE_BISECT_H

#include "analyze/dumps/valuediff.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_BISECT_RUNS_MAX 32u
#define TT_BISECT_OPS_MAX 256u /* kinds of a build; others count in the batch only */
#define TT_BISECT_TEXT 320u

/* A figure over the runs of a build, in ns. */
typedef struct tt_bisect_time {
    double runs[TT_BISECT_RUNS_MAX]; /* sorted by tt_bisect_compare */
    double median_ns, least_ns, most_ns;
} tt_bisect_time;

typedef enum tt_bisect_verdict {
    TT_BISECT_SAME, /* not known to differ, or the first build */
    TT_BISECT_SLOWER,
    TT_BISECT_FASTER
} tt_bisect_verdict;

/* Compared with the traced build before it; NAN if there is none. */
typedef struct tt_bisect_change {
    double before_ns;
    double change; /* (now - before) / the batch's time before */
    tt_bisect_verdict verdict;
} tt_bisect_change;

/* A kind of op in a build. */
typedef struct tt_bisect_op {
    const char *build; /* the build's name */
    char op[64];
    double count;        /* ops a batch */
    tt_bisect_time time; /* of all of them in a batch */
    tt_bisect_time each; /* the median of one */
    tt_bisect_change change;
} tt_bisect_op;

typedef struct tt_bisect_build {
    char *name, *dir;
    char release[64];             /* "" unknown */
    char refused[TT_BISECT_TEXT]; /* why it was not traced; "": it was */
    uint32_t runs;
    uint32_t batches;    /* of a run, of the phase */
    tt_bisect_time time; /* of a batch */
    tt_bisect_change change;
    tt_bisect_op *ops; /* longest first after tt_bisect_compare */
    size_t n_ops;
    const tt_bisect_op *most; /* whose change is the largest; NULL: none is known to differ */
    char values[16];          /* tt_valuediff_outcome_name, or ""; compared with the build before */
    char first[TT_BISECT_TEXT]; /* the first value that is not equal; "" none */
    double worst_rel_l2;        /* NAN: not known */
} tt_bisect_build;

typedef struct tt_bisect {
    tt_bisect_build *builds;
    size_t n, capacity;
    unsigned phase; /* enum tt_phase */
    double least;
} tt_bisect;

/* Adds a build, not traced yet; copies the texts. NULL if out of memory. */
tt_bisect_build *tt_bisect_add(tt_bisect *x, const char *name, const char *dir);
/* Adds a run of the build. TT_E_LIMIT: it has TT_BISECT_RUNS_MAX; TT_E_NOT_FOUND: no batch of the
 * phase is in it. */
tt_status tt_bisect_add_run(const tt_bisect *x, tt_bisect_build *b, const tt_model *m,
                            tt_error *err);
/* Sets the values' outcome of a build; d: of the traced build before, as A, and this one. */
void tt_bisect_set_values(tt_bisect_build *b, const tt_valuediff *d);
/* When all runs were added: medians and changes. */
void tt_bisect_compare(tt_bisect *x);
void tt_bisect_free(tt_bisect *x);

/* Rows by build, and of every kind of op of all builds (rows: of tt_bisect_ops). */
extern const tt_schema tt_bisect_schema, tt_bisect_ops_schema;
tt_rowset tt_bisect_rowset(const tt_bisect *x);
/* All builds' ops, one after the other, for free(); NULL if out of memory, or if there are none. */
tt_bisect_op *tt_bisect_ops(const tt_bisect *x, size_t *n);

#endif
