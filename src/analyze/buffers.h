/* The buffers of a trace over time: what lived when, how much there was in all, what is in
 * each. Sums are of what the engine asked for; how much of it was in RAM is another question. */
#ifndef TT_ANALYZE_BUFFERS_H
#define TT_ANALYZE_BUFFERS_H

#include "analyze/kvcache.h"
#include "base/status.h"
#include "model/model.h"
#include "table/table.h"

#include <stdbool.h>
#include <stdint.h>

/* What stands behind a buffer's addresses. */
typedef enum tt_backing {
    TT_BACKING_ALLOCATED = 0, /* memory that was allocated for it */
    TT_BACKING_FILE,          /* a mapping of a file: no memory of its own */
    TT_BACKING_UNKNOWN        /* which of the two was not observed */
} tt_backing;

#define TT_BACKINGS 3u
#define TT_BUFFER_KINDS ((unsigned)TT_BUFFER_OUTPUT + 1u)

/* What the graphs of the trace have in a buffer. Tensors that are views do not count; those of
 * one name at one place, in several graphs, count once. */
typedef struct tt_buffer_life {
    uint64_t n_tensors;
    uint64_t used_bytes; /* of the buffer, that any tensor covered at any time */
    uint32_t n_layers;
    const int32_t *layers; /* ascending: of the weights and caches in it */
    uint32_t alloc_event;  /* in tt_buffers.events */
    uint32_t free_event;   /* likewise, or TT_NONE */
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
    uint32_t peak[TT_BACKINGS]; /* the first event with the most of it; TT_NONE: there was none */
    int32_t *layers;            /* private: of all buffers */
} tt_buffers;

/* *out is freed with tt_buffers_free; NULL on failure. */
tt_status tt_buffers_analyze(const tt_model *m, tt_buffers **out, tt_error *err);
void tt_buffers_free(tt_buffers *b);

tt_backing tt_buffer_backing(const tt_buffer *b);
const char *tt_backing_name(tt_backing backing); /* "allocated", "file", "unknown" */
/* Of tt_buffer.usage: "any", "weights", "compute"; "other" for one this build does not know. */
const char *tt_buffer_usage_name(unsigned usage);

/* Whether the buffer was there after that event. */
bool tt_buffers_active(const tt_buffers *b, uint32_t buffer, uint32_t event);
/* What was there after the event, by kind, of that backing. */
void tt_buffers_by_kind(const tt_buffers *b, const tt_model *m, uint32_t event, tt_backing backing,
                        uint64_t bytes[TT_BUFFER_KINDS]);

/* The most there was of a kind at one moment, mapped files included. */
typedef struct tt_buffers_peak {
    uint32_t count; /* of the buffers then */
    uint64_t bytes;
} tt_buffers_peak;

tt_status tt_buffers_peaks(const tt_model *m, tt_buffers_peak peaks[TT_BUFFER_KINDS],
                           tt_error *err);

/* What there was from an event on, until the next point. */
typedef struct tt_buffers_point {
    uint64_t ticks;
    uint32_t event; /* in tt_buffers.events */
    uint64_t bytes[TT_BACKINGS][TT_BUFFER_KINDS];
} tt_buffers_point;

/* The events within [from_ticks, to_ticks] and the last one before, as at most `most` (at least 4)
 * points: when there are more, of each interval of them the one with the most bytes and the last.
 * *out is for free(), also after an error. */
tt_status tt_buffers_curve(const tt_buffers *b, const tt_model *m, uint64_t from_ticks,
                           uint64_t to_ticks, uint32_t most, tt_buffers_point **out, uint32_t *n,
                           tt_error *err);

/* --- rows --- */

/* What the columns are given. */
typedef struct tt_buffers_context {
    const tt_model *m;
    const tt_buffers *buffers;
    const tt_kv *kv;
    uint64_t steps_most; /* of a cache, spread over all; 0: all */
} tt_buffers_context;

/* Rows of tt_model.buffers, of tt_buffers.events and peak (other than TT_NONE), of tt_kv.tensors
 * and caches. */
extern const tt_schema tt_buffer_schema, tt_buffer_event_schema, tt_buffer_peak_schema,
    tt_kv_tensor_schema, tt_kv_cache_schema, tt_kv_step_schema;

/* The steps of all caches, with the cache that they are of. */
tt_rowset tt_kv_step_rowset(const tt_buffers_context *x);

#endif
