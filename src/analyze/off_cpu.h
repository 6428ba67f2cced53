/* For how long threads were on no processor while they worked on ops. */
#ifndef TT_ANALYZE_OFF_CPU_H
#define TT_ANALYZE_OFF_CPU_H

#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From this share of the threads' time in ops on, people are told of it. */
#define TT_OFF_CPU_MUCH 0.05

/* What is known of one run. Zero-filled is empty; memory is kept from run to run. */
typedef struct tt_off_cpu {
    bool known;      /* else nothing was observed of its ops */
    tt_detail *list; /* OFF_CPU and FAULTS, by ascending node, lane, kind */
    size_t n;
    size_t capacity;
    double ns_per_tick;
} tt_off_cpu;

/* Not of another one's run at the same time: reads details. */
tt_status tt_off_cpu_load(tt_off_cpu *o, const tt_model *m, const tt_run *run, tt_error *err);
/* Of an op on a lane, whose own time there (start to arrive) was busy_ticks: ticks, at most as
 * many.
 */
uint64_t tt_off_cpu_ticks(const tt_off_cpu *o, uint32_t node, uint32_t lane, uint64_t busy_ticks);
void tt_off_cpu_free(tt_off_cpu *o);

#endif
