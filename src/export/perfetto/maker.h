/* A thread's state for writing graph computations as slices. Private to src/export/perfetto. */
#ifndef TT_EXPORT_PERFETTO_MAKER_H
#define TT_EXPORT_PERFETTO_MAKER_H

#include "analyze/access.h"
#include "analyze/join.h"
#include "analyze/ops.h"
#include "export/perfetto/flows.h"
#include "export/perfetto/perfetto.h"

#define TT_PERFETTO_LANES ((uint64_t)TT_OPS_LANE_MAX + 1)

/* The events of an op and of its wait, ready to be copied: allocated separately (the op table's
 * note), or for one run only. */
typedef struct tt_perfetto_bodies {
    uint32_t n_op, n_wait;
    uint8_t data[];
} tt_perfetto_bodies;

/* One lane of one run. */
typedef struct tt_perfetto_lane {
    uint32_t lane;
    uint64_t cursor; /* ticks: end of the last slice */
    bool open;       /* the last slice is still open */
    uint64_t n_slices;
    tt_bytes head; /* of each event that begins a slice */
    tt_bytes tail; /* arguments common to all of them */
    tt_bytes end;  /* the event that ends a slice */
} tt_perfetto_lane;

typedef struct tt_perfetto_maker {
    tt_perfetto *p;
    const tt_model *m; /* a share, this thread's own */
    tt_op_table *ops;
    tt_accesses *accesses;
    tt_join join;
    tt_flows flows;
    bool has_flows; /* of this run */
    uint32_t flow_lane;
    uint32_t *flow_nodes; /* of the run's first lane ... */
    uint8_t *flow_covers; /* ... and what they cover */
    size_t flow_capacity;
    tt_detail *faults; /* of the run, by node and lane */
    size_t n_faults, faults_capacity;
    void **picked; /* by node: bodies for this run only */
    uint32_t picked_capacity;
    uint32_t *picked_nodes;
    uint32_t n_picked;
    tt_perfetto_lane lane;
    tt_bytes scratch, extra, packed;
    uint8_t tracks_said[TT_PERFETTO_ROWS_MAX * TT_PERFETTO_LANES / 8]; /* in this part */
} tt_perfetto_maker;

/* Loads the fault counts of the run's ops, if there are any. */
tt_status tt_perfetto_faults_load(tt_perfetto_maker *k, uint32_t run, tt_error *err);
/* The counts of the op on that lane; NULL: not observed. */
const tt_detail_faults *tt_perfetto_faults_of(const tt_perfetto_maker *k, uint32_t node,
                                              uint32_t lane);
/* Their rates over the ops of the run, as counters. */
tt_status tt_perfetto_faults_rates(tt_perfetto_maker *k, const tt_perfetto_span *span,
                                   tt_bytes *out, tt_error *err);

#endif
