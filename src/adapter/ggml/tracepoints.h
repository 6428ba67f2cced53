/* Tracepoints: values that are copied into the trace when an op starts: the experts that a router
 * chose, and their weights.
 *
 * The experts are the ids of an expert matmul (MUL_MAT_ID, source 2), final when it starts. Their
 * weights are what the router's GET_ROWS selected by the same ids, in the form (normalised, scaled)
 * in which a MUL uses them, final when that starts. */
#ifndef TT_ADAPTER_GGML_TRACEPOINTS_H
#define TT_ADAPTER_GGML_TRACEPOINTS_H

#include "adapter/ggml/engine.h"
#include "format/detail.h"
#include "record/detail_writer.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_tracepoint {
    uint32_t node;   /* the values are final when it starts */
    uint32_t router; /* the first node that uses the same ids */
    enum tt_detail_kind kind;
    const struct ggml_tensor *values; /* the ids, or their weights */
    uint32_t ranks;                   /* per token */
    uint32_t tokens;
} tt_tracepoint;

typedef struct tt_tracepoints {
    tt_tracepoint *list; /* by ascending node */
    uint32_t n, capacity;
} tt_tracepoints;

/* Finds the tracepoints of a graph; list's memory is reused. None if out of memory. */
void tt_tracepoints_find(tt_tracepoints *tracepoints, const tt_engine *e,
                         struct ggml_tensor *const *nodes, uint32_t n_nodes);

/* Bytes from one token's values to the next. */
size_t tt_tracepoint_stride(const tt_tracepoint *point);
/* Copies the point's values, laid out as in its tensor but with that stride, into details of the
 * run. Values that do not fit are counted as lost. No allocation, no lock. */
void tt_tracepoint_copy(const tt_tracepoint *point, const void *values, size_t stride, uint32_t run,
                        tt_detail_writer *w);

#endif
