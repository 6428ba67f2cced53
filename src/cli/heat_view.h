/* What `heat` prints. */
#ifndef TT_CLI_HEAT_VIEW_H
#define TT_CLI_HEAT_VIEW_H

#include "analyze/heat.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_heat_view {
    const char *path;
    const char *by;    /* "tensor" "expert" "layer" "component" */
    const char *title; /* of that column */
    tt_heat_by what;
    uint64_t limit; /* rows; 0: all */
    bool cold;      /* only rows of which nothing was read */
} tt_heat_view;

/* Each returns false when the output failed. */
bool tt_heat_print_json(const tt_heat_view *v, const tt_model *m, tt_heat *heat);
bool tt_heat_print_text(const tt_heat_view *v, const tt_model *m, tt_heat *heat);

/* Whether the row is one that the view shows. */
static inline bool tt_heat_shows(const tt_heat_view *v, const tt_heat_row *r)
{
    return !v->cold || r->accesses == 0;
}

#endif
