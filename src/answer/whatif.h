/* What caches of some sizes would have to read: `tensortrace whatif --json`. */
#ifndef TT_ANSWER_WHATIF_H
#define TT_ANSWER_WHATIF_H

#include "analyze/cache/whatif.h"
#include "base/json.h"

#include <stdbool.h>

typedef struct tt_whatif_view {
    const char *path;
    const char *unit;
    uint64_t page_bytes;      /* 0: not of pages */
    uint64_t readahead_bytes; /* 0: none */
    bool warm;
    bool at_most;
    bool has_disk;
    double disk_bytes_per_s;
    uint64_t reserve_bytes;
    uint64_t
        traced_readahead_bytes; /* of the devices of the traced run, the most; 0: not observed */
    uint64_t model_bytes;
    uint64_t touched_bytes;
    uint64_t reads;
    const char *const *policies; /* names */
    size_t n_policies;
    size_t n_sizes;
    /* By policy, then size; ram_bytes without what is reserved. */
    const tt_whatif_result *results;
} tt_whatif_view;

/* One object. */
void tt_whatif_json(tt_json *j, const tt_whatif_view *v);

#endif
