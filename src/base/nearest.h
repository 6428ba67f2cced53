/* Which known name somebody may have meant: two slips (one in a short word) are a typing mistake,
 * more is another word. */
#ifndef TT_BASE_NEAREST_H
#define TT_BASE_NEAREST_H

#include <stddef.h>

/* tt_nearest n = tt_nearest_begin(what was typed); tt_nearest_try(&n, each known name); then n.name
 * is the nearest of them, or NULL. Texts are the caller's. Names longer than 40 bytes are not
 * compared. */
typedef struct tt_nearest {
    const char *typed;
    const char *name; /* the nearest so far, or NULL */
    size_t least;     /* private: slips that are too many */
} tt_nearest;

tt_nearest tt_nearest_begin(const char *typed);
void tt_nearest_try(tt_nearest *n, const char *known);

#endif
