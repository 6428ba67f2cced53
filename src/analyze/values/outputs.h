/* The fingerprints of a trace: outputs of ops, run by run, in execution order. */
#ifndef TT_ANALYZE_VALUES_OUTPUTS_H
#define TT_ANALYZE_VALUES_OUTPUTS_H

#include "analyze/filter.h"
#include "base/bytes.h"
#include "base/status.h"
#include "model/model.h"
#include "value/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The data recorded by `run --values=full`: elements of an output, part by part, in logical
 * order. */

/* The output of a node in a run. */
typedef struct tt_output_shape {
    tt_value_type type;         /* TT_VALUE_UNKNOWN: its elements cannot be read */
    uint64_t ne[TT_VALUE_DIMS]; /* for SET_ROWS, ne[1] is the number of rows that it wrote */
    uint64_t n;                 /* elements; 0 if there are none, or the shape is impossible */
} tt_output_shape;

/* The shape of the fingerprint and the data of a node (< g->n_nodes). */
void tt_output_shape_of(const tt_graph *g, uint32_t node, tt_output_shape *shape);

typedef struct tt_output_data {
    tt_output_shape shape;
    /* Its parts: each of TT_VALUE_PART_ELEMENTS elements except the last. */
    uint32_t n_parts;
    uint32_t n_kept; /* in the trace; 0: no data was recorded, or all of it was lost */
} tt_output_data;

/* Whether the trace has any data. */
bool tt_output_data_any(const tt_model *m);
/* The data of the output of `node` in the run (index in m->runs). All zero if the run's graph is
 * unknown or has no such node. */
void tt_output_data_find(const tt_model *m, uint32_t run, uint32_t node, tt_output_data *out);
/* Part `part` < n_parts: *first is the logical index of its first element, *bytes its elements in
 * their own type, contiguous, little-endian, valid until the next call (of this model or share: one
 * thread at a time, see tt_model_share). TT_E_NOT_FOUND if that part is not in the trace;
 * TT_E_FORMAT and others if it is damaged or has another length. */
tt_status tt_output_data_read(const tt_model *m, uint32_t run, uint32_t node, uint32_t part,
                              uint64_t *first, tt_span *bytes, tt_error *err);

/* The output of a node in a run. */
typedef struct tt_output {
    uint32_t node; /* in the run's graph */
    tt_fingerprint print;
} tt_output;

/* Zero-filled is ready; memory is reused for each run. */
typedef struct tt_outputs {
    const tt_graph *graph; /* of the last run; NULL: unknown */
    tt_output *list;       /* by ascending node */
    size_t n, capacity;
    uint64_t incomplete; /* over all runs: fingerprints that are malformed or lack a part */
} tt_outputs;

/* Whether the trace has any. */
bool tt_outputs_any(const tt_model *m);
/* Those of the run (index in m->runs); none for a run whose graph is unknown. */
tt_status tt_outputs_of_run(tt_outputs *o, const tt_model *m, uint32_t run, tt_error *err);
void tt_outputs_free(tt_outputs *o);

#endif
