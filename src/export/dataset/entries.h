/* The ops of a batch in the order in which they began, with what each lane did. Private to the
 * format. */
#ifndef TT_EXPORT_DATASET_ENTRIES_H
#define TT_EXPORT_DATASET_ENTRIES_H

#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* What one lane did of an op. */
typedef struct tt_entry_lane {
    uint64_t start, arrive, release; /* ticks */
    uint32_t lane;
    uint32_t next; /* of the op, in tt_entries.lanes; TT_NONE: it is the last */
    bool open;     /* its end was not seen */
} tt_entry_lane;

typedef struct tt_entry {
    uint64_t start;       /* the first lane's */
    uint64_t arrive;      /* the last lane's */
    uint32_t run;         /* in tt_model.runs */
    uint32_t node;        /* the first of the op's */
    uint32_t first, last; /* in tt_entries.lanes, by ascending lane */
    uint32_t begun_by;    /* the lane that began it first */
    uint64_t first_node;  /* number of the run's first tensor among those of the batch */
    uint8_t covers;
    bool open;
} tt_entry;

/* Zero-filled is empty and ready; memory is kept from batch to batch. */
typedef struct tt_entries {
    tt_entry *list;
    tt_entry_lane *lanes;
    size_t n, n_lanes;
    uint64_t stray; /* records without a known graph or node, left out */
    /* Private: */
    size_t capacity, lanes_capacity, nodes_capacity;
    uint32_t *by_node; /* of the run under way */
} tt_entries;

/* Fills e with the ops of the runs first_run, next_run[first_run] and so on. */
tt_status tt_entries_load(tt_entries *e, const tt_model *m, uint32_t first_run,
                          const uint32_t *next_run, tt_error *err);
void tt_entries_free(tt_entries *e);

#endif
