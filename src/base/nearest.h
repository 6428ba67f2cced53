/* The known name that a mistyped one most likely means: up to two wrong letters (one in a short
 * word). */
#ifndef TT_BASE_NEAREST_H
#define TT_BASE_NEAREST_H

#include <stddef.h>

/* tt_nearest n = tt_nearest_begin(the typed name); tt_nearest_try(&n, each known name); then n.name
 * is the nearest of them, or NULL. The texts belong to the caller. Names longer than 40 bytes are
 * not compared. */
typedef struct tt_nearest {
    const char *typed;
    const char *name; /* the nearest so far, or NULL */
    size_t least;     /* private: distances from here on are too large */
} tt_nearest;

tt_nearest tt_nearest_begin(const char *typed);
void tt_nearest_try(tt_nearest *n, const char *known);

#endif
