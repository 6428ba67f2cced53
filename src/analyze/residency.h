/* Residency: which bytes of the model files were in RAM, sample by sample.
 *
 * A sample is an observation of one file at one time; a large file's takes several records. Pages
 * that came and went are counted between consecutive samples of a file, for pages in both: a page
 * that came and went in between is not seen. Bytes are of whole pages, without those after the end
 * of the file. */
#ifndef TT_ANALYZE_RESIDENCY_H
#define TT_ANALYZE_RESIDENCY_H

#include "analyze/ranges.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_residency_sample {
    uint32_t file;  /* in tt_model.files */
    uint32_t batch; /* in tt_model.batches, or TT_NONE */
    uint8_t moment; /* enum tt_moment */
    uint64_t begin_ticks;
    uint64_t end_ticks;
    uint64_t observed_bytes; /* of the file: observed pages */
    uint64_t resident_bytes;
    bool compared; /* there was an earlier sample of the file: came and went are valid */
    uint64_t came_bytes;
    uint64_t went_bytes;
} tt_residency_sample;

/* A weight over the samples of its file. */
typedef struct tt_residency_weight {
    uint32_t samples; /* that observed all of it; 0: the rest is not valid */
    uint64_t first_bytes;
    uint64_t last_bytes;
    uint64_t least_bytes;
    uint64_t most_bytes;
    uint64_t came_bytes; /* summed over the samples */
    uint64_t went_bytes;
} tt_residency_weight;

/* One sample; `now` are the bytes that were present, merged. Both are valid during the call. */
typedef void tt_residency_visit(void *context, const tt_residency_sample *s, const tt_ranges *now);

/* Visits every sample in the order observed. weights, if not NULL, is an array of m->n_weights for
 * the results per weight. TT_E_MEMORY if out of memory. */
tt_status tt_residency_walk(const tt_model *m, tt_residency_visit *visit, void *context,
                            tt_residency_weight *weights, tt_error *err);

/* Pure: adds the pages of one record's intervals (which alternate absent, present, ...), cut at
 * size_bytes, to the sets of observed and present bytes. */
void tt_residency_add(const tt_residency *r, uint64_t size_bytes, tt_ranges *observed,
                      tt_ranges *present);

/* "batch_begin", "batch_end", "recording_begin", "recording_end", "map_begin", "map_end",
 * "first_batch" */
const char *tt_residency_moment(uint8_t moment);
extern const tt_schema tt_residency_sample_schema; /* rows are tt_residency_sample; context: the
                                                      tt_model */

#endif
