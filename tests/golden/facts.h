/* All that a model tells, as a sorted list of hashes, one a statement that stands for itself: "run
 * 7 ended at tick 99", "run 7, lane 0, node 3 began at ...". What a damaged trace tells must be
 * among what it told when it was whole: fewer statements, no other ones. */
#ifndef TT_TESTS_FACTS_H
#define TT_TESTS_FACTS_H

#include "base/checksum.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct facts {
    uint64_t *list;
    size_t n, capacity;
} facts;

enum fact_kind {
    FACT_HEADER = 1,
    FACT_ENVIRONMENT,
    FACT_FILE,
    FACT_WEIGHT,
    FACT_BUFFER,
    FACT_GRAPH,
    FACT_TENSOR,
    FACT_LINK,
    FACT_BATCH,
    FACT_BATCH_END,
    FACT_BATCH_ROW,
    FACT_RUN,
    FACT_RUN_END,
    FACT_DECODE,
    FACT_COUNT,
    FACT_OP,
    FACT_DETAIL,
    FACT_OTHER
};

static inline void facts_add(facts *f, uint64_t hash)
{
    if (f->n == f->capacity) {
        f->capacity = f->capacity ? f->capacity * 2 : 1024;
        f->list = reallocarray(f->list, f->capacity, sizeof *f->list);
        if (!f->list) abort();
    }
    f->list[f->n++] = hash;
}

static inline uint64_t fact_text(const char *s)
{
    return tt_checksum(s, strlen(s));
}

/* A statement: its kind and some numbers. */
#define FACT(f, kind, ...)                                                                         \
    do {                                                                                           \
        const uint64_t fact_[] = {(uint64_t)(kind), __VA_ARGS__};                                  \
        facts_add((f), tt_checksum(fact_, sizeof fact_));                                          \
    } while (0)

static inline void facts_of_files(facts *f, const tt_model *m)
{
    const tt_file_header *h = &m->trace.header;
    FACT(f, FACT_HEADER, tt_checksum(h->run_id, sizeof h->run_id), h->created_unix_ns, h->pid,
         h->major, h->minor);
    for (uint32_t i = 0; i < m->n_environment; i++)
        FACT(f, FACT_ENVIRONMENT, fact_text(m->environment[i].key),
             fact_text(m->environment[i].value));
    for (uint32_t i = 0; i < m->n_files; i++) {
        const tt_model_file *x = &m->files[i];
        FACT(f, FACT_FILE, x->id, fact_text(x->path), x->size_bytes, x->mtime_ns, x->device,
             x->inode, x->head_hash, x->data_offset_bytes, x->n_weights);
        for (uint32_t k = 0; k < x->n_kvs; k++)
            FACT(f, FACT_FILE, x->id, fact_text(x->kvs[k].key), fact_text(x->kvs[k].value),
                 x->kvs[k].type);
        if (x->checked_at_end) FACT(f, FACT_FILE, x->id, x->end_state);
    }
    for (uint32_t i = 0; i < m->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        FACT(f, FACT_WEIGHT, fact_text(w->name), fact_text(w->type_name), w->type, w->n_dims,
             w->ne[0], w->ne[1], w->ne[2], w->ne[3], w->offset_bytes, w->size_bytes);
    }
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        const tt_buffer *b = &m->buffers[i];
        FACT(f, FACT_BUFFER, b->id, fact_text(b->name), b->alloc_ticks, b->base, b->size_bytes,
             fact_text(b->path), b->file_offset_bytes, b->usage, b->flags, fact_text(b->allocator));
        if (b->free_ticks) FACT(f, FACT_BUFFER, b->id, b->free_ticks);
    }
}

static inline void facts_of_graph(facts *f, const tt_model *m, const tt_graph *g)
{
    FACT(f, FACT_GRAPH, g->id, g->n_nodes, g->n_tensors, g->n_executed);
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        FACT(f, FACT_TENSOR, g->id, i, fact_text(t->name), fact_text(t->op_name),
             fact_text(t->op_desc), fact_text(t->type_name), fact_text(t->backend), t->op, t->type,
             t->flags, t->n_src, tt_checksum(t->src, t->n_src * sizeof *t->src), t->view_src,
             t->view_offset_bytes, tt_checksum(t->ne, sizeof t->ne),
             tt_checksum(t->nb, sizeof t->nb), t->size_bytes, t->location, t->root,
             t->root_offset_bytes);
        if (t->buffer != TT_NONE) FACT(f, FACT_LINK, g->id, i, m->buffers[t->buffer].id);
        if (t->weight != TT_NONE)
            FACT(f, FACT_LINK, g->id, i, fact_text(m->weights[t->weight].name), t->origin);
    }
}

static inline void facts_of_batches(facts *f, const tt_model *m)
{
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        FACT(f, FACT_BATCH, b->id, b->context, b->thread, b->n_tokens, b->n_outputs_plus_1,
             b->phase, b->vocabulary, b->begin_ticks);
        if (b->ended) FACT(f, FACT_BATCH_END, b->id, b->end_ticks, (uint64_t)b->status);
        for (uint32_t k = 0; k < b->n_tokens; k++) {
            if (b->tokens) FACT(f, FACT_BATCH_ROW, b->id, k, (uint64_t)b->tokens[k], 1);
            if (b->positions) FACT(f, FACT_BATCH_ROW, b->id, k, (uint64_t)b->positions[k], 2);
            for (uint32_t s = b->sequences ? b->sequence_first[k] : 0;
                 b->sequences && s < b->sequence_first[k + 1]; s++)
                FACT(f, FACT_BATCH_ROW, b->id, k, (uint64_t)b->sequences[s], 3);
            /* Without any of these a hostile count has nothing to walk. */
            if (!b->tokens && !b->positions && !b->sequences) break;
        }
    }
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        FACT(f, FACT_RUN, r->id, r->threads, r->thread, r->observed, r->begin_ticks);
        if (r->batch != TT_NONE) FACT(f, FACT_RUN, r->id, m->batches[r->batch].id, 1);
        if (r->graph != TT_NONE) FACT(f, FACT_RUN, r->id, m->graphs[r->graph].id, 2);
        if (r->ended) FACT(f, FACT_RUN_END, r->id, r->end_ticks, (uint64_t)r->status);
    }
}

static inline void facts_of_rest(facts *f, const tt_model *m)
{
    for (uint32_t i = 0; i < m->n_decodes; i++) {
        const tt_meta_decode *d = &m->decodes[i];
        FACT(f, FACT_DECODE, d->begin_ticks, d->end_ticks, d->n_tokens, (uint64_t)d->status,
             d->thread);
    }
    for (uint32_t i = 0; i < m->n_counts; i++)
        FACT(f, FACT_COUNT, fact_text(m->counts[i].name), m->counts[i].value);
    for (uint32_t i = 0; i < m->n_rings; i++)
        FACT(f, FACT_OTHER, 1, m->rings[i].ring, m->rings[i].thread, m->rings[i].ticks);
    for (uint32_t i = 0; i < m->n_losses; i++)
        FACT(f, FACT_OTHER, 2, m->losses[i].ring, m->losses[i].position, m->losses[i].dropped);
    for (uint32_t i = 0; i < m->n_detail_losses; i++)
        FACT(f, FACT_OTHER, 3, m->detail_losses[i].ring, m->detail_losses[i].position,
             m->detail_losses[i].dropped);
    for (uint32_t i = 0; i < m->n_indices; i++)
        FACT(f, FACT_OTHER, 4, m->runs[m->indices[i].run].id, m->indices[i].tensor,
             tt_checksum(m->indices[i].values, m->indices[i].n * sizeof(int64_t)));
    for (uint32_t i = 0; i < m->n_usages; i++) {
        const tt_meta_usage *u = &m->usages[i];
        FACT(f, FACT_OTHER, 5, u->moment, u->ticks, u->flags, u->minor, u->major, u->user_ns,
             u->system_ns, u->read_bytes, u->rchar, u->n_devices,
             tt_checksum(u->devices, u->n_devices * sizeof *u->devices));
    }
    for (uint32_t i = 0; i < m->n_residencies; i++) {
        const tt_residency *r = &m->residencies[i];
        FACT(f, FACT_OTHER, 6, m->files[r->file].id, r->moment, r->begin_ticks, r->end_ticks,
             r->page_bytes, r->first_page, r->n_pages,
             tt_checksum(r->intervals, r->n_intervals * sizeof *r->intervals));
    }
    for (uint32_t i = 0; i < m->n_token_texts; i++) {
        const tt_token_text *t = &m->token_texts[i];
        FACT(f, FACT_OTHER, 7, t->vocabulary, (uint64_t)t->token, tt_checksum(t->text, t->n));
    }
}

/* False when the records could not be walked. */
static inline bool facts_of_ops(facts *f, const tt_model *m)
{
    size_t n;
    bool whole = tt_pieces_survey(m->pieces, NULL) == TT_OK;
    const tt_piece *list = tt_pieces_list(m->pieces, &n);
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops ops;
        if (tt_pieces_get(m->pieces, &list[i], &ops, NULL) != TT_OK) {
            whole = false;
            continue;
        }
        if (ops.run != list[i].run || ops.lane != list[i].lane) abort();
        for (size_t k = 0; k < ops.n; k++)
            FACT(f, FACT_OP, ops.run, ops.lane, ops.open, ops.node[k], ops.covers[k], ops.start[k],
                 ops.arrive[k], ops.release[k]);
    }
    return whole;
}

static inline bool facts_of_details(facts *f, const tt_model *m)
{
    bool whole = true;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_detail *list;
        size_t n = 0;
        if (tt_details_of_run(m->details, m->runs[i].id, &list, &n, NULL) != TT_OK) whole = false;
        for (size_t k = 0; k < n; k++)
            FACT(f, FACT_DETAIL, tt_checksum(&list[k], sizeof list[k]));
    }
    return whole;
}

static inline int facts_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* *whole: everything could be read. Freed with free(list). */
static inline facts facts_of(const tt_model *m, bool *whole)
{
    facts f = {0};
    facts_of_files(&f, m);
    for (uint32_t i = 0; i < m->n_graphs; i++)
        facts_of_graph(&f, m, &m->graphs[i]);
    facts_of_batches(&f, m);
    facts_of_rest(&f, m);
    *whole = facts_of_ops(&f, m);
    *whole = facts_of_details(&f, m) && *whole;
    qsort(f.list, f.n, sizeof *f.list, facts_order);
    return f;
}

/* How many of `some` are not among `all`; one that is there twice has to be there twice. */
static inline size_t facts_beyond(const facts *some, const facts *all)
{
    size_t beyond = 0, k = 0;
    for (size_t i = 0; i < some->n; i++) {
        while (k < all->n && all->list[k] < some->list[i])
            k++;
        if (k < all->n && all->list[k] == some->list[i])
            k++;
        else
            beyond++;
    }
    return beyond;
}

#endif
