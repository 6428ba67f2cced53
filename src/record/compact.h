/* Copies of a container that is still being written: without a hole, and only of valid chunks. */
#ifndef TT_RECORD_COMPACT_H
#define TT_RECORD_COMPACT_H

#include "base/status.h"
#include "record/sink.h"

#include <stdbool.h>
#include <stddef.h>

/* A copy in progress. Meanwhile the chunks of `from` must stay: from->hold. */
typedef struct tt_copy {
    const tt_sink *from;
    tt_sink to;
    tt_index_entry *list;
    size_t n, next;
    tt_bytes chunk;
} tt_copy;

/* Takes ownership of fd, an empty file, even on failure; copies the chunks that `from` has now. */
tt_status tt_copy_begin(tt_copy *c, const tt_sink *from, int fd, tt_error *err);
/* Copies about `budget_bytes` more; *done: that was all. */
tt_status tt_copy_step(tt_copy *c, size_t budget_bytes, bool *done, tt_error *err);
/* Closes the copy, complete or not. */
void tt_copy_end(tt_copy *c);

/* If the container at `path` has a hole: replaces it by a copy without one, with a lock of its own,
 * and continues there. On failure nothing changes. */
tt_status tt_compact(tt_sink *s, const char *path, tt_error *err);

#endif
