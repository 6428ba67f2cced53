/* A comparison token by token: what lines of two runs beside one another are drawn from.
 *
 * The samples are those that tt_diff took its medians and tests from: the k-th is the pair of
 * tokens k x stride of its phase. */
#ifndef TT_ANALYZE_DIFF_TOKENS_H
#define TT_ANALYZE_DIFF_TOKENS_H

#include "analyze/diff/diff.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One side of a pair. */
typedef struct tt_diff_token {
    uint32_t token;    /* see tt_model_batch_number; TT_NONE: a computation outside of any batch */
    double begin_ns;   /* since that trace's zero */
    double time_ns;    /* begin to end; NAN: not observed */
    uint32_t n_tokens; /* of the batch; 0: not known */
    bool has_position;
    int32_t position; /* in the text, of its first token */
} tt_diff_token;

/* One side of the sample k < p->n_samples; `file` is one of d->files. */
tt_diff_token tt_diff_sample(const tt_diff *d, const tt_diff_phase *p, size_t file, size_t k);
/* The least and the most time of the tokens from that sample to the next one: what the samples of a
 * long run leave out. NAN: none was observed. */
void tt_diff_sample_span(const tt_diff_phase *p, size_t file, size_t k, double *least_ns,
                         double *most_ns);
/* Fills out[0 .. p->n_samples - 1] with what the part p->rows[TT_DIFF_PARTS][part] took of each
 * sample in that file, the first of its side; NAN: nothing of it ran there. */
void tt_diff_part_times(const tt_diff *d, const tt_diff_phase *p, size_t part, size_t file,
                        double *out);

/* The pair that a token belongs to, without comparing the runs: time and memory of listing the
 * batches. */
typedef struct tt_diff_pair {
    unsigned phase;
    bool has_a, has_b; /* one of them at least */
    tt_diff_token a, b;
} tt_diff_pair;

/* `token` is one of b's when of_b, else of a's. TT_E_NOT_FOUND when that trace has no such token
 * that was computed to its end. */
tt_status tt_diff_pair_find(const tt_model *a, const tt_model *b, bool of_b, uint32_t token,
                            tt_diff_pair *out, tt_error *err);

/* An op by the name that the tables of a comparison give it, in one token of one side. */
typedef struct tt_diff_located {
    uint32_t run;    /* in tt_model.runs; TT_NONE: the token has no op of that name */
    uint32_t node;   /* of its record, in the run's graph */
    uint32_t weight; /* the first that it reads, or TT_NONE */
} tt_diff_located;

/* Reads the token's records: m must not be in use by another thread. */
tt_status tt_diff_locate(const tt_model *m, uint32_t token, const char *name, tt_diff_located *out,
                         tt_error *err);

#endif
