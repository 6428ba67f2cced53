/* The fingerprints of a trace: what the ops put out, run by run, in the order of execution. */
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

/* The data that `run --values=full` kept: elements of an output, part by part, in logical order. */

/* What a node puts out in a run. */
typedef struct tt_output_shape {
    tt_value_type type;         /* TT_VALUE_UNKNOWN: none whose elements can be read */
    uint64_t ne[TT_VALUE_DIMS]; /* of SET_ROWS, ne[1] is the number of rows that it wrote */
    uint64_t n;                 /* elements; 0 when there are none, or it cannot be */
} tt_output_shape;

/* The shape that the fingerprint and the data of a node (< g->n_nodes) have. */
void tt_output_shape_of(const tt_graph *g, uint32_t node, tt_output_shape *shape);

typedef struct tt_output_data {
    tt_output_shape shape;
    /* Parts that it has: each of TT_VALUE_PART_ELEMENTS elements but the last. */
    uint32_t n_parts;
    uint32_t n_kept; /* of them the trace holds; 0: no data was kept, or all of it was lost */
} tt_output_data;

/* Whether the trace holds any data. */
bool tt_output_data_any(const tt_model *m);
/* What there is of the output of `node` in the run with that index in m->runs. All zero when the
 * run's graph is not known or has no such node. */
void tt_output_data_find(const tt_model *m, uint32_t run, uint32_t node, tt_output_data *out);
/* Part `part` < n_parts: *first gets the logical index of its first element, *bytes its elements
 * in their own type, one behind the other, little-endian, valid until the next call (of this model
 * or share: one thread at a time, see tt_model_share). TT_E_NOT_FOUND when that part is not in the
 * trace; TT_E_FORMAT and others when it is damaged or of another length. */
tt_status tt_output_data_read(const tt_model *m, uint32_t run, uint32_t node, uint32_t part,
                              uint64_t *first, tt_span *bytes, tt_error *err);

/* The output of a node in a run. */
typedef struct tt_output {
    uint32_t node; /* in the run's graph */
    tt_fingerprint print;
} tt_output;

/* Zero-filled is ready; memory is kept from run to run. */
typedef struct tt_outputs {
    const tt_graph *graph; /* of the run that was read last; NULL: it is not known */
    tt_output *list;       /* by ascending node */
    size_t n, capacity;
    uint64_t incomplete; /* over all runs: fingerprints of which a part was lost, or is malformed */
} tt_outputs;

/* Whether the trace holds any. */
bool tt_outputs_any(const tt_model *m);
/* Those of the run with that index in m->runs; of a run whose graph is not known, none. */
tt_status tt_outputs_of_run(tt_outputs *o, const tt_model *m, uint32_t run, tt_error *err);
void tt_outputs_free(tt_outputs *o);

#endif
