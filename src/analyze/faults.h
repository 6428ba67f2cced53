/* Page faults, reads from devices and CPU time of executed ops, with the weights that the ops read.
 *
 * The kernel counts per thread, and the recorder reads the counts at an op's start and arrive: so
 * it is known in which op a thread faulted. If each fault was recorded, too, its address identifies
 * the weight and the expert, and bytes read belong to where the major faults were. Otherwise an op
 * of several weights divides its counts in proportion to the bytes it accessed of each (`shared`),
 * among those in file mappings if there are any, because the others do not come from disk. Counts
 * include faults on memory that is not a weight; bytes read from the device include the kernel's
 * readahead, which may bring pages of the next weight, or of one that the engine has copied. */
#ifndef TT_ANALYZE_FAULTS_H
#define TT_ANALYZE_FAULTS_H

#include "analyze/access.h"
#include "analyze/filter.h"
#include "analyze/join.h"
#include "analyze/kernel.h"
#include "analyze/over.h"
#include "analyze/ranges.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_FAULTS_NO_TIME UINT64_MAX

/* Distinct bytes of accesses, some of which may be unplaced (tt_access_is_placed). Zero-filled is
 * empty. */
typedef struct tt_used {
    tt_ranges placed, spans; /* spans: of the unplaced ones */
    uint64_t unplaced_bytes; /* the sum of their sizes */
} tt_used;

typedef struct tt_fault_counts {
    uint64_t observed; /* counts of an op on a thread; 0: the rest is not valid */
    uint64_t minor, major;
    uint64_t cpu_ns;         /* over those with observed CPU time */
    uint64_t observed_cpu;   /* the number of those */
    uint64_t read_bytes;     /* over those with observed reads */
    uint64_t observed_reads; /* likewise */
} tt_fault_counts;

/* The fault events of a thread in an op (tt_model_faults_between). */
typedef struct tt_fault_lane {
    bool known;
    uint32_t thread; /* of the OS */
    uint64_t first, last;
} tt_fault_lane;

/* An executed op with everything observed of it. */
typedef struct tt_fault_op {
    uint32_t run; /* in tt_model.runs */
    const tt_op *op;
    const tt_joined *times;
    const tt_detail *details;   /* kind FAULTS, by ascending lane */
    const uint64_t *busy;       /* for each, ticks from that lane's start to its arrive; or
                                   TT_FAULTS_NO_TIME: it has no record */
    const tt_fault_lane *lanes; /* for each */
    size_t n_details;
    tt_fault_counts counts; /* their sum */
    const tt_access *accesses;
    size_t n_accesses;
    uint64_t accessed_bytes;
    bool passes; /* the whole filter; otherwise only its token and phase */
} tt_fault_op;

/* Returns false to stop. */
typedef bool tt_faults_visit(void *context, const tt_fault_op *op);
/* Called occasionally with the runs done and the total. */
typedef void tt_faults_progress(void *context, uint64_t done, uint64_t total);

typedef struct tt_faults_walker {
    const tt_filter *filter;
    tt_faults_visit *visit;
    tt_faults_progress *progress; /* or NULL */
    void *context;
    void *progress_context;
    tt_over over; /* called as often */
    bool has_run; /* only this one (in tt_model.runs): */
    uint32_t run;
    uint64_t orphan; /* set by the walk: FAULTS details whose op is not in the trace */
} tt_faults_walker;

/* All ops of the runs that pass, run by run, in the order of their start. Needs a clock. */
tt_status tt_faults_walk(const tt_model *m, tt_faults_walker *w, tt_error *err);

/* Whether the op is known to have waited for a device. */
bool tt_fault_op_read(const tt_fault_op *op);

/* Whether these bytes may have to come from disk when the op reads them. */
bool tt_fault_op_maps(const tt_fault_op *op, const tt_access *a);

typedef enum tt_faults_by {
    TT_FAULTS_BY_TENSOR,
    TT_FAULTS_BY_BATCH,
    TT_FAULTS_BY_LAYER,
    TT_FAULTS_BY_OP,
    TT_FAULTS_BY_THREAD,
    TT_FAULTS_BY_EXPERT, /* as by tensor, expert tensors slice by slice */
    TT_FAULTS_BY_MODEL,
    TT_FAULTS_BY_CONTEXT
} tt_faults_by;

typedef struct tt_faults_row {
    const char *key; /* as text */
    int64_t number;  /* a layer, or of a token, thread, expert or context; -1: none */
    uint32_t
        weight; /* by tensor and by expert: in tt_model.weights, or TT_NONE: ops without a weight */
    tt_origin origin;       /* by tensor: where the ops read it */
    uint64_t count;         /* executed ops; by thread: those counted on it */
    uint64_t reading_count; /* with major faults or reads */
    tt_fault_counts counts;
    bool shared;              /* some counts were divided among an op's weights */
    bool at_most;             /* accessed_bytes is an upper bound */
    bool unplaced;            /* used_bytes and mapped_bytes are upper bounds */
    uint64_t accessed_bytes;  /* of weights, each time an op read them */
    uint64_t used_bytes;      /* of these, each byte of a file once */
    uint64_t mapped_bytes;    /* of used_bytes, those read in a mapping of the file, which may have
                                 to come from disk; also those of unknown location */
    double time_ns;           /* of the ops that were counted */
    double reading_ns;        /* of those with reads */
    double busy_ns;           /* of the counted threads in them, summed over threads */
    uint64_t busy_cpu_ns;     /* of counts.cpu_ns, the part during busy_ns */
    bool first_known;         /* something was read: first_ns .. batches are valid */
    double first_ns, last_ns; /* start of the first and the last op that read */
    tt_ranges batches;        /* in which something was read, merged */
    /* Private: */
    uint64_t time_ticks, reading_ticks, busy_ticks, first_ticks, last_ticks;
    tt_used used, mapped;
    uint32_t unit; /* of the op in which it was met last */
    bool done;
} tt_faults_row;

typedef struct tt_faults tt_faults;

/* NULL if out of memory. The filter is copied (its texts are not). */
tt_faults *tt_faults_new(const tt_model *m, tt_faults_by by, const tt_filter *filter);
void tt_faults_free(tt_faults *f);
/* Sums up one op: run in tt_model.runs. */
void tt_faults_only(tt_faults *f, uint32_t run, uint32_t node);
/* Ends the sum early. */
void tt_faults_until(tt_faults *f, tt_over over);
tt_status tt_faults_sum(tt_faults *f, tt_faults_progress *progress, void *context, tt_error *err);

/* After the sum: by number, tensors by file offset. They belong to f. */
const tt_faults_row *tt_faults_rows(const tt_faults *f, size_t *n);
/* Ops that passed the filter, each once. */
const tt_faults_row *tt_faults_total(const tt_faults *f);
/* All ops of the batches whose token and phase pass, for comparison with tt_kernel_batches. */
const tt_fault_counts *tt_faults_batches(const tt_faults *f);
/* Details without their op, left out everywhere. */
uint64_t tt_faults_orphan(const tt_faults *f);

/* Bytes read / bytes used in mappings; NAN if either is unknown or zero. */
double tt_faults_amplification(const tt_faults_row *r);
/* Bytes read per second, over the time of the ops that read; NAN if unknown. */
double tt_faults_rate(const tt_faults_row *r);
/* Time that the counted threads spent in the ops off CPU: waiting for a device, or for a
 * processor. */
double tt_faults_off_cpu_ns(const tt_faults_row *r);

/* Pure: part i of `total` divided among parts of these sizes; the parts add up to it. `before`: the
 * total size of the parts before i; `all`: of all parts. */
uint64_t tt_faults_share(uint64_t total, uint64_t before, uint64_t size, uint64_t all);

/* --- the rows' columns --- */

typedef struct tt_faults_dimension {
    const char *name; /* as on the command line: "tensor" */
    tt_faults_by by;
    const char *sort; /* the default order */
} tt_faults_dimension;

#define TT_FAULTS_DIMENSIONS 8u
extern const tt_faults_dimension tt_faults_dimensions[TT_FAULTS_DIMENSIONS];

/* Passed to the columns. */
typedef struct tt_faults_context {
    const tt_model *m;
    const tt_kernel *kernel;
    tt_faults_by by;
    const tt_faults_row *total;
    tt_kernel_sum *process; /* room for the sum of a batch; NULL: not shown. One thread at a time */
} tt_faults_context;

extern const tt_schema tt_faults_schema;
extern const tt_schema tt_fault_counts_schema; /* rows are tt_fault_counts */
extern const tt_schema tt_kernel_schema;       /* rows are tt_kernel_sum */
/* Of ops that waited for a device (tt_fault_op); context: the tt_model, which has a clock. */
extern const tt_schema tt_fault_op_schema;
/* From the first thread's start to the last thread's arrival; 0: the end was not seen. */
uint64_t tt_fault_op_ticks(const tt_fault_op *op);
tt_rowset tt_faults_rowset(const tt_faults_context *x, tt_faults_by by, const tt_faults_row *rows,
                           size_t n);

#endif
