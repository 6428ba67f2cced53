/* What runs that were killed have left in /dev/shm. */
#ifndef TT_RECORD_SWEEP_H
#define TT_RECORD_SWEEP_H

#include <stdint.h>

/* Removes session files whose `run` is gone, and areas whose process is gone and whose trace was
 * finished or removed, or its folder was: of this user and this version. (Of a folder that was moved
 * after its program died, `recover` then lacks what was recorded in the last second.) Who is alive
 * holds a lock, which also tells across pid namespaces; where files have no locks, nothing is
 * removed. What lies on a disk that is not mounted here stays. Returns how many. */
uint32_t tt_sweep(void);

#endif
