/* What is to be recorded besides ops: set from the environment before anything is. */
#ifndef TT_ADAPTER_GGML_CAPTURE_H
#define TT_ADAPTER_GGML_CAPTURE_H

#include "value/select.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_capture {
    bool text;                /* token ids and texts, and the command's arguments */
    unsigned faults_way;      /* enum tt_faults_way, as it was asked for */
    bool faults;              /* the kernel's counters are read for each op */
    tt_select values;         /* whose outputs, and what of them */
    char values_problem[160]; /* why none are taken although they were asked for; "" */
    uint32_t residency_every; /* batches between two looks at the page cache; 0: none */
    /* Which batches are recorded, by their numbers from 0: every so many of first .. last. */
    uint64_t batch_first, batch_last, token_every;
} tt_capture;

extern tt_capture tt_capture_options;

/* Whether only some batches are to be recorded. */
bool tt_capture_chooses(void);
/* Whether one of the batches with the numbers from .. to is. */
bool tt_capture_wants(uint64_t from, uint64_t to);

/* Reads the variables of record/session.h. */
void tt_capture_read(void);
/* The number in an environment variable; 0 without. */
uint64_t tt_capture_number(const char *name);
/* A size in bytes, which may end in K, M, G or T (powers of 1024); 0 without. */
uint64_t tt_capture_bytes(const char *name);

#endif
