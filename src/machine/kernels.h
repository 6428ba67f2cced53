/* The loops to measure. */
#ifndef TT_MACHINE_KERNELS_H
#define TT_MACHINE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Reads all of it; `bytes` is a multiple of 1024, data is aligned to 64. The result depends on
 * every byte. */
uint64_t tt_kernel_read(const void *data, size_t bytes);

typedef struct tt_kernel_compute {
    const char *name;
    /* Runs `rounds` rounds; the result depends on all of them. */
    double (*run)(uint64_t rounds);
    double operations; /* per round */
} tt_kernel_compute;

/* For this processor. */
const tt_kernel_compute *tt_kernel_floats(void);
const tt_kernel_compute *tt_kernel_int8(void); /* NULL: none */

#endif
