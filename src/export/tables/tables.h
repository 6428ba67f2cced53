/* Private to the tables (tables*.c): how they are divided into parts, and what is kept between
 * parts. */
#ifndef TT_EXPORT_TABLES_TABLES_H
#define TT_EXPORT_TABLES_TABLES_H

#include "analyze/access.h"
#include "analyze/buffers.h"
#include "analyze/join.h"
#include "analyze/ops.h"
#include "analyze/page_faults.h"
#include "analyze/values/values.h"
#include "export/tables/columns.h"

#include <stdbool.h>
#include <stdint.h>

/* op_id = the graph computation's id << this | node. */
#define TT_OP_ID_NODE_BITS 20u

static inline uint64_t tt_op_id(uint32_t graph_run, uint32_t node)
{
    return (uint64_t)graph_run << TT_OP_ID_NODE_BITS | node;
}

extern const tt_export_table tt_table_run, tt_table_tokens, tt_table_ops, tt_table_lanes,
    tt_table_sources, tt_table_tensors, tt_table_buffers, tt_table_buffer_events, tt_table_nodes,
    tt_table_edges, tt_table_routing, tt_table_faults, tt_table_page_faults, tt_table_values;

/* Parts of items (runs, batches, ...) with different numbers of rows. */
typedef struct tt_parting {
    uint32_t (*items)(const tt_model *m);
    /* Approximate rows of an item; 0: it is left out. The filter is never NULL. */
    uint64_t (*weight)(const tt_model *m, const tt_filter *filter, uint32_t item);
    uint64_t rows_max; /* of a part */
} tt_parting;

uint32_t tt_parting_parts(const tt_parting *p, const tt_model *m, const tt_filter *filter);

/* What is the same for each execution of an op, ready to be written. */
typedef struct tt_op_facts {
    uint64_t ne[TT_DIMS]; /* of its result */
    uint64_t size_bytes;
    uint64_t weight_bytes;
    const char *op; /* belongs to the model, or to the tables' own memory */
    const char *name, *category, *component, *type, *backend;
    uint32_t codes[6]; /* of these six, in the part `stamp` */
    uint32_t stamp;
    uint32_t n_nodes;
    int32_t layer_id;
    uint8_t covers;
    bool made, at_most, picks;
} tt_op_facts;

/* The location of a graph's tensor: nine columns that several tables have, in this order. */
enum {
    TT_PLACE_NAME,
    TT_PLACE_VIEW_OF,
    TT_PLACE_TYPE,
    TT_PLACE_SIZE,
    TT_PLACE_ORIGIN,
    TT_PLACE_FILE,
    TT_PLACE_FILE_OFFSET,
    TT_PLACE_BUFFER,
    TT_PLACE_BUFFER_OFFSET,
    TT_PLACE_COLUMNS
};

/* The codes of its texts, in the part `stamp`. */
typedef struct tt_place_codes {
    uint32_t stamp;
    uint32_t name, view_of, type, origin, file;
} tt_place_codes;

#define TT_TABLES_HASHES_MAX ((size_t)256 << 20)

struct tt_tables_own {
    const tt_model *m;
    char run_id[33];
    tt_join join;
    tt_op_table *ops;
    tt_accesses *accesses;
    uint32_t accesses_run; /* loaded, or TT_NONE */
    tt_buffers *buffers;
    const tt_parting *parted; /* divided into these parts */
    uint32_t *part_first;     /* n_parts + 1 items */
    uint32_t n_parts;
    tt_op_facts **facts;           /* by graph, by node; NULL until needed */
    tt_place_codes **places;       /* by graph, by tensor; NULL until needed */
    size_t facts_bytes;            /* of both */
    const tt_op_facts **row_facts; /* of the ops of the run at hand */
    size_t row_facts_capacity;
    uint32_t stamp; /* of the part being filled */
    tt_arena texts; /* of fused ops */
    tt_piece_ops *lanes;
    struct tt_lane_cursor *cursors;
    size_t lanes_capacity;
    bool waits_known;      /* of the current computation */
    tt_filter_ops passing; /* of tables whose rows are of ops */
    tt_slice_filter slices;
    tt_values_walk *values;  /* into these rows; NULL until needed */
    tt_values_counts counts; /* its */
    tt_arena hashes;         /* as texts, of the part being filled */
    tt_page_faults faults;   /* zero until needed */
};

/* Begins the rows of a part: *own is kept for this model. */
tt_status tt_tables_begin(tt_rows *rows, const tt_export_table *table, const tt_model *m,
                          tt_tables_own **own, tt_error *err);
/* Ends them: TT_E_MEMORY if there was none for a text. */
tt_status tt_tables_end(const tt_rows *rows, tt_error *err);
/* The items of a part: first .. end - 1, without those of weight 0. */
tt_status tt_parting_range(const tt_parting *p, tt_tables_own *own, const tt_filter *filter,
                           uint32_t part, uint32_t *first, uint32_t *end, tt_error *err);
/* Number of parts with `each` items of n. */
uint32_t tt_parts_of(uint64_t n, uint32_t each);
/* The filter, or one that everything passes. */
const tt_filter *tt_tables_filter(const tt_filter *filter);
/* Whether the run's graph is known and its batch passes. */
bool tt_tables_run_passes(const tt_model *m, const tt_filter *filter, uint32_t run);
/* Number of runs, for a tt_parting. */
uint32_t tt_tables_runs(const tt_model *m);
/* Adds the rows of a run (in tt_model.runs) whose graph is known. */
typedef tt_status tt_tables_put_run(tt_rows *rows, tt_tables_own *own, uint32_t run, tt_error *err);
/* A part of a table whose items are runs. */
tt_status tt_tables_fill_runs(const tt_export_table *table, const tt_parting *parting,
                              tt_tables_put_run *put, const tt_model *m, const tt_filter *filter,
                              uint32_t part, tt_rows *rows, tt_error *err);

/* The column run_id of n rows from `first` on. */
void tt_tables_run_id(tt_rows *rows, size_t first, size_t n);
/* own->join gets the run's ops that pass the filter, `touched` by ascending node: as their op_id
 * is. */
tt_status tt_tables_join(tt_tables_own *own, uint32_t run, tt_error *err);
/* Whether the op of the run passes the filter's layer, op and tensor. `verdicts`: of its graph, by
 * tt_filter_ops_of. */
tt_status tt_tables_op_passes(tt_tables_own *own, uint8_t *verdicts, uint32_t run, uint32_t node,
                              uint8_t covers, bool *passes, tt_error *err);
/* own->buffers, made once. */
tt_status tt_tables_buffers(tt_tables_own *own, tt_error *err);
/* Loads what the run selected from weights, unless it is loaded. */
tt_status tt_tables_accesses(tt_tables_own *own, uint32_t run, tt_error *err);
/* The op's facts; its codes are those of the part. NULL if out of memory. */
const tt_op_facts *tt_tables_op(tt_tables_own *own, tt_rows *rows, uint32_t graph, uint32_t node,
                                uint8_t covers, const uint32_t columns[6]);

/* The nine columns from `first` on, for a tensor of the graph (in tt_model.graphs). */
void tt_tables_place(tt_rows *rows, tt_tables_own *own, uint32_t first, uint32_t graph,
                     uint32_t tensor);
/* Rows of a run by lane, for a tt_parting. */
uint64_t tt_tables_lane_rows(const tt_model *m, const tt_filter *filter, uint32_t run);

/* A time of CLOCK_MONOTONIC, as in `log --json`; since the trace's first batch; UTC. */
static inline int64_t tt_tables_mono_ns(const tt_model *m, uint64_t ticks)
{
    uint64_t ns = tt_model_mono_ns(m, ticks);
    return ns < (uint64_t)INT64_MAX ? (int64_t)ns : INT64_MAX;
}
int64_t tt_tables_relative_ns(const tt_model *m, uint64_t ticks);
static inline int64_t tt_tables_utc_ns(const tt_model *m, int64_t mono_ns)
{
    return mono_ns + (int64_t)(m->clock.unix_ns - m->clock.mono_ns);
}
static inline bool tt_tables_has_utc(const tt_model *m)
{
    return m->clock.known && m->clock.unix_ns != 0;
}
/* A duration, rounded; at most 9e18. */
static inline uint64_t tt_tables_span_ns(const tt_model *m, uint64_t ticks)
{
    double ns = (double)ticks * m->clock.ns_per_tick;
    return ns < 9e18 ? (uint64_t)(ns + 0.5) : (uint64_t)9e18;
}
/* These set the row rows->n; null without a clock. */
void tt_tables_put_relative(tt_rows *rows, uint32_t column, const tt_model *m, uint64_t ticks);
void tt_tables_put_mono(tt_rows *rows, uint32_t column, const tt_model *m, uint64_t ticks);
void tt_tables_put_utc(tt_rows *rows, uint32_t column, const tt_model *m, uint64_t ticks);
/* Null if not known. */
void tt_tables_put_known(tt_rows *rows, uint32_t column, bool known, uint64_t v);
/* A layer (base/layer.h), in the columns layer_id and stack. */
void tt_tables_put_layer(tt_rows *rows, uint32_t number, uint32_t stack, int32_t layer);
#define TT_TABLES_STACK                                                                            \
    TT_EXPORT_COLUMN("stack", TT_CELL_NAME, true,                                                  \
                     "the layer's stack, if it has a name: enc, dec, v (images), a (sound), ...")

#endif
