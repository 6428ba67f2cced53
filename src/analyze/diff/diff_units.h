/* What is compared with what: the batches of one phase, and which of them belong together. */
#ifndef TT_ANALYZE_DIFF_UNITS_H
#define TT_ANALYZE_DIFF_UNITS_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A batch with its runs; where a program has no batches, a run. */
typedef struct tt_unit {
    uint32_t batch; /* in tt_model.batches, or TT_NONE */
    uint32_t first; /* its runs in tt_units.runs, in the order they began */
    uint32_t n_runs;
    uint32_t n_tokens; /* 0: not known */
    int32_t token;     /* the first one's id, when has_token */
    int32_t position;  /* likewise, when has_position */
    bool has_token, has_position;
    double time_ns; /* begin to end; NAN: not observed */
} tt_unit;

typedef struct tt_units {
    tt_unit *list; /* in the order observed */
    size_t n;
    uint32_t *runs;   /* in tt_model.runs */
    size_t n_unended; /* left out: they were cut off */
} tt_units;

/* The units of that phase (enum tt_phase) that have runs. */
tt_status tt_units_list(const tt_model *m, unsigned phase, tt_units *out, tt_error *err);
void tt_units_free(tt_units *u);

/* Which unit of each file is the k-th that is compared. */
typedef struct tt_unit_pairs {
    size_t n;
    uint32_t **units; /* by file, n each */
    size_t n_files;
    bool by_position;        /* at the same place in the text; else the first with the first, ... */
    size_t tokens_compared;  /* pairs with known ids ... */
    size_t tokens_differ;    /* ... of these, with others */
    size_t sizes_differ;     /* pairs with another number of tokens */
    size_t positions_differ; /* pairs at other positions */
    bool one_token;          /* each unit of every pair is a batch of one token */
} tt_unit_pairs;

/* Pairs by position where all files have ascending ones and at least half of the shortest list
 * is at positions that all have; else by order. What is told of texts is of the first file and of
 * the one at n_a < n_files. */
tt_status tt_units_pair(const tt_units *files, size_t n_files, size_t n_a, tt_unit_pairs *out,
                        tt_error *err);
void tt_unit_pairs_free(tt_unit_pairs *p);

#endif
