/* The cells of a trace's work (analyze/work.h) put together, and what bounds them on a machine: the
 * points of a roofline. */
#ifndef TT_ANALYZE_ROLLUP_H
#define TT_ANALYZE_ROLLUP_H

#include "analyze/work.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sum of cells (analyze/work.h). */
typedef struct tt_rollup {
    const char *key;  /* an op, a part of the network, ... */
    const char *part; /* of points: the part */
    int64_t number;   /* a layer; TT_LAYER_NONE */
    uint8_t phase;
    bool integers, flops_known, flops_at_most, bytes_at_most;
    uint64_t count, timed;
    double compute_ns, wait_ns; /* of threads */
    double work_ns; /* own work: of compute_ns, without what is known to be on no processor */
    double wall_ns; /* of the timed ones */
    double flops, moved_bytes, weight_bytes;
} tt_rollup;

typedef struct tt_rollups {
    tt_rollup *list;
    size_t n;
} tt_rollups;

typedef enum tt_rollup_by {
    TT_ROLLUP_PART, /* of the network */
    TT_ROLLUP_OP,
    TT_ROLLUP_LAYER,
    TT_ROLLUP_POINT /* by op, part, phase, and whether it computes with integers */
} tt_rollup_by;

/* The most own work first; layers ascending. Texts are those of work, and live as long. False
 * without memory; out->list is for free() either way. */
bool tt_rollups_of(const tt_work *work, const tt_model *m, tt_rollup_by by, tt_rollups *out);

/* What a machine can do at most; 0: not known. */
typedef struct tt_peaks {
    double bytes_per_s;
    double flops_per_s;
    double int8_ops_per_s; /* 0: flops_per_s counts for all */
} tt_peaks;

typedef enum tt_bound {
    TT_BOUND_UNKNOWN, /* no edges, or no FLOPs known */
    TT_BOUND_MEMORY,  /* moving its bytes takes longer than computing, at the machine's best */
    TT_BOUND_COMPUTE,
    TT_BOUND_NEITHER /* it reaches less than a tenth of both */
} tt_bound;

/* What bounds r on a machine with these peaks; *share: of the bandwidth or of the peak, whichever
 * is reached better, that it reaches. Pure. */
tt_bound tt_bound_of(const tt_peaks *e, const tt_rollup *r, double *share);
const char *tt_bound_name(tt_bound bound); /* "memory", "compute", "neither", "unknown" */
/* The peak for what r computes: integers or floats; 0: not known. */
double tt_peaks_flops(const tt_peaks *e, const tt_rollup *r);

#endif
