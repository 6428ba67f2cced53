/* Private to log_index*.c: what an index holds. */
#ifndef TT_ANALYZE_LOG_INDEX_PARTS_H
#define TT_ANALYZE_LOG_INDEX_PARTS_H

#include "analyze/log/log_index.h"

/* A tt_log_place in front of a row. Ascending by row and next_run. */
typedef struct log_index_place {
    uint64_t row;
    uint64_t latest_ticks; /* no row before it begins later */
    size_t first_active;   /* in tt_log_index.active */
    uint32_t next_run;
    uint32_t n_active;
} log_index_place;

struct tt_log_index {
    tt_filter filter;
    char *texts[3]; /* of the filter */
    bool by_lane;
    tt_log_survey *survey;
    uint32_t n_runs;
    tt_log_load load;
    uint64_t *of_set; /* rows of each set of the survey */
    uint32_t n_of_set;
    log_index_place *places;
    uint32_t n_places, places_capacity;
    tt_log_active *active;
    size_t n_active, active_capacity;
    uint64_t rows_apart;
    uint32_t runs_apart;
    /* Where counting stands: */
    uint64_t rows;
    uint64_t latest_ticks; /* no row so far begins later */
    tt_log_place at;
    bool done;
    tt_error ended_by;
};

#endif
