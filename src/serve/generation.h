/* A trace as it was when it was opened: its model, shares of it for requests, and what was computed
 * of it (serve/source.h). A trace that grows has one generation after the other; each lives until
 * the last request that began with it has ended. Every call is safe from several threads. */
#ifndef TT_SERVE_GENERATION_H
#define TT_SERVE_GENERATION_H

#include "model/model.h"

#include <stdint.h>

typedef struct tt_generation tt_generation;

/* Takes over m, also on failure. One reference is the caller's. */
tt_status tt_generation_new(tt_model *m, uint64_t number, tt_generation **out, tt_error *err);
void tt_generation_ref(tt_generation *g);
/* The last one frees it. NULL is allowed. */
void tt_generation_unref(tt_generation *g);

/* Counts the generations of a trace, from 1. */
uint64_t tt_generation_number(const tt_generation *g);
/* For what needs no walk: ops and details are not read by it. */
const tt_model *tt_generation_model(const tt_generation *g);

/* A share to walk, of one thread until it is given back; the caller holds a reference. */
tt_status tt_generation_take(tt_generation *g, tt_model **out, tt_error *err);
void tt_generation_give(tt_generation *g, tt_model *share);

#endif
