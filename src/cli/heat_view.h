/* What `heat` prints above its table. */
#ifndef TT_CLI_HEAT_VIEW_H
#define TT_CLI_HEAT_VIEW_H

#include "analyze/heat.h"

void tt_heat_print_summary(const tt_heat *heat);

#endif
