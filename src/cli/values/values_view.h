/* What `values` prints besides rows. */
#ifndef TT_CLI_VALUES_VIEW_H
#define TT_CLI_VALUES_VIEW_H

#include "answer/values.h"

/* `values --first-bad`. False if the output failed. */
bool tt_values_print_first(const tt_model *m, const tt_values_first *f);
/* Prints what is above the rows. */
void tt_values_print_head(const tt_values_view *v);

#endif
