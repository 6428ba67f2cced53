/* The check of `verify` that every weight is where the model file says. */
#include "analyze/verify/checks.h"

#include <inttypes.h>
#include <string.h>

#define USAGE_WEIGHTS 1u

/* A leaf in memory that holds weights has to be a weight. */
static bool must_be_weight(const tt_model *m, const tt_tensor *t)
{
    if (t->buffer == TT_NONE) return false;
    const tt_buffer *b = &m->buffers[t->buffer];
    return b->usage == USAGE_WEIGHTS || b->flags & TT_BUFFER_FILE;
}

static void check_leaf(const tt_model *m, const tt_graph *g, const tt_tensor *t, tt_check *c)
{
    uint64_t at = g->chunk_offset_bytes;
    if (t->weight == TT_NONE) {
        if (must_be_weight(m, t))
            tt_check_offend(c, at,
                            "graph %u: %.80s lies among the weights but no model file has it",
                            g->id, t->name);
        return;
    }
    const tt_weight *w = &m->weights[t->weight];
    const tt_model_file *f = &m->files[w->file];
    c->examined++;
    if (w->size_bytes != t->size_bytes)
        tt_check_offend(c, at,
                        "graph %u: %.80s has %" PRIu64 " bytes, %" PRIu64 " in the model file",
                        g->id, t->name, t->size_bytes, w->size_bytes);
    if (w->offset_bytes < f->data_offset_bytes || w->offset_bytes > f->size_bytes ||
        w->size_bytes > f->size_bytes - w->offset_bytes)
        tt_check_offend(c, at,
                        "%.80s (bytes %" PRIu64 " + %" PRIu64
                        ") is not inside the data of its file (%" PRIu64 " to %" PRIu64 ")",
                        t->name, w->offset_bytes, w->size_bytes, f->data_offset_bytes,
                        f->size_bytes);
    if (t->buffer == TT_NONE) return;
    const tt_buffer *b = &m->buffers[t->buffer];
    if (b->flags & TT_BUFFER_FILE && t->origin != TT_ORIGIN_DISK)
        tt_check_offend(c, at,
                        "graph %u: %.80s is mapped from byte %" PRIu64
                        " of its file, but lies at byte %" PRIu64 " of it",
                        g->id, t->name, b->file_offset_bytes + t->location, w->offset_bytes);
    if (t->location > b->size_bytes || t->size_bytes > b->size_bytes - t->location)
        tt_check_offend(c, at, "graph %u: %.80s passes the end of buffer %" PRIu64, g->id, t->name,
                        b->id);
}

tt_status tt_check_weights(const tt_model *m, tt_check *c, tt_error *err)
{
    (void)err;
    if (m->n_weights == 0) {
        tt_check_not_observed(c, "no model file was seen");
        return TT_OK;
    }
    for (uint32_t k = 0; k < m->n_graphs; k++) {
        const tt_graph *g = &m->graphs[k];
        for (uint32_t i = g->n_nodes; i < g->n_tensors; i++)
            if (g->tensors[i].root == i) check_leaf(m, g, &g->tensors[i], c);
    }
    if (c->examined == 0) tt_check_not_observed(c, "no graph has a weight");
    return TT_OK;
}
