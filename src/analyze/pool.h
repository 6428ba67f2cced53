/* What `tensortrace boost` did: the memory that it kept weights in, by computation, and what it
 * read, one by one. Null and empty in traces without. */
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
    uint32_t batch; /* in tt_model.batches, or TT_NONE: of no batch */
    uint32_t runs;
    double end_ns;                                    /* since the trace's first batch */
    uint64_t budget_bytes, present_bytes, peak_bytes; /* when it ended */
    uint64_t used, missed, left, evictions, waited_ns;
    uint64_t reads, read_bytes; /* that ended in it, also those for the next one */
    uint64_t discarded_bytes;   /* of these, of no use */
    uint64_t failed;            /* reads */
    uint64_t awaited;           /* reads that a thread waited for */
    uint64_t lost;              /* reads that are not in the trace: reads and bytes are at least */
} tt_pool_row;

typedef struct tt_pool_report {
    const tt_model *m;
    tt_weight_places weights;
    tt_pool_row *rows; /* by batch, in the order of time; what is of no batch in between */
    size_t n;
    tt_pool_row total;
} tt_pool_report;

/* Freed with tt_pool_free, also after an error. No rows: the program was not run by boost. */
tt_status tt_pool_find(tt_pool_report *p, const tt_model *m, tt_error *err);
void tt_pool_free(tt_pool_report *p);

/* Of the context a tt_pool_report. */
extern const tt_schema tt_pool_schema, tt_pool_reads_schema;
/* Rows are tt_pool_row. */
tt_rowset tt_pool_rowset(const tt_pool_report *p);
/* Rows are tt_pool_read, in the order in which they ended. */
tt_rowset tt_pool_reads_rowset(const tt_pool_report *p);

#endif
