#include "answer/values_parts.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

static void put_weight(tt_json *j, const tt_model *m, const tt_values_source *s)
{
    const tt_values_weight *w = &s->in_file;
    tt_json_key(j, "weight");
    if (s->weight == TT_NONE) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_string(j, "file", m->files[m->weights[s->weight].file].path);
    tt_json_kv_bool(j, "looked_at", w->looked_at);
    tt_json_kv_string(j, "why_not", w->why_not);
    tt_json_kv_u64_or_null(j, "elements", w->looked_at, w->elements);
    tt_json_kv_u64_or_null(j, "n_bad", w->looked_at, w->n_bad);
    tt_json_kv_u64_or_null(j, "n_nan", w->looked_at && w->told_apart, w->n_nan);
    tt_json_kv_u64_or_null(j, "n_inf", w->looked_at && w->told_apart, w->n_inf);
    tt_json_kv_u64_or_null(j, "first_bad", w->n_bad > 0, w->first_bad);
    if (w->n_bad && w->has_place) {
        tt_values_put_four(j, "first_bad_at", w->first_bad_at);
    } else {
        tt_json_key(j, "first_bad_at");
        tt_json_null(j);
    }
    tt_json_object_end(j);
}

static void put_source(tt_json *j, const tt_model *m, const tt_graph *g, const tt_values_source *s)
{
    const tt_tensor *t = &g->tensors[s->tensor], *root = &g->tensors[t->root];
    tt_json_object(j);
    tt_json_kv_u64(j, "slot", s->slot);
    tt_json_kv_string(j, "name", t->name);
    tt_json_kv_string(j, "root", root->name);
    tt_json_kv_string(j, "type", t->type_name);
    tt_json_kv_string(j, "state", tt_values_state_name(s->state));
    tt_json_key(j, "output");
    if (s->run == TT_NONE) {
        tt_json_null(j);
    } else {
        const tt_graph *from = &m->graphs[m->runs[s->run].graph];
        tt_json_object(j);
        tt_values_put_which(j, m, s->run, s->node);
        if (s->measured) tt_values_put_print(j, from, s->node, &s->print, false);
        tt_json_object_end(j);
    }
    put_weight(j, m, s);
    tt_json_object_end(j);
}

static void put_birth(tt_json *j, const tt_model *m, const tt_values_birth *b)
{
    tt_json_object(j);
    tt_json_kv_string(j, "kind", tt_birth_kind_name(b->kind));
    tt_json_kv_u64(j, "times", b->times);
    tt_json_key(j, "output");
    tt_values_row_json(j, m, &b->row, true);
    tt_json_key(j, "sources");
    tt_json_array(j);
    for (uint32_t i = 0; i < b->n_sources; i++)
        put_source(j, m, &m->graphs[m->runs[b->row.run].graph], &b->sources[i]);
    tt_json_array_end(j);
    tt_json_object_end(j);
}

static void put_token(tt_json *j, const char *key, const tt_model *m, uint32_t batch)
{
    tt_json_kv_u64_or_null(j, key, batch != TT_NONE,
                           batch != TT_NONE ? tt_model_batch_number(m, batch) : 0);
}

static void put_spread(tt_json *j, const tt_model *m, const tt_values_first *f)
{
    tt_json_key(j, "spread");
    tt_json_object(j);
    tt_json_kv_u64(j, "bad_after", f->bad_after);
    tt_json_kv_u64(j, "inherited", f->inherited);
    tt_json_kv_u64(j, "batches", f->tokens_bad);
    put_token(j, "first_batch_id", m, f->first_batch);
    put_token(j, "last_batch_id", m, f->last_batch);
    tt_json_kv_u64(j, "logits_measured", f->logits);
    tt_json_kv_u64(j, "logits_bad", f->logits_bad);
    put_token(j, "logits_batch_id", m,
              f->first_logits_run == TT_NONE ? TT_NONE : m->runs[f->first_logits_run].batch);
    tt_json_object_end(j);
}

void tt_values_first_json(tt_json *j, const tt_values_view *v, const tt_model *m,
                          const tt_values_first *f)
{
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_bool(j, "found", f->found);
    tt_json_key(j, "first");
    if (f->n_births)
        put_birth(j, m, &f->births[0]);
    else
        tt_json_null(j);
    tt_json_key(j, "births");
    tt_json_array(j);
    for (size_t i = 0; i < f->n_births; i++)
        put_birth(j, m, &f->births[i]);
    tt_json_array_end(j);
    tt_json_kv_u64(j, "births_total", f->births_total);
    put_spread(j, m, f);
    tt_values_put_summary(j, m, &f->counts);
    tt_json_object_end(j);
}

const char *tt_values_weight_text(char *out, size_t room, const tt_values_weight *w)
{
    char n[TT_UNITS_TEXT], of[TT_UNITS_TEXT], where[4 * 24] = "";
    const uint64_t *at = w->first_bad_at;
    if (!w->looked_at) {
        (void)snprintf(out, room, "was not looked at: %s", w->why_not ? w->why_not : "not asked");
        return out;
    }
    (void)tt_units_count(of, w->elements);
    if (w->n_bad == 0) {
        (void)snprintf(out, room, "all %s elements are finite", of);
        return out;
    }
    if (w->has_place)
        (void)snprintf(where, sizeof where, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]",
                       at[0], at[1], at[2], at[3]);
    else
        (void)snprintf(where, sizeof where, "element %" PRIu64, w->first_bad);
    if (w->told_apart)
        (void)snprintf(out, room, "%s NaN and %s infinite of %s elements, the first at %s",
                       tt_units_count(n, w->n_nan),
                       tt_units_count((char[TT_UNITS_TEXT]){0}, w->n_inf), of, where);
    else
        (void)snprintf(out, room, "%s of %s elements are not finite, the first at %s",
                       tt_units_count(n, w->n_bad), of, where);
    return out;
}
