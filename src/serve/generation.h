/* A trace as it was when opened: its model, shares of it for requests, and results computed from it
 * (serve/source.h). A growing trace has successive generations; each lives until the last request
 * that uses it has ended. All functions are thread-safe. */
#ifndef TT_SERVE_GENERATION_H
#define TT_SERVE_GENERATION_H

#include "model/model.h"

#include <stdint.h>

typedef struct tt_generation tt_generation;

/* Takes over m, also on failure. One reference is the caller's. */
tt_status tt_generation_new(tt_model *m, uint64_t number, tt_generation **out, tt_error *err);
void tt_generation_ref(tt_generation *g);
/* The last release frees it. NULL is allowed. */
void tt_generation_unref(tt_generation *g);

/* Number of the generation, from 1. */
uint64_t tt_generation_number(const tt_generation *g);
/* For access without a walk: ops and details must not be read through it. */
const tt_model *tt_generation_model(const tt_generation *g);

/* A share for walks, owned by one thread until it is returned; the caller holds a reference. */
tt_status tt_generation_take(tt_generation *g, tt_model **out, tt_error *err);
void tt_generation_give(tt_generation *g, tt_model *share);

#endif
