/* What a trace says about the engine's buffers: `tensortrace buffers --json`. */
#ifndef TT_ANSWER_BUFFERS_H
#define TT_ANSWER_BUFFERS_H

#include "analyze/buffers.h"
#include "analyze/kvcache.h"
#include "base/json.h"
#include "model/model.h"

/* How much is said. Zero-filled: everything. */
typedef struct tt_buffers_limits {
    uint64_t
        rows; /* of buffers (the largest), events, and tokens of a KV cache (spread over all) */
} tt_buffers_limits;

/* One object. path: the trace's, as its user calls it. With limits also how many there are,
 * and of each its index in tt_model.buffers. */
void tt_buffers_json(tt_json *j, const char *path, const tt_model *m, const tt_buffers *buffers,
                     const tt_kv *kv, const tt_buffers_limits *limits);

/* One object: how much there was, moment by moment (tt_buffers_curve), in columns; and what there
 * was at the point with the most of each backing. */
void tt_buffers_curve_json(tt_json *j, const tt_model *m, const tt_buffers *buffers,
                           const tt_buffers_point *points, uint32_t n);

#endif
