/* Searches names and texts of a trace: case-insensitive (ASCII), anywhere in them. */
#ifndef TT_ANALYZE_FIND_H
#define TT_ANALYZE_FIND_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The names in a trace, each once: of tensors (weights, nodes, leaves) and of ops. */

/* Others are not listed: a program may create new names for each graph. */
#define TT_NAMES_MAX (1u << 20)

typedef struct tt_name {
    const char *name; /* the model's */
    uint64_t count;   /* nodes and leaves of that name, or with that op, over all graphs */
    uint32_t weight;  /* of a tensor: in tt_model.weights, or TT_NONE */
    uint32_t graph;   /* of the first occurrence, or TT_NONE: only in the model's file */
    uint32_t tensor;  /* in that graph */
    int32_t layer_id;
} tt_name;

typedef struct tt_names {
    tt_name *tensors; /* weights first, in file order; then by occurrence in graphs */
    tt_name *ops;     /* executed ones */
    uint32_t n_tensors, n_ops;
    bool cut; /* there are more than TT_NAMES_MAX */
} tt_names;

/* Of the model, which outlives them. False if out of memory. */
bool tt_names_make(const tt_model *m, tt_names *out);
void tt_names_free(tt_names *names);

/* Size of an excerpt; longer ones are cut around the match. */
#define TT_FIND_EXCERPT_MAX 160u

/* Whether the text is somewhere in `in`. */
bool tt_find_in(const char *in, const char *text);

/* A batch in which a text ends, in its tokens' texts joined with earlier ones. */
typedef struct tt_find_batch {
    uint32_t batch; /* in m->batches: the one in which the text ends */
    bool by_number; /* the text is the batch's number; what follows is not valid then */
    char excerpt[TT_FIND_EXCERPT_MAX + 1];
    size_t n; /* bytes of the excerpt, which may contain anything but NUL */
} tt_find_batch;

/* Called for each; false ends the search. */
typedef bool tt_find_visit(void *context, const tt_find_batch *found);

/* Batches by their tokens' texts and, if the text is a number, by their numbers. False if out of
 * memory. */
bool tt_find_batches(const tt_model *m, const char *text, tt_find_visit *visit, void *context);
/* The number in the text, after the word or alone ("layer 3", "Layer3", "3"); TT_NONE: none. */
uint32_t tt_find_number(const char *text, const char *word);

/* Finding tensors of a graph by words. */

#define TT_GRAPH_SEARCH_WORDS_MAX 8u

/* Puts tensors in which every word of `text` (separated by blanks; the first
 * TT_GRAPH_SEARCH_WORDS_MAX) occurs, ascending, into out (at most `room`): in the name, op,
 * component or type, ignoring ASCII case. A text without words finds nothing. Returns their number,
 * including those beyond `room`. */
uint32_t tt_graph_search(const tt_graph *g, const char *text, uint32_t *out, size_t room);

#endif
