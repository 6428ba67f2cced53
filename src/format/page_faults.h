/* The columns of a PAGE_FAULTS record: page faults, each with its address.
 * Specified in docs/format.md. */
#ifndef TT_FORMAT_PAGE_FAULTS_H
#define TT_FORMAT_PAGE_FAULTS_H

#include "base/bytes.h"
#include "format/meta.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_PAGE_FAULTS_MAX 4096u /* in one record */

typedef struct tt_page_fault {
    uint64_t ticks;   /* its end */
    uint64_t address; /* accessed by the program */
    uint32_t thread;  /* of the OS */
    /* The id of its MAPPING, 0: unknown; in a model its index in tt_model.mappings, or
     * TT_MAPPING_NONE. */
    uint32_t mapping : 31;
    uint32_t major : 1; /* the kernel had to wait for a device */
} tt_page_fault;

#define TT_MAPPING_NONE ((1u << 31) - 1u)

/* Appends a record's payload: n faults (at most TT_PAGE_FAULTS_MAX) in ascending time, from
 * begin_ticks on. */
void tt_page_faults_put(tt_bytes *out, uint64_t begin_ticks, uint64_t end_ticks,
                        const tt_page_fault *faults, uint32_t n);
/* Reads the columns after *r, which tt_meta_get_page_faults has read; `faults` has room for
 * TT_PAGE_FAULTS_MAX. False if they break the format. */
bool tt_page_faults_get(tt_cursor *c, const tt_meta_page_faults *r, tt_page_fault *faults);

#endif
