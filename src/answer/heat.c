#include "answer/heat.h"

#include "base/units.h"

static void maybe_u64(tt_json *j, const char *key, bool known, uint64_t value)
{
    tt_json_key(j, key);
    if (known)
        tt_json_u64(j, value);
    else
        tt_json_null(j);
}

static void use(tt_json *j, const tt_model *m, const char *token, const char *ns, bool used,
                uint32_t batch, uint64_t ticks)
{
    const bool in_batch = used && batch != TT_NONE;
    maybe_u64(j, token, in_batch, in_batch ? tt_model_token(m, batch) : 0);
    maybe_u64(j, ns, used && m->clock.known, tt_units_round_ns(tt_model_ns(m, ticks)));
}

static void row_key(tt_json *j, const tt_heat_view *v, const tt_model *m, const tt_heat_row *r)
{
    const tt_weight *w = &m->weights[r->weight];
    if (v->what == TT_HEAT_TENSOR || v->what == TT_HEAT_EXPERT) {
        tt_json_kv_string(j, "tensor", w->name);
        if (v->what == TT_HEAT_EXPERT)
            maybe_u64(j, "expert_id", r->expert >= 0, (uint64_t)(int64_t)r->expert);
        maybe_u64(j, "layer_id", w->place.layer_id >= 0, (uint64_t)(int64_t)w->place.layer_id);
        tt_json_kv_string(j, "component", w->place.component);
    } else if (v->what == TT_HEAT_LAYER) {
        maybe_u64(j, "layer_id", w->place.layer_id >= 0, (uint64_t)(int64_t)w->place.layer_id);
    } else {
        tt_json_kv_string(j, "component", w->place.component);
    }
}

static void row(tt_json *j, const tt_heat_view *v, const tt_model *m, const tt_heat_row *r)
{
    const bool used = r->accesses > 0;
    tt_json_object(j);
    row_key(j, v, m, r);
    tt_json_kv_u64(j, "accesses", r->accesses);
    tt_json_kv_u64(j, "tokens", r->tokens);
    tt_json_kv_u64(j, "size_bytes", r->size_bytes);
    tt_json_kv_u64(j, "touched_bytes", r->touched_bytes);
    tt_json_kv_u64(j, "read_bytes", r->read_bytes);
    tt_json_kv_bool(j, "at_most", r->at_most);
    tt_json_key(j, "time_ns");
    if (r->timed && m->clock.known)
        tt_json_double(j, r->time_ns);
    else
        tt_json_null(j);
    use(j, m, "first_token_id", "first_ns", used, r->first_batch, r->first_ticks);
    use(j, m, "last_token_id", "last_ns", used, r->last_batch, r->last_ticks);
    tt_json_kv_u64(j, "reuses", r->reuses);
    maybe_u64(j, "reuse_p50_bytes", r->reuses > 0, r->reuse_p50_bytes);
    tt_json_key(j, "reuse_mean_bytes");
    if (r->reuses)
        tt_json_double(j, r->reuse_mean_bytes);
    else
        tt_json_null(j);
    maybe_u64(j, "reuse_max_bytes", r->reuses > 0, r->reuse_max_bytes);
    tt_json_object_end(j);
}

static void phase(tt_json *j, const char *key, const tt_heat_phase *p)
{
    tt_json_key(j, key);
    tt_json_object(j);
    tt_json_kv_u64(j, "batches", p->batches);
    tt_json_kv_u64(j, "tokens", p->tokens);
    tt_json_kv_u64(j, "read_bytes", p->read_bytes);
    tt_json_kv_u64(j, "distinct_bytes", p->distinct_bytes);
    tt_json_kv_u64(j, "distinct_max_bytes", p->distinct_bytes_max);
    tt_json_object_end(j);
}

static void set(tt_json *j, const char *key, const tt_heat_set *s)
{
    tt_json_key(j, key);
    tt_json_object(j);
    tt_json_kv_u64(j, "units", s->units);
    tt_json_kv_u64(j, "size_bytes", s->bytes);
    tt_json_object_end(j);
}

static void jumps(tt_json *j, const char *key, uint64_t count, tt_quantiles *q)
{
    tt_json_key(j, key);
    tt_json_object(j);
    tt_json_kv_u64(j, "count", count);
    maybe_u64(j, "p50_bytes", q->n && !q->failed, (uint64_t)tt_quantiles_at(q, 0.5));
    maybe_u64(j, "p95_bytes", q->n && !q->failed, (uint64_t)tt_quantiles_at(q, 0.95));
    maybe_u64(j, "max_bytes", q->n > 0, q->max);
    tt_json_object_end(j);
}

static void summary(tt_json *j, tt_heat *h)
{
    tt_heat_steps *s = &h->steps;
    tt_json_kv_u64(j, "ops", h->ops);
    tt_json_kv_u64(j, "reads", h->reads);
    tt_json_kv_u64(j, "read_bytes", h->read_bytes);
    tt_json_kv_bool(j, "at_most", h->at_most);
    tt_json_kv_bool(j, "experts_observed", h->sliced);
    tt_json_kv_u64(j, "weights_size_bytes", h->model_bytes);
    tt_json_kv_u64(j, "touched_bytes", h->touched_bytes);
    tt_json_kv_u64(j, "batches", h->batches);
    for (unsigned i = 0; i < TT_PHASES; i++)
        phase(j, tt_phase_name(tt_phase_told(i)), &h->of_phase[tt_phase_told(i)]);
    set(j, "every_batch", &h->every);
    set(j, "some_batches", &h->some);
    set(j, "never_read", &h->never);
    tt_json_kv_u64(j, "units_read_in_part", h->partly);
    tt_json_key(j, "curve");
    tt_json_array(j);
    for (size_t i = 0; i < TT_HEAT_CURVE && h->read_bytes; i++) {
        tt_json_object(j);
        tt_json_kv_double(j, "share_of_reads", h->curve_reads[i]);
        tt_json_kv_double(j, "share_of_weights", h->curve_bytes[i]);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "steps");
    tt_json_object(j);
    tt_json_kv_u64(j, "count", s->steps);
    tt_json_kv_u64(j, "adjacent", s->adjacent);
    tt_json_kv_u64(j, "again", s->again);
    tt_json_kv_u64(j, "other_file", s->other_file);
    jumps(j, "forward", s->forward, &s->forward_bytes);
    jumps(j, "backward", s->backward, &s->backward_bytes);
    tt_json_kv_u64(j, "sweeps", s->sweeps);
    tt_json_object_end(j);
}

void tt_heat_json(tt_json *j, const tt_heat_view *v, const tt_model *m, tt_heat *heat)
{
    uint64_t n = 0;
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_string(j, "by", v->by);
    tt_json_key(j, "rows");
    tt_json_array(j);
    for (size_t i = 0; i < heat->n_rows; i++) {
        if (!tt_heat_shows(v, &heat->rows[i])) continue;
        if (!v->limit || n < v->limit) row(j, v, m, &heat->rows[i]);
        n++;
    }
    tt_json_array_end(j);
    tt_json_kv_u64(j, "rows_total", n);
    tt_json_key(j, "summary");
    tt_json_object(j);
    summary(j, heat);
    tt_json_object_end(j);
    tt_json_object_end(j);
}
