#include "format/meta.h"

static void put_span(tt_bytes *out, tt_span s)
{
    tt_bytes_str(out, (const char *)s.data, s.size);
}

void tt_meta_put_record(tt_bytes *out, uint8_t type, const tt_bytes *payload)
{
    tt_bytes_u8(out, type);
    tt_bytes_str(out, (const char *)payload->data, payload->size);
    if (payload->failed) out->failed = true;
}

bool tt_meta_next(tt_cursor *c, uint8_t *type, tt_span *payload)
{
    if (c->failed || c->at == c->size) return false;
    *type = tt_cursor_u8(c);
    *payload = tt_cursor_str(c);
    return !c->failed;
}

bool tt_meta_get_count(tt_cursor *c, uint32_t *count, uint32_t min_bytes)
{
    *count = tt_cursor_varint32(c);
    if (*count > tt_cursor_left(c) / min_bytes) c->failed = true;
    return !c->failed;
}

/* ENVIRONMENT: decoded with tt_meta_get_count(c, &n, 2) and 2n tt_cursor_str. COUNTS
 * likewise, with a varint in the value's place. */
void tt_meta_put_pairs(tt_bytes *out, const tt_meta_pair *pairs, uint32_t n)
{
    tt_bytes_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        put_span(out, pairs[i].key);
        put_span(out, pairs[i].value);
    }
}

bool tt_meta_find_environment(tt_span meta, const char *key, char *out, size_t size)
{
    tt_cursor c = tt_cursor_of(meta.data, meta.size);
    uint8_t type;
    tt_span payload;
    while (tt_meta_next(&c, &type, &payload)) {
        if (type != TT_META_ENVIRONMENT) continue;
        tt_cursor record = tt_cursor_of(payload.data, payload.size);
        uint32_t n;
        for (bool ok = tt_meta_get_count(&record, &n, 2); ok && n > 0; n--) {
            tt_span name = tt_cursor_str(&record), value = tt_cursor_str(&record);
            if (record.failed) break;
            if (name.size != strlen(key) || memcmp(name.data, key, name.size) != 0) continue;
            size_t length = value.size < size - 1 ? value.size : size - 1;
            memcpy(out, value.data, length);
            out[length] = '\0';
            return true;
        }
    }
    return false;
}

void tt_meta_put_string(tt_bytes *out, uint32_t id, tt_span text)
{
    tt_bytes_varint(out, id);
    put_span(out, text);
}

bool tt_meta_get_string(tt_cursor *c, uint32_t *id, tt_span *text)
{
    *id = tt_cursor_varint32(c);
    *text = tt_cursor_str(c);
    return !c->failed;
}

void tt_meta_put_model(tt_bytes *out, const tt_meta_model *m)
{
    tt_bytes_varint(out, m->id);
    put_span(out, m->path);
    tt_bytes_u64(out, m->size_bytes);
    tt_bytes_u64(out, m->mtime_ns);
    tt_bytes_u64(out, m->device);
    tt_bytes_u64(out, m->inode);
    tt_bytes_u64(out, m->head_hash);
    tt_bytes_varint(out, m->data_offset_bytes);
    tt_bytes_varint(out, m->n_kv);
}

bool tt_meta_get_model(tt_cursor *c, tt_meta_model *m)
{
    memset(m, 0, sizeof *m);
    m->id = tt_cursor_varint32(c);
    m->path = tt_cursor_str(c);
    m->size_bytes = tt_cursor_u64(c);
    m->mtime_ns = tt_cursor_u64(c);
    m->device = tt_cursor_u64(c);
    m->inode = tt_cursor_u64(c);
    m->head_hash = tt_cursor_u64(c);
    m->data_offset_bytes = tt_cursor_varint(c);
    return tt_meta_get_count(c, &m->n_kv, 3);
}

void tt_meta_put_kv(tt_bytes *out, const tt_meta_kv *kv)
{
    put_span(out, kv->key);
    tt_bytes_varint(out, kv->type);
    put_span(out, kv->value);
}

bool tt_meta_get_kv(tt_cursor *c, tt_meta_kv *kv)
{
    kv->key = tt_cursor_str(c);
    kv->type = tt_cursor_varint32(c);
    kv->value = tt_cursor_str(c);
    return !c->failed;
}

void tt_meta_put_weight(tt_bytes *out, const tt_meta_weight *w)
{
    put_span(out, w->name);
    tt_bytes_varint(out, w->type);
    tt_bytes_varint(out, w->type_name);
    tt_bytes_varint(out, w->n_dims);
    for (uint32_t i = 0; i < w->n_dims; i++)
        tt_bytes_varint(out, w->ne[i]);
    tt_bytes_varint(out, w->offset_bytes);
    tt_bytes_varint(out, w->size_bytes);
}

bool tt_meta_get_weight(tt_cursor *c, tt_meta_weight *w)
{
    memset(w, 0, sizeof *w);
    w->name = tt_cursor_str(c);
    w->type = tt_cursor_varint32(c);
    w->type_name = tt_cursor_varint32(c);
    w->n_dims = tt_cursor_varint32(c);
    if (w->n_dims > TT_DIMS) c->failed = true;
    for (uint32_t i = 0; i < TT_DIMS; i++)
        w->ne[i] = !c->failed && i < w->n_dims ? tt_cursor_varint(c) : 1;
    w->offset_bytes = tt_cursor_varint(c);
    w->size_bytes = tt_cursor_varint(c);
    return !c->failed;
}

void tt_meta_put_buffer(tt_bytes *out, const tt_meta_buffer *b)
{
    tt_bytes_varint(out, b->id);
    tt_bytes_u64(out, b->ticks);
    tt_bytes_varint(out, b->name);
    tt_bytes_u8(out, b->usage);
    tt_bytes_u8(out, b->flags);
    tt_bytes_u64(out, b->base);
    tt_bytes_varint(out, b->size_bytes);
    if (b->flags & TT_BUFFER_FILE) {
        tt_bytes_varint(out, b->path);
        tt_bytes_varint(out, b->file_offset_bytes);
    }
    tt_bytes_varint(out, b->model);
    tt_bytes_varint(out, b->allocator);
}

bool tt_meta_get_buffer(tt_cursor *c, tt_meta_buffer *b)
{
    memset(b, 0, sizeof *b);
    b->id = tt_cursor_varint(c);
    b->ticks = tt_cursor_u64(c);
    b->name = tt_cursor_varint32(c);
    b->usage = tt_cursor_u8(c);
    b->flags = tt_cursor_u8(c);
    b->base = tt_cursor_u64(c);
    b->size_bytes = tt_cursor_varint(c);
    if (b->flags & TT_BUFFER_FILE) {
        b->path = tt_cursor_varint32(c);
        b->file_offset_bytes = tt_cursor_varint(c);
    }
    /* Traces before 0.1.0 end here. */
    if (tt_cursor_left(c) > 0) {
        b->model = tt_cursor_varint32(c);
        b->allocator = tt_cursor_varint32(c);
    }
    return !c->failed;
}

void tt_meta_put_buffer_free(tt_bytes *out, uint64_t id, uint64_t ticks)
{
    tt_bytes_varint(out, id);
    tt_bytes_u64(out, ticks);
}

bool tt_meta_get_buffer_free(tt_cursor *c, uint64_t *id, uint64_t *ticks)
{
    *id = tt_cursor_varint(c);
    *ticks = tt_cursor_u64(c);
    return !c->failed;
}

void tt_meta_put_graph(tt_bytes *out, const tt_meta_graph *g)
{
    tt_bytes_varint(out, g->id);
    tt_bytes_varint(out, g->n_nodes);
    tt_bytes_varint(out, g->n_tensors);
}

bool tt_meta_get_graph(tt_cursor *c, tt_meta_graph *g)
{
    g->id = tt_cursor_varint32(c);
    g->n_nodes = tt_cursor_varint32(c);
    /* A tensor takes nineteen bytes at least. */
    if (!tt_meta_get_count(c, &g->n_tensors, 19)) return false;
    if (g->n_nodes > g->n_tensors) c->failed = true;
    return !c->failed;
}

void tt_meta_put_tensor(tt_bytes *out, const tt_meta_tensor *t)
{
    tt_bytes_varint(out, t->name);
    tt_bytes_varint(out, t->op);
    tt_bytes_varint(out, t->op_name);
    tt_bytes_varint(out, t->op_desc);
    tt_bytes_varint(out, t->type);
    tt_bytes_varint(out, t->type_name);
    tt_bytes_varint(out, t->flags);
    for (uint32_t i = 0; i < TT_DIMS; i++)
        tt_bytes_varint(out, t->ne[i]);
    for (uint32_t i = 0; i < TT_DIMS; i++)
        tt_bytes_varint(out, t->nb[i]);
    tt_bytes_varint(out, t->size_bytes);
    tt_bytes_varint(out, t->n_src);
    for (uint32_t i = 0; i < t->n_src; i++)
        tt_bytes_varint(out, t->src[i]);
    tt_bytes_varint(out, t->view_src);
    if (t->view_src) tt_bytes_varint(out, t->view_offset_bytes);
    tt_bytes_varint(out, t->buffer);
    if (t->buffer)
        tt_bytes_varint(out, t->location);
    else
        tt_bytes_u64(out, t->location);
}

bool tt_meta_get_tensor(tt_cursor *c, tt_meta_tensor *t)
{
    memset(t, 0, sizeof *t);
    t->name = tt_cursor_varint32(c);
    t->op = tt_cursor_varint32(c);
    t->op_name = tt_cursor_varint32(c);
    t->op_desc = tt_cursor_varint32(c);
    t->type = tt_cursor_varint32(c);
    t->type_name = tt_cursor_varint32(c);
    t->flags = tt_cursor_varint32(c);
    for (uint32_t i = 0; i < TT_DIMS; i++)
        t->ne[i] = tt_cursor_varint(c);
    for (uint32_t i = 0; i < TT_DIMS; i++)
        t->nb[i] = tt_cursor_varint(c);
    t->size_bytes = tt_cursor_varint(c);
    t->n_src = tt_cursor_varint32(c);
    if (t->n_src > TT_SRC_MAX) c->failed = true;
    for (uint32_t i = 0; !c->failed && i < t->n_src; i++)
        t->src[i] = tt_cursor_varint32(c);
    t->view_src = tt_cursor_varint32(c);
    if (t->view_src) t->view_offset_bytes = tt_cursor_varint(c);
    t->buffer = tt_cursor_varint(c);
    t->location = t->buffer ? tt_cursor_varint(c) : tt_cursor_u64(c);
    return !c->failed;
}

void tt_meta_put_stage(tt_bytes *out, uint32_t node, uint32_t stage, int32_t layer)
{
    tt_bytes_varint(out, node);
    tt_bytes_varint(out, stage);
    tt_bytes_zigzag(out, layer);
}

bool tt_meta_get_stage(tt_cursor *c, uint32_t *node, uint32_t *stage, int32_t *layer)
{
    *node = tt_cursor_varint32(c);
    *stage = tt_cursor_varint32(c);
    int64_t wide = tt_cursor_zigzag(c);
    if (wide < INT32_MIN || wide > INT32_MAX) c->failed = true;
    *layer = (int32_t)wide;
    return !c->failed;
}

static void put_sequences(tt_bytes *out, const tt_batch_sequences *s, uint32_t n_tokens)
{
    for (uint32_t i = 0; i < n_tokens; i++) {
        tt_bytes_varint(out, s->first[i + 1] - s->first[i]);
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
            tt_bytes_zigzag(out, s->ids[k]);
    }
}

void tt_meta_put_batch(tt_bytes *out, const tt_meta_batch *b, const int32_t *tokens,
                       const int32_t *positions, const tt_batch_sequences *sequences)
{
    tt_bytes_varint(out, b->id);
    tt_bytes_varint(out, b->context);
    tt_bytes_u64(out, b->ticks);
    tt_bytes_varint(out, b->thread);
    tt_bytes_varint(out, b->n_tokens);
    tt_bytes_varint(out, b->n_outputs_plus_1);
    tt_bytes_u8(out, b->phase);
    tt_bytes_u8(out, b->flags);
    for (uint32_t i = 0; (b->flags & TT_BATCH_TOKENS) && i < b->n_tokens; i++)
        tt_bytes_zigzag(out, tokens[i]);
    for (uint32_t i = 0; (b->flags & TT_BATCH_POSITIONS) && i < b->n_tokens; i++)
        tt_bytes_zigzag(out, (int64_t)positions[i] - (i ? positions[i - 1] : 0));
    if (b->flags & TT_BATCH_SEQUENCES) put_sequences(out, sequences, b->n_tokens);
    tt_bytes_varint(out, b->vocabulary);
    if (b->phase == TT_PHASE_MIXED) tt_bytes_varint(out, b->n_generate);
}

bool tt_meta_get_batch(tt_cursor *c, tt_meta_batch *b)
{
    memset(b, 0, sizeof *b);
    b->id = tt_cursor_varint32(c);
    b->context = tt_cursor_varint32(c);
    b->ticks = tt_cursor_u64(c);
    b->thread = tt_cursor_varint32(c);
    b->n_tokens = tt_cursor_varint32(c);
    b->n_outputs_plus_1 = tt_cursor_varint32(c);
    b->phase = tt_cursor_u8(c);
    b->flags = tt_cursor_u8(c);
    return !c->failed;
}

bool tt_meta_get_batch_end(tt_cursor *c, tt_meta_batch *b)
{
    if (!c->failed && tt_cursor_left(c) > 0) b->vocabulary = tt_cursor_varint32(c);
    if (b->phase == TT_PHASE_MIXED) b->n_generate = tt_cursor_varint32(c);
    if (b->n_generate > b->n_tokens) c->failed = true;
    return !c->failed;
}

void tt_meta_put_token_text(tt_bytes *out, uint32_t vocabulary, int32_t token, tt_span text)
{
    tt_bytes_varint(out, vocabulary);
    tt_bytes_zigzag(out, token);
    put_span(out, text);
}

bool tt_meta_get_token_text(tt_cursor *c, uint32_t *vocabulary, int32_t *token, tt_span *text)
{
    *vocabulary = tt_cursor_varint32(c);
    int64_t id = tt_cursor_zigzag(c);
    if (id < INT32_MIN || id > INT32_MAX) c->failed = true;
    *token = (int32_t)id;
    *text = tt_cursor_str(c);
    return !c->failed;
}

void tt_meta_put_indices(tt_bytes *out, const tt_meta_indices *x)
{
    tt_bytes_varint(out, x->run);
    tt_bytes_varint(out, x->tensor);
    tt_bytes_varint(out, x->n);
}

bool tt_meta_get_indices(tt_cursor *c, tt_meta_indices *x)
{
    x->run = tt_cursor_varint32(c);
    x->tensor = tt_cursor_varint32(c);
    return tt_meta_get_count(c, &x->n, 1);
}

void tt_meta_put_model_check(tt_bytes *out, const tt_meta_model_check *m)
{
    tt_bytes_varint(out, m->model);
    tt_bytes_u64(out, m->ticks);
    tt_bytes_u8(out, m->state);
}

bool tt_meta_get_model_check(tt_cursor *c, tt_meta_model_check *m)
{
    m->model = tt_cursor_varint32(c);
    m->ticks = tt_cursor_u64(c);
    m->state = tt_cursor_u8(c);
    return !c->failed;
}

void tt_meta_put_run(tt_bytes *out, const tt_meta_run *r)
{
    tt_bytes_varint(out, r->id);
    tt_bytes_varint(out, r->batch);
    tt_bytes_varint(out, r->graph);
    tt_bytes_u8(out, r->observed);
    tt_bytes_varint(out, r->threads);
    tt_bytes_u64(out, r->ticks);
    tt_bytes_varint(out, r->thread);
}

bool tt_meta_get_run(tt_cursor *c, tt_meta_run *r)
{
    memset(r, 0, sizeof *r);
    r->id = tt_cursor_varint32(c);
    r->batch = tt_cursor_varint32(c);
    r->graph = tt_cursor_varint32(c);
    r->observed = tt_cursor_u8(c);
    r->threads = tt_cursor_varint32(c);
    r->ticks = tt_cursor_u64(c);
    r->thread = tt_cursor_varint32(c);
    return !c->failed;
}

void tt_meta_put_end(tt_bytes *out, const tt_meta_end *e)
{
    tt_bytes_varint(out, e->id);
    tt_bytes_u64(out, e->ticks);
    tt_bytes_zigzag(out, e->status);
}

bool tt_meta_get_end(tt_cursor *c, tt_meta_end *e)
{
    e->id = tt_cursor_varint32(c);
    e->ticks = tt_cursor_u64(c);
    e->status = tt_cursor_zigzag(c);
    return !c->failed;
}

void tt_meta_put_clock(tt_bytes *out, const tt_meta_clock *k)
{
    tt_bytes_u64(out, k->ticks);
    tt_bytes_u64(out, k->mono_ns);
    tt_bytes_u64(out, k->unix_ns);
}

bool tt_meta_get_clock(tt_cursor *c, tt_meta_clock *k)
{
    k->ticks = tt_cursor_u64(c);
    k->mono_ns = tt_cursor_u64(c);
    k->unix_ns = tt_cursor_u64(c);
    return !c->failed;
}

void tt_meta_put_ring(tt_bytes *out, uint32_t ring, uint32_t thread, uint64_t ticks)
{
    tt_bytes_varint(out, ring);
    tt_bytes_varint(out, thread);
    tt_bytes_u64(out, ticks);
}

bool tt_meta_get_ring(tt_cursor *c, uint32_t *ring, uint32_t *thread, uint64_t *ticks)
{
    *ring = tt_cursor_varint32(c);
    *thread = tt_cursor_varint32(c);
    *ticks = tt_cursor_u64(c);
    return !c->failed;
}

void tt_meta_put_front(tt_bytes *out, const tt_meta_front *f)
{
    tt_bytes_varint(out, f->ring_bytes);
    tt_bytes_varint(out, f->last_run);
    tt_bytes_varint(out, f->ops);
    tt_bytes_varint(out, f->details);
    tt_bytes_varint(out, f->bytes);
}

bool tt_meta_get_front(tt_cursor *c, tt_meta_front *f)
{
    f->ring_bytes = tt_cursor_varint(c);
    f->last_run = tt_cursor_varint(c);
    f->ops = tt_cursor_varint(c);
    f->details = tt_cursor_varint(c);
    f->bytes = tt_cursor_varint(c);
    return !c->failed;
}

void tt_meta_put_graphs_end(tt_bytes *out, uint32_t graph)
{
    tt_bytes_varint(out, graph);
}

void tt_meta_put_decode(tt_bytes *out, const tt_meta_decode *d)
{
    tt_bytes_u64(out, d->begin_ticks);
    tt_bytes_u64(out, d->end_ticks);
    tt_bytes_varint(out, d->n_tokens);
    tt_bytes_zigzag(out, d->status);
    tt_bytes_varint(out, d->thread);
}

bool tt_meta_get_decode(tt_cursor *c, tt_meta_decode *d)
{
    d->begin_ticks = tt_cursor_u64(c);
    d->end_ticks = tt_cursor_u64(c);
    d->n_tokens = tt_cursor_varint32(c);
    d->status = tt_cursor_zigzag(c);
    d->thread = tt_cursor_varint32(c);
    return !c->failed;
}

void tt_meta_put_loss(tt_bytes *out, uint32_t ring, uint64_t position, uint64_t dropped)
{
    tt_bytes_varint(out, ring);
    tt_bytes_varint(out, position);
    tt_bytes_varint(out, dropped);
}

bool tt_meta_get_loss(tt_cursor *c, uint32_t *ring, uint64_t *position, uint64_t *dropped)
{
    *ring = tt_cursor_varint32(c);
    *position = tt_cursor_varint(c);
    *dropped = tt_cursor_varint(c);
    return !c->failed;
}
