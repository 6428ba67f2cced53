/* How to record what a trace lacks. */
#ifndef TT_ANALYZE_LACKING_H
#define TT_ANALYZE_LACKING_H

#include "model/model.h"

#define TT_LACKING_TEXT 200u
/* What follows "... was not recorded: ": with which option of `run` it would be, or that the trace
 * was imported from a format that does not hold it. */
const char *tt_lacking_how(const tt_model *m, const char *option, char out[TT_LACKING_TEXT]);

#endif
