#include "answer/log.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a description that is kept: long names are written anew each time. */
#define DESCRIPTION_KEPT_MAX 8192u

void tt_log_json_place(tt_json *j, const tt_model *m, const tt_graph *g, uint32_t tensor)
{
    const tt_tensor *t = &g->tensors[tensor], *root = &g->tensors[t->root];
    uint32_t buffer = t->buffer != TT_NONE ? t->buffer : root->buffer;
    tt_json_kv_string(j, "name", t->name);
    if (root != t) tt_json_kv_string(j, "view_of", root->name);
    tt_json_kv_string(j, "type", t->type_name);
    tt_json_kv_u64(j, "size_bytes", t->size_bytes);
    tt_json_kv_string(j, "origin", tt_origin_name(t->origin));
    if (t->weight != TT_NONE) {
        const tt_weight *w = &m->weights[t->weight];
        tt_json_kv_string(j, "file", m->files[w->file].path);
        tt_json_kv_u64(j, "file_offset_bytes", w->offset_bytes + t->root_offset_bytes);
    }
    if (buffer == TT_NONE) return;
    tt_json_kv_u64(j, "buffer_id", m->buffers[buffer].id);
    tt_json_kv_u64(j, "buffer_offset_bytes",
                   t->buffer != TT_NONE ? t->location : root->location + t->root_offset_bytes);
}

/* What was picked from a source: ranges of rows, or experts. */
static void picked(tt_json *j, const tt_model *m, const tt_tensor *t, const tt_op_source *s,
                   const tt_access *accesses, size_t n)
{
    bool experts = false, any = false;
    for (size_t i = 0; i < n; i++) {
        const tt_access *a = &accesses[i];
        if (a->tensor != s->tensor || a->at_most) continue;
        uint64_t at = a->offset_bytes - m->weights[a->weight].offset_bytes - t->root_offset_bytes;
        if (!any) {
            experts = a->expert != TT_EXPERT_NONE;
            tt_json_key(j, experts ? "experts" : "rows");
            tt_json_array(j);
            any = true;
        }
        tt_json_object(j);
        if (experts) {
            tt_json_kv_i64(j, "expert_id", a->expert);
            tt_json_kv_u64(j, "tokens", a->uses);
        } else if (t->nb[1]) {
            tt_json_kv_u64(j, "first", at / t->nb[1]);
            tt_json_kv_u64(j, "count", (a->size_bytes + t->nb[1] - 1) / t->nb[1]);
        }
        tt_json_kv_u64(j, "file_offset_bytes", a->offset_bytes);
        tt_json_kv_u64(j, "read_bytes", a->size_bytes);
        tt_json_object_end(j);
    }
    if (any) tt_json_array_end(j);
}

static void source(tt_json *j, const tt_model *m, const tt_op *op, const tt_op_source *s,
                   const tt_access *accesses, size_t n)
{
    tt_json_object(j);
    tt_log_json_place(j, m, op->graph, s->tensor);
    tt_json_kv_u64(j, "read_bytes", s->read_bytes);
    if (s->at_most) tt_json_kv_bool(j, "read_bytes_at_most", true);
    if (s->picks && s->weight != TT_NONE)
        picked(j, m, &op->graph->tensors[s->tensor], s, accesses, n);
    tt_json_object_end(j);
}

/* null for an op whose end was not seen. */
static void span(tt_json *j, const tt_model *m, const char *key, bool open, uint64_t ticks)
{
    tt_json_key(j, key);
    if (open)
        tt_json_null(j);
    else
        tt_json_u64(j, tt_units_round_ns(tt_model_span_ns(m, ticks)));
}

static void times(tt_json *j, const tt_model *m, const tt_log_op *o)
{
    tt_json_kv_u64(j, "start_ns", tt_model_mono_ns(m, o->start_ticks));
    tt_json_kv_double(j, "start_relative_ns", tt_model_ns(m, o->start_ticks));
    span(j, m, "duration_ns", o->open, o->arrive_ticks - o->start_ticks);
    span(j, m, "busy_ns", o->open, o->busy_ticks);
    span(j, m, "wait_ns", o->open || !tt_model_waits_known(m, o->run), o->wait_ticks);
    span(j, m, "off_cpu_ns", o->open || !o->off_cpu_known, o->off_cpu_ticks);
    tt_json_kv_u64(j, "start_ticks", o->start_ticks);
}

static void place(tt_json *j, const tt_model *m, const tt_log_op *o)
{
    bool in_batch = o->run->batch != TT_NONE;
    tt_json_key(j, "token_id");
    if (in_batch)
        tt_json_u64(j, tt_model_token(m, o->run->batch));
    else
        tt_json_null(j);
    tt_json_kv_string(j, "phase",
                      tt_phase_name(in_batch ? m->batches[o->run->batch].phase : TT_PHASE_UNKNOWN));
    tt_json_kv_u64(j, "run_id", o->run->id);
    tt_json_kv_u64(j, "graph_id", o->op->graph->id);
    tt_json_kv_u64(j, "node", o->op->node);
    tt_json_kv_u64(j, "nodes", o->op->n_nodes);
    if (o->lane == TT_NONE)
        tt_json_kv_u64(j, "threads", o->lanes);
    else
        tt_json_kv_u64(j, "thread_id", o->lane);
}

/* What is the same each time the op is executed, unless it picks what it reads. */
static void description(tt_json *j, const tt_model *m, const tt_op *op, const tt_access *accesses,
                        size_t n)
{
    tt_json_kv_string(j, "op", op->op);
    tt_json_kv_string(j, "name", op->name);
    tt_json_key(j, "layer_id");
    if (op->place.layer_id < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, op->place.layer_id);
    tt_json_kv_string(j, "category", op->place.category);
    tt_json_kv_string(j, "component", op->place.component);
    tt_json_kv_u64(j, "weight_bytes", op->weight_bytes);
    if (op->at_most) tt_json_kv_bool(j, "weight_bytes_at_most", true);
    tt_json_key(j, "sources");
    tt_json_array(j);
    for (uint32_t i = 0; i < op->n_sources; i++)
        source(j, m, op, &op->sources[i], accesses, n);
    tt_json_array_end(j);
    tt_json_key(j, "destination");
    tt_json_object(j);
    tt_log_json_place(j, m, op->graph, op->nodes[op->n_nodes - 1]);
    tt_json_object_end(j);
}

/* A description as text, kept with the op. */
typedef struct kept_text {
    size_t n;
    char text[];
} kept_text;

static void keep_description(tt_json *j, const tt_model *m, const tt_op *op, void **note)
{
    size_t n;
    tt_json_place mark = tt_json_mark(j, DESCRIPTION_KEPT_MAX);
    description(j, m, op, NULL, 0);
    const char *text = tt_json_since(j, mark, &n);
    if (!text || n > DESCRIPTION_KEPT_MAX) return;
    kept_text *kept = malloc(sizeof *kept + n);
    if (!kept) return;
    kept->n = n;
    memcpy(kept->text, text, n);
    *note = kept;
}

void tt_log_json_op(tt_json *j, const tt_model *m, const tt_log_op *row, const tt_op *op,
                    const tt_access *accesses, size_t n)
{
    const kept_text *kept = op->picks || !row->note ? NULL : *row->note;
    tt_json_object(j);
    times(j, m, row);
    place(j, m, row);
    if (kept)
        tt_json_again(j, kept->text, kept->n);
    else if (op->picks || !row->note)
        description(j, m, op, accesses, n);
    else
        keep_description(j, m, op, row->note);
    tt_json_object_end(j);
}
