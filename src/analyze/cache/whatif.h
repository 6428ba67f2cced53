/* Replays a trace's reads with a cache of another size: what it would fetch from disk, and how fast
 * the model would then run. */
#ifndef TT_ANALYZE_CACHE_WHATIF_H
#define TT_ANALYZE_CACHE_WHATIF_H

#include "analyze/cache/cache.h"
#include "analyze/cache/paging.h"
#include "analyze/cache/tensor_order.h"
#include "analyze/reads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The defaults of a plan. */
#define TT_WHATIF_PAGE_BYTES 4096u
#define TT_WHATIF_AHEAD_BYTES (64u << 20)

/* What is fetched, kept and evicted as one. */
typedef enum tt_whatif_unit {
    TT_WHATIF_PAGE,   /* pages of the model files */
    TT_WHATIF_TENSOR, /* tensors, even if only rows or experts of them are read */
    TT_WHATIF_EXPERT  /* tensors; single experts of expert tensors if they were observed */
} tt_whatif_unit;

/* How missing bytes are read. */
typedef enum tt_whatif_reader {
    TT_WHATIF_MMAP,  /* by page faults: a window of the kernel's readahead, and in parallel the next
                        one */
    TT_WHATIF_DIRECT /* requested once it is known that they are needed: experts once chosen,
                        everything else ahead of its use */
} tt_whatif_reader;

typedef struct tt_whatif_plan {
    tt_whatif_unit unit;
    uint64_t page_bytes;   /* > 0 */
    tt_tensor_order order; /* of the model files' tensors; another one with pages only */
    /* Window of the kernel's readahead, a multiple of page_bytes. If not 0 (with pages only),
     * Linux's fetching and eviction are simulated (kernel.c), whatever the policy. */
    uint64_t readahead_bytes;
    bool warm; /* the cache holds what the same reads left in it; else nothing */
    /* For times; bytes_per_s 0: no times. */
    tt_disk_speed disk;
    tt_whatif_reader reader;
    uint64_t ahead_bytes; /* for direct: most bytes read before their use */
    uint32_t depth;       /* for direct: requests at a time, > 0 */
    /* For direct, 0 to 1: experts are guessed when those of the previous layer are known, and this
     * share of the guesses is right. */
    double guessed;
    /* Like `tensortrace boost` with memory of that size (tt_policy_shares), with the policy for
     * experts; requires TT_WHATIF_EXPERT and TT_WHATIF_DIRECT. Rows that ops gather are left to the
     * page cache, as boost does. Reading a layer's chosen experts begins after disk.begin_ns and
     * disk.move_ns for each MiB, and is in groups (tt_policy_may_read), disk.group_ns apart, if
     * disk.grouped. */
    bool boost;
} tt_whatif_plan;

/* The plan without any option. */
#define TT_WHATIF_PLAN                                                                             \
    {                                                                                              \
        .unit = TT_WHATIF_PAGE, .page_bytes = TT_WHATIF_PAGE_BYTES,                                \
        .ahead_bytes = TT_WHATIF_AHEAD_BYTES, .depth = TT_POLICY_READS_MAX                         \
    }

/* Reads whose amount is known, but not where in their tensor they are (rows of a table), are of no
 * page, and left out with pages; also of a tensor that is divided into experts. Where even the
 * amount has only a bound, all of the tensor is taken to be read: what is missed is an upper bound,
 * too. */

static inline bool tt_whatif_leaves_out(const tt_read_range *r)
{
    return !r->at_most && r->size_bytes < r->span_bytes;
}

/* Sums over batches. Bytes are those of whole units, except asked_bytes. */
typedef struct tt_whatif_part {
    uint64_t batches;
    uint64_t tokens;      /* in the batches */
    uint64_t asked_bytes; /* read by the ops, also by reads that are left out */
    uint64_t read_bytes;
    uint64_t first_bytes;  /* of read_bytes: read for the first time, so in no cache */
    uint64_t missed_bytes; /* of read_bytes: fetched from disk, including first ones */
    /* Of the batches whose time is known: */
    uint64_t timed_tokens;
    double compute_ns; /* as traced, without: */
    double lost_ns;    /* tt_parts_lost */
    double disk_ns;    /* of the missed bytes, at the disk's rate */
    double causal_ns;  /* simulated, with experts known once chosen, everything else always, and the
                          disk's greatest depth */
    double ns;         /* simulated, with the plan's reader */
    double transfer_ns, latency_ns; /* of that: waiting with and without a transfer */
} tt_whatif_part;

typedef struct tt_whatif_result {
    tt_policy policy;
    bool by_kernel; /* simulated instead with a readahead window */
    uint64_t ram_bytes;
    tt_whatif_part of_phase[TT_PHASES]; /* TT_PHASE_UNKNOWN: also reads outside of batches */
    tt_whatif_part steady;              /* generated tokens without the first batch */
    tt_whatif_part total;
} tt_whatif_result;

typedef struct tt_whatif tt_whatif;

/* Free *out with tt_whatif_free; m and reads must outlive it. */
tt_status tt_whatif_new(const tt_model *m, const tt_reads *reads, const tt_whatif_plan *plan,
                        tt_whatif **out, tt_error *err);
void tt_whatif_free(tt_whatif *w);
/* Distinct bytes, in whole units, that are read: a larger cache makes no difference. */
uint64_t tt_whatif_touched(const tt_whatif *w);
/* The number of reads that are left out, and their bytes; the same in words, "": none. */
uint64_t tt_whatif_left_out(const tt_whatif *w, uint64_t *bytes);
#define TT_WHATIF_TEXT 160u
void tt_whatif_left_out_text(const tt_whatif *w, char text[TT_WHATIF_TEXT]);
/* n sizes, evenly spread up to those. */
void tt_whatif_curve(const tt_whatif *w, size_t n, uint64_t *sizes);
/* The replayed stream; valid as long as w. Extents are in pages, or in bytes: for tensors and
 * experts the slices of analyze/reads.h, for pages the ranges of the reads. */
const tt_stream *tt_whatif_stream(const tt_whatif *w);
/* The batch (in tt_model.batches, or TT_NONE) of a group of its reads. */
uint32_t tt_whatif_batch(const tt_whatif *w, uint32_t group);
/* One result for each of the n sizes, into results. */
tt_status tt_whatif_run(tt_whatif *w, tt_policy policy, const uint64_t *ram_bytes, size_t n,
                        tt_whatif_result *results, tt_error *err);

/* The share of the traced time that is lost_ns; if it is more than this, what is left tells nothing
 * of an undisturbed run, and no rate is known. */
#define TT_WHATIF_LOST_MOST 0.5
double tt_whatif_lost_share(const tt_whatif_part *p);
/* The part whose rates a reader looks for: generated tokens after the first, or generated ones, or
 * all. */
const tt_whatif_part *tt_whatif_told(const tt_whatif_result *r);
/* ns per token; 0: not known. */
double tt_whatif_compute_ns(const tt_whatif_part *p);
double tt_whatif_disk_ns(const tt_whatif_part *p);
/* Tokens per second if computing and reading do not overlap, if they overlap completely, if they
 * overlap as far as experts are known, and with the plan's reader; 0: not known. */
double tt_whatif_rate_apart(const tt_whatif_part *p);
double tt_whatif_rate_overlap(const tt_whatif_part *p);
double tt_whatif_rate_causal(const tt_whatif_part *p);
double tt_whatif_rate(const tt_whatif_part *p);
/* What limits the rate of these tokens; NULL: not known. "compute", "disk" (its rate), "latency"
 * (of requests that could not be made earlier, or not enough at a time). */
const char *tt_whatif_limit(const tt_whatif_part *p);

#endif
