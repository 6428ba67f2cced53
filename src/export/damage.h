/* Counts the damage of a trace, for formats that report it. */
#ifndef TT_EXPORT_DAMAGE_H
#define TT_EXPORT_DAMAGE_H

#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Damaged chunks of ops and of details, all of which are read, plus one if META is damaged. m is
 * walked: it must be the thread's own share. */
tt_status tt_damage_count(const tt_model *m, uint64_t *chunks, tt_error *err);
/* Neither cut off nor with damaged chunks. */
bool tt_damage_is_complete(const tt_model *m, uint64_t chunks);

#endif
