/* How often each weight is read: `tensortrace heat --json`. */
#ifndef TT_ANSWER_HEAT_H
#define TT_ANSWER_HEAT_H

#include "analyze/heat.h"
#include "base/json.h"

typedef struct tt_heat_view {
    const char *path;
    const char *by; /* "tensor" "expert" "layer" "component" */
    const tt_listing *rows;
    const tt_heat *heat;
} tt_heat_view;

/* Writes one object. */
void tt_heat_json(tt_json *j, const tt_heat_view *v);

#endif
