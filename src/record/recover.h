/* What runs that were killed have left in /dev/shm. */
#ifndef TT_RECORD_RECOVER_H
#define TT_RECORD_RECOVER_H

#include "base/status.h"
#include "record/area.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Removes session files whose `run` is gone, and areas whose process is gone and whose trace was
 * finished or removed, or its folder was: of this user and this version. (Of a folder that was
 * moved after its program died, `recover` then lacks what was recorded in the last second.) Who is
 * alive holds a lock, which also tells across pid namespaces; where files have no locks, nothing is
 * removed. What lies on a disk that is not mounted here stays. Returns how many. */
uint32_t tt_sweep(void);

/* Finishing the trace of a process that died. */

typedef struct tt_recover_report {
    uint64_t chunks;       /* that were whole in the file */
    uint64_t cut_bytes;    /* of a broken end that was cut off */
    uint64_t area_records; /* op records that were still in the area */
    tt_outcome outcome;    /* of the whole trace; known when the area was found */
    bool area_found;
    bool discarded;  /* nothing had been computed, as the area says: there is no trace */
    char path[4096]; /* of the finished trace */
} tt_recover_report;

enum tt_recover_how {
    TT_RECOVER_REPLACE = 1, /* a file that has the finished trace's name already */
    TT_RECOVER_CUT = 2,     /* whole chunks behind a damaged one: they are lost */
    TT_RECOVER_DISCARD = 4  /* a trace without any computation is removed, not finished */
};

/* Whether `part` is a file, and of this very run: another may stand there by now. */
bool tt_recover_is_of(const char *part, const uint8_t run_id[16]);
/* `part`: a trace without its index or tail, usually "X.ttrace.part", which becomes "X.ttrace"
 * ("X-2.ttrace" when that exists and may not be replaced); a file not called ".part" is
 * finished in place. Takes over what its process left in the area, if that is still there,
 * and removes it. how: of enum tt_recover_how. TT_E_EXISTS: the trace is complete already.
 * TT_E_USAGE: it is still being written. TT_E_FORMAT, also: more than one whole chunk would be
 * lost. */
tt_status tt_recover(const char *part, unsigned how, tt_recover_report *report, tt_error *err);

#endif
