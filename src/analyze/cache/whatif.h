/* What a cache of some size would do to the reads of a trace: what it would have to fetch from
 * disk, and how fast the model would then run. */
#ifndef TT_ANALYZE_CACHE_WHATIF_H
#define TT_ANALYZE_CACHE_WHATIF_H

#include "analyze/cache/cache.h"
#include "analyze/cache/paging.h"
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

/* How missing bytes are read. */
typedef enum tt_whatif_reader {
    TT_WHATIF_MMAP,  /* by page faults: a window of the kernel's reading ahead, and meanwhile the
                        next */
    TT_WHATIF_DIRECT /* requested as soon as it is known that they are needed: experts once they are
                        chosen, all else ahead of its use */
} tt_whatif_reader;

typedef struct tt_whatif_plan {
    tt_whatif_unit unit;
    uint64_t page_bytes; /* > 0 */
    /* Window of the kernel's reading ahead, a multiple of page_bytes; not 0, with pages only: what
     * is fetched and evicted is what Linux does (kernel.c), whatever the policy. */
    uint64_t readahead_bytes;
    bool warm; /* the cache holds what the same reads left in it; else nothing */
    /* For times; bytes_per_s 0: without. */
    tt_disk_speed disk;
    tt_whatif_reader reader;
    uint64_t ahead_bytes; /* of direct: read before their use, at most */
    uint32_t depth;       /* of direct: requests at a time, > 0 */
    /* Of direct, 0 to 1: experts are guessed when those of the layer before are known, and so many
     * of the guesses are right. */
    double guessed;
    /* As `tensortrace boost` keeps and reads weights in memory of that size (tt_policy_shares),
     * with the policy for experts: with TT_WHATIF_EXPERT and TT_WHATIF_DIRECT. Rows that ops gather
     * are left to the page cache, as it does. */
    bool boost;
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
    double disk_ns;    /* of the missed bytes at the disk's rate */
    double causal_ns;  /* of the simulation, with experts known once they are chosen, all else
                          always, and as much read ahead as the disk can */
    double ns;         /* of the simulation of the plan's reader */
    double transfer_ns, latency_ns; /* of that: waiting while the disk transferred, and not */
} tt_whatif_part;

typedef struct tt_whatif_result {
    tt_policy policy;
    bool by_kernel; /* instead: with a window of reading ahead */
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
 * they are the slices of analyze/reads.h, of pages the ranges of the reads. */
const tt_stream *tt_whatif_stream(const tt_whatif *w);
/* The batch (in tt_model.batches, or TT_NONE) of a group of its reads. */
uint32_t tt_whatif_batch(const tt_whatif *w, uint32_t group);
/* One result for each of the n sizes, into results. */
tt_status tt_whatif_run(tt_whatif *w, tt_policy policy, const uint64_t *ram_bytes, size_t n,
                        tt_whatif_result *results, tt_error *err);

/* ns a token; 0: not known. */
double tt_whatif_compute_ns(const tt_whatif_part *p);
double tt_whatif_disk_ns(const tt_whatif_part *p);
/* Tokens a second when nothing computes while the disk reads, when all reading is hidden behind
 * computing as far as it can be, when it is as far as experts are known, and with the plan's
 * reader; 0: not known. */
double tt_whatif_rate_apart(const tt_whatif_part *p);
double tt_whatif_rate_overlap(const tt_whatif_part *p);
double tt_whatif_rate_causal(const tt_whatif_part *p);
double tt_whatif_rate(const tt_whatif_part *p);
/* What would have to be faster for these tokens to be; NULL: not known. "compute", "disk" (its
 * rate), "latency" (of requests that could not be made earlier, or not enough at a time). */
const char *tt_whatif_limit(const tt_whatif_part *p);

#endif
