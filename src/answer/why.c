#include "answer/why.h"

#include <math.h>

static void number(tt_json *j, const char *key, double v)
{
    tt_json_kv_double_or_null(j, key, isfinite(v), v);
}

static void id(tt_json *j, const char *key, bool known, int64_t v)
{
    tt_json_kv_i64_or_null(j, key, known, v);
}

static void texts(tt_json *j, const char *key, const tt_sentences *t)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t i = 0; i < t->n; i++)
        tt_json_string(j, t->list[i]);
    tt_json_array_end(j);
}

static void usual(tt_json *j, const char *key, const char *n, const tt_usual_value *u)
{
    tt_json_key(j, key);
    if (!tt_usual_known(u)) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_double(j, "median_ns", u->median_ns);
    tt_json_kv_double(j, "low_ns", u->low_ns);
    tt_json_kv_double(j, "high_ns", u->high_ns);
    tt_json_kv_u64(j, n, u->n);
    tt_json_object_end(j);
}

static void parts(tt_json *j, const tt_why_part *list, size_t n, double total_ns, bool compared)
{
    tt_json_key(j, "parts");
    tt_json_array(j);
    for (size_t i = 0; i < n; i++) {
        const tt_why_part *p = &list[i];
        tt_json_object(j);
        tt_json_kv_string(j, "part", tt_part_name(p->part));
        tt_json_kv_string(j, "title", tt_part_title(p->part));
        number(j, "time_ns", p->known ? p->time_ns : (double)NAN);
        number(j, "share", p->known && total_ns > 0 ? p->time_ns / total_ns : (double)NAN);
        if (compared) number(j, "usual_ns", p->known ? p->usual_ns : (double)NAN);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static int64_t batch_number(const tt_model *m, uint32_t batch)
{
    return batch == TT_NONE ? -1 : (int64_t)tt_model_batch_number(m, batch);
}

/* --- why --- */

static void what(tt_json *j, const tt_why *w)
{
    tt_json_key(j, "of");
    tt_json_object(j);
    tt_json_kv_string(j, "kind", tt_why_kind_name(w->kind));
    id(j, "batch_id", w->batch != TT_NONE, batch_number(w->m, w->batch));
    id(j, "layer_id", w->has_layer && w->layer_id >= 0, w->layer_id);
    id(j, "run", w->run != TT_NONE, w->run);
    id(j, "node", w->node != TT_NONE, w->node);
    tt_json_kv_string(j, "name", w->name);
    tt_json_object_end(j);
}

static void ops(tt_json *j, const tt_why *w)
{
    tt_json_key(j, "ops");
    tt_json_array(j);
    for (size_t i = 0; i < w->n_ops; i++) {
        const tt_why_op *o = &w->ops[i];
        tt_json_object(j);
        tt_json_kv_u64(j, "run", o->run);
        tt_json_kv_u64(j, "node", o->node);
        id(j, "batch_id", o->batch != TT_NONE, batch_number(w->m, o->batch));
        tt_json_kv_string(j, "name", o->name);
        tt_json_kv_string(j, "op", o->op);
        id(j, "layer_id", o->layer_id >= 0, o->layer_id);
        number(j, "time_ns", o->time_ns);
        number(j, "usual_ns", o->usual_ns);
        number(j, "excess_ns", o->excess_ns);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void faults(tt_json *j, const tt_why *w)
{
    tt_json_key(j, "faults");
    tt_json_array(j);
    for (size_t i = 0; i < w->n_faults; i++) {
        const tt_why_fault *f = &w->faults[i];
        tt_json_object(j);
        tt_json_kv_string(j, "tensor", f->tensor);
        tt_json_kv_u64(j, "major_faults", f->major);
        tt_json_kv_u64(j, "minor_faults", f->minor);
        tt_json_kv_u64_or_null(j, "read_bytes", f->reads_known, f->read_bytes);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

void tt_why_json(tt_json *j, const tt_why *w)
{
    tt_json_object(j);
    what(j, w);
    texts(j, "text", &w->text);
    tt_json_kv_string(j, "cause", tt_cause_name(w->cause));
    tt_json_kv_bool(j, "slow", w->slow);
    number(j, "time_ns", w->time_ns);
    number(j, "before_ns", w->before_ns);
    number(j, "late_ns", w->late_ns);
    usual(j, "usual", "n", &w->usual);
    usual(j, "usual_before", "n", &w->usual_before);
    parts(j, w->parts, w->n_parts, w->time_ns, true);
    ops(j, w);
    faults(j, w);
    texts(j, "excluded", &w->excluded);
    texts(j, "not_known", &w->not_known);
    tt_json_object_end(j);
}

/* --- overview --- */

static void tiles(tt_json *j, const tt_overview *o)
{
    tt_json_key(j, "tiles");
    tt_json_array(j);
    for (size_t i = 0; i < TT_OVERVIEW_TILES; i++) {
        const tt_overview_tile *t = &o->tiles[i];
        tt_json_object(j);
        tt_json_kv_string(j, "key", t->key);
        tt_json_kv_string(j, "title", t->title);
        number(j, "value", t->value);
        tt_json_kv_string(j, "unit", t->unit);
        tt_json_kv_string(j, "text", t->text);
        tt_json_kv_string(j, "why_not", t->why_not);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void slow(tt_json *j, const tt_overview *o)
{
    tt_json_key(j, "slow");
    tt_json_array(j);
    for (size_t i = 0; i < o->n_slow; i++) {
        const tt_overview_slow *s = &o->slow[i];
        tt_json_object(j);
        tt_json_kv_i64(j, "batch_id", batch_number(o->m, s->batch));
        number(j, "time_ns", s->time_ns);
        number(j, "before_ns", s->before_ns);
        number(j, "late_ns", s->late_ns);
        number(j, "ratio", s->ratio);
        tt_json_kv_string(j, "cause", tt_cause_name(s->cause));
        tt_json_kv_string(j, "text", s->text);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void tensors(tt_json *j, const tt_overview *o)
{
    tt_json_key(j, "tensors");
    tt_json_array(j);
    for (size_t i = 0; i < o->n_tensors; i++) {
        const tt_overview_tensor *t = &o->tensors[i];
        tt_json_object(j);
        tt_json_kv_string(j, "tensor", t->tensor);
        number(j, "size_bytes", t->size_bytes);
        tt_json_kv_u64(j, "read_bytes", t->read_bytes);
        number(j, "work_ns", t->work_ns);
        number(j, "share", t->share);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void selects(tt_json *j, const tt_selects *s)
{
    tt_json_key(j, "select");
    tt_json_object(j);
    id(j, "batch_id", s->batch_id >= 0, s->batch_id);
    id(j, "layer_id", s->layer_id >= 0, s->layer_id);
    tt_json_kv_string(j, "tensor", s->tensor);
    id(j, "run", s->run >= 0, s->run);
    id(j, "node", s->node >= 0, s->node);
    id(j, "lane", s->lane >= 0, s->lane);
    tt_json_object_end(j);
}

static void findings(tt_json *j, const tt_overview *o)
{
    tt_json_key(j, "findings");
    tt_json_array(j);
    for (size_t i = 0; i < o->n_findings; i++) {
        const tt_finding *f = &o->findings[i];
        tt_json_object(j);
        tt_json_kv_string(j, "severity", tt_severity_name(f->severity));
        tt_json_kv_string(j, "kind", f->kind);
        tt_json_kv_string(j, "text", f->text);
        tt_json_kv_string(j, "view", f->view);
        selects(j, &f->select);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void missing(tt_json *j, const tt_overview *o)
{
    tt_json_key(j, "not_recorded");
    tt_json_array(j);
    for (size_t i = 0; i < o->n_missing; i++) {
        tt_json_object(j);
        tt_json_kv_string(j, "what", o->missing[i].what);
        tt_json_kv_string(j, "text", o->missing[i].text);
        tt_json_kv_string(j, "option", o->missing[i].option);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

void tt_overview_json(tt_json *j, const tt_overview *o)
{
    tt_json_object(j);
    tt_json_kv_string(j, "headline", o->headline);
    tiles(j, o);
    tt_json_key(j, "time");
    tt_json_object(j);
    number(j, "total_ns", o->m->clock.known ? o->total_ns : (double)NAN);
    tt_json_kv_string(j, "of", "wall");
    parts(j, o->parts, o->n_parts, o->total_ns, false);
    texts(j, "not_known", &o->not_known);
    tt_json_object_end(j);
    usual(j, "usual", "batches", &o->usual);
    slow(j, o);
    tensors(j, o);
    findings(j, o);
    missing(j, o);
    tt_json_kv_string(j, "again", o->again);
    tt_json_object_end(j);
}
