/* How a trace stands, as the index and the endpoint `state` say it. */
#ifndef TT_SERVE_API_STATE_H
#define TT_SERVE_API_STATE_H

#include "base/json.h"
#include "serve/traces.h"

/* The keys and values, into an object that is open. */
void tt_state_put(tt_json *j, tt_traces *t, uint32_t id);

#endif
