#include "answer/diff.h"

#include <math.h>
#include <string.h>

static void number(tt_json *j, const char *key, double v)
{
    tt_json_kv_double(j, key, v); /* NAN and infinities: null */
}

static void layer(tt_json *j, int64_t layer_id)
{
    tt_json_key(j, "layer_id");
    if (layer_id < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, layer_id);
}

static void side(tt_json *j, const char *key, const tt_diff_side *s)
{
    tt_json_key(j, key);
    if (!s->present) {
        tt_json_null(j);
        return;
    }
    bool timed = s->n_samples > 0;
    tt_json_object(j);
    tt_json_kv_u64(j, "count", s->count);
    tt_json_kv_u64(j, "samples", s->n_samples);
    number(j, "median_ns", timed ? s->median_ns : NAN);
    number(j, "p25_ns", timed ? s->p25_ns : NAN);
    number(j, "p75_ns", timed ? s->p75_ns : NAN);
    number(j, "mean_ns", timed ? s->mean_ns : NAN);
    number(j, "wait_median_ns", timed ? s->wait_median_ns : NAN);
    number(j, "weight_bytes", s->weight_bytes);
    tt_json_kv_bool(j, "weight_bytes_at_most", s->at_most);
    tt_json_object_end(j);
}

static void row(tt_json *j, tt_diff_family family, const tt_diff_row *r)
{
    static const char *const keys[TT_DIFF_FAMILIES] = {NULL, "category", "component",
                                                       "op", NULL,       "name"};
    tt_json_object(j);
    if (keys[family]) tt_json_kv_string(j, keys[family], r->key);
    if (family == TT_DIFF_LAYERS || family == TT_DIFF_OPS) layer(j, r->layer_id);
    if (family == TT_DIFF_OPS) {
        tt_json_kv_string(j, "name_b", r->key_b ? r->key_b : r->op_b ? r->key : NULL);
        tt_json_kv_string(j, "op_a", r->op_a);
        tt_json_kv_string(j, "op_b", r->op_b);
        tt_json_kv_string(j, "category", r->category);
        tt_json_kv_string(j, "component", r->component);
    }
    side(j, "a", &r->a);
    side(j, "b", &r->b);
    number(j, "delta_ns", r->delta_ns);
    number(j, "delta_wait_ns", r->delta_wait_ns);
    tt_json_kv_u64(j, "samples", r->shift.n);
    number(j, "samples_effective", r->shift.tested ? r->shift.n_effective : NAN);
    number(j, "change", r->change);
    number(j, "change_low", r->low > -1 ? r->low : NAN);
    number(j, "change_high", r->high);
    number(j, "p", r->p);
    number(j, "p_adjusted", r->p_adjusted);
    number(j, "p_matters", r->p_matters);
    tt_json_kv_bool(j, "significant", r->significant);
    tt_json_kv_bool(j, "matters", r->matters);
    tt_json_object_end(j);
}

static void rows(tt_json *j, const char *key, const tt_diff_phase *p, tt_diff_family family)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t i = 0; i < p->n_rows[family]; i++)
        row(j, family, &p->rows[family][i]);
    tt_json_array_end(j);
}

static void change(tt_json *j, const tt_diff_change *c)
{
    static const char *const names[] = {"name",    "op",     "type",    "shape",
                                        "sources", "fusion", "backend", "order"};
    char text[512];
    tt_json_object(j);
    tt_json_kv_string(j, "kind", !c->a ? "added" : !c->b ? "removed" : "changed");
    tt_json_kv_string(j, "name_a", c->a ? c->a->name : NULL);
    tt_json_kv_string(j, "name_b", c->b ? c->b->name : NULL);
    tt_json_kv_string(j, "op_a", c->a ? c->a->op_name : NULL);
    tt_json_kv_string(j, "op_b", c->b ? c->b->op_name : NULL);
    tt_json_kv_string(j, "computed_by_a", c->op_a);
    tt_json_kv_string(j, "computed_by_b", c->op_b);
    layer(j, c->a ? c->a->place.layer_id : c->b->place.layer_id);
    tt_json_key(j, "differs");
    tt_json_array(j);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (c->what >> i & 1) tt_json_string(j, names[i]);
    tt_json_array_end(j);
    tt_json_kv_string(j, "text", tt_diff_say_change(c, text, sizeof text));
    tt_json_object_end(j);
}

static void structure(tt_json *j, const tt_diff_structure *s)
{
    tt_json_key(j, "structure");
    tt_json_object(j);
    tt_json_kv_u64(j, "nodes_a", s->nodes_a);
    tt_json_kv_u64(j, "nodes_b", s->nodes_b);
    tt_json_kv_u64(j, "common", s->common);
    tt_json_kv_u64(j, "added", s->added);
    tt_json_kv_u64(j, "removed", s->removed);
    tt_json_kv_u64(j, "changed", s->changed);
    tt_json_kv_bool(j, "shapes_compared", s->shapes_compared);
    tt_json_kv_bool(j, "more", s->added + s->removed + s->changed > s->n);
    tt_json_key(j, "changes");
    tt_json_array(j);
    for (size_t i = 0; i < s->n; i++)
        change(j, &s->list[i]);
    tt_json_array_end(j);
    tt_json_object_end(j);
}

static void causes(tt_json *j, const tt_diff_phase *p)
{
    tt_json_key(j, "causes");
    tt_json_array(j);
    for (size_t i = 0; i < p->n_causes; i++) {
        const tt_diff_cause *c = &p->causes[i];
        tt_json_object(j);
        tt_json_kv_string(j, "component", c->component);
        tt_json_kv_string(j, "title", c->title);
        tt_json_kv_bool(j, "all_layers", c->all_layers);
        tt_json_key(j, "layers");
        tt_json_array(j);
        for (uint32_t k = 0; k < c->n_layers; k++)
            tt_json_i64(j, c->layers[k]);
        tt_json_array_end(j);
        number(j, "delta_ns", c->delta_ns);
        number(j, "delta_wait_ns", c->delta_wait_ns);
        tt_json_kv_bool(j, "significant", c->significant);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void phase(tt_json *j, const tt_diff_view *v, const tt_diff_phase *p)
{
    tt_json_object(j);
    tt_json_kv_string(j, "phase", tt_phase_name(p->phase));
    tt_json_kv_u64(j, "tokens_compared", p->pairs.n);
    tt_json_kv_u64(j, "tokens_a", p->units[0].n);
    tt_json_kv_u64(j, "tokens_b", p->units[v->d->n_a].n);
    tt_json_kv_string(j, "paired_by", p->pairs.by_position ? "position" : "order");
    tt_json_kv_u64(j, "tokens_differ", p->pairs.tokens_differ);
    tt_json_kv_u64(j, "batch_sizes_differ", p->pairs.sizes_differ);
    tt_json_kv_u64(j, "positions_differ", p->pairs.positions_differ);
    tt_json_kv_u64(j, "samples", p->n_samples);
    tt_json_kv_u64(j, "sample_every", p->stride);
    structure(j, &p->structure);
    if (p->n_rows[TT_DIFF_TOTAL] > 0) {
        tt_json_kv_string(j, "verdict", tt_diff_verdict_name(p->verdict));
        tt_json_key(j, "total");
        row(j, TT_DIFF_TOTAL, &p->rows[TT_DIFF_TOTAL][0]);
        causes(j, p);
        rows(j, "parts", p, TT_DIFF_PARTS);
        rows(j, "components", p, TT_DIFF_COMPONENTS);
        rows(j, "ops", p, TT_DIFF_KINDS);
        rows(j, "layers", p, TT_DIFF_LAYERS);
        rows(j, "nodes", p, TT_DIFF_OPS);
    }
    tt_json_object_end(j);
}

static void settings(tt_json *j, const tt_diff_around *x)
{
    tt_json_key(j, "settings");
    tt_json_array(j);
    for (size_t i = 0; i < x->n_settings; i++) {
        tt_json_object(j);
        tt_json_kv_string(j, "setting", x->settings[i].key);
        tt_json_kv_string(j, "a", x->settings[i].a);
        tt_json_kv_string(j, "b", x->settings[i].b);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void buffers(tt_json *j, const tt_diff_around *x)
{
    tt_json_key(j, "buffers");
    tt_json_array(j);
    for (unsigned k = 0; k <= TT_BUFFER_OUTPUT; k++) {
        const tt_kind_summary *a = &x->summary_a.buffers[k], *b = &x->summary_b.buffers[k];
        if (a->count == 0 && b->count == 0) continue;
        tt_json_object(j);
        tt_json_kv_string(j, "kind", tt_buffer_kind_name((tt_buffer_kind)k));
        tt_json_kv_u64(j, "count_a", a->count);
        tt_json_kv_u64(j, "count_b", b->count);
        tt_json_kv_u64(j, "size_bytes_a", a->size_bytes);
        tt_json_kv_u64(j, "size_bytes_b", b->size_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void reads(tt_json *j, const char *key, bool known, uint64_t v)
{
    tt_json_key(j, key);
    if (known)
        tt_json_u64(j, v);
    else
        tt_json_null(j);
}

static void faults(tt_json *j, const tt_diff_around *x)
{
    tt_json_key(j, "faults");
    if (!x->has_faults) {
        tt_json_null(j);
        return;
    }
    tt_json_array(j);
    for (size_t i = 0; i < x->n_faults; i++) {
        const tt_diff_fault_row *f = &x->faults[i];
        tt_json_object(j);
        tt_json_kv_bool(j, "all", f->layer_id == INT64_MIN);
        layer(j, f->layer_id);
        tt_json_kv_u64(j, "minor_a", f->minor_a);
        tt_json_kv_u64(j, "minor_b", f->minor_b);
        tt_json_kv_u64(j, "major_a", f->major_a);
        tt_json_kv_u64(j, "major_b", f->major_b);
        reads(j, "read_bytes_a", f->has_reads, f->read_a);
        reads(j, "read_bytes_b", f->has_reads, f->read_b);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void routing(tt_json *j, const tt_diff_around *x)
{
    tt_json_key(j, "routing");
    tt_json_array(j);
    for (size_t i = 0; i < x->n_routers; i++) {
        const tt_diff_router *r = &x->routers[i];
        tt_json_object(j);
        layer(j, r->layer_id);
        tt_json_kv_u64(j, "experts_a", r->experts_a);
        tt_json_kv_u64(j, "experts_b", r->experts_b);
        tt_json_kv_u64(j, "tokens_a", r->tokens_a);
        tt_json_kv_u64(j, "tokens_b", r->tokens_b);
        number(j, "divergence_bits", r->divergence_bits);
        number(j, "jaccard", r->jaccard);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void verdict(tt_json *j, const tt_diff_view *v)
{
    char text[TT_DIFF_SENTENCE];
    const tt_diff_phase *p = tt_diff_main(v->d);
    bool timed = p && tt_diff_common(v->d) > 0 && !v->d->options.structure_only;
    tt_json_key(j, "verdict");
    tt_json_object(j);
    tt_json_kv_bool(j, "differs", tt_diff_outcome_of(v) != TT_DIFF_ALIKE);
    tt_json_kv_bool(j, "structure_differs", tt_diff_common(v->d) == 0 || tt_diff_changes(v->d) > 0);
    tt_json_kv_string(j, "times", timed ? tt_diff_verdict_name(p->verdict) : NULL);
    tt_json_kv_string(j, "phase", p ? tt_phase_name(p->phase) : NULL);
    tt_json_kv_string(j, "text", tt_diff_say_times(v, text));
    tt_json_kv_string(j, "structure_text", tt_diff_say_structure(v, text));
    tt_json_object_end(j);
}

static void files(tt_json *j, const tt_diff_view *v, const char *key, size_t from, size_t to)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t f = from; f < to; f++)
        tt_json_string(j, v->paths[f]);
    tt_json_array_end(j);
}

void tt_diff_json(tt_json *j, const tt_diff_view *v)
{
    const tt_diff *d = v->d;
    char text[TT_DIFF_SENTENCE];
    tt_json_object(j);
    files(j, v, "files_a", 0, d->n_a);
    files(j, v, "files_b", d->n_a, d->n_files);
    number(j, "threshold", d->options.threshold);
    number(j, "level", d->options.level);
    verdict(j, v);
    tt_json_key(j, "notes");
    tt_json_array(j);
    for (unsigned i = 0; i < TT_DIFF_NOTES; i++)
        if (tt_diff_note(v, i, text)) tt_json_string(j, text);
    tt_json_array_end(j);
    tt_json_key(j, "phases");
    tt_json_array(j);
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        if (d->phases[i].pairs.n > 0) phase(j, v, &d->phases[i]);
    tt_json_array_end(j);
    settings(j, &d->around);
    buffers(j, &d->around);
    faults(j, &d->around);
    routing(j, &d->around);
    tt_json_kv_u64(j, "records", d->records);
    tt_json_kv_u64(j, "stray_records", d->stray);
    tt_json_object_end(j);
}
