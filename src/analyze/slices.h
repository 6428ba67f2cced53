/* The units that weights are cut into: a tensor, or each expert's slice of an expert tensor
 * whose choices were observed. */
#ifndef TT_ANALYZE_SLICES_H
#define TT_ANALYZE_SLICES_H

#include "analyze/reads.h"

#include <stdbool.h>
#include <stdint.h>

/* Tensors with more experts than this are not cut. */
#define TT_SLICES_MAX 1024u

typedef struct tt_slice {
    uint32_t weight;
    int32_t expert; /* or TT_EXPERT_NONE: the whole tensor */
    uint64_t begin; /* in bytes of all model files, see tt_reads_layout */
    uint64_t size;
} tt_slice;

typedef struct tt_slices {
    tt_slice *list; /* by weight, expert */
    uint32_t n;
    uint32_t *first;  /* of each weight; n_weights + 1 */
    uint64_t *layout; /* of the files, in bytes */
    bool cut;         /* some tensor is more than one slice */
} tt_slices;

/* `experts` false: each weight is one. False without memory. */
bool tt_slices_make(const tt_model *m, const tt_reads *reads, bool experts, tt_slices *slices);
void tt_slices_free(tt_slices *slices);
/* The slices that the range touches: first .. last - 1. */
void tt_slices_of(const tt_slices *s, const tt_model *m, const tt_read_range *r, uint32_t *first,
                  uint32_t *last);
/* What of the slice the range covers, in bytes of all model files. False: nothing. */
bool tt_slices_overlap(const tt_slices *s, const tt_model *m, const tt_read_range *r,
                       uint32_t slice, uint64_t *begin, uint64_t *end);

#endif
