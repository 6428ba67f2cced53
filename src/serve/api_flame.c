/* /api/v1/traces/ID/flame: time by batch, layer, component and op, as a tree. */
#include "analyze/flame.h"
#include "serve/endpoints.h"

#define SHARE_DEFAULT 0.0005
#define NODES_MAX 20000u
#define NODES_DEFAULT 8000u

tt_status tt_answer_flame(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_filter filter;
    uint64_t merged, most;
    uint32_t n;
    double least;
    tt_flame *f;
    const tt_over over = tt_request_over(q);
    if (!tt_request_filter(q, &filter, err) ||
        !tt_request_u64(q, "merged", 0, 1, 0, &merged, err) ||
        !tt_request_u64(q, "limit", 1, NODES_MAX, NODES_DEFAULT, &most, err) ||
        !tt_request_double(q, "least_share", 0, 1, SHARE_DEFAULT, &least, err))
        return TT_E_USAGE;
    tt_status status =
        tt_flame_new(q->m, &filter, merged != 0, least, (uint32_t)most, &over, &f, err);
    if (status != TT_OK) return status;
    const tt_flame_node *nodes = tt_flame_nodes(f, &n);
    tt_json *j = tt_reply_json(r);
    tt_json_object(j);
    tt_json_kv_bool(j, "merged", merged != 0);
    tt_json_kv_bool(j, "waits_known", !tt_flame_waits_unknown(f));
    tt_rowset_json_columns(j, "nodes", &TT_ROWSET(&tt_flame_schema, 0, q->m, nodes, n));
    tt_json_object_end(j);
    tt_flame_free(f);
    return TT_OK;
}
