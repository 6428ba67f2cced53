/* The ops of one run that pass a filter, for the log. */
#ifndef TT_ANALYZE_LOG_LOAD_H
#define TT_ANALYZE_LOG_LOAD_H

#include "analyze/filter.h"
#include "analyze/join.h"
#include "analyze/slice_filter.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of the log to be. Ticks. */
typedef struct tt_log_item {
    uint64_t start, arrive, release, busy, wait, off_cpu;
    uint32_t node;
    uint32_t lane; /* TT_NONE: all lanes of the op together */
    uint32_t lanes;
    uint8_t covers;
    bool open;
    bool off_cpu_known;
} tt_log_item;

typedef struct tt_log_load {
    const tt_model *m;
    const tt_filter *filter;
    bool by_lane;
    tt_join join;
    tt_filter_ops passing;
    tt_slice_filter slices; /* of filter->tensor */
    tt_log_item *items;     /* of the last run, by start, node, lane; kept from run to run */
    size_t n, capacity;
} tt_log_load;

/* Goes on with another share of the same model. */
void tt_log_load_model(tt_log_load *l, const tt_model *m);
/* m and filter outlive it. by_lane: a row for each record; a filter by lane implies it. */
void tt_log_load_begin(tt_log_load *l, const tt_model *m, const tt_filter *filter, bool by_lane);
void tt_log_load_free(tt_log_load *l);
/* Whether the run (in m->runs) can have rows at all: else it need not be loaded. */
bool tt_log_load_may(const tt_log_load *l, uint32_t run);
/* Loads those of the run, for which tt_log_load_may is true, into items. */
tt_status tt_log_load_run(tt_log_load *l, uint32_t run, tt_error *err);

#endif
