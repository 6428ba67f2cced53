/* What `tensortrace buffers` prints besides its lists, on stdout. */
#ifndef TT_CLI_BUFFERS_VIEW_H
#define TT_CLI_BUFFERS_VIEW_H

#include "analyze/buffers.h"

#include <stdbool.h>

/* The peak, and the KV caches. */
void tt_buffers_print_summary(const tt_buffers_context *x);
/* Memory over time, a line for each kind. False if out of memory. */
bool tt_buffers_plot(const tt_buffers_context *x);

#endif
