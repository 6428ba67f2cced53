/* Residency: which bytes of the model files were in RAM, sample by sample.
 *
 * A sample is what was seen of one file at one moment; a large file's comes in several records.
 * What came and went is told of the pages that two samples in a row of a file both looked at: a
 * page that came and went in between leaves no trace. Bytes are those of whole pages, without
 * what lies behind the end of the file. */
#ifndef TT_ANALYZE_RESIDENCY_H
#define TT_ANALYZE_RESIDENCY_H

#include "analyze/ranges.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_residency_sample {
    uint32_t file;  /* in tt_model.files */
    uint32_t batch; /* in tt_model.batches, or TT_NONE */
    uint8_t moment; /* enum tt_moment */
    uint64_t begin_ticks;
    uint64_t end_ticks;
    uint64_t observed_bytes; /* of the file: pages that were looked at */
    uint64_t resident_bytes;
    bool compared; /* there was a sample of the file before: came and went hold */
    uint64_t came_bytes;
    uint64_t went_bytes;
} tt_residency_sample;

/* A weight over the samples of its file. */
typedef struct tt_residency_weight {
    uint32_t samples; /* that looked at all of it; 0: the rest means nothing */
    uint64_t first_bytes;
    uint64_t last_bytes;
    uint64_t least_bytes;
    uint64_t most_bytes;
    uint64_t came_bytes; /* summed over the samples */
    uint64_t went_bytes;
} tt_residency_weight;

/* One sample; `now` are the bytes that were present, merged. Both are valid during the call. */
typedef void tt_residency_visit(void *context, const tt_residency_sample *s, const tt_ranges *now);

/* Every sample in the order observed. Weights, when not NULL, is an array of m->n_weights that
 * gets what was seen of each. TT_E_MEMORY without memory. */
tt_status tt_residency_walk(const tt_model *m, tt_residency_visit *visit, void *context,
                            tt_residency_weight *weights, tt_error *err);

/* Pure: adds the pages of one record's intervals (which alternate absent, present, ...), cut at
 * size_bytes, to what was looked at and what was present. */
void tt_residency_add(const tt_residency *r, uint64_t size_bytes, tt_ranges *observed,
                      tt_ranges *present);

#endif
