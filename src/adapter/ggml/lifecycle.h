/* Start and end of recording in the traced process, and what each part of the adapter does then. */
#ifndef TT_ADAPTER_GGML_LIFECYCLE_H
#define TT_ADAPTER_GGML_LIFECYCLE_H

#include "adapter/ggml/process.h"

/* Like tt_process_begin, with all parts in this directory. */
tt_status tt_lifecycle_begin(const tt_process_setup *setup, tt_error *err);
/* Call when a graph is about to be computed. tt_process_lock is held. */
void tt_lifecycle_at_first_run(void);

#endif
