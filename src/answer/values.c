#include "answer/values.h"

#include "answer/values_parts.h"

#include "analyze/ops.h"
#include "analyze/values/outputs.h"

#include <stdio.h>

void tt_values_put_summary(tt_json *j, const tt_model *m, const tt_values_counts *c)
{
    const char *level = tt_model_environment(m, "capture_values");
    tt_json_key(j, "summary");
    tt_json_object(j);
    tt_json_kv_string(j, "capture_values", level);
    tt_json_kv_u64(j, "runs", c->runs);
    tt_json_kv_u64(j, "outputs", c->outputs);
    tt_json_kv_u64(j, "unmeasured", c->unmeasured);
    tt_json_kv_u64(j, "incomplete", c->incomplete);
    tt_json_kv_u64(j, "elements", c->elements);
    tt_json_kv_u64(j, "bad", c->bad);
    tt_json_kv_u64(j, "n_nan", c->n_nan);
    tt_json_kv_u64(j, "n_inf", c->n_inf);
    tt_json_kv_u64(j, "masking", c->masking);
    tt_json_kv_u64(j, "constant", c->constant);
    tt_json_kv_u64(j, "zero", c->zero);
    tt_json_kv_double_or_null(j, "min", c->has_range, (double)c->min);
    tt_json_kv_double_or_null(j, "max", c->has_range, (double)c->max);
    tt_json_object_end(j);
}

void tt_values_put_four(tt_json *j, const char *key, const uint64_t v[4])
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (unsigned d = 0; d < 4; d++)
        tt_json_u64(j, v[d]);
    tt_json_array_end(j);
}

/* NaN and infinities, which JSON has not, are texts. */
static void put_float(tt_json *j, float v)
{
    if (__builtin_isnan(v))
        tt_json_string(j, "nan");
    else if (__builtin_isinf(v))
        tt_json_string(j, v > 0 ? "inf" : "-inf");
    else
        tt_json_double(j, (double)v);
}

static void put_floats(tt_json *j, const char *key, const float *v, uint32_t n)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (uint32_t i = 0; i < n; i++)
        put_float(j, v[i]);
    tt_json_array_end(j);
}

void tt_values_put_which(tt_json *j, const tt_model *m, uint32_t run, uint32_t node)
{
    const tt_run *r = &m->runs[run];
    const tt_graph *g = &m->graphs[r->graph];
    const tt_tensor *t = &g->tensors[node];
    const bool in_batch = r->batch != TT_NONE;
    tt_output_shape of;
    tt_output_shape_of(g, node, &of);
    tt_json_kv_u64_or_null(j, "batch_id", in_batch,
                           in_batch ? tt_model_batch_number(m, r->batch) : 0);
    tt_json_kv_string(j, "phase", tt_phase_name(in_batch ? m->batches[r->batch].phase : 0));
    tt_json_kv_u64(j, "run", run);
    tt_json_kv_u64(j, "run_id", r->id);
    tt_json_kv_u64(j, "graph_id", g->id);
    tt_json_kv_u64(j, "node", node);
    tt_json_kv_string(j, "name", t->name);
    tt_json_key(j, "layer_id");
    if (t->place.layer_id >= 0)
        tt_json_i64(j, t->place.layer_id);
    else
        tt_json_null(j);
    tt_json_kv_string(j, "component", t->place.component);
    tt_json_kv_string(j, "type", t->type_name);
    tt_values_put_four(j, "shape", of.ne);
}

void tt_values_put_print(tt_json *j, const tt_graph *g, uint32_t node, const tt_fingerprint *p,
                         bool samples)
{
    uint64_t at[4];
    const bool bad = p->first_bad != TT_VALUE_NONE;
    tt_json_kv_u64(j, "elements", p->n);
    tt_json_kv_u64(j, "n_nan", p->n_nan);
    tt_json_kv_u64(j, "n_inf", p->n_inf);
    tt_json_kv_u64_or_null(j, "first_bad", bad, p->first_bad);
    if (bad && tt_values_coordinates(g, node, p->first_bad, at)) {
        tt_values_put_four(j, "first_bad_at", at);
    } else {
        tt_json_key(j, "first_bad_at");
        tt_json_null(j);
    }
    tt_json_kv_double_or_null(j, "min", p->has_range, (double)p->min);
    tt_json_kv_double_or_null(j, "max", p->has_range, (double)p->max);
    tt_json_kv_double_or_null(j, "mean", p->has_range, p->mean);
    tt_json_kv_double_or_null(j, "rms", p->has_range, p->rms);
    tt_json_kv_hex_or_null(j, "hash", true, p->hash, sizeof p->hash);
    tt_json_kv_hex_or_null(j, "blake3", p->has_blake3, p->blake3, sizeof p->blake3);
    if (!samples) return;
    put_floats(j, "prefix", p->prefix, p->n_prefix);
    tt_json_key(j, "sample_indexes");
    tt_json_array(j);
    for (uint32_t i = 0; i < p->n_samples; i++)
        tt_json_u64(j, tt_value_sample_index(p->n, i));
    tt_json_array_end(j);
    put_floats(j, "samples", p->samples, p->n_samples);
}

static void put_row(tt_json *j, const tt_model *m, const tt_values_row *r, bool samples)
{
    const tt_graph *g = &m->graphs[m->runs[r->run].graph];
    tt_op op;
    tt_op_describe(m, g, r->first, r->covers, &op);
    tt_values_put_which(j, m, r->run, r->node);
    tt_json_kv_string(j, "op", op.op);
    tt_json_kv_u64(j, "op_node", r->first);
    tt_json_kv_bool(j, "masking", r->masking);
    tt_values_put_print(j, g, r->node, &r->print, samples);
}

void tt_values_row_json(tt_json *j, const tt_model *m, const tt_values_row *r, bool samples)
{
    tt_json_object(j);
    put_row(j, m, r, samples);
    tt_json_object_end(j);
}

void tt_values_list_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                         const tt_values_page *p)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_u64(j, "offset", v->query->offset);
    tt_json_key(j, "rows");
    tt_json_array(j);
    for (size_t i = 0; i < p->n; i++)
        tt_values_row_json(j, m, &p->rows[i], v->samples);
    tt_json_array_end(j);
    tt_json_kv_u64(j, "rows_total", p->total);
    tt_values_put_summary(j, m, &p->counts);
    tt_json_object_end(j);
}

void tt_values_outliers_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                             const tt_values_outliers *o)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_key(j, "rows");
    tt_json_array(j);
    for (size_t i = 0; i < o->n; i++) {
        const tt_values_outlier *x = &o->list[i];
        tt_json_object(j);
        tt_json_kv_string(j, "by", x->by_max ? "max_abs" : "rms");
        tt_json_kv_double(j, "score", x->score);
        tt_json_kv_double(j, "value", x->value);
        tt_json_kv_double(j, "usual", x->usual);
        tt_json_kv_u64(j, "among", x->among);
        put_row(j, m, &x->row, v->samples);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_kv_u64(j, "rows_total", o->total);
    tt_json_kv_u64(j, "compared", o->compared);
    tt_values_put_summary(j, m, &o->counts);
    tt_json_object_end(j);
}
