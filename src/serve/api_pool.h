/* Why an op waited: the pool of `tensortrace boost` in the reply of `op`. */
#ifndef TT_SERVE_API_POOL_H
#define TT_SERVE_API_POOL_H

#include "base/json.h"
#include "base/status.h"
#include "serve/source.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_pool_of_op {
    bool known; /* the trace has a pool */
    uint32_t run, node;
    const struct known_pool *pool; /* private */
    const struct tt_pool_lanes *lanes;
} tt_pool_of_op;

/* Valid until the request ends. */
tt_status tt_pool_of_op_find(tt_request *q, tt_pool_of_op *o, uint32_t run, uint32_t node,
                             tt_error *err);
/* Time that a lane waited for reads; NAN: not known. */
double tt_pool_of_op_lane(const tt_pool_of_op *o, uint32_t lane);
/* If known: an array of the reads that the op waited for, as rows of tt_pool_reads_schema. */
void tt_pool_of_op_reads(tt_json *j, const tt_pool_of_op *o);

#endif
