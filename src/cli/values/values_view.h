/* What `values` prints. */
#ifndef TT_CLI_VALUES_VIEW_H
#define TT_CLI_VALUES_VIEW_H

#include "answer/values.h"

/* Each is false when the output failed. */
bool tt_values_print_list(const tt_values_view *v, const tt_model *m, const tt_values_page *p);
bool tt_values_print_first(const tt_values_view *v, const tt_model *m, const tt_values_first *f);
bool tt_values_print_growth(const tt_values_view *v, const tt_model *m, const tt_values_grid *g);
bool tt_values_print_groups(const tt_values_view *v, const tt_values_groups *g);
bool tt_values_print_outliers(const tt_values_view *v, const tt_model *m,
                              const tt_values_outliers *o);

/* Shared by them: a number in short; "-" when it is not known. */
#define TT_VALUES_TEXT 32
const char *tt_values_real_text(char out[TT_VALUES_TEXT], bool known, double v);
/* "128x5", the dimensions behind the last that is not 1 left out. */
const char *tt_values_shape_text(char out[96], const uint64_t ne[4]);

#endif
