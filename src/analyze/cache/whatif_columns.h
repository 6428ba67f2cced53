/* Bytes that caches of given sizes would read: the columns of `tensortrace whatif`. */
#ifndef TT_ANALYZE_WHATIF_COLUMNS_H
#define TT_ANALYZE_WHATIF_COLUMNS_H

#include "analyze/cache/whatif.h"
#include "table/table.h"

#include <stdbool.h>

/* What was replayed; also the columns' context. */
typedef struct tt_whatif_view {
    const char *path;
    const char *unit;
    uint64_t page_bytes;      /* 0: not in pages */
    const char *order;        /* of the tensors in the model files */
    uint64_t readahead_bytes; /* 0: none */
    bool warm;
    bool at_most;
    tt_disk_speed disk; /* bytes_per_s 0: not given */
    const char *reader;
    uint64_t reserve_bytes;
    uint64_t traced_readahead_bytes; /* largest of the traced run's devices; 0: not observed */
    bool has_experts;                /* the reads are of single ones, too */
    uint64_t model_bytes;
    uint64_t touched_bytes;
    uint64_t reads;
    uint64_t unplaced_reads, unplaced_bytes; /* left out: tt_whatif_left_out */
    /* By policy, then size; ram_bytes without the reserve. */
    const tt_whatif_result *results;
    size_t n_results;
} tt_whatif_view;

/* What w, made of the filter's reads and that plan, replays; without a path, a reserve and results.
 */
tt_whatif_view tt_whatif_look(const tt_model *m, const tt_filter *f, const tt_reads *reads,
                              const tt_whatif_plan *plan, const tt_whatif *w);

/* A row is a tt_whatif_result, the context its tt_whatif_view. */
extern const tt_schema tt_whatif_schema;

/* Writes one object: the view, and the listed results. */
void tt_whatif_json(tt_json *j, const tt_whatif_view *v, const tt_listing *results);

#endif
