/* Results computed from a trace once, and shared by requests. */
#ifndef TT_SERVE_SOURCE_H
#define TT_SERVE_SOURCE_H

#include "base/status.h"
#include "model/model.h"

#include <stdlib.h>

/* Computed once per model (a live trace is reopened as it grows), by the first worker that needs
 * it; others wait. `make` gets that worker's share. The result is immutable, shared by all workers,
 * and freed with `drop` when the model is no longer used. A failure is returned to all waiting
 * workers and not cached. */
typedef struct tt_source_memo {
    tt_status (*make)(tt_model *m, void **out, tt_error *err);
    void (*drop)(void *made);
} tt_source_memo;

/* Defines the memo NAME of a zero-filled TYPE, which FIND(made, m, err) computes and RELEASE(made)
 * frees, also after a failure; WHAT names it in the error for lack of memory. */
#define TT_SOURCE_MEMO(name, type, what, find, release)                                            \
    static void drop_##name(void *made)                                                            \
    {                                                                                              \
        if (made) release((type *)made);                                                           \
        free(made);                                                                                \
    }                                                                                              \
    static tt_status make_##name(tt_model *m, void **out, tt_error *err)                           \
    {                                                                                              \
        type *made = calloc(1, sizeof *made);                                                      \
        *out = NULL;                                                                               \
        if (!made) return tt_error_memory(err, what);                                              \
        const tt_status status = find(made, m, err);                                               \
        if (status == TT_OK)                                                                       \
            *out = made;                                                                           \
        else                                                                                       \
            drop_##name(made);                                                                     \
        return status;                                                                             \
    }                                                                                              \
    static const tt_source_memo name = {make_##name, drop_##name};

typedef struct tt_request tt_request;

/* The result of `memo` (static storage: its address is the key) for the request's trace, or for the
 * other one of a comparison. Valid until the request ends. */
tt_status tt_source_get(tt_request *q, const tt_source_memo *memo, const void **out, tt_error *err);
tt_status tt_source_get_other(tt_request *q, const tt_source_memo *memo, const void **out,
                              tt_error *err);

#endif
