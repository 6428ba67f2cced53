/* Between graph_columns.c and graph_tensors.c: what both write with. */
#ifndef TT_ANSWER_GRAPH_COLUMNS_INSIDE_H
#define TT_ANSWER_GRAPH_COLUMNS_INSIDE_H

#include "answer/graph_columns.h"
#include "base/idmap.h"

/* Of a name: engines cut theirs at 64, a damaged trace may say anything, for many tensors. */
#define TT_GRAPH_TEXT_MAX 512u

/* Of names that many tensors share, each is written once. */
typedef struct tt_graph_words {
    const char **list;
    uint32_t n;
    tt_idmap by_sum;
} tt_graph_words;

typedef struct tt_graph_writer {
    tt_json *j;
    const tt_collapse *c;
    const tt_topology *t;
    const tt_model *m;
    const tt_graph *g;
    tt_graph_words words;
    bool no_memory;
} tt_graph_writer;

/* Writes the value of one tensor, part, ... */
typedef void tt_graph_put(tt_graph_writer *w, uint32_t i);

void tt_graph_column(tt_graph_writer *w, const char *key, uint32_t n, tt_graph_put *put);
/* A length of ticks in ns. */
void tt_graph_span_or_null(const tt_graph_writer *w, bool known, uint64_t ticks);

/* "tensors" and "edges"; fills w->words. */
void tt_graph_put_tensors(tt_graph_writer *w);
void tt_graph_put_edges(tt_graph_writer *w);

#endif
