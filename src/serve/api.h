/* The API: dispatches a target to its endpoint, and turns errors into replies. */
#ifndef TT_SERVE_API_H
#define TT_SERVE_API_H

#include "serve/reply.h"
#include "serve/request.h"
#include "serve/target.h"

#include <stdatomic.h>
#include <stdbool.h>

#define TT_API_PATH "/api/v1"

/* Whether the path is the API's, of any version. */
bool tt_api_owns(const char *path);
/* Whether the endpoint of the path takes changes. */
bool tt_api_changes(const char *path);

/* Of a request, as in tt_request. */
typedef struct tt_api_asker {
    int client;
    const atomic_bool *is_ending;
    bool keeps_notes;
    const char *body; /* NULL: none */
    size_t body_size;
} tt_api_asker;

/* Fills the reply, also for errors. */
void tt_api_answer(tt_traces *traces, const tt_target *target, const tt_api_asker *asker,
                   tt_reply *r);

#endif
