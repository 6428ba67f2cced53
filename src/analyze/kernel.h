/* The kernel's counts for the whole process (and for its devices) while batches were computed: the
 * totals at a batch's end minus those at its start. */
#ifndef TT_ANALYZE_KERNEL_H
#define TT_ANALYZE_KERNEL_H

#include "analyze/filter.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_kernel_device {
    uint64_t device;     /* st_dev */
    uint64_t read_bytes; /* by all its users */
    uint64_t reads;      /* requests */
} tt_kernel_device;

/* Sums over `windows` intervals of time. */
typedef struct tt_kernel_sum {
    uint32_t windows; /* with both ends observed */
    uint32_t missing; /* batches without */
    uint64_t tokens;  /* of the batches whose windows these are */
    bool overlap;     /* some windows overlap: counts in the overlap are added twice */
    bool has_faults;  /* minor .. system_ns were observed in every window */
    bool has_io;      /* likewise read_bytes and rchar_bytes */
    uint64_t minor, major;
    uint64_t user_ns, system_ns;
    uint64_t read_bytes;
    uint64_t rchar_bytes;
    uint32_t n_devices; /* observed in every window */
    tt_kernel_device devices[TT_USAGE_DEVICES_MAX];
} tt_kernel_sum;

typedef struct tt_kernel tt_kernel;

/* NULL if out of memory. m must outlive it. */
tt_kernel *tt_kernel_new(const tt_model *m);
void tt_kernel_free(tt_kernel *k);

/* One batch (in tt_model.batches). */
void tt_kernel_batch(const tt_kernel *k, uint32_t batch, tt_kernel_sum *sum);
/* The batches whose token and phase pass the filter; its other parts are ignored. */
void tt_kernel_batches(const tt_kernel *k, const tt_filter *filter, tt_kernel_sum *sum);
/* From the start of recording to its end, including loading and the time between batches. */
void tt_kernel_recording(const tt_kernel *k, tt_kernel_sum *sum);

/* The largest readahead setting of the model files' devices, in bytes; 0 if not recorded. */
uint64_t tt_kernel_readahead(const tt_model *m);

#endif
