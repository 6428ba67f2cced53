/* What a graph says of its nodes' places and of what they are computed from: the same for each run
 * of it. */
#ifndef TT_ANALYZE_DUMP_PLAN_H
#define TT_ANALYZE_DUMP_PLAN_H

#include "analyze/dumps/stages.h"
#include "analyze/texts.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_dump_node {
    const char *stage; /* of the texts */
    int32_t layer;
    uint32_t n_producers; /* earlier nodes that computed what it reads, through views */
    uint32_t producers[TT_SRC_MAX];
    bool reads_cache; /* what earlier graphs left in a KV cache */
    const char *weight;
    const char *coarsest_type, *own_type; /* see tt_dump_value; own_type of this node alone */
} tt_dump_node;

typedef struct tt_dump_plan {
    const tt_graph *graph;
    tt_dump_node *nodes; /* graph->n_nodes */
} tt_dump_plan;

/* The op that a node's output was computed by; "" of a value by itself (tt_value()), which whoever
 * computed it does not tell. */
const char *tt_dump_op_of(const tt_tensor *node);

/* False without memory. Freed with tt_dump_plan_free in any case. */
bool tt_dump_plan_make(const tt_model *m, const tt_graph *g, const tt_stages *stages,
                       tt_texts *texts, tt_dump_plan *out);
void tt_dump_plan_free(tt_dump_plan *p);

#endif
