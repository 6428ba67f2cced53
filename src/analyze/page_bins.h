/* Where on the map of memory pages faulted, and how pages of a model's file came into RAM: summed
 * up in bins that are as wide as the one who draws them wants. */
#ifndef TT_ANALYZE_PAGE_BINS_H
#define TT_ANALYZE_PAGE_BINS_H

#include "analyze/loading.h"
#include "analyze/memory/memory_layout.h"
#include "analyze/page_faults.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one request. */
#define TT_PAGE_BINS_MAX (1u << 20)

/* Bytes [begin, end) of a segment, begin < end. Bins begin at multiples of their size: in a file,
 * and in a buffer that is a mapping of one, counted from the file's begin; in other buffers from
 * the begin of the page in which the buffer begins. */
typedef struct tt_page_span {
    uint32_t segment; /* in tt_memory_layout.segments */
    uint64_t begin, end;
    uint64_t bin_bytes; /* a multiple of the page's size */
} tt_page_span;

/* A fault in the file or the buffer that it hit. */
typedef struct tt_page_place {
    uint64_t at;    /* counted as bins are */
    uint32_t fault; /* in tt_model.page_faults */
    /* Of the fault, beside it: to look them up costs more than all else. */
    uint32_t batch; /* as tt_page_faults_batch says */
    uint32_t segment : 31;
    uint32_t major : 1;
} tt_page_place;

typedef struct tt_page_index {
    const tt_page_faults *faults;
    const tt_memory_layout *layout;
    tt_page_place *places; /* by segment, place, time; of faults that hit a segment */
    size_t n;
} tt_page_index;

/* faults and layout outlive it. Freed with tt_page_index_free, also after an error. */
tt_status tt_page_index_make(tt_page_index *x, const tt_page_faults *faults,
                             const tt_memory_layout *layout, tt_error *err);
void tt_page_index_free(tt_page_index *x);

/* A bin in which something faulted. */
typedef struct tt_page_bin {
    uint32_t span;         /* the number of the span */
    uint32_t pages;        /* that faulted */
    uint64_t minor, major; /* faults */
    int64_t offset_bytes;  /* of the bin in the segment; below 0: it begins before the segment */
} tt_page_bin;

/* Bins of faults that pass the filter, by span and offset. Pages that are partly in a span are
 * counted. *bins is malloc'ed, the caller frees it, also after an error. TT_E_USAGE: too many bins
 * or no such segment. Needs a clock. */
tt_status tt_page_bins_sum(const tt_page_index *x, const tt_filter *filter,
                           const tt_page_span *spans, size_t n_spans, tt_page_bin **bins, size_t *n,
                           tt_error *err);
/* The faults on the span's pages that pass, by time, as places in tt_model.page_faults. *faults is
 * malloc'ed, the caller frees it, also after an error. */
tt_status tt_page_index_list(const tt_page_index *x, const tt_filter *filter,
                             const tt_page_span *span, uint32_t **faults, size_t *n, tt_error *err);

enum {
    TT_LOADING_CAME_WARM, /* in the order of tt_loading_pages.came */
    TT_LOADING_CAME_MAPPED,
    TT_LOADING_CAME_LOADED,
    TT_LOADING_PAGES_USED,
    TT_LOADING_PAGES_UNUSED,
    TT_LOADING_PAGES_EVICTED,
    TT_LOADING_PAGES_AGAIN,
    TT_LOADING_KINDS
};

/* A bin of which something was in RAM before the first batch. */
typedef struct tt_loading_bin {
    uint32_t span;
    int64_t offset_bytes;
    uint64_t bytes[TT_LOADING_KINDS]; /* inside the span */
} tt_loading_bin;

/* The same of loading; buffers that are no mapping of a model's file have no bins. */
tt_status tt_loading_bins_sum(const tt_loading *l, const tt_memory_layout *layout,
                              const tt_page_span *spans, size_t n_spans, tt_loading_bin **bins,
                              size_t *n, tt_error *err);

#endif
