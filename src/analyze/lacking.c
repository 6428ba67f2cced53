#include "analyze/lacking.h"

#include <stdio.h>

const char *tt_lacking_how(const tt_model *m, const char *option, char out[TT_LACKING_TEXT])
{
    if (tt_model_is_imported(m))
        (void)snprintf(out, TT_LACKING_TEXT,
                       "the trace was imported from a file that holds which experts were chosen, "
                       "and nothing else");
    else
        (void)snprintf(out, TT_LACKING_TEXT, "run with %s", option);
    return out;
}
