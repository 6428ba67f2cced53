/* The fingerprints of a trace: what the ops put out, run by run, in the order of execution. */
#ifndef TT_ANALYZE_OUTPUTS_H
#define TT_ANALYZE_OUTPUTS_H

#include "analyze/filter.h"
#include "model/model.h"
#include "value/fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
