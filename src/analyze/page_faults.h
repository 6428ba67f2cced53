/* Page faults one by one, also those outside of ops: which op, which bytes of which tensor; and
 * summed up by page and by mapping. */
#ifndef TT_ANALYZE_PAGE_FAULTS_H
#define TT_ANALYZE_PAGE_FAULTS_H

#include "analyze/filter.h"
#include "analyze/weight_places.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The op on which its thread was at work. */
typedef struct tt_fault_place {
    uint32_t run; /* in tt_model.runs; TT_NONE: none */
    uint32_t node;
    uint32_t lane; /* of a hooked run */
} tt_fault_place;

/* What a fault hit. */
typedef struct tt_fault_target {
    uint32_t mapping;           /* in tt_model.mappings; TT_MAPPING_NONE: not known */
    uint32_t file;              /* in tt_model.files; TT_NONE: of no model */
    uint64_t file_offset_bytes; /* in the mapped file, whichever that is */
    uint32_t weight;            /* in tt_model.weights, or TT_NONE */
    uint64_t weight_offset_bytes;
    int32_t expert; /* or TT_EXPERT_NONE */
} tt_fault_target;

typedef struct tt_page_faults {
    const tt_model *m;
    tt_fault_place *places; /* of each of tt_model.page_faults */
    tt_weight_places weights;
    uint64_t page_bytes;
} tt_page_faults;

/* Walks the trace's ops once. Freed with tt_page_faults_free, also after an error. */
tt_status tt_page_faults_find(tt_page_faults *f, const tt_model *m, tt_error *err);
/* Of memory, in the traced process. */
uint64_t tt_page_faults_page_bytes(const tt_model *m);
void tt_page_faults_free(tt_page_faults *f);
tt_fault_target tt_page_faults_target(const tt_page_faults *f, uint32_t fault);
/* The batch (in tt_model.batches) of its op, or in whose time it was; TT_NONE: none. */
uint32_t tt_page_faults_batch(const tt_page_faults *f, uint32_t fault);
/* The mapped file, or what the memory is, as the kernel calls it; NULL: not known. */
const char *tt_page_faults_path(const tt_page_faults *f, uint32_t mapping);

/* Of the filter batch, phase, layer, tensor (weights' names) and time count. Needs a clock. */
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
/* Of the context a tt_page_faults; rows are tt_fault_page. */
extern const tt_schema tt_fault_pages_schema;
tt_rowset tt_fault_pages_rowset(const tt_page_faults *f, tt_fault_pages_by by,
                                const tt_fault_page *pages, size_t n);

#endif
