/* Texts found in what a trace names and says: in any case (of ASCII letters), anywhere in it. */
#ifndef TT_ANALYZE_FIND_H
#define TT_ANALYZE_FIND_H

#include "analyze/names.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Of an excerpt; what is longer is cut off around what was found. */
#define TT_FIND_EXCERPT_MAX 160u

/* Whether the text is somewhere in `in`. */
bool tt_find_in(const char *in, const char *text);

/* A batch whose tokens' texts, put together with those before it, have the text. */
typedef struct tt_find_batch {
    uint32_t batch; /* in m->batches: the one in which the text ends */
    bool by_number; /* it is the batch of that number; what follows does not hold then */
    char excerpt[TT_FIND_EXCERPT_MAX + 1];
    size_t n; /* bytes of the excerpt, which may hold any but NUL */
} tt_find_batch;

/* Called for each; false ends the search. */
typedef bool tt_find_visit(void *context, const tt_find_batch *found);

/* Batches by their tokens' texts and, when the text is a number, by theirs. False without memory.
 */
bool tt_find_batches(const tt_model *m, const char *text, tt_find_visit *visit, void *context);
/* The number that the text says, behind the word or alone ("layer 3", "Layer3", "3"): TT_NONE when
 * it says none. */
uint32_t tt_find_number(const char *text, const char *word);

#endif
