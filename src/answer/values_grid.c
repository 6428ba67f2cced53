#include "answer/values_parts.h"

#include <stdlib.h>

static void put_layer(tt_json *j, int32_t layer)
{
    if (layer >= 0)
        tt_json_i64(j, layer);
    else
        tt_json_null(j);
}

static void put_real(tt_json *j, bool known, double v)
{
    if (known)
        tt_json_double(j, v);
    else
        tt_json_null(j);
}

enum { RMS, MIN, MAX, MEAN, NANS, INFS, RUN, NODE, MATRICES };

static const char *const names[MATRICES] = {"rms",   "min",   "max", "mean",
                                            "n_nan", "n_inf", "run", "node"};

static void put_cell(tt_json *j, const tt_values_cell *c, unsigned what)
{
    const bool any = c->outputs > 0;
    switch (what) {
    case RMS:
        put_real(j, c->has_range, c->rms);
        break;
    case MIN:
        put_real(j, c->has_range, (double)c->min);
        break;
    case MAX:
        put_real(j, c->has_range, (double)c->max);
        break;
    case MEAN:
        put_real(j, c->has_range, c->mean);
        break;
    case NANS:
        tt_json_u64_or_null(j, any, c->n_nan);
        break;
    /* A mask's are no fault. */
    case INFS:
        tt_json_u64_or_null(j, any, c->masking ? 0 : c->n_inf);
        break;
    case RUN:
        tt_json_u64_or_null(j, any, c->run);
        break;
    default:
        tt_json_u64_or_null(j, any, c->node);
        break;
    }
}

static void put_axes(tt_json *j, const tt_model *m, const tt_values_grid *g)
{
    tt_json_key(j, "layers");
    tt_json_array(j);
    for (uint32_t l = 0; l < g->n_layers; l++)
        put_layer(j, g->layers[l]);
    tt_json_array_end(j);
    tt_json_key(j, "tokens");
    tt_json_array(j);
    for (uint32_t b = 0; b < g->n_batches; b++)
        tt_json_u64(j, tt_model_token(m, g->batches[b]));
    tt_json_array_end(j);
    tt_json_key(j, "phases");
    tt_json_array(j);
    for (uint32_t b = 0; b < g->n_batches; b++)
        tt_json_string(j, tt_phase_name(m->batches[g->batches[b]].phase));
    tt_json_array_end(j);
}

/* {"file", "place", "layers": [...], "tokens": [...], "phases": [...], "rms": [[...]...], "min",
 * "max", "mean", "n_nan", "n_inf", "run", "node": likewise}: arrays by layer, of arrays by token;
 * null where nothing was measured. */
static void values_grid_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                             const tt_values_grid *g)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "place", g->place[0] ? g->place : NULL);
    tt_json_kv_bool(j, "cut", g->cut);
    put_axes(j, m, g);
    for (unsigned k = 0; k < MATRICES; k++) {
        tt_json_key(j, names[k]);
        tt_json_array(j);
        for (uint32_t l = 0; l < g->n_layers; l++) {
            tt_json_array(j);
            for (uint32_t b = 0; b < g->n_batches; b++)
                put_cell(j, &g->cells[(size_t)l * g->n_batches + b], k);
            tt_json_array_end(j);
        }
        tt_json_array_end(j);
    }
    tt_json_object_end(j);
}

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
                                      [TT_VALUES_BY_TOKEN] = "token"};
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
