/* What of the META stream still holds when its beginning is discarded: descriptions that later
 * records refer to, without those that were replaced, freed or forgotten. */
#ifndef TT_RECORD_RETAINED_H
#define TT_RECORD_RETAINED_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_retained_record {
    size_t at, size; /* in `data`; size 0: it holds no more */
    uint64_t key;    /* an id; of ENVIRONMENT unused */
    uint8_t type;
} tt_retained_record;

typedef struct tt_retained {
    tt_bytes data;
    tt_retained_record *records; /* in the order observed */
    size_t n, capacity;
    bool failed; /* no memory: what is kept is not whole */
} tt_retained;

void tt_retained_init(tt_retained *l);
void tt_retained_free(tt_retained *l);
/* The records of a META payload, which goes on where the one before ended. What is damaged in it
 * is left out. */
void tt_retained_add(tt_retained *l, tt_span meta);
/* Appends what still holds; *n: records of it. */
void tt_retained_put(const tt_retained *l, tt_bytes *out, uint32_t *n);

#endif
