/* What `tensortrace buffers` shows, for people. */
#ifndef TT_CLI_BUFFERS_H
#define TT_CLI_BUFFERS_H

#include "analyze/buffers.h"
#include "analyze/kvcache.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_buffers_report {
    const char *path;
    const tt_model *m;
    const tt_buffers *buffers;
    const tt_kv *kv;
    bool timeline;  /* events and a plot instead of the table of buffers */
    bool cache;     /* the KV caches' layers and tokens instead */
    uint64_t limit; /* rows of a table of events or tokens; 0: all */
} tt_buffers_report;

/* To stdout; false when memory ran out or the output failed. */
bool tt_buffers_print_text(const tt_buffers_report *r);

/* Memory over time, a line for each kind, on stdout. False without memory. */
bool tt_buffers_plot(const tt_buffers_report *r);

#endif
