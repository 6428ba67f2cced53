/* The weight at a byte of a model file. */
#ifndef TT_ANALYZE_PAGE_FAULTS_H
#define TT_ANALYZE_PAGE_FAULTS_H

#include "analyze/filter.h"
#include "analyze/loading.h"
#include "analyze/memory/layout.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_weight_locations {
    const tt_model *m;
    uint32_t *order; /* private: weights by file and offset */
} tt_weight_locations;

typedef struct tt_weight_location {
    uint32_t weight;       /* in tt_model.weights, or TT_NONE; then the rest is not valid */
    uint64_t offset_bytes; /* in the weight */
    int32_t expert;        /* of an expert tensor; or TT_EXPERT_NONE */
} tt_weight_location;

/* Freed with tt_weight_locations_free, also after an error. */
tt_status tt_weight_locations_find(tt_weight_locations *p, const tt_model *m, tt_error *err);
void tt_weight_locations_free(tt_weight_locations *p);
/* file: in tt_model.files. */
tt_weight_location tt_weight_locations_at(const tt_weight_locations *p, uint32_t file,
                                          uint64_t file_offset_bytes);

/* Single page faults, also those outside of ops: the op, and the bytes of the tensor; and their
 * sums by page and by mapping. */

/* The op on which its thread was working. */
typedef struct tt_fault_location {
    uint32_t run; /* in tt_model.runs; TT_NONE: none */
    uint32_t node;
    uint32_t lane; /* of a hooked run */
} tt_fault_location;

/* The target of a fault. */
typedef struct tt_fault_target {
    uint32_t mapping;           /* in tt_model.mappings; TT_MAPPING_NONE: unknown */
    uint32_t file;              /* in tt_model.files; TT_NONE: not of a model */
    uint64_t file_offset_bytes; /* in the mapped file, whatever that is */
    uint32_t weight;            /* in tt_model.weights, or TT_NONE */
    uint64_t weight_offset_bytes;
    int32_t expert; /* or TT_EXPERT_NONE */
} tt_fault_target;

typedef struct tt_page_faults {
    const tt_model *m;
    tt_fault_location *places; /* by tt_model.page_faults */
    tt_weight_locations weights;
    uint64_t page_bytes;
} tt_page_faults;

/* Walks the trace's ops once. Freed with tt_page_faults_free, also after an error. */
tt_status tt_page_faults_find(tt_page_faults *f, const tt_model *m, tt_error *err);
void tt_page_faults_free(tt_page_faults *f);
tt_fault_target tt_page_faults_target(const tt_page_faults *f, uint32_t fault);
/* The batch (index in tt_model.batches) of its op, or at its time; TT_NONE: none. */
uint32_t tt_page_faults_batch(const tt_page_faults *f, uint32_t fault);
/* The mapped file, or the kernel's name of the memory; NULL: unknown. */
const char *tt_page_faults_path(const tt_page_faults *f, uint32_t mapping);

/* Uses the filter's batch, phase, layer, tensor (weights' names) and time. Needs a clock. */
bool tt_page_faults_passes(const tt_page_faults *f, const tt_filter *filter, uint32_t fault);

typedef enum tt_fault_pages_by {
    TT_FAULT_PAGES_BY_PAGE,
    TT_FAULT_PAGES_BY_MAPPING
} tt_fault_pages_by;

/* A page, or a mapping. */
typedef struct tt_fault_page {
    tt_fault_target first; /* of the first fault */
    uint64_t address;      /* of the page; 0 of a mapping */
    uint64_t minor, major, total;
    uint64_t in_ops;      /* of total */
    uint32_t first_batch; /* of the first fault, or TT_NONE */
    double first_ns, last_ns;
    const char *path, *tensor; /* NULL: none */
    uint64_t key;              /* private */
} tt_fault_page;

/* Sums the faults that pass. *pages is malloc'ed, the caller frees it: in the order of their first
 * faults. Needs a clock. */
tt_status tt_fault_pages_sum(const tt_page_faults *f, tt_fault_pages_by by, const tt_filter *filter,
                             tt_fault_page **pages, size_t *n, tt_error *err);
/* The context is a tt_page_faults; rows are tt_fault_page. */
extern const tt_schema tt_fault_pages_schema;
tt_rowset tt_fault_pages_rowset(const tt_page_faults *f, tt_fault_pages_by by,
                                const tt_fault_page *pages, size_t n);

/* Faults and loaded pages on the memory map, summed in bins of the width that a drawing needs. */

/* Per request. */
#define TT_PAGE_BINS_MAX (1u << 20)

/* Bytes [begin, end) of a segment, begin < end. Bins begin at multiples of their size: in a file,
 * and in a buffer that maps one, relative to the file's start; in other buffers, to the start of
 * the page in which the buffer begins. */
typedef struct tt_page_span {
    uint32_t segment; /* in tt_memory_layout.segments */
    uint64_t begin, end;
    uint64_t bin_bytes; /* a multiple of the page size */
} tt_page_span;

/* A fault, located in the file or buffer. */
typedef struct tt_page_location {
    uint64_t at;    /* relative to the same start as bins */
    uint32_t fault; /* in tt_model.page_faults */
    /* Copied from the fault, because looking them up would cost more than everything else. */
    uint32_t batch; /* as returned by tt_page_faults_batch */
    uint32_t segment : 31;
    uint32_t major : 1;
} tt_page_location;

typedef struct tt_page_index {
    const tt_page_faults *faults;
    const tt_memory_layout *layout;
    tt_page_location *places; /* by segment, offset, time; of faults in a segment */
    size_t n;
} tt_page_index;

/* faults and layout must outlive it. Freed with tt_page_index_free, also after an error. */
tt_status tt_page_index_make(tt_page_index *x, const tt_page_faults *faults,
                             const tt_memory_layout *layout, tt_error *err);
void tt_page_index_free(tt_page_index *x);

/* A bin with faults. */
typedef struct tt_page_bin {
    uint32_t span;         /* index of the span */
    uint32_t pages;        /* with faults */
    uint64_t minor, major; /* faults */
    int64_t offset_bytes;  /* of the bin in the segment; negative: it begins before the segment */
} tt_page_bin;

/* Bins of faults that pass the filter, by span and offset. Pages that are partly in a span are
 * counted. *bins is malloc'ed, the caller frees it, also after an error. TT_E_USAGE: too many bins
 * or no such segment. Needs a clock. */
tt_status tt_page_bins_sum(const tt_page_index *x, const tt_filter *filter,
                           const tt_page_span *spans, size_t n_spans, tt_page_bin **bins, size_t *n,
                           tt_error *err);
/* The faults on the span's pages that pass, by time, as indices in tt_model.page_faults. *faults is
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

/* A bin with bytes that were in RAM before the first batch. */
typedef struct tt_loading_bin {
    uint32_t span;
    int64_t offset_bytes;
    uint64_t bytes[TT_LOADING_KINDS]; /* inside the span */
} tt_loading_bin;

/* The same for loading; buffers that do not map a model file have no bins. */
tt_status tt_loading_bins_sum(const tt_loading *l, const tt_memory_layout *layout,
                              const tt_page_span *spans, size_t n_spans, tt_loading_bin **bins,
                              size_t *n, tt_error *err);

#endif
