/* /api/v1/traces/ID/state: whether the trace can be read, and whether it still grows. */
#include "serve/api_state.h"

#include "serve/endpoints.h"

void tt_state_put(tt_json *j, tt_traces *t, uint32_t id)
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
    tt_state_put(j, q->traces, q->trace_id);
    tt_json_object_end(j);
    return TT_OK;
}
