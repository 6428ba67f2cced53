#include "answer/values_parts.h"

#include <stdlib.h>

bool tt_values_growth_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                           const tt_values_grid *g)
{
    tt_values_growth *list = calloc((size_t)g->n_layers + 1, sizeof *list);
    const tt_rowset set = tt_values_growth_rowset(list, g->n_layers);
    if (!list) return false;
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "place", g->place[0] ? g->place : NULL);
    tt_json_key(j, "phases");
    tt_json_array(j);
    for (unsigned phase = TT_PHASE_PROMPT; phase <= TT_PHASE_GENERATE; phase++) {
        uint64_t batches = tt_values_growth_of(m, g, phase, list);
        if (!batches) continue;
        tt_json_object(j);
        tt_json_kv_string(j, "phase", tt_phase_name(phase));
        tt_json_kv_u64(j, "batches", batches);
        tt_rowset_json_rows(j, "layers", &set, tt_values_growth_measured);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
    free(list);
    return true;
}

static const char *by_name(tt_values_by by)
{
    static const char *const all[] = {[TT_VALUES_BY_TENSOR] = "tensor",
                                      [TT_VALUES_BY_PLACE] = "place",
                                      [TT_VALUES_BY_OP] = "op",
                                      [TT_VALUES_BY_LAYER] = "layer",
                                      [TT_VALUES_BY_BATCH] = "batch"};
    return all[by];
}

void tt_values_groups_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                           const tt_values_groups *g)
{
    const uint64_t limit = v->query->limit;
    tt_rowset set = tt_values_groups_rowset(g);
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "by", by_name(g->by));
    if (limit && limit < set.n) set.n = (size_t)limit;
    tt_rowset_json_rows(j, "rows", &set, NULL);
    tt_json_kv_u64(j, "rows_total", g->n);
    tt_values_put_summary(j, m, &g->counts);
    tt_json_object_end(j);
}
