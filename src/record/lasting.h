/* What of the META stream still holds when its beginning is thrown away: descriptions that later
 * records refer to, without those that were replaced, freed or forgotten. */
#ifndef TT_RECORD_LASTING_H
#define TT_RECORD_LASTING_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_lasting_record {
    size_t at, size; /* in `data`; size 0: it holds no more */
    uint64_t key;    /* an id; of ENVIRONMENT unused */
    uint8_t type;
} tt_lasting_record;

typedef struct tt_lasting {
    tt_bytes data;
    tt_lasting_record *records; /* in the order observed */
    size_t n, capacity;
    bool failed; /* no memory: what is kept is not whole */
} tt_lasting;

void tt_lasting_init(tt_lasting *l);
void tt_lasting_free(tt_lasting *l);
/* The records of a META payload, which goes on where the one before ended. What is damaged in it
 * is left out. */
void tt_lasting_add(tt_lasting *l, tt_span meta);
/* Appends what still holds; *n: records of it. */
void tt_lasting_put(const tt_lasting *l, tt_bytes *out, uint32_t *n);

#endif
