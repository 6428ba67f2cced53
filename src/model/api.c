/* The public reading calls (tensortrace/read.h) on top of the model. */
#include "model/model.h"

#include <tensortrace/read.h>

#include <stdlib.h>
#include <string.h>

_Static_assert(TENSORTRACE_NONE == TT_NONE && TENSORTRACE_NO_OFFSET == TT_NO_OFFSET,
               "indices are handed out as they are");
_Static_assert((int)TENSORTRACE_ORIGIN_DISK == (int)TT_ORIGIN_DISK &&
                   (int)TENSORTRACE_ORIGIN_BUFFER == (int)TT_ORIGIN_BUFFER,
               "likewise origins");

struct tensortrace_reader {
    tt_model *m;
};

static int code_of(tt_status status)
{
    switch (status) {
    case TT_OK:
        return TENSORTRACE_OK;
    case TT_E_IO:
    case TT_E_NOT_FOUND:
    case TT_E_EXISTS:
        return TENSORTRACE_E_IO;
    case TT_E_MEMORY:
    case TT_E_LIMIT:
        return TENSORTRACE_E_MEMORY;
    case TT_E_UNSUPPORTED:
        return TENSORTRACE_E_UNSUPPORTED;
    case TT_E_USAGE:
        return TENSORTRACE_E_USAGE;
    case TT_E_FORMAT:
    case TT_E_TRUNCATED:
    case TT_E_CHECKSUM:
        break;
    }
    return TENSORTRACE_E_FORMAT;
}

static int give_error(tensortrace_error *to, const tt_error *from)
{
    int code = code_of(from->status);
    if (!to) return code;
    to->code = code;
    to->offset = from->offset;
    memcpy(to->message, from->message, sizeof to->message);
    to->message[sizeof to->message - 1] = '\0';
    return code;
}

int tensortrace_open(tensortrace_reader **reader, const char *path, tensortrace_error *err)
{
    tt_error local;
    *reader = NULL;
    tensortrace_reader *r = calloc(1, sizeof *r);
    if (!r) {
        (void)tt_error_set(&local, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
        return give_error(err, &local);
    }
    if (tt_model_open(path, &r->m, &local) != TT_OK) {
        free(r);
        return give_error(err, &local);
    }
    *reader = r;
    return TENSORTRACE_OK;
}

void tensortrace_close(tensortrace_reader *reader)
{
    if (!reader) return;
    tt_model_close(reader->m);
    free(reader);
}

void tensortrace_get_summary(const tensortrace_reader *reader, tensortrace_summary *out)
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

const char *tensortrace_environment(const tensortrace_reader *reader, const char *key)
{
    return tt_model_environment(reader->m, key);
}

int tensortrace_get_batch(const tensortrace_reader *reader, uint32_t index, tensortrace_batch *out)
{
    const tt_model *m = reader->m;
    if (index >= m->n_batches) return TENSORTRACE_E_USAGE;
    const tt_batch *b = &m->batches[index];
    *out = (tensortrace_batch){.begin_ns = tt_model_mono_ns(m, b->begin_ticks),
                               .end_ns = b->ended ? tt_model_mono_ns(m, b->end_ticks) : 0,
                               .n_tokens = b->n_tokens,
                               .phase = b->phase,
                               .tokens = b->tokens,
                               .positions = b->positions};
    return TENSORTRACE_OK;
}

int tensortrace_get_run(const tensortrace_reader *reader, uint32_t index, tensortrace_run *out)
{
    const tt_model *m = reader->m;
    if (index >= m->n_runs) return TENSORTRACE_E_USAGE;
    const tt_run *r = &m->runs[index];
    *out = (tensortrace_run){.id = r->id,
                             .batch = r->batch,
                             .graph = r->graph,
                             .observed = r->observed,
                             .begin_ns = tt_model_mono_ns(m, r->begin_ticks),
                             .end_ns = r->ended ? tt_model_mono_ns(m, r->end_ticks) : 0};
    return TENSORTRACE_OK;
}

uint32_t tensortrace_count_tensors(const tensortrace_reader *reader, uint32_t graph)
{
    return graph < reader->m->n_graphs ? reader->m->graphs[graph].n_tensors : 0;
}

int tensortrace_get_tensor(const tensortrace_reader *reader, uint32_t graph, uint32_t index,
                           tensortrace_tensor *out)
{
    const tt_model *m = reader->m;
    if (graph >= m->n_graphs || index >= m->graphs[graph].n_tensors) return TENSORTRACE_E_USAGE;
    const tt_graph *g = &m->graphs[graph];
    const tt_tensor *t = &g->tensors[index];
    *out = (tensortrace_tensor){.name = t->name,
                                .op = t->op_name,
                                .type = t->type_name,
                                .executes = index < g->n_nodes && t->flags & TT_TENSOR_EXECUTES,
                                .size_bytes = t->size_bytes,
                                .n_sources = t->n_src,
                                .view_source = t->view_src,
                                .origin = (int)t->origin,
                                .layer_id = t->place.layer_id,
                                .category = t->place.category};
    memcpy(out->ne, t->ne, sizeof out->ne);
    memcpy(out->nb, t->nb, sizeof out->nb);
    memcpy(out->sources, t->src, sizeof out->sources);
    if (t->weight != TT_NONE) {
        out->weight = m->weights[t->weight].name;
        out->file_offset = m->weights[t->weight].offset_bytes + t->root_offset_bytes;
    }
    return TENSORTRACE_OK;
}

/* Hands out a piece's ops; true when the visitor has had enough. */
static bool give_piece(const tt_model *m, const tt_piece_ops *p, tensortrace_visit *visit,
                       void *context)
{
    for (size_t i = 0; i < p->n; i++) {
        const tensortrace_op op = {.node = p->node[i],
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

int tensortrace_walk_ops(tensortrace_reader *reader, uint32_t run, tensortrace_visit *visit,
                         void *context, tensortrace_error *err)
{
    const tt_model *m = reader->m;
    tt_error local;
    if (run >= m->n_runs) {
        (void)tt_error_set(&local, TT_E_USAGE, TT_NO_OFFSET, "the trace has %u runs", m->n_runs);
        return give_error(err, &local);
    }
    size_t n, first = tt_pieces_of_run(m->pieces, m->runs[run].id, &n);
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops p;
        if (tt_pieces_get(m->pieces, first + i, &p, &local) != TT_OK)
            return give_error(err, &local);
        if (give_piece(m, &p, visit, context)) break;
    }
    return TENSORTRACE_OK;
}
