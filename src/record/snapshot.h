/* A snapshot: a whole trace of what was recorded so far, made while recording goes on. */
#ifndef TT_RECORD_SNAPSHOT_H
#define TT_RECORD_SNAPSHOT_H

#include "base/status.h"
#include "record/compact.h"
#include "record/drain.h"

#include <limits.h>
#include <stdbool.h>

typedef struct tt_snapshot {
    bool active;
    tt_copy copy;
    tt_bytes totals;   /* losses and counts as they were when it began */
    uint64_t position; /* of them in the meta stream */
    char part[PATH_MAX];
    char path[PATH_MAX]; /* "FILE-snapshot-N.ttrace"; when it is done, where it really is */
} tt_snapshot;

/* Begins one of what the drain's container has: everything final should have been drained. By the
 * thread that drains. Until it is over, the container throws nothing away. */
tt_status tt_snapshot_begin(tt_snapshot *s, tt_drain *d, const char *trace, uint32_t number,
                            tt_error *err);
/* Goes on for a few megabytes; not active any more when it is over, well or not. */
tt_status tt_snapshot_step(tt_snapshot *s, tt_drain *d, tt_error *err);
/* Gives up one under way. */
void tt_snapshot_stop(tt_snapshot *s, tt_drain *d);

#endif
