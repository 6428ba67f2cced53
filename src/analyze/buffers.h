/* The buffers of a trace over time: their lifetimes, total sizes and contents. Sizes are those
 * requested by the engine; how much was in RAM is another question. */
#ifndef TT_ANALYZE_BUFFERS_H
#define TT_ANALYZE_BUFFERS_H

#include "analyze/kvcache.h"
#include "base/status.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>

/* The memory behind a buffer's addresses. */
typedef enum tt_backing {
    TT_BACKING_ALLOCATED = 0, /* memory allocated for it */
    TT_BACKING_FILE,          /* a mapping of a file: no memory of its own */
    TT_BACKING_UNKNOWN        /* not observed */
} tt_backing;

#define TT_BACKINGS 3u
#define TT_BUFFER_KINDS ((unsigned)TT_BUFFER_OUTPUT + 1u)

/* Whose it is. */
typedef struct tt_buffer_user {
    uint32_t id;
    bool known, several; /* several: id is one of them */
} tt_buffer_user;

/* How the trace's graphs use a buffer. Views do not count; tensors with the same name and location
 * in several graphs count once. */
typedef struct tt_buffer_life {
    uint64_t n_tensors;
    uint64_t used_bytes; /* of the buffer, covered by any tensor at any time */
    uint32_t n_layers;
    const int32_t *layers;         /* ascending: of its weights and caches */
    tt_buffer_user model, context; /* of tt_model_file.model, of tt_batch.context */
    uint32_t alloc_event;          /* in tt_buffers.events */
    uint32_t free_event;           /* likewise, or TT_NONE */
} tt_buffer_life;

typedef struct tt_buffer_event {
    uint64_t ticks;
    uint32_t buffer; /* in tt_model.buffers */
    bool is_free;    /* else allocated, or seen for the first time */
    uint32_t n_active;
    uint64_t bytes[TT_BACKINGS]; /* of the active ones, after it */
} tt_buffer_event;

typedef struct tt_buffers {
    tt_buffer_life *uses; /* by tt_model.buffers */
    tt_buffer_event *events;
    uint32_t n_events;
    uint32_t peak[TT_BACKINGS]; /* the first event with the largest size; TT_NONE: none */
    uint32_t n_unused;          /* buffers that no graph at all uses: nobody knows whose they are */
    int32_t *layers;            /* private: of all buffers */
} tt_buffers;

/* *out is freed with tt_buffers_free; NULL on failure. tt_buffers_of: only those that the graphs of
 * runs that pass the filter (model, context; NULL: any) use, as these do; the others have no
 * event. */
tt_status tt_buffers_of(const tt_model *m, const tt_filter *f, tt_buffers **out, tt_error *err);
static inline tt_status tt_buffers_analyze(const tt_model *m, tt_buffers **out, tt_error *err)
{
    return tt_buffers_of(m, NULL, out, err);
}
void tt_buffers_free(tt_buffers *b);

tt_backing tt_buffer_backing(const tt_buffer *b);
const char *tt_backing_name(tt_backing backing); /* "allocated", "file", "unknown" */
/* Of tt_buffer.usage: "any", "weights", "compute"; "other" for one this build does not know. */
const char *tt_buffer_usage_name(unsigned usage);

/* The mapped file, or that of the model whose graphs use it; NULL: not known, or of several. */
const char *tt_buffer_model(const tt_buffers *b, const tt_model *m, uint32_t buffer);
/* The buffer's layers are numbers of one stack. */
bool tt_buffer_of_one_stack(const tt_buffer_life *u);
/* Whether the buffer existed after that event. */
bool tt_buffers_active(const tt_buffers *b, uint32_t buffer, uint32_t event);
/* The sizes after the event, by kind, for that backing. */
void tt_buffers_by_kind(const tt_buffers *b, const tt_model *m, uint32_t event, tt_backing backing,
                        uint64_t bytes[TT_BUFFER_KINDS]);

/* The largest size of a kind at one time, mapped files included. */
typedef struct tt_buffers_peak {
    uint32_t count; /* of the buffers then */
    uint64_t bytes;
} tt_buffers_peak;

tt_status tt_buffers_peaks(const tt_model *m, tt_buffers_peak peaks[TT_BUFFER_KINDS],
                           tt_error *err);

/* The state from an event until the next point. */
typedef struct tt_buffers_point {
    uint64_t ticks;
    uint32_t event; /* in tt_buffers.events */
    uint64_t bytes[TT_BACKINGS][TT_BUFFER_KINDS];
} tt_buffers_point;

/* The events within [from_ticks, to_ticks] and the last one before, as at most `most` (at least 4)
 * points: if there are more, the largest and the last one of each interval. *out is for free(),
 * also after an error. */
tt_status tt_buffers_curve(const tt_buffers *b, const tt_model *m, uint64_t from_ticks,
                           uint64_t to_ticks, uint32_t most, tt_buffers_point **out, uint32_t *n,
                           tt_error *err);

/* --- rows --- */

/* Passed to the columns. */
typedef struct tt_buffers_context {
    const tt_model *m;
    const tt_buffers *buffers;
    const tt_kv *kv;
    uint64_t steps_most; /* of a cache, evenly spread; 0: all */
} tt_buffers_context;

/* Rows of tt_model.buffers, of tt_buffers.events and peak (except TT_NONE), of tt_kv.tensors and
 * caches. */
extern const tt_schema tt_buffer_schema, tt_buffer_event_schema, tt_buffer_peak_schema,
    tt_kv_tensor_schema, tt_kv_cache_schema, tt_kv_step_schema;

/* Of a row of tt_model.buffers (context: tt_buffers_context): whether it passed the filter of
 * tt_buffers_of. */
bool tt_buffers_is_used(const void *context, const void *row);
/* The steps of all caches, each with its cache. */
tt_rowset tt_kv_step_rowset(const tt_buffers_context *x);

#endif
