#include "answer/heat.h"

void tt_heat_json(tt_json *j, const tt_heat_view *v, const tt_heat *heat)
{
    const tt_rowset summary = {.schema = &tt_heat_summary_schema, .rows = heat, .n = 1};
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "by", v->by);
    tt_json_key(j, "rows");
    tt_listing_json(j, v->rows);
    tt_json_kv_u64(j, "rows_total", v->rows->n_all);
    tt_json_key(j, "summary");
    tt_json_object(j);
    tt_rowset_json(j, &summary, heat);
    tt_json_object_end(j);
    tt_json_object_end(j);
}
