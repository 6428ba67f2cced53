/* Taps: values inside a graph that are copied into the trace when an op begins, namely which
 * experts a router chose, and their weights.
 *
 * The experts are the ids of an expert matmul (MUL_MAT_ID, source 2), known when it begins. Their
 * weights are what the router's GET_ROWS picked by the same ids, in the form (normalised, scaled)
 * in which a MUL uses them, known when that begins. */
#ifndef TT_ADAPTER_GGML_TAPS_H
#define TT_ADAPTER_GGML_TAPS_H

#include "adapter/ggml/engine.h"
#include "format/detail.h"
#include "record/detail_writer.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_tap {
    uint32_t node;   /* at whose begin the values are final */
    uint32_t router; /* the first node that uses the same ids */
    enum tt_detail_kind kind;
    const struct ggml_tensor *values; /* the ids, or their weights */
    uint32_t ranks;                   /* a token */
    uint32_t tokens;
} tt_tap;

typedef struct tt_taps {
    tt_tap *list; /* by ascending node: the values are complete when it begins */
    uint32_t n, capacity;
} tt_taps;

/* The taps of a graph; list's memory is kept for the next. None without memory. */
void tt_taps_find(tt_taps *taps, const tt_engine *e, struct ggml_tensor *const *nodes,
                  uint32_t n_nodes);

/* Bytes between two tokens' values. */
size_t tt_tap_stride(const tt_tap *tap);
/* Copies the tap's values, laid out as in its tensor but with that stride, into details of that
 * run. What does not fit is counted as lost. No allocation, no lock. */
void tt_tap_copy(const tt_tap *tap, const void *values, size_t stride, uint32_t run,
                 tt_detail_writer *w);

#endif
