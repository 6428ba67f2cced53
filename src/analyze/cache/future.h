/* When what is read will be read again. */
#ifndef TT_ANALYZE_FUTURE_H
#define TT_ANALYZE_FUTURE_H

#include "analyze/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_FUTURE_NEVER UINT32_MAX

/* A part of a read that is next read together. */
typedef struct tt_future_part {
    uint64_t size;
    uint32_t next; /* number of that read, over all rounds */
} tt_future_part;

/* From the back: the last part is that of read 0 with the lowest address; the parts of a read
 * add up to its extent. */
typedef struct tt_future {
    tt_future_part *parts;
    size_t n;
} tt_future;

/* False without memory, or with 2^32 reads. tt_future_free also then. */
bool tt_future_see(const tt_stream *s, tt_future *f);
void tt_future_free(tt_future *f);

#endif
