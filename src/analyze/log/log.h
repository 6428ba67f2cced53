/* The ops of a trace in the order of their start, over all runs and threads. */
#ifndef TT_ANALYZE_LOG_LOG_H
#define TT_ANALYZE_LOG_LOG_H

#include "analyze/access.h"
#include "analyze/filter.h"
#include "analyze/join.h"
#include "analyze/ops.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of runs open at the same time; beyond it, the order is best effort. */
#define TT_LOG_RUNS_MAX 256u

typedef struct tt_log_op {
    const tt_op *op;
    void **note; /* the visitor's, for this op: NULL at first; freed with free */
    const tt_run *run;
    uint32_t lane;  /* TT_NONE: all lanes of the op joined */
    uint32_t lanes; /* that executed it */
    bool open;      /* its end was not observed: only start is valid */
    uint64_t start_ticks;
    uint64_t arrive_ticks;  /* of all lanes: the last */
    uint64_t release_ticks; /* of all lanes: the last */
    uint64_t busy_ticks;    /* of all lanes: the sum */
    uint64_t wait_ticks;    /* of all lanes: the sum */
    uint64_t off_cpu_ticks; /* of busy_ticks, off CPU */
    uint64_t inside_ticks;  /* of busy_ticks, waiting for others at barriers inside the op */
    bool off_cpu_known, inside_known; /* else not observed */
} tt_log_op;

/* Called for each op; false ends the walk. */
typedef bool tt_log_visit(void *context, const tt_log_op *op);

/* by_lane: one visit per record instead of one per op; implied by a filter by lane. Needs a clock
 * if the filter has times. */
tt_status tt_log_walk(const tt_model *m, const tt_filter *filter, bool by_lane, tt_log_visit *visit,
                      void *context, tt_error *err);

/* The log step by step: like tt_log_walk, but it can be left and resumed anywhere. */

/* The ops of one run that pass a filter, for the log. */

/* A future row of the log. Ticks. */
typedef struct tt_log_item {
    uint64_t start, arrive, release, busy, wait, off_cpu, inside;
    uint32_t node;
    uint32_t lane; /* TT_NONE: all lanes of the op joined */
    uint32_t lanes;
    uint8_t covers;
    bool open;
    bool off_cpu_known, inside_known;
} tt_log_item;

typedef struct tt_log_load {
    const tt_model *m;
    const tt_filter *filter;
    bool by_lane;
    tt_join join;
    tt_filter_ops passing;
    tt_slice_filter slices; /* of filter->tensor */
    tt_log_item *items;     /* of the last run, by start, node, lane; memory is reused */
    size_t n, capacity;
} tt_log_load;

/* Whether the op at `node` of the run (index in m->runs) is in the row, alone or fused. */
bool tt_log_item_has(const tt_model *m, uint32_t run, const tt_log_item *i, uint32_t node);
/* The complete row of an item of the run; valid until the next call. False if out of memory. */
bool tt_log_item_op(tt_op_table *ops, const tt_run *run, const tt_log_item *i, tt_log_op *out);

/* Continues with another share of the same model. */
void tt_log_load_model(tt_log_load *l, const tt_model *m);
/* m and filter must outlive it. by_lane: a row for each record; implied by a filter by lane. */
void tt_log_load_begin(tt_log_load *l, const tt_model *m, const tt_filter *filter, bool by_lane);
void tt_log_load_free(tt_log_load *l);
/* Whether the run (index in m->runs) can have rows: else it need not be loaded. */
bool tt_log_load_may(const tt_log_load *l, uint32_t run);
/* Loads those of a run, for which tt_log_load_may is true, into items. */
tt_status tt_log_load_run(tt_log_load *l, uint32_t run, tt_error *err);

/* A run whose ops are being visited. */
typedef struct tt_log_active {
    uint32_t position; /* of the run, in the order of runs */
    uint32_t at;       /* index of its next row */
} tt_log_active;

/* The position of a walk. */
typedef struct tt_log_position {
    uint32_t next_run; /* position of the first run not examined yet */
    uint32_t n_active;
    tt_log_active active[TT_LOG_RUNS_MAX];
} tt_log_position;

typedef enum tt_log_event {
    TT_LOG_END,
    TT_LOG_LOOKED, /* at the next run, which may have no row */
    TT_LOG_ROW
} tt_log_event;

typedef struct tt_log_cursor tt_log_cursor;

/* All runs (indices in m->runs) in the order of their start; freed with free. NULL if out of
 * memory. */
uint32_t *tt_log_order(const tt_model *m);

/* At the first row. m, filter and order (tt_log_order) must outlive it; times in the filter need a
 * clock. NULL on failure. */
tt_status tt_log_cursor_open(const tt_model *m, const tt_filter *filter, bool by_lane,
                             const uint32_t *order, tt_log_cursor **out, tt_error *err);
void tt_log_cursor_close(tt_log_cursor *c);

/* One step: the next row, or one examined run. */
tt_status tt_log_cursor_step(tt_log_cursor *c, tt_log_event *event, tt_error *err);
/* After TT_LOG_ROW, until the next step: the row, and the run's position. */
const tt_log_item *tt_log_cursor_item(const tt_log_cursor *c, uint32_t *position);
/* After TT_LOG_ROW, until the next step: the complete row. False if out of memory. */
bool tt_log_cursor_op(tt_log_cursor *c, tt_log_op *out);

/* Whether no run is open, and the position of the next one. */
bool tt_log_cursor_between(const tt_log_cursor *c, uint32_t *next_run);
void tt_log_cursor_save(const tt_log_cursor *c, tt_log_position *out);
/* Goes to a position saved by a cursor with the same model, filter and by_lane, or to one where no
 * run is open. */
tt_status tt_log_cursor_restore(tt_log_cursor *c, const tt_log_position *place, tt_error *err);

/* What the rows of a log selected from weights (analyze/access.h): experts, rows of a table. */

/* Open runs whose selections are cached; more than these are loaded repeatedly. */
#define TT_LOG_PICKS_RUNS 4u

/* Zero-filled except m is ready; freed with tt_log_picks_free. */
typedef struct tt_log_picks {
    const tt_model *m;
    uint64_t rows; /* requested so far */
    struct {
        tt_accesses *accesses;
        const tt_run *run;
        uint64_t used; /* time of last use, in rows */
    } runs[TT_LOG_PICKS_RUNS];
    tt_op measured; /* private */
} tt_log_picks;

void tt_log_picks_free(tt_log_picks *p);
/* The row's op with its observed selections applied, and the accesses to its weights. Valid until
 * the next call. */
tt_status tt_log_picks_of(tt_log_picks *p, const tt_log_op *row, const tt_op **op,
                          const tt_access **list, size_t *n, tt_error *err);

#endif
