/* Which ops' threads were off CPU, and how long, over the whole trace: what a timeline shows. */
#ifndef TT_ANALYZE_OFF_CPU_H
#define TT_ANALYZE_OFF_CPU_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An op on a lane, whose thread was off CPU at some time between start and end (its arrival). When
 * exactly is not recorded. */
typedef struct tt_off_cpu_op {
    double start_ns, end_ns;
    double off_ns;
    uint32_t run; /* in tt_model.runs */
    uint32_t node;
    uint16_t lane;
} tt_off_cpu_op;

typedef struct tt_off_cpu_ops {
    tt_off_cpu_op *list; /* by start */
    size_t n, capacity;
    double longest_ns; /* of them, from start to end */
    bool cut;          /* there are more than were asked for, which are not in the list */
} tt_off_cpu_ops;

/* Whether it was observed of at least one run. */
bool tt_off_cpu_observed(const tt_model *m);
/* The option of `run` that records it; NULL: it is observed, or cannot be recorded. */
const char *tt_off_cpu_option(const tt_model *m);

/* Returns false to stop. */
typedef bool tt_off_cpu_visit(void *context, const tt_off_cpu_op *op);
/* The ops of the runs that overlap [from, to), run by run. */
tt_status tt_off_cpu_walk(const tt_model *m, double from_ns, double to_ns, tt_off_cpu_visit *visit,
                          void *context, tt_error *err);

/* The ops of those runs, at most `most` (40 bytes each). Freed with tt_off_cpu_ops_free, also after
 * an error. */
tt_status tt_off_cpu_ops_find(tt_off_cpu_ops *o, const tt_model *m, double from_ns, double to_ns,
                              size_t most, tt_error *err);
void tt_off_cpu_ops_free(tt_off_cpu_ops *o);

/* Those that may overlap [from, to): *first .. *end - 1; skip those that end before `from`. */
void tt_off_cpu_ops_between(const tt_off_cpu_ops *o, double from_ns, double to_ns, size_t *first,
                            size_t *end);

#endif
