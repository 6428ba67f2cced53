/* A flame chart of ops: the run, its batches, layers, components and ops, each with the time of its
 * threads. Times are sums over the threads (their work in the ops and their waits at the barriers),
 * so a node's time is the sum of its children's. */
#ifndef TT_ANALYZE_FLAME_H
#define TT_ANALYZE_FLAME_H

#include "analyze/filter.h"
#include "analyze/over.h"
#include "base/amount.h"
#include "base/status.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Batches are put into groups of equal size, at most this many. */
#define TT_FLAME_GROUPS_MAX 512u
/* What is kept while reading; ops beyond are counted with their batches. */
#define TT_FLAME_NODES_MAX 1000000u

typedef enum tt_flame_kind {
    TT_FLAME_RUN,
    TT_FLAME_BATCH, /* one or several in succession; not if merged */
    TT_FLAME_LAYER,
    TT_FLAME_COMPONENT,
    TT_FLAME_OP
} tt_flame_kind;

typedef struct tt_flame_node {
    uint32_t depth; /* 0: the run */
    tt_flame_kind kind;
    const char *name;     /* of a component or an op; else NULL */
    const char *category; /* likewise */
    int64_t first, last;  /* of batches: their numbers; of a layer: its number; -1: outside any */
    uint64_t count;       /* ops with an observed end */
    double time_ns;       /* of all threads: work and waits */
    double wait_ns;       /* of these, waits; NAN: not observed */
    uint32_t run, node;   /* the op that took longest, as selections name it: the run in m->runs */
    double longest_ns;    /* from its begin to the end of its work */
    /* Private: */
    uint32_t parent, child, last_child, next;
    uint64_t ticks, longest_ticks;
    tt_amount wait_ticks;
} tt_flame_node;

typedef struct tt_flame tt_flame;

/* merged: without batches, and children from the largest on; else in the order of their begin.
 * Nodes with less than a share `least` of the time are left out with their children, and the
 * smallest if there are more than `most`. Needs a clock. Free *out with tt_flame_free; NULL on
 * failure. */
tt_status tt_flame_new(const tt_model *m, const tt_filter *filter, bool merged, double least,
                       uint32_t most, const tt_over *over, tt_flame **out, tt_error *err);
void tt_flame_free(tt_flame *f);

/* Each node before its children. */
const tt_flame_node *tt_flame_nodes(const tt_flame *f, uint32_t *n);
/* Of some ops, no waits were observed. */
bool tt_flame_waits_unknown(const tt_flame *f);
extern const tt_schema tt_flame_schema;

#endif
