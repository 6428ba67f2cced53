/* What `heat` prints. */
#ifndef TT_CLI_HEAT_VIEW_H
#define TT_CLI_HEAT_VIEW_H

#include "answer/heat.h"

/* title: of the column that names the rows. False when the output failed. */
bool tt_heat_print_text(const tt_heat_view *v, const char *title, const tt_model *m, tt_heat *heat);

#endif
