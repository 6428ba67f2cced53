/* What to record besides ops; read from the environment before recording begins. */
#ifndef TT_ADAPTER_GGML_CAPTURE_H
#define TT_ADAPTER_GGML_CAPTURE_H

#include "value/select.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_capture {
    bool text;                /* token ids and texts, and the command's arguments */
    unsigned faults_way;      /* enum tt_faults_way, as requested */
    bool faults;              /* the kernel's counters are read for each op */
    tt_select values;         /* which outputs are recorded, and in which form */
    const char *values_asked; /* in the user's words; NULL: not at all */
    char values_problem[160]; /* why requested values are not recorded; "" */
    uint32_t residency_every; /* batches between two samples of the page cache; 0: none */
    /* Which batches are recorded, by number from 0: every token_every-th of first .. last. */
    uint64_t batch_first, batch_last, token_every;
} tt_capture;

#define TT_CAPTURE_DEFAULTS                                                                        \
    (tt_capture)                                                                                   \
    {                                                                                              \
        .text = true, .batch_last = UINT64_MAX, .token_every = 1                                   \
    }

extern tt_capture tt_capture_options;

/* Whether only some batches are recorded. */
bool tt_capture_chooses(void);
/* Whether any batch numbered from .. to is recorded. */
bool tt_capture_wants(uint64_t from, uint64_t to);

/* Reads the variables of record/session.h. */
void tt_capture_read(void);
/* The number in an environment variable; 0 when unset. */
uint64_t tt_capture_number(const char *name);
/* A size in bytes, with an optional suffix K, M, G or T (powers of 1024); 0 when unset. */
uint64_t tt_capture_bytes(const char *name);

#endif
