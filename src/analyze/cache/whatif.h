/* What a cache of some size would do to the reads of a trace: what it would have to fetch from
 * disk, and how fast the model would then run. */
#ifndef TT_ANALYZE_WHATIF_H
#define TT_ANALYZE_WHATIF_H

#include "analyze/cache/cache.h"
#include "analyze/reads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_WHATIF_PAGE_BYTES 4096u /* unless another size is asked for */

/* What is fetched, kept and dropped as one. */
typedef enum tt_whatif_unit {
    TT_WHATIF_PAGE,   /* pages of the model files */
    TT_WHATIF_TENSOR, /* tensors, also where only rows or experts of them are read */
    TT_WHATIF_EXPERT  /* tensors, and of expert tensors single experts where they were observed */
} tt_whatif_unit;

typedef struct tt_whatif_plan {
    tt_whatif_unit unit;
    uint64_t page_bytes; /* > 0 */
    /* Window of the kernel's reading ahead, a multiple of page_bytes; 0: none. With pages only, and
     * then only lru can be asked for. */
    uint64_t readahead_bytes;
    bool warm; /* the cache holds what the same reads left in it; else nothing */
} tt_whatif_plan;

/* Sums over batches. Bytes are those of whole units, except asked_bytes. */
typedef struct tt_whatif_part {
    uint64_t batches;
    uint64_t tokens;      /* in them */
    uint64_t asked_bytes; /* that the ops read */
    uint64_t read_bytes;
    uint64_t first_bytes;  /* of read_bytes: never read before, no cache has them */
    uint64_t missed_bytes; /* of read_bytes: to fetch from disk, first ones included */
    /* Of the batches whose time is known: */
    uint64_t timed_tokens;
    double compute_ns; /* as traced */
    double disk_ns;    /* at the disk's rate */
    double overlap_ns; /* the longer of the two, batch by batch */
} tt_whatif_part;

typedef struct tt_whatif_result {
    tt_policy policy;
    uint64_t ram_bytes;
    tt_whatif_part of_phase[TT_PHASES]; /* TT_PHASE_UNKNOWN: also what is in no batch */
    tt_whatif_part steady;              /* of what is generated: without its first batch */
    tt_whatif_part total;
} tt_whatif_result;

typedef struct tt_whatif tt_whatif;

/* *out is freed with tt_whatif_free; m and reads outlive it. */
tt_status tt_whatif_new(const tt_model *m, const tt_reads *reads, const tt_whatif_plan *plan,
                        tt_whatif **out, tt_error *err);
void tt_whatif_free(tt_whatif *w);
/* Distinct bytes, in whole units, that are read: a larger cache changes nothing. */
uint64_t tt_whatif_touched(const tt_whatif *w);
/* What is replayed; valid as long as w. Extents are in pages, or in bytes; of tensors and experts
 * they are the slices of analyze/slices.h, of pages the ranges of the reads. */
const tt_stream *tt_whatif_stream(const tt_whatif *w);
/* One result for each of the n sizes, into results. disk_bytes_per_s > 0. */
tt_status tt_whatif_run(tt_whatif *w, tt_policy policy, const uint64_t *ram_bytes, size_t n,
                        double disk_bytes_per_s, tt_whatif_result *results, tt_error *err);

/* ns a token; 0: not known. */
double tt_whatif_compute_ns(const tt_whatif_part *p);
double tt_whatif_disk_ns(const tt_whatif_part *p);
/* Tokens a second when nothing computes while the disk reads, and when all reading is hidden
 * behind computing as far as it can be; 0: not known. */
double tt_whatif_rate_apart(const tt_whatif_part *p);
double tt_whatif_rate_overlap(const tt_whatif_part *p);

#endif
