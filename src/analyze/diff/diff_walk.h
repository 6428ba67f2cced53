/* Private to diff_profile.c and diff_slots.c: a walk over one run's ops, and the slots it fills. */
#ifndef TT_ANALYZE_DIFF_WALK_H
#define TT_ANALYZE_DIFF_WALK_H

#include "analyze/access.h"
#include "analyze/diff/diff_profile.h"
#include "analyze/join.h"
#include "analyze/op_table.h"

/* What a node of a graph is, each time that it is executed. */
typedef struct tt_walk_place {
    uint32_t slot;
    uint8_t covers;
    bool known;
    bool picks; /* what it reads of weights differs from run to run */
    bool at_most;
    uint64_t weight_bytes;
} tt_walk_place;

typedef struct tt_walk_map {
    tt_walk_place *nodes;
    uint32_t *nth;    /* by node: how many of its name and kind come before it */
    uint32_t version; /* counts up when a node turns out to be another op */
    bool picks;
} tt_walk_map;

typedef struct tt_walk {
    const tt_profile_plan *plan;
    tt_profile *p;
    tt_walk_map *maps; /* by graph */
    size_t maps_bytes;
    tt_join join;
    tt_accesses *accesses;
    tt_op_table *ops; /* of nodes that pick; made at the first one */
    double ns_per_tick;
    double inverse[TT_OPS_LANE_MAX + 2]; /* 1 / lanes */
} tt_walk;

static inline uint64_t tt_walk_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* The slot with the key of `like`, made of it at the first need. */
tt_status tt_walk_slot(tt_profile *p, const tt_profile_slot *like, uint32_t *slot, tt_error *err);
/* The places of a graph's nodes; may forget those of others. NULL without memory. */
tt_walk_map *tt_walk_map_of(tt_walk *w, uint32_t graph);
void tt_walk_forget(tt_walk *w);
/* Fills the place of a node that covers so many others. */
tt_status tt_walk_learn(tt_walk *w, const tt_graph *g, tt_walk_map *x, uint32_t node,
                        uint8_t covers, tt_error *err);

#endif
