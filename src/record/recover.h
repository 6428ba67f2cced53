/* Recovery of runs that were killed, and removal of what they left in /dev/shm. */
#ifndef TT_RECORD_RECOVER_H
#define TT_RECORD_RECOVER_H

#include "base/status.h"
#include "record/area.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Removes session files whose `run` is gone, and areas whose process is gone and whose trace was
 * finished or removed, or its folder was: only of this user and this version. (If the folder was
 * moved after the program died, `recover` then loses the last second.) A live process holds a lock,
 * which works across pid namespaces; without file locks nothing is removed. Areas of traces on a
 * disk that is not mounted here are kept. Returns the number removed. */
uint32_t tt_sweep(void);

/* The result of finishing the trace of a process that died. */

typedef struct tt_recover_report {
    uint64_t chunks;       /* complete chunks in the file */
    uint64_t cut_bytes;    /* of a damaged end, cut off */
    uint64_t area_records; /* op records that were still in the area */
    tt_outcome outcome;    /* of the whole trace; known if the area was found */
    bool area_found;
    bool discarded;  /* nothing had been computed, according to the area: there is no trace */
    char path[4096]; /* of the finished trace */
} tt_recover_report;

enum tt_recover_how {
    TT_RECOVER_REPLACE = 1, /* an existing file with the finished trace's name */
    TT_RECOVER_CUT = 2,     /* allows the loss of complete chunks after a damaged one */
    TT_RECOVER_DISCARD = 4  /* removes a trace without any computation instead of finishing it */
};

/* Whether `part` is a file of this run, and not another one with its name. */
bool tt_recover_is_of(const char *part, const uint8_t run_id[16]);
/* `part`: a trace without its index or tail, usually "X.ttrace.part", which becomes "X.ttrace"
 * ("X-2.ttrace" if that exists and may not be replaced); a file not named ".part" is finished in
 * place. Adds what the process left in the area, if that still exists, and removes it. how: bits of
 * enum tt_recover_how. TT_E_EXISTS: the trace is already complete. TT_E_USAGE: it is still being
 * written. TT_E_FORMAT: also if more than one complete chunk would be lost. */
tt_status tt_recover(const char *part, unsigned how, tt_recover_report *report, tt_error *err);

#endif
