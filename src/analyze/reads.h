/* All reads of weights in a trace, in time order, compact enough for several walks. */
#ifndef TT_ANALYZE_READS_H
#define TT_ANALYZE_READS_H

#include "analyze/access.h"
#include "analyze/filter.h"
#include "analyze/log/log.h"
#include "analyze/over.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of a file's size: larger offsets come from a damaged trace. */
#define TT_READS_FILE_MAX ((uint64_t)1 << 44)

/* Whether the weight's location is possible. Others are not in the layout of the files below, and
 * are not read. */
static inline bool tt_reads_has_place(const tt_model *m, const tt_weight *w)
{
    return w->file < m->n_files && w->offset_bytes <= TT_READS_FILE_MAX &&
           w->size_bytes <= TT_READS_FILE_MAX - w->offset_bytes;
}

/* Whether an access is within a weight with a possible location. */
static inline bool tt_reads_is_possible(const tt_model *m, const tt_access *a)
{
    if (a->weight >= m->n_weights || !tt_reads_has_place(m, &m->weights[a->weight])) return false;
    const tt_weight *w = &m->weights[a->weight];
    return a->offset_bytes >= w->offset_bytes &&
           a->offset_bytes - w->offset_bytes <= w->size_bytes &&
           a->span_bytes <= w->size_bytes - (a->offset_bytes - w->offset_bytes);
}

/* Whether the access counts as a read: the others are empty, or outside of any file. */
static inline bool tt_reads_counts(const tt_model *m, const tt_access *a)
{
    return a->size_bytes > 0 && tt_reads_is_possible(m, a);
}

/* Whether it was in a copy in a buffer, not in the mapped file; of an op of that graph. */
static inline bool tt_reads_is_copied(const tt_graph *g, const tt_access *a)
{
    return a->tensor < g->n_tensors && g->tensors[a->tensor].origin == TT_ORIGIN_BUFFER;
}

/* --- one by one --- */

/* An op with its accesses to weights, some of which may not count. */
typedef struct tt_reading {
    const tt_log_op *op;
    uint32_t run; /* in tt_model.runs */
    const tt_access *list;
    size_t n;
    bool faults_known; /* page faults of its threads while they worked on it were counted: */
    uint64_t minor, major;
} tt_reading;

/* Returns false to stop. */
typedef bool tt_reads_visit(void *context, const tt_reading *r);

typedef struct tt_reads_walker {
    const tt_filter *filter;
    bool faults; /* load the page faults, too */
    tt_reads_visit *visit;
    void *context;
    void (*progress)(void *context, uint64_t done, uint64_t total); /* runs; NULL: not called */
    void *progress_context;
    tt_over over;
} tt_reads_walker;

/* All ops that pass, in the order of their start; those without weights have no accesses. */
tt_status tt_reads_walk(const tt_model *m, const tt_reads_walker *w, tt_error *err);

/* --- all of them --- */

/* A range that is read at once; listed once, however often it was read. */
typedef struct tt_read_range {
    uint32_t weight;
    int32_t expert; /* or TT_EXPERT_NONE */
    uint64_t offset_bytes;
    uint64_t size_bytes; /* > 0; read at once, somewhere in the span */
    uint64_t span_bytes;
    bool at_most; /* size_bytes is an upper bound */
    bool copied;  /* in a copy in a buffer, not in the mapped file */
} tt_read_range;

/* As tt_access_is_placed. */
static inline bool tt_read_range_is_placed(const tt_read_range *r)
{
    return !r->at_most && r->size_bytes == r->span_bytes;
}

/* An op that read weights. */
typedef struct tt_read_op {
    size_t first;   /* index of its first read; they end where the next op's begin */
    uint32_t batch; /* in tt_model.batches, or TT_NONE */
    bool timed;     /* its end was observed */
    uint64_t start_ticks;
    uint64_t ticks;
} tt_read_op;

typedef struct tt_reads {
    tt_read_range *ranges;
    uint32_t *order; /* the range of each read */
    tt_read_op *ops; /* by start; n_ops + 1: the last one only marks the end */
    size_t n_ranges, n, n_ops;
    uint64_t impossible; /* accesses outside of any file, left out */
    uint64_t unplaced;   /* of n, those of which it is not known where in their span they read */
    bool at_most;        /* some amount is an upper bound */
} tt_reads;

/* Called occasionally with the runs done and the total. */
typedef void tt_reads_progress(void *context, uint64_t done, uint64_t total);

/* Zero-filled, or freed with tt_reads_free, also after an error. progress may be NULL. */
tt_status tt_reads_collect(const tt_model *m, const tt_filter *filter, tt_reads *reads,
                           tt_reads_progress *progress, void *context, tt_error *err);
void tt_reads_free(tt_reads *reads);

/* The model files one after another, in blocks: the start of each, then the end; an array of
 * n_files + 1 for free(). places: by weight, its offset in its file; NULL: where it is. NULL if out
 * of memory. */
uint64_t *tt_reads_layout(const tt_model *m, uint64_t block_bytes, const uint64_t *places);

/* The units of weights: a tensor, or each expert's slice of an expert tensor whose choices were
 * observed. */

/* Tensors with more experts are not divided. */
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
    uint32_t *first;  /* by weight; n_weights + 1 */
    uint64_t *layout; /* of the files, in bytes */
    bool cut;         /* some tensor has several slices */
} tt_slices;

/* `experts` false: one slice per weight. False if out of memory. */
bool tt_slices_make(const tt_model *m, const tt_reads *reads, bool experts, tt_slices *slices);
void tt_slices_free(tt_slices *slices);
/* The slices that the range may touch: first .. last - 1. */
void tt_slices_of(const tt_slices *s, const tt_model *m, const tt_read_range *r, uint32_t *first,
                  uint32_t *last);
/* The part of the slice that the range's span covers, in bytes of all model files. False: none. */
bool tt_slices_overlap(const tt_slices *s, const tt_model *m, const tt_read_range *r,
                       uint32_t slice, uint64_t *begin, uint64_t *end);

#endif
