/* A trace's data on the engine's buffers: `tensortrace buffers --json`. */
#ifndef TT_ANSWER_BUFFERS_H
#define TT_ANSWER_BUFFERS_H

#include "analyze/buffers.h"
#include "base/json.h"

/* Writes one object. path: the trace's, as the user gave it; the lists: all buffers and events. */
void tt_buffers_json(tt_json *j, const char *path, const tt_buffers_context *x,
                     const tt_listing *buffers, const tt_listing *events);

/* Writes one object: buffer memory over time (tt_buffers_curve), in columns; and the buffers at
 * the peak of each backing. */
void tt_buffers_curve_json(tt_json *j, const tt_model *m, const tt_buffers *buffers,
                           const tt_buffers_point *points, uint32_t n);

#endif
