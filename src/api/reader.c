/* The public reading calls (tensortrace/read.h) on top of the model. */
#include "api/reader.h"

#include <stdlib.h>
#include <string.h>

static tt_status reader_need_run(const tt_reader *reader, uint32_t run, tt_error *err);

_Static_assert(sizeof((tt_reader_value *)0)->prefix == sizeof((tt_fingerprint *)0)->prefix &&
                   sizeof((tt_reader_value *)0)->samples == sizeof((tt_fingerprint *)0)->samples,
               "the public arrays are those of a fingerprint");

static tt_reader_value public_value(const tt_output *o)
{
    const tt_fingerprint *p = &o->print;
    tt_reader_value v = {
        .node = o->node,
        .elements = p->n,
        .n_nan = p->n_nan,
        .n_inf = p->n_inf,
        .first_bad = p->first_bad,
        .has_range = p->has_range,
        .min = p->min,
        .max = p->max,
        .mean = p->mean,
        .rms = p->rms,
        .has_blake3 = p->has_blake3,
        .n_prefix = p->n_prefix,
        .n_samples = p->n_samples,
    };
    memcpy(v.hash, p->hash, sizeof v.hash);
    memcpy(v.blake3, p->blake3, sizeof v.blake3);
    memcpy(v.prefix, p->prefix, sizeof v.prefix);
    memcpy(v.samples, p->samples, sizeof v.samples);
    return v;
}

tt_status tt_reader_walk_values(tt_reader *reader, uint32_t run, tt_reader_visit_value *visit,
                                void *context, tt_error *err)
{
    tt_status status = reader_need_run(reader, run, err);
    if (status == TT_OK) status = tt_outputs_of_run(&reader->outputs, reader->m, run, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < reader->outputs.n; i++) {
        const tt_reader_value v = public_value(&reader->outputs.list[i]);
        if (visit(context, &v)) break;
    }
    return TT_OK;
}

tt_status tt_reader_open(tt_reader **reader, const char *path, tt_error *err)
{
    *reader = NULL;
    tt_reader *r = calloc(1, sizeof *r);
    if (!r) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_model *m = NULL;
    tt_status status = tt_model_open(path, &m, err);
    r->m = m;
    if (status == TT_OK && !(r->held = tt_held_model_new(m))) {
        tt_model_close(m);
        status = tt_error_memory(err, "the trace");
    }
    if (status != TT_OK) {
        free(r);
        return status;
    }
    *reader = r;
    return TT_OK;
}

void tt_reader_close(tt_reader *reader)
{
    if (!reader) return;
    tt_outputs_free(&reader->outputs);
    tt_held_model_give(reader->held);
    free(reader);
}

void tt_reader_get_summary(const tt_reader *reader, tt_reader_summary *out)
{
    const tt_model *m = reader->m;
    uint64_t dropped = 0;
    memset(out, 0, sizeof *out);
    memcpy(out->run_id, m->trace.header.run_id, sizeof out->run_id);
    out->created_unix_ns = m->trace.header.created_unix_ns;
    out->pid = m->trace.header.pid;
    out->complete = m->trace.complete;
    out->has_times = m->clock.known;
    out->batches = m->n_batches;
    out->runs = m->n_runs;
    out->graphs = m->n_graphs;
    out->weights = m->n_weights;
    out->records = tt_pieces_records(m->pieces);
    (void)tt_model_count(m, "ops_dropped", &dropped);
    out->dropped = dropped > m->losses_total ? dropped : m->losses_total;
}

const char *tt_reader_get_environment(const tt_reader *reader, const char *key)
{
    return tt_model_environment(reader->m, key);
}

tt_status tt_reader_get_batch(const tt_reader *reader, uint32_t index, tt_reader_batch *out)
{
    const tt_model *m = reader->m;
    if (index >= m->n_batches) return TT_E_USAGE;
    const tt_batch *b = &m->batches[index];
    *out = (tt_reader_batch){.start_ns = tt_model_mono_ns(m, b->begin_ticks),
                             .end_ns = b->ended ? tt_model_mono_ns(m, b->end_ticks) : 0,
                             .n_tokens = b->n_tokens,
                             .phase = b->phase,
                             .tokens = b->tokens,
                             .positions = b->positions};
    return TT_OK;
}

tt_status tt_reader_get_run(const tt_reader *reader, uint32_t index, tt_reader_run *out)
{
    const tt_model *m = reader->m;
    if (index >= m->n_runs) return TT_E_USAGE;
    const tt_run *r = &m->runs[index];
    *out = (tt_reader_run){.id = r->id,
                           .batch = r->batch,
                           .graph = r->graph,
                           .observed = r->observed,
                           .start_ns = tt_model_mono_ns(m, r->begin_ticks),
                           .end_ns = r->ended ? tt_model_mono_ns(m, r->end_ticks) : 0};
    return TT_OK;
}

uint32_t tt_reader_count_tensors(const tt_reader *reader, uint32_t graph)
{
    return graph < reader->m->n_graphs ? reader->m->graphs[graph].n_tensors : 0;
}

tt_status tt_reader_get_tensor(const tt_reader *reader, uint32_t graph, uint32_t index,
                               tt_reader_tensor *out)
{
    const tt_model *m = reader->m;
    if (graph >= m->n_graphs || index >= m->graphs[graph].n_tensors) return TT_E_USAGE;
    const tt_graph *g = &m->graphs[graph];
    const tt_tensor *t = &g->tensors[index];
    *out = (tt_reader_tensor){.name = t->name,
                              .op = t->op_name,
                              .type = t->type_name,
                              .executes = index < g->n_nodes && t->flags & TT_TENSOR_EXECUTES,
                              .size_bytes = t->size_bytes,
                              .n_sources = t->n_src,
                              .view_source = t->view_src,
                              .origin = t->origin,
                              .layer_id = tt_layer_number(t->place.layer_id),
                              .category = t->place.category};
    memcpy(out->ne, t->ne, sizeof out->ne);
    memcpy(out->nb, t->nb, sizeof out->nb);
    memcpy(out->sources, t->src, sizeof out->sources);
    if (t->weight != TT_NONE) {
        out->weight = m->weights[t->weight].name;
        out->file_offset_bytes = m->weights[t->weight].offset_bytes + t->root_offset_bytes;
    }
    return TT_OK;
}

/* Passes a piece's ops to the visitor; true if that ended the walk. */
static bool give_piece(const tt_model *m, const tt_piece_ops *p, tt_reader_visit *visit,
                       void *context)
{
    for (size_t i = 0; i < p->n; i++) {
        const tt_reader_op op = {.node = p->node[i],
                                 .covers = p->covers[i],
                                 .thread = p->lane,
                                 .open = p->open,
                                 .start_ns = tt_model_mono_ns(m, p->start[i]),
                                 .arrive_ns = tt_model_mono_ns(m, p->arrive[i]),
                                 .release_ns = tt_model_mono_ns(m, p->release[i])};
        if (visit(context, &op)) return true;
    }
    return false;
}

/* TT_E_USAGE if the trace has no run with that index. */
static tt_status reader_need_run(const tt_reader *reader, uint32_t run, tt_error *err)
{
    const uint32_t n = reader->m->n_runs;
    if (run < n) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "run %u: the trace has %u", run, n);
}

tt_status tt_reader_walk_ops(tt_reader *reader, uint32_t run, tt_reader_visit *visit, void *context,
                             tt_error *err)
{
    const tt_model *m = reader->m;
    const tt_piece *pieces;
    size_t n;
    tt_status status = reader_need_run(reader, run, err);
    if (status != TT_OK) return status;
    status = tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status == TT_OK && give_piece(m, &p, visit, context)) break;
    }
    return status;
}
