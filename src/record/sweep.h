/* What runs that were killed have left in /dev/shm. */
#ifndef TT_RECORD_SWEEP_H
#define TT_RECORD_SWEEP_H

#include <stdint.h>

/* Removes session files whose `run` is gone, and areas whose process is gone and whose trace was
 * finished or removed: of this user and this version. Who is alive holds a lock, which also tells
 * across pid namespaces; where files have no locks, nothing is removed. Returns how many. */
uint32_t tt_sweep(void);

#endif
