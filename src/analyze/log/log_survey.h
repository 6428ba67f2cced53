/* What the log of a trace has of each run, whatever the filter: which ops, and between which times.
 * Looked up once a run, when it is asked for; then a filter by names, layers and the like is
 * counted without reading the run's records. One thread at a time. */
#ifndef TT_ANALYZE_LOG_SURVEY_H
#define TT_ANALYZE_LOG_SURVEY_H

#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of ops that are kept, and their memory. Runs of the same graph nearly always execute the
 * same; what has a set of its own beyond these is read for each filter. */
#define TT_LOG_SETS_MAX 4096u
#define TT_LOG_SETS_BYTES_MAX ((size_t)32 << 20)

/* Ops of a graph that a run executed. */
typedef struct tt_log_set {
    uint32_t graph;
    uint32_t n;
    uint32_t *nodes;
    uint8_t *covers; /* by the nodes' places */
} tt_log_set;

typedef struct tt_log_surveyed {
    uint64_t first_ticks; /* start of its first op and of its last one; both 0 without any */
    uint64_t last_ticks;
    uint32_t set; /* TT_NONE: not kept */
    uint32_t n;   /* ops */
} tt_log_surveyed;

typedef struct tt_log_survey tt_log_survey;

/* NULL without memory. */
tt_log_survey *tt_log_survey_new(const tt_model *m);
void tt_log_survey_free(tt_log_survey *s);
/* The runs (in m->runs) in the order in which they began. */
const uint32_t *tt_log_survey_order(const tt_log_survey *s);
/* The run at that place of the order; m is the model it was made for, or a share of it. *work grows
 * by what had to be read, in records. NULL on failure, which is not kept. */
const tt_log_surveyed *tt_log_survey_run(tt_log_survey *s, const tt_model *m, uint32_t position,
                                         uint64_t *work, tt_error *err);
/* Valid until the next tt_log_survey_run. */
const tt_log_set *tt_log_survey_set(const tt_log_survey *s, uint32_t set);
uint32_t tt_log_survey_sets(const tt_log_survey *s);

#endif
