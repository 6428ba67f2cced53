#include "answer/graph.h"
#include "answer/graph_columns_inside.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tt_graph_column(tt_graph_writer *w, const char *key, uint32_t n, tt_graph_put *put)
{
    tt_json_key(w->j, key);
    tt_json_array(w->j);
    for (uint32_t i = 0; i < n; i++)
        put(w, i);
    tt_json_array_end(w->j);
}

void tt_graph_span_or_null(const tt_graph_writer *w, bool known, uint64_t ticks)
{
    tt_json_u64_or_null(w->j, known && w->m->clock.known,
                        tt_units_round_ns(tt_model_span_ns(w->m, ticks)));
}

/* --- parts --- */

static void put_part_layer(tt_graph_writer *w, uint32_t i)
{
    int32_t layer = w->c->parts[i].layer_id;
    tt_json_u64_or_null(w->j, layer >= 0, (uint64_t)(layer >= 0 ? layer : 0));
}

static void put_part_behind(tt_graph_writer *w, uint32_t i)
{
    tt_json_bool(w->j, w->c->parts[i].behind);
}

static void put_part_shape(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, w->c->parts[i].shape);
}

static void put_part_nodes(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, w->c->parts[i].n_nodes);
}

static void put_part_executes(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, w->c->parts[i].n_executed);
}

static void put_part_ops(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, w->c->parts[i].n_ops);
}

static void put_part_total(tt_graph_writer *w, uint32_t i)
{
    tt_graph_span_or_null(w, w->c->parts[i].timed > 0, w->c->parts[i].ticks);
}

static void put_part_bytes(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64_or_null(w->j, w->c->parts[i].n_ops > 0, w->c->parts[i].weight_bytes);
}

static void put_part_at_most(tt_graph_writer *w, uint32_t i)
{
    tt_json_bool(w->j, w->c->parts[i].at_most);
}

/* A number of 64 bits is more than a reader's floating point holds. */
static void put_sum(tt_json *j, uint64_t sum)
{
    char text[17];
    (void)snprintf(text, sizeof text, "%016" PRIx64, sum);
    tt_json_string(j, text);
}

static void put_shape(tt_graph_writer *w, uint32_t i)
{
    put_sum(w->j, w->c->shapes[i]);
}

static void put_parts(tt_graph_writer *w)
{
    uint32_t n = w->c->n_parts;
    tt_json_key(w->j, "parts");
    tt_json_object(w->j);
    tt_graph_column(w, "layer_id", n, put_part_layer);
    tt_graph_column(w, "behind", n, put_part_behind);
    tt_graph_column(w, "shape", n, put_part_shape);
    tt_graph_column(w, "nodes", n, put_part_nodes);
    tt_graph_column(w, "executes", n, put_part_executes);
    tt_graph_column(w, "ops", n, put_part_ops);
    tt_graph_column(w, "total_ns", n, put_part_total);
    tt_graph_column(w, "weight_bytes", n, put_part_bytes);
    tt_graph_column(w, "weight_bytes_at_most", n, put_part_at_most);
    tt_json_object_end(w->j);
    tt_graph_column(w, "shapes", w->c->n_shapes, put_shape);
    tt_json_key(w->j, "structure");
    put_sum(w->j, w->c->structure);
}

static void put_passage_source(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, w->c->passages[i].from);
}

static void put_passage_target(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, w->c->passages[i].to);
}

static void put_passage_tensor(tt_graph_writer *w, uint32_t i)
{
    tt_json_u64(w->j, w->c->passages[i].tensor);
}

static void put_passages(tt_graph_writer *w)
{
    uint32_t n = (uint32_t)w->c->n_passages;
    tt_json_key(w->j, "passages");
    tt_json_object(w->j);
    tt_graph_column(w, "source", n, put_passage_source);
    tt_graph_column(w, "target", n, put_passage_target);
    tt_graph_column(w, "id", n, put_passage_tensor);
    tt_json_object_end(w->j);
}

/* --- the run --- */

static void put_critical(tt_graph_writer *w, const tt_critical *critical)
{
    tt_json_key(w->j, "critical_path");
    tt_json_object(w->j);
    tt_json_key(w->j, "nodes");
    tt_json_array(w->j);
    for (uint32_t i = 0; i < critical->n_ops; i++)
        tt_json_u64(w->j, critical->ops[i]);
    tt_json_array_end(w->j);
    tt_json_key(w->j, "total_ns");
    tt_graph_span_or_null(w, critical->n_ops > 0, critical->ticks);
    tt_json_kv_u64(w->j, "untimed_ops", critical->n_untimed);
    tt_json_kv_u64(w->j, "ignored_sources", critical->n_against);
    tt_json_object_end(w->j);
}

static void put_run(tt_graph_writer *w)
{
    const tt_run *r = w->t->run == TT_NONE ? NULL : &w->m->runs[w->t->run];
    bool ended = r && r->ended && r->end_ticks >= r->begin_ticks;
    tt_json_key(w->j, "run");
    tt_json_u64_or_null(w->j, r != NULL, w->t->run);
    tt_json_key(w->j, "begin_ns");
    if (r && w->m->clock.known)
        tt_json_double(w->j, tt_model_ns(w->m, r->begin_ticks));
    else
        tt_json_null(w->j);
    tt_json_key(w->j, "duration_ns");
    tt_graph_span_or_null(w, ended, ended ? r->end_ticks - r->begin_ticks : 0);
    tt_json_key(w->j, "total_ns");
    tt_graph_span_or_null(w, w->t->total.timed > 0, w->t->total.ticks);
    tt_json_kv_u64(w->j, "missing_ops", w->t->n_ops ? w->t->n_missing : 0);
}

/* The runs of the same token: a graph that was split, or several backends. */
static void put_siblings(tt_graph_writer *w)
{
    uint32_t batch = w->t->run == TT_NONE ? TT_NONE : w->m->runs[w->t->run].batch;
    tt_json_key(w->j, "token_runs");
    tt_json_array(w->j);
    for (uint32_t i = 0; i < w->m->n_runs && batch != TT_NONE; i++) {
        const tt_run *r = &w->m->runs[i];
        if (r->batch != batch || r->graph == TT_NONE) continue;
        bool ended = r->ended && r->end_ticks >= r->begin_ticks;
        tt_json_object(w->j);
        tt_json_kv_u64(w->j, "run", i);
        tt_json_kv_u64(w->j, "run_id", r->id);
        tt_json_kv_u64(w->j, "graph_id", w->m->graphs[r->graph].id);
        tt_json_kv_u64(w->j, "nodes_total", w->m->graphs[r->graph].n_nodes);
        tt_json_key(w->j, "duration_ns");
        tt_graph_span_or_null(w, ended, ended ? r->end_ticks - r->begin_ticks : 0);
        tt_json_object_end(w->j);
    }
    tt_json_array_end(w->j);
}

static void put_buffers(tt_graph_writer *w)
{
    tt_json_key(w->j, "buffers");
    tt_json_array(w->j);
    for (uint32_t i = 0; i < w->m->n_buffers; i++) {
        const tt_buffer *b = &w->m->buffers[i];
        tt_json_object(w->j);
        tt_json_kv_string(w->j, "name", b->name);
        tt_json_kv_string(w->j, "kind", tt_buffer_kind_name(b->kind));
        tt_json_object_end(w->j);
    }
    tt_json_array_end(w->j);
}

static void put_words(tt_graph_writer *w)
{
    tt_json_key(w->j, "words");
    tt_json_array(w->j);
    for (uint32_t i = 0; i < w->words.n; i++)
        tt_json_string_n(w->j, w->words.list[i], strnlen(w->words.list[i], TT_GRAPH_TEXT_MAX));
    tt_json_array_end(w->j);
}

bool tt_graph_columns_json(tt_json *j, const tt_collapse *c, const tt_critical *critical)
{
    tt_graph_writer w = {.j = j, .c = c, .t = c->t, .m = c->t->m, .g = c->t->graph};
    /* Seven columns of words. */
    w.words.list = calloc(7 * (size_t)w.g->n_tensors + 1, sizeof *w.words.list);
    if (!w.words.list) return false;
    tt_json_object(j);
    tt_graph_json_summary(j, w.t);
    put_run(&w);
    put_siblings(&w);
    tt_graph_put_tensors(&w);
    tt_graph_put_edges(&w);
    put_parts(&w);
    put_passages(&w);
    put_critical(&w, critical);
    put_buffers(&w);
    put_words(&w);
    tt_json_object_end(j);
    free(w.words.list);
    tt_idmap_free(&w.words.by_sum);
    return !w.no_memory;
}
