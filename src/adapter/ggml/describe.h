/* What ran, and on what: the ENVIRONMENT of a trace. */
#ifndef TT_ADAPTER_GGML_DESCRIBE_H
#define TT_ADAPTER_GGML_DESCRIBE_H

#include "record/recorder.h"

/* Records what is captured, command, working directory, host, processor, clock and the place of the
 * area. What cannot be read is left out. */
void tt_describe_run(tt_recorder *r);

#endif
