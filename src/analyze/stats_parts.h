/* What stats.c and stats_walk.c share. */
#ifndef TT_ANALYZE_STATS_PARTS_H
#define TT_ANALYZE_STATS_PARTS_H

#include "analyze/op_table.h"
#include "analyze/slice_filter.h"
#include "analyze/stats.h"

/* A node's share in a row. */
typedef struct stats_share {
    uint32_t row;
    uint64_t weight_bytes;
    bool at_most;
} stats_share;

/* What is the same each time a node is executed. */
typedef struct stats_node {
    uint32_t row;   /* of the only share, when there is one */
    uint32_t first; /* of its shares, in tt_stats.shares */
    uint8_t n;
    uint8_t covers;
    bool known;
    bool passes;
    bool picks; /* rows or experts of a weight: bytes differ from run to run */
    bool at_most;
    uint8_t sources, disk_sources, buffer_sources;
    uint64_t weight_bytes;
} stats_node;

struct tt_stats {
    bool off_cpu_known, wait_known; /* of the run under way */
    const tt_model *m;
    tt_stats_by by;
    tt_filter filter;
    tt_slice_filter slices; /* of it */
    tt_stats_row *rows;
    size_t n_rows, rows_capacity;
    tt_idmap row_of_key; /* by weight, number, or hash of the text */
    tt_stats_row total;
    stats_node **nodes; /* by graph; NULL until the graph is met */
    tt_op_table *ops;   /* of nodes that pick; made at the first one */
    stats_share *shares;
    size_t n_shares, shares_capacity;
    tt_arena keys;
    tt_idmap tensors; /* of rows, by hash of the row and the name; and of the total */
    uint64_t orphan;
    tt_stats_axis axis; /* without buckets: no series */
    uint32_t *batches;  /* by bucket */
    uint32_t bucket;    /* of the run at hand, or TT_NONE */
    tt_over over;
    bool in_time; /* the filter names a time */
    bool failed;
};

/* The row of that key, made at the first need; TT_NONE (and s->failed) without memory. */
uint32_t tt_stats_row_of(tt_stats *s, const char *text, int64_t number);
uint32_t tt_stats_numbered_row(tt_stats *s, int64_t number);
/* NULL when the graph is not known or there is no memory. */
stats_node *tt_stats_nodes_of(tt_stats *s, uint32_t graph);
/* What an op is, and in which rows: once for each node. */
void tt_stats_learn_node(tt_stats *s, const tt_graph *g, uint32_t node, uint8_t covers,
                         stats_node *info);

#endif
