/* How hot each weight is: `tensortrace heat --json`. */
#ifndef TT_ANSWER_HEAT_H
#define TT_ANSWER_HEAT_H

#include "analyze/heat.h"
#include "base/json.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_heat_view {
    const char *path;
    const char *by; /* "tensor" "expert" "layer" "component" */
    tt_heat_by what;
    uint64_t limit; /* rows; 0: all */
    bool cold;      /* only rows of which nothing was read */
} tt_heat_view;

/* Whether the row is one that the view shows. */
static inline bool tt_heat_shows(const tt_heat_view *v, const tt_heat_row *r)
{
    return !v->cold || r->accesses == 0;
}

/* One object; asking for quantiles sorts them, so that heat is of one thread at a time. */
void tt_heat_json(tt_json *j, const tt_heat_view *v, const tt_model *m, tt_heat *heat);

#endif
