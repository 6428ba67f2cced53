/* Where an error comes from: the state of what a value was computed from. */
#ifndef TT_ANALYZE_VALUEDIFF_BLAME_H
#define TT_ANALYZE_VALUEDIFF_BLAME_H

#include "analyze/dumps/valuediff.h"

/* What is known of the error of inputs. */
typedef struct tt_blame_state {
    double rel_l2; /* the largest that is known */
    bool bad;      /* one differs, is NaN or of another shape */
    bool unknown;  /* of one nothing is known */
    bool close;    /* one is close, not equal */
    bool weak;     /* ... of which only statistics and first elements are known */
    bool computes; /* steps in between that were not measured on both sides did, see
                      tt_dump_value.ops_between */
    /* The coarsest type (tt_type_coarseness) of steps in between that were not measured on both
     * sides. */
    unsigned coarseness;
} tt_blame_state;

/* Errors that a KV cache may hold from steps before, by the value that reads it. */
typedef struct tt_blame_cache {
    int32_t layer;
    const char *stage; /* each text is kept once */
    uint32_t occurrence;
    tt_blame_state state;
} tt_blame_cache;

/* Memory of a comparison; zero-filled is ready. */
typedef struct tt_blame {
    tt_blame_state *states; /* by value of the step: its own, for those that read it */
    size_t n_states;
    tt_blame_cache *caches;
    size_t n_caches;
    bool blind; /* the side does not know what its values were computed from */
    bool cut;   /* steps before were not compared, or more caches than are kept */
} tt_blame;

/* Before the values of a step of n values. False without memory. */
bool tt_blame_begin(tt_blame *b, size_t n);
/* Value i of the step, in order, which `item` is about (its verdict so far, its error): fills
 * blame, input_rel_l2 and jump, and may turn close into differs; *cache gets what the cache held
 * that it reads, when it does. `coarseness`: of its own_type, on either side; `rel_l2`: what
 * somebody allows for all steps, or NAN. False without memory. */
bool tt_blame_value(tt_blame *b, const tt_dump_step *s, size_t i, unsigned coarseness,
                    double rel_l2, tt_valuediff_item *item, tt_blame_state *cache);
void tt_blame_free(tt_blame *b);

#endif
