/* /api/v1: what there is to ask. */
#include "base/json.h"
#include "serve/endpoints.h"
#include "serve/traces.h"

#include <string.h>

/* /api/v1/traces/ID/state: whether the trace can be read, and whether it still grows. */

/* The keys and values, into an object that is open. */
static void state_put(tt_json *j, tt_traces *t, uint32_t id)
{
    tt_trace_news news;
    tt_traces_news(t, id, &news);
    bool opened = news.generation > 0;
    tt_json_kv_u64(j, "id", id);
    tt_json_kv_string(j, "name", tt_traces_name(t, id));
    tt_json_kv_string(j, "path", tt_traces_path(t, id));
    tt_json_kv_string(j, "state", tt_trace_state_name(news.state));
    tt_json_kv_u64(j, "generation", news.generation);
    tt_json_key(j, "size_bytes");
    opened ? tt_json_u64(j, news.size_bytes) : tt_json_null(j);
    tt_json_key(j, "complete");
    opened ? tt_json_bool(j, news.complete) : tt_json_null(j);
    tt_json_kv_double(j, "opening_s", news.opening_s);
    tt_json_kv_string(j, "reading", *news.path ? news.path : NULL);
    tt_json_kv_string(j, "error", news.why.status != TT_OK ? news.why.message : NULL);
}

tt_status tt_answer_state(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    tt_json_object(j);
    state_put(j, q->traces, q->trace_id);
    tt_json_object_end(j);
    return TT_OK;
}

static void put_params(tt_json *j, const char *params)
{
    tt_json_key(j, "params");
    tt_json_array(j);
    for (const char *p = params ? params : ""; *p;) {
        size_t n = strcspn(p, " ");
        tt_json_string_n(j, p, n);
        p += n;
        p += strspn(p, " ");
    }
    tt_json_array_end(j);
}

tt_status tt_answer_index(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    tt_json_object(j);
    tt_json_kv_u64(j, "api", 1);
    tt_json_kv_string(j, "version", TT_VERSION);
    tt_json_kv_bool(j, "live", tt_traces_live(q->traces));
    tt_json_key(j, "traces");
    tt_json_array(j);
    for (uint32_t i = 0; i < tt_traces_count(q->traces); i++) {
        tt_json_object(j);
        state_put(j, q->traces, i);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "endpoints");
    tt_json_array(j);
    for (const tt_endpoint *e = tt_endpoints; e->name; e++) {
        tt_json_object(j);
        tt_json_kv_string(j, "name", e->name);
        tt_json_kv_bool(j, "of_trace", e->of_trace);
        put_params(j, e->params);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
    return TT_OK;
}
