/* Compares the values of two dumps, in A's execution order (B's if A has none).
 *
 * Steps are paired by their tokens' location in the text (sequence, position of the first token,
 * number of tokens), in order; values of a pair of steps by (layer, stage, occurrence).
 *
 *   equal       the same bits: same type, shape and hash, or the same BLAKE3 of float32
 *   close       other bits, within the tolerance
 *   other_bits  other bits, at an unknown distance: the hashes differ, no element known on both
 *               sides does, and statistics of the whole bound the error only from below. It may
 *               be rounding or any error
 *   differs     beyond the tolerance; or, within what the rounding of all earlier steps may add
 *               up to, an error that this step alone makes: more than TT_VALUEDIFF_OWN times that
 *               of its inputs, and beyond the tolerance of its own types (`jump`)
 *   nan         a NaN on either side, or on both: a NaN differs from everything
 *   shape       the shapes are unrelated
 *   unmeasured  on one side only, or nothing comparable is known on both
 *
 * Errors, over the elements known on both sides (all of them with data, otherwise the first ones
 * and the samples), sums in float64:
 *
 *   max_abs     max |a - b|
 *   rel_l2      |a - b| / |a|, Euclidean norms; 0 / 0 is 0. Statistics of the whole value bound it
 *               from below: |rms(a) - rms(b)| / rms(a) and |mean(a) - mean(b)| / rms(a) are never
 *               more (the triangle inequality, and Cauchy-Schwarz); the largest of all counts
 *   cosine      (a . b) / (|a| |b|); 1 if both are zero
 *
 * Where an error is made: the inputs of a value are looked up among earlier values. It is the op's
 * own if all inputs are equal, or if they are close and the error is more than TT_VALUEDIFF_OWN
 * times the largest of theirs, unless the op only moves elements. It is inherited if an input
 * differs, or if the error is of their size. If one side has ops since these inputs that the other
 * lacks, the error may also be made by them: they are named. It is unknown if only statistics and
 * first elements of an input are known. docs/diff-values.md has the method. */
#ifndef TT_ANALYZE_DUMPS_VALUEDIFF_H
#define TT_ANALYZE_DUMPS_VALUEDIFF_H

#include "analyze/diff/diff.h"
#include "analyze/dumps/dump.h"
#include "analyze/over.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_VALUEDIFF_OWN 8.0              /* times its inputs' error */
#define TT_VALUEDIFF_KEPT_MAX (1u << 20)  /* values whose result is kept */
#define TT_VALUEDIFF_ITEMS_DEFAULT 65536u /* default for those that are not equal */

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

/* What the errors were computed from. */
typedef enum tt_value_basis {
    TT_BASIS_NONE,
    TT_BASIS_HASH,    /* bits: equal, or of a type without a tolerance */
    TT_BASIS_STATS,   /* RMS and similar only: rel_l2 and max_abs are lower bounds, no cosine */
    TT_BASIS_FIRST,   /* the first elements, statistics: errors elsewhere may be missed */
    TT_BASIS_SAMPLES, /* first elements, samples, statistics */
    TT_BASIS_DATA     /* all elements */
} tt_value_basis;

/* The source of a value's error. */
typedef enum tt_value_blame {
    TT_BLAME_NONE,      /* it has no error, or was not compared */
    TT_BLAME_OWN,       /* its inputs are equal, or much closer: it is made here */
    TT_BLAME_INHERITED, /* an input differs, or has an error of this size */
    TT_BLAME_UNKNOWN,   /* inputs are unknown, or unmeasured */
    TT_BLAME_EXTRA /* as OWN, or made by ops since those inputs that only one side has, and that
                      bring in a weight or an input that the other side lacks */
} tt_value_blame;

/* The limits for "close". Infinite: no limit. */
typedef struct tt_tolerance {
    double rel_l2;  /* at most */
    double cosine;  /* at least; -INFINITY: no limit */
    double max_abs; /* at most */
} tt_tolerance;

/* The error of a value. */
typedef struct tt_value_error {
    tt_value_basis basis;
    uint64_t n_compared;    /* elements */
    double max_abs;         /* NAN: not known */
    uint64_t worst;         /* its logical index; TT_VALUE_NONE */
    float worst_a, worst_b; /* if worst is known */
    double rel_l2;          /* NAN: not known; may be infinite */
    double cosine;          /* NAN: not known */
    double rms_change;      /* (rms(b) - rms(a)) / rms(a); NAN: not known */
    bool at_least;          /* rel_l2 is a bound from statistics, at least what elements show */
    bool shows;             /* an element known on both sides differs */
} tt_value_error;

typedef struct tt_valuediff_options {
    bool exact;             /* everything that is not equal differs */
    bool has_tolerance;     /* `tolerance` replaces the types' defaults; in it, */
    tt_tolerance tolerance; /* NAN means the default */
    bool by_order;          /* pair steps by order, whatever their positions */
    bool has_steps;         /* only steps with a token at these positions */
    int32_t step_first, step_last;
    bool has_layers; /* only these layers; TT_STAGE_LAYER_* are layers, too */
    int32_t layer_first, layer_last;
    const char *stage;  /* only stages that match the pattern (`*`, `?`); NULL: all */
    uint32_t items_max; /* 0: TT_VALUEDIFF_ITEMS_DEFAULT */
    bool keep_all;      /* also items of equal and of unmeasured values */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* or NULL; in steps */
    void *context;
    tt_over over;
} tt_valuediff_options;

/* A side of an item. Texts belong to the comparison. */
typedef struct tt_valuediff_place {
    bool present;     /* this side has such a value */
    const char *name; /* "Qcur-3" */
    const char *op, *type;
    const char *weight; /* or NULL */
    uint32_t step;      /* in dump->steps */
    uint32_t token;     /* its number in commands, or TT_NONE */
    uint32_t run, node; /* for a trace: in tt_model.runs and the run's graph; or TT_NONE */
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
    double rel_l2; /* NAN: unknown; 0 if equal */
} tt_valuediff_input;

/* A value that was, or would have been, compared. */
typedef struct tt_valuediff_item {
    uint32_t pair;    /* in tt_valuediff.steps */
    uint32_t order;   /* in the step, in execution order */
    int32_t position; /* of the step's first token; TT_DUMP_POSITION_UNKNOWN */
    int32_t layer;
    const char *stage;
    uint32_t occurrence;
    tt_value_verdict verdict;
    tt_value_blame blame;
    tt_tolerance tolerance; /* that was applied */
    tt_value_error error;
    /* For OWN and EXTRA: the ops since its inputs that only that side has, "MUL_MAT with
     * attn_inp_k_rot, ADD"; NULL: none. */
    const char *only_a, *only_b;
    bool other_axes;     /* not measured: one side is multiplied with what the other is not, see
                            tt_dump_value.basis */
    bool jump;           /* it differs as a jump, see above; then `tolerance` is the step's */
    double input_rel_l2; /* the largest of its inputs; NAN: unknown */
    tt_valuediff_place a, b;
} tt_valuediff_item;

/* A pair of steps, or a step without a partner. */
typedef enum tt_valuediff_pairing {
    TT_PAIR_BOTH,
    TT_PAIR_ONLY_A,
    TT_PAIR_ONLY_B,
    TT_PAIR_BATCHES, /* the other side has these tokens in other batches: not compared */
    TT_PAIR_TOKENS   /* other tokens at this location: not comparable, nor is anything after it */
} tt_valuediff_pairing;

typedef struct tt_valuediff_step {
    tt_valuediff_pairing pairing;
    uint32_t a, b; /* in the dumps' steps, or TT_NONE */
    int32_t sequence, position;
    uint32_t n_tokens;
    uint64_t counts[TT_VALUE_VERDICTS];
    double worst_rel_l2; /* of those compared; NAN: none is known */
} tt_valuediff_step;

/* The error of one pair of steps in one layer. */
typedef struct tt_valuediff_depth {
    uint32_t pair; /* in steps */
    int32_t layer;
    bool behind; /* of layer -1 and others outside: after a layer (logits, not embeddings) */
    uint64_t counts[TT_VALUE_VERDICTS];
    double rel_l2;     /* the largest; NAN: none is known */
    double cosine_gap; /* the largest 1 - cosine; likewise */
    const char *stage; /* with that rel_l2; NULL */
} tt_valuediff_depth;

/* Over all steps: the values of a layer, of a stage, or of a stage in a layer. */
typedef struct tt_valuediff_row {
    int32_t layer;     /* of a row by layer */
    bool behind;       /* likewise, see tt_valuediff_depth */
    const char *stage; /* NULL: all of them, in rows by layer */
    uint64_t counts[TT_VALUE_VERDICTS];
    double rel_l2, max_abs, cosine_gap; /* the largest; NAN: none is known */
    uint32_t worst_pair;                /* with that rel_l2, or TT_NONE */
} tt_valuediff_row;

typedef struct tt_valuediff {
    tt_dump *a, *b;
    bool by_order;     /* steps were paired in order: positions are unknown */
    bool tokens_known; /* both sides' tokens of all pairs are known, and equal */
    tt_valuediff_step *steps;
    size_t n_steps;
    uint64_t counts[TT_VALUE_VERDICTS];
    uint64_t other_axes;                 /* values that were not compared as their axes differ */
    const char *axes_a, *axes_b;         /* of the first of them: tt_dump_value.basis */
    tt_diff_models models;               /* of two traces */
    uint64_t compared;                   /* values with a verdict other than unmeasured */
    uint64_t incomplete_a, incomplete_b; /* values that could not be read */
    /* Tokens differ: not comparable from here on. */
    bool stopped;
    int32_t stopped_sequence, stopped_position;
    int32_t stopped_token_a, stopped_token_b; /* the tokens there */
    /* Items in execution order: compared and not equal (with keep_all, all), the first items_max of
     * them. */
    tt_valuediff_item *items;
    size_t n_items;
    uint64_t items_left_out;
    /* Among all, not only the kept items. */
    bool has_first_unequal; /* other bits, within the tolerance or not */
    tt_valuediff_item first_unequal;
    bool has_first; /* the first that diverges: see tt_value_diverges */
    tt_valuediff_item first;
    bool has_first_certain; /* the first that diverges by a known amount, not TT_VALUE_OTHER_BITS */
    tt_valuediff_item first_certain;
    tt_valuediff_input *first_inputs;
    size_t n_first_inputs;
    bool first_reads_cache;
    double first_cache_rel_l2; /* the largest error of that layer's cache values in earlier steps;
                                  NAN: not measured */
    tt_value_verdict
        first_cache;           /* the worst verdict of them; TT_VALUE_UNMEASURED: none is known */
    tt_valuediff_depth *depth; /* by pair, then layer in execution order */
    size_t n_depth;
    tt_valuediff_row *layers, *stages; /* in execution order */
    size_t n_layers, n_stages;
    void *memory; /* private */
} tt_valuediff;

/* Both dumps must stay open until the comparison is freed. The steps of a folder with
 * TT_PLACES_UNKNOWN get the position where the other side's prompt ends, or none
 * (tt_dump_head.no_place). TT_OK even if nothing could be compared: then compared is 0, which does
 * not mean "equal". *out is freed with tt_valuediff_free; NULL on failure. */
tt_status tt_valuediff_make(tt_dump *a, tt_dump *b, const tt_valuediff_options *options,
                            tt_valuediff **out, tt_error *err);
void tt_valuediff_free(tt_valuediff *d);

/* The tolerance for values whose coarsest type (tt_dump_value.coarsest_type) is this, and what one
 * step of that coarseness (of own_type) may add to the error of its inputs. docs/diff-values.md has
 * the tables. Unknown types count as F32. */
tt_tolerance tt_tolerance_of_step(unsigned coarseness);
/* Whether the values are, as far as known, neither equal nor close. */
bool tt_value_diverges(tt_value_verdict v);
/* The number of diverging values in these counts. */
uint64_t tt_value_diverging(const uint64_t counts[TT_VALUE_VERDICTS]);
/* "equal", "close", "other_bits", "differs", "nan", "shape", "unmeasured" */
const char *tt_value_verdict_name(tt_value_verdict v);
const char *
tt_value_basis_name(tt_value_basis b); /* "none" "hash" "stats" "first" "samples" "data" */
const char *tt_value_blame_name(tt_value_blame b); /* "none" "own" "inherited" "unknown" "extra" */
const char *tt_valuediff_pairing_name(tt_valuediff_pairing p); /* "both" "only_a" "only_b"
                                                                  "batches" "tokens" */

/* 1 - cosine, not below 0; NAN stays. */
double tt_cosine_gap(double cosine);

/* One pair of values, for tests and other comparisons. */
tt_value_verdict tt_value_compare(tt_dump *a, const tt_dump_value *va, tt_dump *b,
                                  const tt_dump_value *vb, const tt_valuediff_options *options,
                                  tt_tolerance *tolerance, tt_value_error *error, tt_error *err);

/* --- private to this folder --- */

/* The sums behind the error of two values. */
typedef struct tt_error_sums {
    uint64_t n;
    double aa, bb, ab, dd; /* squares of a and b, their product, squares of a - b; finite ones */
    double max_abs;
    uint64_t worst;
    float worst_a, worst_b;
    bool apart; /* one is not finite, and the other is not the same */
} tt_error_sums;

/* Fills d->steps, by_order, tokens_known and where it stopped. False if out of memory. */
bool tt_valuediff_pair_steps(tt_valuediff *d, const tt_valuediff_options *o);

/* Collects rows and depth, value by value. */
typedef struct tt_valuediff_tally {
    size_t depth_capacity, layer_capacity, stage_capacity;
    bool behind;           /* a layer was seen in this step */
    uint32_t rows_of_step; /* of depth; like `behind`, cleared before each step */
} tt_valuediff_tally;
/* False if out of memory. */
bool tt_valuediff_tally_item(tt_valuediff *d, tt_valuediff_tally *t, const tt_valuediff_item *i);
/* Call it after all steps: sorts rows by layer in execution order. */
void tt_valuediff_tally_end(tt_valuediff *d);

/* The larger one; NAN is ignored. */
double tt_larger(double a, double b);

#endif
