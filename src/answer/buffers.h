/* What a trace says about the engine's buffers: `tensortrace buffers --json`. */
#ifndef TT_ANSWER_BUFFERS_H
#define TT_ANSWER_BUFFERS_H

#include "analyze/buffers.h"
#include "base/json.h"

/* One object. path: the trace's, as its user calls it; the lists: of all buffers and events. */
void tt_buffers_json(tt_json *j, const char *path, const tt_buffers_context *x,
                     const tt_listing *buffers, const tt_listing *events);

/* One object: how much there was, moment by moment (tt_buffers_curve), in columns; and what there
 * was at the point with the most of each backing. */
void tt_buffers_curve_json(tt_json *j, const tt_model *m, const tt_buffers *buffers,
                           const tt_buffers_point *points, uint32_t n);

#endif
