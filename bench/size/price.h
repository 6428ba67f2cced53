/* What a number costs in bits under a model that learns: -log2 of the probability that was given
 * to it before it was seen. An arithmetic coder reaches the sum of these within a few bytes. */
#ifndef BENCH_SIZE_PRICE_H
#define BENCH_SIZE_PRICE_H

#include <stdint.h>

/* Small numbers by themselves; then four classes an octave, whose low bits are all alike. */
#define PRICE_EXACT 16
#define PRICE_CLASSES (2 * (PRICE_EXACT + 4 * 60))
#define PRICE_CONTEXTS 40

/* Counts of the classes seen, in each context. Zero-initialised. */
typedef struct price_model {
    uint32_t count[PRICE_CONTEXTS][PRICE_CLASSES];
    uint32_t total[PRICE_CONTEXTS];
} price_model;

/* Bits for v in that context; the model learns it. */
double price_of(price_model *m, unsigned context, int64_t v);
/* A context from how large such numbers were lately: about two an octave. */
unsigned price_context(double mean);

#endif
