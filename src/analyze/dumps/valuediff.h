/* The values of two dumps compared, in the order of execution of A (of B where A does not tell it).
 *
 * Steps are put in pairs by the place of their tokens in the text (sequence, position of the first
 * token, number of tokens), in order; values of a pair of steps by (layer, stage, occurrence).
 *
 *   equal       the same bits: same type, shape and hash, or the same BLAKE3 of float32
 *   close       other bits, within the tolerance
 *   other_bits  other bits, and nothing that both sides know tells how far apart they are: the
 *               hashes differ, no element that both know does, and statistics of the whole bound
 *               the error only from below. It may be rounding, or all of it
 *   differs     beyond it; or, still within what rounding of all that came before may add up to,
 *               an error that this step alone makes: more than TT_VALUEDIFF_OWN times that of its
 *               inputs, and beyond the tolerance of its own types (`jump`)
 *   nan         a NaN on either side, or on both: a NaN differs from everything
 *   shape       the shapes have nothing to do with each other
 *   unmeasured  on one side only, or the sides know nothing in common that would tell
 *
 * Errors, over the elements that both sides know (all of them with data, otherwise the first ones
 * and the samples), sums in float64:
 *
 *   max_abs     max |a - b|
 *   rel_l2      |a - b| / |a|, Euclidean norms; 0 / 0 is 0. Statistics of the whole value bound it
 *               from below: |rms(a) - rms(b)| / rms(a) and |mean(a) - mean(b)| / rms(a) are never
 *               more (the triangle inequality, and Cauchy-Schwarz); the largest of all counts
 *   cosine      (a . b) / (|a| |b|); 1 when both are zero
 *
 * Where an error is made: the inputs of a value are looked up among the values before it. When
 * all are equal it is the op's own; when they are close, and its error is more than
 * TT_VALUEDIFF_OWN times the largest of theirs, too, unless the op only moves elements; when one
 * differs, or the error is of their size, it is inherited. Where of an input only statistics and
 * first elements are known, nobody knows. docs/diff-values.md has the method. */
#ifndef TT_ANALYZE_DUMPS_VALUEDIFF_H
#define TT_ANALYZE_DUMPS_VALUEDIFF_H

#include "analyze/dumps/dump.h"
#include "analyze/over.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_VALUEDIFF_OWN 8.0              /* times its inputs' error */
#define TT_VALUEDIFF_KEPT_MAX (1u << 20)  /* values of which the result is kept */
#define TT_VALUEDIFF_ITEMS_DEFAULT 65536u /* of them that are not equal, unless told otherwise */

typedef enum tt_value_verdict {
    TT_VALUE_EQUAL,
    TT_VALUE_CLOSE,
    TT_VALUE_OTHER_BITS,
    TT_VALUE_DIFFERS,
    TT_VALUE_NAN,
    TT_VALUE_SHAPE,
    TT_VALUE_UNMEASURED
} tt_value_verdict;
#define TT_VALUE_VERDICTS 7u

/* What the errors were taken from. */
typedef enum tt_value_basis {
    TT_BASIS_NONE,
    TT_BASIS_HASH,    /* bits: equal, or of a type without a tolerance */
    TT_BASIS_STATS,   /* RMS and the like only: rel_l2 and max_abs are lower bounds, no cosine */
    TT_BASIS_FIRST,   /* the first elements, statistics: an error elsewhere need not show */
    TT_BASIS_SAMPLES, /* first elements, samples, statistics */
    TT_BASIS_DATA     /* all elements */
} tt_value_basis;

/* Where the error of a value comes from. */
typedef enum tt_value_blame {
    TT_BLAME_NONE,      /* it has no error, or was not compared */
    TT_BLAME_OWN,       /* its inputs are equal, or much closer: it is made here */
    TT_BLAME_INHERITED, /* an input differs, or has an error of this size */
    TT_BLAME_UNKNOWN    /* inputs are not known, or unmeasured */
} tt_value_blame;

/* What counts as close. Infinite: does not matter. */
typedef struct tt_tolerance {
    double rel_l2;  /* at most */
    double cosine;  /* at least; -INFINITY: does not matter */
    double max_abs; /* at most */
} tt_tolerance;

/* What is told of an error. */
typedef struct tt_value_error {
    tt_value_basis basis;
    uint64_t n_compared;    /* elements */
    double max_abs;         /* NAN: not known */
    uint64_t worst;         /* logical index of it; TT_VALUE_NONE */
    float worst_a, worst_b; /* when worst is known */
    double rel_l2;          /* NAN: not known; may be infinite */
    double cosine;          /* NAN: not known */
    double rms_change;      /* (rms(b) - rms(a)) / rms(a); NAN: not known */
    bool at_least; /* rel_l2 is a bound from statistics, not less than what elements show */
    bool shows;    /* an element that both sides know differs */
} tt_value_error;

typedef struct tt_valuediff_options {
    bool exact;             /* everything that is not equal differs */
    bool has_tolerance;     /* `tolerance` takes the place of the defaults of the types; of it, */
    tt_tolerance tolerance; /* NAN is: as the default has it */
    bool by_order;          /* pair steps by order, whatever their positions */
    bool has_steps;         /* only steps with a token at these positions */
    int32_t step_first, step_last;
    bool has_layers; /* only those layers; TT_STAGE_LAYER_* are layers, too */
    int32_t layer_first, layer_last;
    const char *stage;  /* only stages that fit the pattern (`*`, `?`); NULL: all */
    uint32_t items_max; /* 0: TT_VALUEDIFF_ITEMS_DEFAULT */
    bool keep_all;      /* items of equal and of unmeasured values, too */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* or NULL; in steps */
    void *context;
    tt_over over;
} tt_valuediff_options;

/* A side of an item. Texts belong to the comparison. */
typedef struct tt_valuediff_place {
    bool present;     /* there is such a value on this side */
    const char *name; /* "Qcur-3" */
    const char *op, *type;
    const char *weight; /* or NULL */
    uint32_t step;      /* in dump->steps */
    uint32_t token;     /* what the commands call it, or TT_NONE */
    uint32_t run, node; /* of a trace: in tt_model.runs and the run's graph; or TT_NONE */
    uint32_t n_dims;
    uint64_t ne[8];
    uint64_t n;
    bool has_counts; /* n_nan and n_inf are known */
    uint64_t n_nan, n_inf;
    bool has_rms;
    double rms;
} tt_valuediff_place;

/* An input of a first divergence. */
typedef struct tt_valuediff_input {
    const char *stage, *name;
    int32_t layer;
    uint32_t occurrence;
    tt_value_verdict verdict;
    double rel_l2; /* NAN: not known; 0 of an equal one */
} tt_valuediff_input;

/* A value that was compared, or would have been. */
typedef struct tt_valuediff_item {
    uint32_t pair;    /* in tt_valuediff.steps */
    uint32_t order;   /* in the step, in order of execution */
    int32_t position; /* of the step's first token; TT_DUMP_POSITION_UNKNOWN */
    int32_t layer;
    const char *stage;
    uint32_t occurrence;
    tt_value_verdict verdict;
    tt_value_blame blame;
    tt_tolerance tolerance; /* that it was held against */
    tt_value_error error;
    bool jump;           /* it differs as such, see above; then `tolerance` is the step's */
    double input_rel_l2; /* the largest of its inputs; NAN: not known */
    tt_valuediff_place a, b;
} tt_valuediff_item;

/* A pair of steps, or one that has no partner. */
typedef enum tt_valuediff_pairing {
    TT_PAIR_BOTH,
    TT_PAIR_ONLY_A,
    TT_PAIR_ONLY_B,
    TT_PAIR_BATCHES, /* the other side has these tokens, too, but in other batches: not compared */
    TT_PAIR_TOKENS   /* other tokens at the same place: not comparable, as is all that follows */
} tt_valuediff_pairing;

typedef struct tt_valuediff_step {
    tt_valuediff_pairing pairing;
    uint32_t a, b; /* in the dumps' steps, or TT_NONE */
    int32_t sequence, position;
    uint32_t n_tokens;
    uint64_t counts[TT_VALUE_VERDICTS];
    double worst_rel_l2; /* of those compared; NAN: none is known */
} tt_valuediff_step;

/* Error over depth: of one pair of steps and one layer. */
typedef struct tt_valuediff_depth {
    uint32_t pair; /* in steps */
    int32_t layer;
    bool behind; /* of layer -1 and others outside: after a layer (logits, not embeddings) */
    uint64_t counts[TT_VALUE_VERDICTS];
    double rel_l2;     /* the largest; NAN: none is known */
    double cosine_gap; /* the largest 1 - cosine; likewise */
    const char *stage; /* whose rel_l2 it is; NULL */
} tt_valuediff_depth;

/* Of all steps: a layer's, a stage's, or both's values. */
typedef struct tt_valuediff_row {
    int32_t layer;     /* of a row by layer */
    bool behind;       /* likewise, see tt_valuediff_depth */
    const char *stage; /* NULL: all of them, in rows by layer */
    uint64_t counts[TT_VALUE_VERDICTS];
    double rel_l2, max_abs, cosine_gap; /* the largest; NAN: none is known */
    uint32_t worst_pair;                /* whose rel_l2 it is, or TT_NONE */
} tt_valuediff_row;

typedef struct tt_valuediff {
    tt_dump *a, *b;
    bool by_order;     /* steps were put in pairs by their order: positions are not known */
    bool tokens_known; /* of all pairs both sides' tokens are known, and the same */
    tt_valuediff_step *steps;
    size_t n_steps;
    uint64_t counts[TT_VALUE_VERDICTS];
    uint64_t compared;                   /* values with a verdict other than unmeasured */
    uint64_t incomplete_a, incomplete_b; /* values that could not be read */
    /* Tokens differ: not comparable from this place on. */
    bool stopped;
    int32_t stopped_sequence, stopped_position;
    int32_t stopped_token_a, stopped_token_b; /* the tokens there */
    /* Items in order of execution: what was compared and is not equal (with keep_all, all), the
     * first items_max of them. */
    tt_valuediff_item *items;
    size_t n_items;
    uint64_t items_left_out;
    /* Among all, not only the items that were kept. */
    bool has_first_unequal; /* other bits, within the tolerance or not */
    tt_valuediff_item first_unequal;
    bool has_first; /* the first that diverges: see tt_value_diverges */
    tt_valuediff_item first;
    bool has_first_certain; /* the first that does so by a known amount, not TT_VALUE_OTHER_BITS */
    tt_valuediff_item first_certain;
    tt_valuediff_input *first_inputs;
    size_t n_first_inputs;
    bool first_reads_cache;
    double first_cache_rel_l2; /* the largest error of the cache's values of that layer in steps
                                  before; NAN: not measured */
    tt_value_verdict
        first_cache;           /* the worst verdict of them; TT_VALUE_UNMEASURED: none is known */
    tt_valuediff_depth *depth; /* by pair, then layer in order of execution */
    size_t n_depth;
    tt_valuediff_row *layers, *stages; /* in order of execution */
    size_t n_layers, n_stages;
    void *memory; /* private */
} tt_valuediff;

/* Both dumps stay open until the comparison is freed. Of a folder with TT_PLACES_UNKNOWN the steps
 * get the place where the other side's prompt ends, or none (tt_dump_head.no_place). TT_OK also
 * when nothing could be compared: then compared is 0, which is not "equal". *out is freed with
 * tt_valuediff_free; NULL on failure. */
tt_status tt_valuediff_make(tt_dump *a, tt_dump *b, const tt_valuediff_options *options,
                            tt_valuediff **out, tt_error *err);
void tt_valuediff_free(tt_valuediff *d);

/* What is close for values of which the coarsest type (tt_dump_value.coarsest_type) is this, and
 * what one step of that coarseness (of own_type) may add to the error of its inputs.
 * docs/diff-values.md has the tables. Unknown types are taken as F32. */
tt_tolerance tt_tolerance_of_step(unsigned coarseness);
/* Whether the values are not equal and not close, by as much as is known. */
bool tt_value_diverges(tt_value_verdict v);
/* How many values of these counts do. */
uint64_t tt_value_diverging(const uint64_t counts[TT_VALUE_VERDICTS]);
/* "equal", "close", "other_bits", "differs", "nan", "shape", "unmeasured" */
const char *tt_value_verdict_name(tt_value_verdict v);
const char *
tt_value_basis_name(tt_value_basis b); /* "none" "hash" "stats" "first" "samples" "data" */
const char *tt_value_blame_name(tt_value_blame b); /* "none" "own" "inherited" "unknown" */
const char *tt_valuediff_pairing_name(tt_valuediff_pairing p); /* "both" "only_a" "only_b"
                                                                  "batches" "tokens" */

/* 1 - cosine, not below 0; NAN stays. */
double tt_cosine_gap(double cosine);

/* One pair of values, for tests and other comparisons. */
tt_value_verdict tt_value_compare(tt_dump *a, const tt_dump_value *va, tt_dump *b,
                                  const tt_dump_value *vb, const tt_valuediff_options *options,
                                  tt_tolerance *tolerance, tt_value_error *error, tt_error *err);

#endif
