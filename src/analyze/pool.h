/* What `tensortrace boost` did: its pool of weights, by computation, and its single reads. Empty
 * for other traces. */
#ifndef TT_ANALYZE_POOL_H
#define TT_ANALYZE_POOL_H

#include "analyze/page_faults.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "kept", "ahead", "chosen", "at op". */
const char *tt_pool_cause_name(unsigned cause);

/* A computation, or several. Counts are of it alone. */
typedef struct tt_pool_row {
    uint32_t batch; /* in tt_model.batches, or TT_NONE: none */
    uint32_t runs;
    double end_ns;                                    /* since the trace's first batch */
    uint64_t budget_bytes, present_bytes, peak_bytes; /* at its end */
    uint64_t used, missed, left, evictions, waited_ns;
    uint64_t reads, read_bytes; /* that ended in it, including those for the next one */
    uint64_t discarded_bytes;   /* of these, useless */
    uint64_t failed;            /* reads */
    uint64_t awaited;           /* reads for which a thread waited */
    uint64_t lost;              /* reads that are not in the trace: reads and bytes are lower
                                   bounds */
} tt_pool_row;

typedef struct tt_pool_report {
    const tt_model *m;
    tt_weight_locations weights;
    tt_pool_row *rows; /* by batch, in time order; rows without a batch in between */
    size_t n;
    tt_pool_row total;
} tt_pool_report;

/* Freed with tt_pool_free, also after an error. No rows: the program was not run by boost. */
tt_status tt_pool_find(tt_pool_report *p, const tt_model *m, tt_error *err);
void tt_pool_free(tt_pool_report *p);

/* The context is a tt_pool_report. */
extern const tt_schema tt_pool_schema, tt_pool_reads_schema;
/* Rows are tt_pool_row. */
tt_rowset tt_pool_rowset(const tt_pool_report *p);
/* Rows are tt_pool_read, in the order of their end. */
tt_rowset tt_pool_reads_rowset(const tt_pool_report *p);

#endif
