/* /api/v1: what there is to ask. */
#include "serve/api_state.h"
#include "serve/endpoints.h"

#include <string.h>

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
        tt_state_put(j, q->traces, i);
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
