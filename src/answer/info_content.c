/* What the trace's bytes are. */
#include "answer/info.h"

static double per_op(const tt_content *c, uint64_t bytes)
{
    return c->records ? (double)bytes / (double)c->records : 0;
}

void tt_info_content_json(tt_json *j, const tt_info *info)
{
    const tt_content *c = &info->content;
    tt_json_key(j, "content");
    tt_json_array(j);
    for (size_t i = 0; i < c->n; i++) {
        const tt_content_row *r = &c->rows[i];
        tt_json_object(j);
        tt_json_kv_string(j, "part", r->part);
        tt_json_kv_string(j, "column", r->column);
        tt_json_kv_u64(j, "count", r->count);
        tt_json_kv_u64(j, "raw_bytes", r->raw_bytes);
        tt_json_kv_u64(j, "stored_bytes", r->stored_bytes);
        tt_json_key(j, "bytes_per_op");
        if (c->records)
            tt_json_double(j, per_op(c, r->stored_bytes));
        else
            tt_json_null(j);
        tt_json_kv_bool(j, "apportioned", r->apportioned);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}
