/* The API: dispatches a target to its endpoint, and turns errors into replies. */
#ifndef TT_SERVE_API_H
#define TT_SERVE_API_H

#include "serve/reply_body.h"
#include "serve/request.h"
#include "serve/target.h"

#include <stdatomic.h>
#include <stdbool.h>

#define TT_API_PATH "/api/v1"

/* Whether the path is the API's, of any version. */
bool tt_api_owns(const char *path);
/* Fills the reply, also for errors. `client` and `is_ending` as in tt_request. */
void tt_api_answer(tt_traces *traces, const tt_target *target, int client,
                   const atomic_bool *is_ending, tt_reply *r);

#endif
