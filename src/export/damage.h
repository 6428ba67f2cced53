/* How much of a trace cannot be read, for formats that say so. */
#ifndef TT_EXPORT_DAMAGE_H
#define TT_EXPORT_DAMAGE_H

#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Chunks of ops and of details that are damaged, after a look at each of them, and one for META
 * that could be read no further. m is walked: it is the thread's own share. */
tt_status tt_damage_count(const tt_model *m, uint64_t *chunks, tt_error *err);
/* Neither cut off nor with so many damaged chunks. */
bool tt_damage_is_complete(const tt_model *m, uint64_t chunks);

#endif
