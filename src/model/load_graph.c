#include "base/checksum.h"
#include "gguf/memory_map.h"
#include "model/load.h"

#include <inttypes.h>

/* Loads batches, their tokens and texts, and the row numbers of runs. */

/* Reads n zigzags as 32-bit integers; differences are added up. */
static const int32_t *load_integers(tt_loader *l, tt_cursor *c, uint32_t n, bool differences)
{
    if (n > tt_cursor_left(c)) {
        c->failed = true;
        return NULL;
    }
    int32_t *list = tt_arena_take(&l->m->arena, n, sizeof *list);
    if (!list) l->no_memory = true;
    int64_t last = 0;
    for (uint32_t i = 0; list && i < n; i++) {
        int64_t v = tt_cursor_zigzag(c);
        /* Unsigned: a sum that wraps is out of range below, not undefined. */
        if (differences) v = last = (int64_t)((uint64_t)last + (uint64_t)v);
        if (v < INT32_MIN || v > INT32_MAX) c->failed = true;
        list[i] = (int32_t)v;
    }
    return list;
}

/* Looks ahead: how many ids the n lists of sequences hold. */
static uint32_t count_sequences(tt_cursor c, uint32_t n)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < n && !c.failed; i++) {
        uint32_t count = tt_cursor_varint32(&c);
        if (count > tt_cursor_left(&c)) return 0;
        total += count;
        for (uint32_t k = 0; k < count && !c.failed; k++)
            (void)tt_cursor_zigzag(&c);
    }
    /* No overflow: each id takes at least a byte, and a record has at most TT_META_RECORD_MAX. */
    return c.failed ? 0 : (uint32_t)total;
}

/* Reads the sequences of n tokens; *first: where each token's begin. */
static const int32_t *load_sequences(tt_loader *l, tt_cursor *c, uint32_t n, uint32_t **first)
{
    if (n > tt_cursor_left(c)) {
        c->failed = true;
        return NULL;
    }
    int32_t *ids = tt_arena_take(&l->m->arena, (size_t)count_sequences(*c, n) + 1, sizeof *ids);
    *first = tt_arena_take(&l->m->arena, (size_t)n + 1, sizeof **first);
    if (!ids || !*first) {
        l->no_memory = true;
        return NULL;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < n && !c->failed; i++) {
        uint32_t count = tt_cursor_varint32(c);
        if (count > tt_cursor_left(c)) c->failed = true;
        for (uint32_t k = 0; k < count && !c->failed; k++) {
            int64_t id = tt_cursor_zigzag(c);
            if (id < INT32_MIN || id > INT32_MAX) c->failed = true;
            if (!c->failed) ids[at++] = (int32_t)id;
        }
        (*first)[i + 1] = at;
    }
    return c->failed ? NULL : ids;
}

/* A batch without lists can claim any number of tokens, which analyses then walk: allowed in
 * proportion to the file. */
#define BARE_TOKENS_FREE ((uint64_t)1 << 20)
#define BARE_TOKENS_FACTOR 64u

static bool is_likely(tt_loader *l, const tt_meta_batch *b)
{
    if (b->flags & (TT_BATCH_TOKENS | TT_BATCH_POSITIONS | TT_BATCH_SEQUENCES)) return true;
    l->bare_tokens += b->n_tokens;
    return l->bare_tokens <=
           BARE_TOKENS_FREE + l->m->trace.source.size * (uint64_t)BARE_TOKENS_FACTOR;
}

bool tt_load_batch(tt_loader *l, tt_cursor *c)
{
    tt_meta_batch b;
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_meta_get_batch(c, &b)) return false;
    const int32_t *tokens =
        b.flags & TT_BATCH_TOKENS ? load_integers(l, c, b.n_tokens, false) : NULL;
    const int32_t *positions =
        b.flags & TT_BATCH_POSITIONS ? load_integers(l, c, b.n_tokens, true) : NULL;
    uint32_t *first = NULL;
    const int32_t *sequences =
        b.flags & TT_BATCH_SEQUENCES ? load_sequences(l, c, b.n_tokens, &first) : NULL;
    if (!tt_meta_get_batch_end(c, &b)) return false;
    if (!tt_loader_id(l, "batch", b.id)) return true;
    if (!is_likely(l, &b)) {
        tt_loader_problem(l, "batch %" PRIu32 " of %" PRIu32 " tokens: too many for this file",
                          b.id, b.n_tokens);
        return true;
    }
    if (!TT_GROW(l, m->batches, m->n_batches, l->capacity.batches)) return true;
    if (!tt_idmap_add(&m->batch_by_id, b.id, m->n_batches, &was)) l->no_memory = true;
    if (was != TT_NONE) {
        tt_loader_problem(l, "batch %" PRIu32 " is defined twice", b.id);
        return true;
    }
    m->batches[m->n_batches] =
        (tt_batch){.number = b.id - 1,
                   .id = b.id,
                   .context = b.context,
                   .thread = b.thread,
                   .n_tokens = b.n_tokens,
                   .n_outputs_plus_1 = b.n_outputs_plus_1,
                   .n_generate = b.phase == TT_PHASE_GENERATE ? b.n_tokens : b.n_generate,
                   .phase = b.phase < TT_PHASES ? b.phase : TT_PHASE_UNKNOWN,
                   .tokens = tokens,
                   .positions = positions,
                   .sequence_first = sequences ? first : NULL,
                   .sequences = sequences,
                   .vocabulary = b.vocabulary,
                   .begin_ticks = b.ticks,
                   .last_run = TT_NONE};
    m->n_batches++;
    return true;
}

static uint32_t sum(uint32_t a, uint32_t b, uint32_t most)
{
    return b > most - a ? most : a + b;
}

/* Records of batches that were left out are, too. */
bool tt_load_fate(tt_loader *l, tt_cursor *c)
{
    tt_meta_fate f;
    if (!tt_meta_get_fate(c, &f)) return false;
    const uint32_t at = tt_idmap_get(&l->m->batch_by_id, f.batch);
    if (at == TT_NONE) return true;
    tt_batch *b = &l->m->batches[at];
    if (f.flags & TT_FATE_DRAFTS) b->drafts = true;
    if (f.flags & TT_FATE_TRAINS) {
        b->trains = true;
        b->phase = TT_PHASE_UNKNOWN;
    }
    if (f.flags & TT_FATE_PROBE) b->phase = TT_PHASE_WARMUP;
    if (f.flags & TT_FATE_GENERATES && b->phase == TT_PHASE_PROMPT) {
        b->phase = TT_PHASE_GENERATE;
        b->n_generate = b->n_tokens;
    }
    if (f.flags & TT_FATE_DRAFTED_PROMPT && b->phase != TT_PHASE_GENERATE) {
        b->phase = TT_PHASE_MIXED;
        b->n_generate = sum(b->n_generate, f.n_drafted, b->n_tokens);
    }
    b->n_drafted = sum(b->n_drafted, f.n_drafted, b->n_generate);
    b->n_accepted = sum(b->n_accepted, f.n_accepted, b->n_drafted);
    b->n_rejected = sum(b->n_rejected, f.n_rejected, b->n_drafted - b->n_accepted);
    return true;
}

bool tt_load_sequences(tt_loader *l, tt_cursor *c)
{
    tt_meta_sequences x;
    tt_model *m = l->m;
    if (!tt_meta_get_sequences(c, &x)) return false;
    if (TT_GROW(l, m->sequence_changes, m->n_sequence_changes, l->capacity.sequence_changes))
        m->sequence_changes[m->n_sequence_changes++] = x;
    return true;
}

/* Whether all its tokens are of different sequences, so that none is a guess. */
static bool is_one_each(const tt_batch *b, tt_idmap *seen, uint32_t at)
{
    for (uint32_t i = 0; b->sequences && i < b->n_tokens; i++) {
        uint32_t was, first = b->sequence_first[i];
        if (first == b->sequence_first[i + 1]) continue;
        const uint64_t id = (uint32_t)b->sequences[first];
        if (!tt_idmap_add(seen, id, at, &was) || was == at) return false;
        if (was != TT_NONE && !tt_idmap_set(seen, id, at)) return false;
    }
    return true;
}

/* Without fates, all generated tokens are sure ones if they could not be anything else: one a
 * sequence and batch, in one context. */
static bool has_no_guesses(const tt_model *m)
{
    tt_idmap seen = {0};
    uint32_t context = 0;
    bool has = true;
    for (uint32_t i = 0; i < m->n_batches && has; i++) {
        const tt_batch *b = &m->batches[i];
        if (b->phase == TT_PHASE_MIXED) has = false;
        if (b->phase != TT_PHASE_GENERATE) continue;
        if (!context) context = b->context;
        has = context == b->context && is_one_each(b, &seen, i);
    }
    tt_idmap_free(&seen);
    return has;
}

void tt_link_fates(tt_loader *l)
{
    tt_model *m = l->m;
    tt_idmap drafting = {0};
    uint32_t was;
    /* Guesses are known by the program's calls. */
    uint64_t unseen = 0;
    const bool saw_calls =
        m->n_decodes && (!tt_model_count(m, "decode_unseen", &unseen) || !unseen);
    m->fates_known = (tt_model_captured(m, "capture_fates") && saw_calls) || has_no_guesses(m);
    for (uint32_t i = 0; i < m->n_batches; i++)
        if (m->batches[i].drafts && !tt_idmap_add(&drafting, m->batches[i].context, 0, &was))
            l->no_memory = true;
    for (uint32_t i = 0; i < m->n_batches; i++)
        m->batches[i].drafts = tt_idmap_get(&drafting, m->batches[i].context) != TT_NONE;
    tt_idmap_free(&drafting);
}

bool tt_load_token_text(tt_loader *l, tt_cursor *c)
{
    tt_meta_token_text t;
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_meta_get_token_text(c, &t)) return false;
    if (!TT_GROW(l, m->token_texts, m->n_token_texts, l->capacity.token_texts)) return true;
    /* No tt_arena_text: a token may contain a NUL. */
    char *copy = tt_arena_take(&m->arena, t.text.size + 1, 1);
    if (!copy || !tt_idmap_add(&m->text_by_token, tt_token_key(t.vocabulary, t.token),
                               m->n_token_texts, &was)) {
        l->no_memory = true;
        return true;
    }
    if (t.text.size) memcpy(copy, t.text.data, t.text.size);
    /* A token that is defined twice stays in the list, for `verify`; a look-up finds the first. */
    m->token_texts[m->n_token_texts++] = (tt_token_text){
        .vocabulary = t.vocabulary, .token = t.token, .text = copy, .n = t.text.size};
    return true;
}

bool tt_load_indices(tt_loader *l, tt_cursor *c)
{
    tt_meta_indices x;
    tt_model *m = l->m;
    if (!tt_meta_get_indices(c, &x)) return false;
    if (!TT_GROW(l, m->indices, m->n_indices, l->capacity.indices)) return true;
    int64_t *values = tt_arena_take(&m->arena, x.n, sizeof *values);
    if (!values) {
        l->no_memory = true;
        return true;
    }
    uint64_t value = 0;
    for (uint32_t i = 0; i < x.n; i++) {
        value += (uint64_t)tt_cursor_zigzag(c);
        values[i] = (int64_t)value;
    }
    /* The run is an id until tt_link_records. */
    m->indices[m->n_indices++] =
        (tt_indices){.run = x.run, .tensor = x.tensor, .n = x.n, .values = values};
    return !c->failed;
}

static uint64_t name_key(const char *name)
{
    return tt_checksum(name, strlen(name));
}

/* Chains weights of the same name, from the first. */
static void index_weight(tt_loader *l, uint32_t at)
{
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_idmap_add(&m->weight_by_name, name_key(m->weights[at].name), at, &was)) {
        l->no_memory = true;
        return;
    }
    if (was == TT_NONE) return;
    /* The newest becomes the second, so the chain is not walked. */
    m->weights[at].next_same_name = m->weights[was].next_same_name;
    m->weights[was].next_same_name = at;
}

static bool load_weight(tt_loader *l, uint32_t file, tt_cursor *c)
{
    tt_meta_weight w;
    tt_model *m = l->m;
    if (!tt_meta_get_weight(c, &w)) return false;
    if (!TT_GROW(l, m->weights, m->n_weights, l->capacity.weights)) return true;
    tt_text name = {.text = tt_loader_text(l, w.name)};
    tt_weight *to = &m->weights[m->n_weights];
    *to = (tt_weight){.name = name.text,
                      .type_name = tt_loader_string(l, w.type_name)->text,
                      .type = w.type,
                      .n_dims = w.n_dims,
                      .offset_bytes = w.offset_bytes,
                      .size_bytes = w.size_bytes,
                      .file = file,
                      .next_same_name = TT_NONE,
                      .place = tt_loader_place(l, &name)};
    memcpy(to->ne, w.ne, sizeof to->ne);
    index_weight(l, m->n_weights++);
    return true;
}

bool tt_load_model_file(tt_loader *l, tt_cursor *c)
{
    tt_meta_model f;
    tt_model *m = l->m;
    uint32_t n;
    if (!tt_meta_get_model(c, &f)) return false;
    if (!TT_GROW(l, m->files, m->n_files, l->capacity.files)) return true;
    tt_file_kv *kvs = tt_arena_take(&m->arena, f.n_kv, sizeof *kvs);
    if (!kvs) {
        l->no_memory = true;
        return true;
    }
    for (uint32_t i = 0; i < f.n_kv; i++) {
        tt_meta_kv kv;
        if (!tt_meta_get_kv(c, &kv)) return false;
        kvs[i] = (tt_file_kv){tt_loader_text(l, kv.key), tt_loader_text(l, kv.value), kv.type};
    }
    /* A weight takes at least six bytes. */
    if (!tt_meta_get_count(c, &n, 6)) return false;
    uint32_t first = m->n_weights, was, at = m->n_files;
    if (!tt_loader_id(l, "model file", f.id))
        was = TT_NONE; /* the file's description of its weights is kept */
    else if (!tt_idmap_add(&m->file_by_id, f.id, at, &was))
        l->no_memory = true;
    else if (was != TT_NONE)
        tt_loader_problem(l, "model file %" PRIu32 " is described twice", f.id);
    m->files[m->n_files++] = (tt_model_file){.id = f.id,
                                             .path = tt_loader_text(l, f.path),
                                             .size_bytes = f.size_bytes,
                                             .mtime_ns = f.mtime_ns,
                                             .device = f.device,
                                             .inode = f.inode,
                                             .head_hash = f.head_hash,
                                             .data_offset_bytes = f.data_offset_bytes,
                                             .kvs = kvs,
                                             .n_kvs = f.n_kv,
                                             .first_weight = first};
    /* The file is added before its weights, which refer to it even if a later one is malformed. */
    bool ok = true;
    for (uint32_t i = 0; i < n && ok && !l->no_memory; i++)
        ok = load_weight(l, at, c);
    m->files[at].n_weights = m->n_weights - first;
    return ok;
}

/* Turns a reference of the format (index + 1; 0: none) into an index. */
static uint32_t reference(tt_loader *l, const tt_graph *g, const char *name, uint32_t stored)
{
    if (stored == 0) return TT_NONE;
    if (stored <= g->n_tensors) return stored - 1;
    tt_loader_problem(l, "graph %" PRIu32 ": tensor %.64s refers to tensor %" PRIu32 " of %" PRIu32,
                      g->id, name, stored - 1, g->n_tensors);
    return TT_NONE;
}

static bool load_tensor(tt_loader *l, const tt_graph *g, tt_tensor *to, tt_cursor *c)
{
    tt_meta_tensor t;
    if (!tt_meta_get_tensor(c, &t)) return false;
    tt_text *name = tt_loader_string(l, t.name);
    to->name = name->text;
    to->op_name = tt_loader_string(l, t.op_name)->text;
    to->op_desc = tt_loader_string(l, t.op_desc)->text;
    to->type_name = tt_loader_string(l, t.type_name)->text;
    to->op = t.op;
    to->type = t.type;
    to->flags = t.flags;
    to->n_src = t.n_src;
    for (uint32_t i = 0; i < t.n_src; i++)
        to->src[i] = reference(l, g, name->text, t.src[i]);
    to->view_src = reference(l, g, name->text, t.view_src);
    to->view_offset_bytes = t.view_offset_bytes;
    memcpy(to->ne, t.ne, sizeof to->ne);
    memcpy(to->nb, t.nb, sizeof to->nb);
    to->size_bytes = t.size_bytes;
    to->buffer = t.buffer ? tt_idmap_get(&l->m->buffer_by_id, t.buffer) : TT_NONE;
    to->location = t.location;
    if (t.buffer && to->buffer == TT_NONE)
        tt_loader_problem(
            l, "graph %" PRIu32 ": tensor %.64s lies in buffer %" PRIu64 ", which is not there",
            g->id, name->text, t.buffer);
    to->backend = "";
    to->root = TT_NONE;
    to->weight = TT_NONE;
    to->place = tt_loader_place(l, name);
    return true;
}

/* Reads the backends of the nodes, as intervals. Traces from before 0.1.0 do not have them. */
static bool load_backends(tt_loader *l, tt_graph *g, tt_cursor *c)
{
    uint32_t n, at = 0;
    if (tt_cursor_left(c) == 0) return !c->failed;
    if (!tt_meta_get_count(c, &n, 2)) return false;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = tt_loader_string(l, tt_cursor_varint32(c))->text;
        uint32_t count = tt_cursor_varint32(c);
        if (count > g->n_nodes - at) {
            tt_loader_problem(l, "graph %" PRIu32 ": more backends than nodes", g->id);
            return !c->failed;
        }
        for (uint32_t end = at + count; at < end; at++)
            g->tensors[at].backend = name;
    }
    return !c->failed;
}

/* Reads the stages of nodes; only in traces of programs that record themselves. */
static bool load_stages(tt_loader *l, tt_graph *g, tt_cursor *c)
{
    uint32_t n;
    if (tt_cursor_left(c) == 0) return !c->failed;
    if (!tt_meta_get_count(c, &n, 3)) return false;
    for (uint32_t i = 0; i < n; i++) {
        tt_meta_stage s;
        if (!tt_meta_get_stage(c, &s)) return false;
        if (s.node >= g->n_nodes) {
            tt_loader_problem(l, "graph %" PRIu32 ": a stage of node %" PRIu32 " of %" PRIu32,
                              g->id, s.node, g->n_nodes);
            continue;
        }
        g->tensors[s.node].stage = tt_loader_string(l, s.stage)->text;
        g->tensors[s.node].stage_layer = s.layer;
    }
    return true;
}

bool tt_load_graph(tt_loader *l, tt_cursor *c)
{
    tt_meta_graph head;
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_meta_get_graph(c, &head)) return false;
    if (!TT_GROW(l, m->graphs, m->n_graphs, l->capacity.graphs)) return true;
    tt_graph g = {.id = head.id,
                  .n_nodes = head.n_nodes,
                  .n_tensors = head.n_tensors,
                  .chunk_offset_bytes = l->chunk_offset};
    g.tensors = tt_arena_take(&m->arena, g.n_tensors, sizeof *g.tensors);
    if (!g.tensors) {
        l->no_memory = true;
        return true;
    }
    for (uint32_t i = 0; i < g.n_tensors; i++) {
        if (!load_tensor(l, &g, &g.tensors[i], c)) return false;
        if (i < g.n_nodes && g.tensors[i].flags & TT_TENSOR_EXECUTES) g.n_executed++;
        if (i < g.n_nodes && g.tensors[i].flags & TT_TENSOR_UNTIMED) g.n_untimed++;
    }
    if (!load_backends(l, &g, c) || !load_stages(l, &g, c)) return false;
    if (!tt_loader_id(l, "graph", g.id)) return true;
    if (!tt_idmap_add(&m->graph_by_id, g.id, m->n_graphs, &was)) l->no_memory = true;
    if (was != TT_NONE)
        tt_loader_problem(l, "graph %" PRIu32 " is defined twice", g.id);
    else
        m->graphs[m->n_graphs++] = g;
    return true;
}
