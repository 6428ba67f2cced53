#include "price.h"

#include <math.h>

/* The class of v, and how many low bits it leaves open. */
static unsigned class_of(int64_t v, unsigned *open_bits)
{
    uint64_t magnitude = v < 0 ? -(uint64_t)v : (uint64_t)v;
    unsigned sign = v < 0, class;
    *open_bits = 0;
    if (magnitude < PRICE_EXACT) {
        class = (unsigned)magnitude;
    } else {
        unsigned octave = 63u - (unsigned)__builtin_clzll(magnitude); /* 4 or more */
        *open_bits = octave - 2;
        class = PRICE_EXACT + (octave - 4) * 4 + (unsigned)(magnitude >> *open_bits & 3);
    }
    return class * 2 + sign;
}

double price_of(price_model *m, unsigned context, int64_t v)
{
    unsigned open_bits, class = class_of(v, &open_bits);
    /* Krichevsky and Trofimov's estimator with a small share for what was never seen. */
    const double share = 0.02;
    double p = (m->count[context][class] + share) / (m->total[context] + share * PRICE_CLASSES);
    m->count[context][class]++;
    m->total[context]++;
    return -log2(p) + open_bits;
}

unsigned price_context(double mean)
{
    double c = 2 * log2(1 + mean);
    return c < PRICE_CONTEXTS - 1 ? (unsigned)c : PRICE_CONTEXTS - 1;
}
