/* What a trace says about the engine's buffers: `tensortrace buffers --json`. */
#ifndef TT_ANSWER_BUFFERS_H
#define TT_ANSWER_BUFFERS_H

#include "analyze/buffers.h"
#include "analyze/kvcache.h"
#include "base/json.h"
#include "model/model.h"

/* One object. path: the trace's, as its user calls it. */
void tt_buffers_json(tt_json *j, const char *path, const tt_model *m, const tt_buffers *buffers,
                     const tt_kv *kv);

#endif
