/* Parts of an export, made by several threads at once and consumed in order. */
#ifndef TT_EXPORT_WORKERS_H
#define TT_EXPORT_WORKERS_H

#include "base/bytes.h"
#include "export/export.h"
#include "model/model.h"

#include <stdint.h>

#define TT_WORKERS_MAX 64u

typedef struct tt_workers_plan {
    uint32_t n_parts;
    unsigned threads; /* 0: the number of processors */
    /* Makes a part into *out, in any thread and any order. m is the thread's own share. `own` is
     * the thread's result of open, or NULL. */
    tt_status (*make)(void *context, void *own, const tt_model *m, uint32_t part, tt_bytes *out,
                      tt_error *err);
    /* Consumes the results: one part at a time, in ascending order. NULL: none. */
    tt_status (*take)(void *context, uint32_t part, const tt_bytes *made, tt_error *err);
    /* A thread's own memory; NULL: it needs none. open returns NULL if out of memory. */
    void *(*open)(void *context);
    void (*close)(void *own);
    void *context;
    size_t limit_bytes;           /* of one part */
    tt_export_progress *progress; /* of parts; or NULL */
    void *progress_context;
} tt_workers_plan;

/* Ends with the first error (by part), after which no further part begins. At most twice as many
 * parts as threads are held at once. */
tt_status tt_workers_run(const tt_model *m, const tt_workers_plan *plan, tt_error *err);
/* `threads` of the options, or the number of processors; at least 1. */
unsigned tt_workers_threads(unsigned threads);

#endif
