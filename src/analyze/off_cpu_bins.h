/* How long threads were off CPU, by track of the timeline and bucket of time: what is shown where
 * there are too many ops to show each. */
#ifndef TT_ANALYZE_OFF_CPU_BINS_H
#define TT_ANALYZE_OFF_CPU_BINS_H

#include "model/model.h"

#include <stdint.h>

typedef struct tt_off_cpu_bins {
    double from_ns, to_ns;
    uint32_t n_buckets, n_tracks;
    double *off_ns;      /* by track, then bucket */
    uint64_t steps_left; /* private: see tt_off_cpu_bins_add */
} tt_off_cpu_bins;

/* Empty ones: fewer buckets if there were more than cells_max in all. Freed with
 * tt_off_cpu_bins_free, also after an error. */
tt_status tt_off_cpu_bins_begin(tt_off_cpu_bins *b, double from_ns, double to_ns,
                                uint32_t n_buckets, uint32_t n_tracks, uint32_t cells_max,
                                tt_error *err);
void tt_off_cpu_bins_free(tt_off_cpu_bins *b);

/* An op's time off CPU, which counts evenly from its start to its end. */
void tt_off_cpu_bins_add(tt_off_cpu_bins *b, uint32_t track, double start_ns, double end_ns,
                         double off_ns);
/* All ops of a trace, however many. */
tt_status tt_off_cpu_bins_find(tt_off_cpu_bins *b, const tt_model *m, uint32_t cells_max,
                               tt_error *err);
/* Adds what others hold of `to`'s time, as if it were spread evenly over each of their buckets. */
void tt_off_cpu_bins_cut(const tt_off_cpu_bins *from, tt_off_cpu_bins *to);

#endif
