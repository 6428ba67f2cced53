/* How hot each weight is: reads, bytes, time, first and last use, reuse distance; what every token
 * reads, some read, or none; and in what order the file is read.
 *
 * Units are tensors; of expert tensors with observed choices, the experts' slices. Rows are units
 * or sums of them. An op that reads several units of a row counts once for it. */
#ifndef TT_ANALYZE_HEAT_H
#define TT_ANALYZE_HEAT_H

#include "analyze/quantiles.h"
#include "analyze/reads.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A read is adjacent if it begins at most this far after the end of the previous one: there is
 * padding between tensors. */
#define TT_HEAT_PADDING_BYTES 4095u
#define TT_HEAT_CURVE 6u
#define TT_HEAT_OWNS_MAX (1u << 22) /* by context: weights and experts, of each context */

typedef enum tt_heat_by {
    TT_HEAT_TENSOR,
    TT_HEAT_EXPERT, /* tensors, expert tensors slice by slice */
    TT_HEAT_LAYER,
    TT_HEAT_COMPONENT,
    TT_HEAT_MODEL,
    TT_HEAT_CONTEXT /* of the engine: what its batches read */
} tt_heat_by;

typedef struct tt_heat_row {
    uint32_t weight;        /* the first one of the row */
    uint32_t context;       /* tt_batch.context; TT_NONE: outside any batch, or not by context */
    int32_t expert;         /* of a slice, or TT_EXPERT_NONE */
    uint64_t size_bytes;    /* by context: of the units that it read */
    uint64_t touched_bytes; /* distinct bytes read; see unplaced */
    uint64_t read_bytes;    /* over all reads */
    uint64_t copied_bytes;  /* of these, from copies in buffers */
    uint64_t accesses;      /* ops that read it */
    uint32_t batches;       /* batches that read it */
    uint64_t timed;         /* of the accesses: those whose op has an observed end */
    double time_ns;         /* of these ops */
    uint32_t first_batch, last_batch; /* TT_NONE: none */
    uint64_t first_ticks, last_ticks;
    /* Of each read of bytes that were read before: the largest distance (analyze/cache/reuse.h). */
    uint64_t reuses;
    double reuse_mean_bytes;
    uint64_t reuse_p50_bytes;
    uint64_t reuse_max_bytes;
    bool reuse_at_most; /* of some reads in between it is not known where they are */
    bool at_most;  /* rows or experts were not observed: accesses and read bytes are upper bounds */
    bool unplaced; /* where it was read is not known of some reads: touched_bytes is an upper bound,
                      and its own reuse is not known */
    /* Private: */
    uint64_t ticks;
    size_t last_op_plus_1;
    uint32_t stamp;
} tt_heat_row;

typedef struct tt_heat_set {
    uint64_t units;
    uint64_t bytes;
} tt_heat_set;

typedef struct tt_heat_jumps {
    uint64_t count;
    uint64_t p50_bytes, p95_bytes; /* if known */
    bool known;
    tt_quantiles lengths; /* private, but for `max` */
} tt_heat_jumps;

typedef struct tt_heat_point {
    double reads;   /* share of the bytes read ... */
    double weights; /* ... from this share of the weights */
} tt_heat_point;

/* The reads of a model file. */
typedef struct tt_heat_extent {
    const char *file;    /* its name */
    uint64_t begin, end; /* of the first byte read, and behind the last one; 0, 0: none */
    /* Which rows were read there was not observed: not before, not after. */
    bool begin_at_most, end_at_most;
} tt_heat_extent;

/* How far the kernel reads ahead by default. */
#define TT_HEAT_REQUEST_BYTES 131072u

/* Consecutive reads, in the order of the ops. */
typedef struct tt_heat_steps {
    uint64_t steps;    /* reads - 1 */
    uint64_t adjacent; /* begins where the last one ended, or after its padding */
    uint64_t again;    /* within the last one */
    uint64_t other_file;
    uint64_t requests;      /* of TT_HEAT_REQUEST_BYTES: each range read in a row is split into them
                               from its begin, so that all but its first go on */
    uint64_t requests_on;   /* those that go on */
    uint64_t range_bytes;   /* private: of the current range */
    uint64_t sweeps;        /* 1 + jumps back over more than half of the read part of a file */
    tt_heat_jumps forward;  /* begins further on; from the end of the last one */
    tt_heat_jumps backward; /* before the start of the last one; from there */
    tt_heat_extent *extents; /* of the files that were read */
    size_t n_extents;
} tt_heat_steps;

typedef struct tt_heat_phase {
    uint64_t batches;
    uint64_t tokens; /* in them */
    uint64_t read_bytes;
    uint64_t distinct_bytes;     /* distinct bytes of each batch, summed over the batches; with
                                    unplaced reads an upper bound */
    uint64_t distinct_bytes_max; /* of one batch */
} tt_heat_phase;

typedef struct tt_heat {
    tt_heat_row *rows; /* in the order of the files */
    size_t n_rows;
    uint64_t ops;
    uint64_t reads;
    uint64_t read_bytes;
    uint64_t copied_bytes; /* of these, from copies in buffers */
    uint64_t model_bytes;  /* of the examined weights */
    uint64_t touched_bytes;
    uint32_t batches; /* that read weights */
    /* By enum tt_phase; TT_PHASE_UNKNOWN: also reads outside of batches. */
    tt_heat_phase of_phase[TT_PHASES];
    tt_heat_set every, some, never; /* by how many of these batches read them */
    tt_heat_point curve[TT_HEAT_CURVE];
    tt_heat_steps steps;      /* placed reads; copies count at the offset of their original */
    tt_heat_steps file_steps; /* only reads of the mapped files */
    uint64_t partly;          /* units of which some bytes were read and some never */
    uint64_t unplaced;        /* reads of which it is not known where in their tensor they are */
    bool sliced;              /* some choices of experts were observed */
    bool at_most;             /* read_bytes is an upper bound */
    bool all_weights;         /* weights that were not read are rows, too */
} tt_heat;

/* The filter must be the one with which the reads were collected: it selects the weights. `heat` is
 * freed with tt_heat_free, also after an error. TT_E_LIMIT: more than TT_HEAT_OWNS_MAX. */
tt_status tt_heat_measure(const tt_model *m, const tt_reads *reads, const tt_filter *filter,
                          tt_heat_by by, tt_heat *heat, tt_error *err);
void tt_heat_free(tt_heat *heat);
/* Whether choices of experts were observed. */
bool tt_heat_has_experts(const tt_reads *reads);

/* Passed to the columns. */
typedef struct tt_heat_context {
    const tt_model *m;
} tt_heat_context;

extern const tt_schema tt_heat_schema;
extern const tt_schema tt_heat_summary_schema; /* one row, a tt_heat */
tt_rowset tt_heat_rowset(const tt_heat_context *x, const tt_heat *h, tt_heat_by by);

/* Order of the reads of a file. */

/* Adds the reads [begin, end) of a file, in order; `file` counts from 0. `span_bytes`: from the
 * first to the last byte of that file that is read. Zero-filled is ready; `last` is the previous
 * read. */
typedef struct tt_heat_location {
    uint32_t file;
    uint64_t begin, end;
    uint64_t span_bytes;
} tt_heat_location;

enum tt_heat_step_kind {
    TT_HEAT_STEP_FIRST, /* no read before it */
    TT_HEAT_STEP_ADJACENT,
    TT_HEAT_STEP_FORWARD,
    TT_HEAT_STEP_BACKWARD,
    TT_HEAT_STEP_AGAIN,
    TT_HEAT_STEP_OTHER_FILE
};
#define TT_HEAT_STEPS 6u

void tt_heat_step(tt_heat_steps *steps, const tt_heat_location *last, const tt_heat_location *next);
enum tt_heat_step_kind tt_heat_step_kind_of(const tt_heat_location *last,
                                            const tt_heat_location *next);

#endif
