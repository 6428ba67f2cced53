/* The run at a glance: how fast it was, where the time went, what was slow and why, what is worth
 * knowing, and what was not recorded. `info`, `report`, `why` and the viewer say the same with
 * this. */
#ifndef TT_ANALYZE_OVERVIEW_H
#define TT_ANALYZE_OVERVIEW_H

#include "analyze/over.h"
#include "analyze/stats.h"
#include "analyze/summary.h"
#include "analyze/why/why.h"
#include "base/amount.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_OVERVIEW_TILES 5u
#define TT_OVERVIEW_SLOW 3u
#define TT_OVERVIEW_TENSORS 5u
#define TT_OVERVIEW_RECOMPUTED 5u
#define TT_OVERVIEW_FINDINGS_MAX 24u
#define TT_OVERVIEW_MISSING_MAX 12u

/* A figure. */
typedef struct tt_overview_tile {
    const char *key, *title, *unit;
    double value;        /* NAN: not known */
    const char *text;    /* "23.6 tokens/s"; "" if not known */
    const char *why_not; /* it is not known; NULL */
} tt_overview_tile;

/* A token that took unusually long. */
typedef struct tt_overview_slow {
    uint32_t batch; /* in m->batches */
    double time_ns, before_ns;
    double late_ns; /* how late it began, if that is what is unusual; else NAN */
    double ratio;   /* to the usual, with the time before it if it began late */
    tt_cause cause;
    /* "13x a usual token (59 ms): its threads were off CPU", "3.82 ms late: ..." */
    const char *text;
} tt_overview_slow;

typedef struct tt_overview_tensor {
    const char *tensor;
    double size_bytes; /* NAN: not known */
    uint64_t read_bytes;
    double time_ns, share; /* of its ops: with what their threads waited for a disk; of all ops' */
    double work_ns;        /* of that, own work of all threads */
} tt_overview_tensor;

typedef enum tt_severity { TT_SEVERITY_ERROR, TT_SEVERITY_WARNING, TT_SEVERITY_NOTE } tt_severity;

const char *tt_severity_name(tt_severity severity); /* "error" */

/* What is selected to see it; -1 or NULL: not that. */
typedef struct tt_selects {
    int64_t batch_id, layer_id, run, node, lane;
    const char *tensor;
} tt_selects;

typedef struct tt_finding {
    tt_severity severity;
    const char *kind; /* "slow_tokens" */
    const char *text;
    const char *view; /* of the viewer that shows it; NULL: none */
    tt_selects select;
} tt_finding;

typedef struct tt_missing {
    const char *what, *text;
    const char *option; /* that records it; NULL: none does */
} tt_missing;

typedef struct tt_overview {
    const tt_model *m;
    tt_summary summary;
    const char *headline;
    tt_overview_tile tiles[TT_OVERVIEW_TILES];
    /* Of the wall time from the first batch to the end of the last; all 0 without a clock. */
    tt_why_part parts[TT_PARTS];
    size_t n_parts;
    double total_ns;
    tt_sentences not_known;      /* of the parts */
    tt_usual_value usual;        /* of generated tokens */
    double usual_undisturbed_ns; /* median without the time off CPU; NAN: not known */
    const char *usual_text; /* "A generated token usually takes 1.2 ms; ..."; NULL: not known */
    tt_overview_slow slow[TT_OVERVIEW_SLOW];
    size_t n_slow;
    uint64_t n_slow_all;  /* that took unusually long or began late */
    uint64_t n_compared;  /* of so many */
    bool compared_tokens; /* each of these is a batch of one token */
    tt_overview_tensor tensors[TT_OVERVIEW_TENSORS];
    size_t n_tensors;
    tt_recomputed recomputed[TT_OVERVIEW_RECOMPUTED]; /* of the prompts, those that took longest */
    size_t n_recomputed;
    tt_finding findings[TT_OVERVIEW_FINDINGS_MAX]; /* the most severe first */
    size_t n_findings;
    tt_missing missing[TT_OVERVIEW_MISSING_MAX];
    size_t n_missing;
    /* What follows the options of `run` to record it once more, "..." for what is not known; NULL:
     * the program is not known. */
    const char *again;
    tt_why texts; /* private: whose arena owns the texts */
} tt_overview;

/* Sums that the caller has: made without a filter. */
typedef struct tt_overview_sums {
    tt_stats *by_tensor, *by_phase;
} tt_overview_sums;

/* Reads all ops. sums: NULL, or walked already. Free *o with tt_overview_free, also after an
 * error. */
tt_status tt_overview_make(const tt_model *m, const tt_overview_sums *sums,
                           tt_stats_progress *progress, void *context, const tt_over *over,
                           tt_overview *o, tt_error *err);
void tt_overview_free(tt_overview *o);

/* Op records that were dropped while recording. */
uint64_t tt_overview_dropped(const tt_model *m);
/* What of the trace is missing or damaged, as one sentence; "" if nothing is. */
#define TT_OVERVIEW_FLAWS_TEXT 512u
const char *tt_overview_flaws(const tt_model *m, char out[TT_OVERVIEW_FLAWS_TEXT]);

/* Private to overview*.c: */
typedef struct tt_overview_lanes {
    /* Of ops in which no thread was off CPU: */
    uint64_t wait_ticks[TT_WHY_LANES_MAX]; /* that the others waited for it */
    uint64_t last[TT_WHY_LANES_MAX];       /* ops at which it arrived last */
    uint64_t ops, even_ticks;              /* of several threads; their time */
    /* Of all ops: */
    tt_amount major, read_bytes;
    tt_amount process_read_bytes; /* of the process in batches, as the kernel counts */
    uint32_t threads;             /* of one op */
    bool disturbed;               /* some thread was off CPU in one */
} tt_overview_lanes;
/* "18.9 MiB came from disk": of the ops if that was observed, else of the process; NULL: neither
 * was. */
const char *tt_overview_disk(tt_overview *o, const tt_overview_lanes *lanes);
tt_status tt_overview_find(tt_overview *o, const tt_overview_lanes *lanes, const tt_over *over,
                           tt_error *err);
void tt_overview_list_missing(tt_overview *o, const tt_parts_walker *w);

#endif
