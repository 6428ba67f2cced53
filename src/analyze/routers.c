#include "analyze/routers.h"

#include "analyze/access.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 64u
#define EXPERT_OP "MUL_MAT_ID"

/* The state of a context's sequence. */
typedef struct follower {
    bool any, placed;
    uint8_t phase;
    int64_t position;
    uint32_t text; /* in texts; TT_NONE: not listed */
    uint32_t here; /* rows in the current batch */
} follower;

/* The tokens of a batch. */
typedef struct batch_rows {
    uint32_t batch; /* TT_NONE: none yet */
    uint32_t *text; /* by token and sequence: in texts, or TT_NONE */
    size_t capacity;
} batch_rows;

struct tt_routers {
    const tt_model *m;
    tt_filter filter;
    uint8_t texts_of;
    tt_accesses *accesses;
    tt_router_layer *layers;
    size_t n_layers, layers_capacity;
    tt_idmap layer_of_place; /* by file and layer */
    tt_idmap layer_of_node;  /* by graph and node */
    size_t n_counts;
    tt_router_text *texts;
    size_t n_texts;
    uint64_t texts_left_out;
    follower *followers;
    size_t n_followers, followers_capacity;
    tt_idmap by_sequence;
    batch_rows rows;
    tt_over over;
    bool keeps_transitions;
    uint64_t transitions_bytes;
    bool sequences_assumed;
    bool too_many;
    bool failed;
};

tt_routers *tt_routers_new(const tt_model *m, const tt_filter *filter, uint8_t texts_of)
{
    tt_routers *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (tt_routers){.m = m, .filter = *filter, .texts_of = texts_of, .rows.batch = TT_NONE};
    r->accesses = tt_accesses_new(m);
    r->texts = calloc(TT_ROUTERS_TEXTS_MAX, sizeof *r->texts);
    if (r->accesses && r->texts) return r;
    tt_routers_free(r);
    return NULL;
}

void tt_routers_free(tt_routers *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->n_layers; i++)
        tt_router_free(r->layers[i].router);
    for (size_t i = 0; i < r->n_texts; i++)
        free(r->texts[i].counts);
    tt_idmap_free(&r->layer_of_place);
    tt_idmap_free(&r->layer_of_node);
    tt_idmap_free(&r->by_sequence);
    tt_accesses_free(r->accesses);
    free(r->layers);
    free(r->texts);
    free(r->followers);
    free(r->rows.text);
    free(r);
}

/* --- layers --- */

static bool is_expert_node(const tt_graph *g, uint32_t node)
{
    const tt_tensor *t = &g->tensors[node];
    return strcmp(t->op_name, EXPERT_OP) == 0 && t->n_src > 2 && t->src[0] < g->n_tensors &&
           t->src[2] < g->n_tensors;
}

/* Adds the tensors whose slices are this router's experts: the first operands of the matmuls that
 * use its ids. They are close together: another router's matmul after them ends the search. Where
 * each matmul is a graph of its own, each adds its own. */
static void find_slices(const tt_routers *r, const tt_graph *g, uint32_t router,
                        tt_router_layer *layer)
{
    for (uint32_t i = router; i < g->n_nodes && layer->n_slices < TT_ROUTERS_SLICES_MAX; i++) {
        if (!is_expert_node(g, i)) continue;
        if (tt_access_router(g, i) != router) break;
        const tt_tensor *t = &g->tensors[g->tensors[i].src[0]];
        bool known = t->weight >= r->m->n_weights || t->ne[2] == 0;
        for (uint32_t k = 0; k < layer->n_slices && !known; k++)
            known = layer->slices[k].weight == t->weight;
        if (known) continue;
        layer->slices[layer->n_slices++] =
            (tt_router_slice){t->weight, r->m->weights[t->weight].size_bytes / t->ne[2]};
        layer->expert_bytes += layer->slices[layer->n_slices - 1].expert_bytes;
    }
}

/* For the filter's layer, or for each while there is room. */
static bool keeps_transitions(tt_routers *r, const tt_router_layer *layer)
{
    const uint64_t bytes = (uint64_t)layer->n_experts * layer->n_experts * sizeof(uint64_t);
    const bool asked = !r->filter.has_layer || tt_layer_passes(r->filter.layer, layer->layer_id);
    if (!r->keeps_transitions || !asked || layer->n_experts > TT_ROUTER_TRANSITIONS_MAX ||
        bytes > TT_ROUTERS_TRANSITIONS_MAX - r->transitions_bytes)
        return false;
    r->transitions_bytes += bytes;
    return true;
}

static uint32_t new_layer(tt_routers *r, const tt_graph *g, uint32_t node, uint64_t key)
{
    const tt_tensor *experts = &g->tensors[g->tensors[node].src[0]];
    uint32_t was;
    tt_router_layer layer = {.layer_id = (int32_t)(uint32_t)key,
                             .file = (uint32_t)(key >> 32),
                             .n_experts = (uint32_t)experts->ne[2],
                             .first_count = r->n_counts};
    if (experts->ne[2] == 0 || experts->ne[2] > TT_ROUTER_EXPERTS_MAX) return TT_NONE;
    if (r->n_counts + experts->ne[2] > TT_ROUTERS_EXPERTS_MAX) {
        r->too_many = r->failed = true;
        return TT_NONE;
    }
    find_slices(r, g, node, &layer);
    layer.router = tt_router_new(layer.n_experts);
    const bool keeps = keeps_transitions(r, &layer);
    const bool kept = layer.router && (!keeps || tt_router_keep_transitions(layer.router));
    if (!kept || r->n_layers >= TT_NONE ||
        !tt_array_one_more(r->layers, r->n_layers, r->layers_capacity) ||
        !tt_idmap_add(&r->layer_of_place, key, (uint32_t)r->n_layers, &was)) {
        tt_router_free(layer.router);
        r->failed = true;
        return TT_NONE;
    }
    r->n_counts += layer.n_experts;
    r->layers[r->n_layers] = layer;
    return (uint32_t)r->n_layers++;
}

/* TT_NONE: that node is not a router. */
static uint32_t layer_of(tt_routers *r, uint32_t graph, uint32_t node)
{
    const tt_graph *g = &r->m->graphs[graph];
    const uint64_t node_key = (uint64_t)graph << 32 | node;
    uint32_t was, layer = tt_idmap_get(&r->layer_of_node, node_key);
    if (layer != TT_NONE || node >= g->n_nodes || !is_expert_node(g, node)) return layer;
    uint32_t weight = g->tensors[g->tensors[node].src[0]].weight, file = TT_NONE;
    tt_place place = g->tensors[node].place;
    if (weight < r->m->n_weights) {
        file = r->m->weights[weight].file;
        place = r->m->weights[weight].place;
    }
    const uint64_t key = (uint64_t)file << 32 | (uint32_t)place.layer_id;
    layer = tt_idmap_get(&r->layer_of_place, key);
    if (layer == TT_NONE)
        layer = new_layer(r, g, node, key);
    else
        find_slices(r, g, node, &r->layers[layer]);
    if (layer != TT_NONE && !tt_idmap_add(&r->layer_of_node, node_key, layer, &was))
        r->failed = true;
    return layer;
}

/* --- the token of each row --- */

/* The last layer only computes the rows whose output is requested: a GET_ROWS of all tokens by
 * known, ascending numbers, before the router. NULL: not observed. */
static const int64_t *picked_rows(const tt_model *m, uint32_t run, uint32_t router, uint64_t rows,
                                  uint64_t n_tokens)
{
    const tt_graph *g = &m->graphs[m->runs[run].graph];
    for (uint32_t i = router; i-- > 0;) {
        const tt_tensor *t = &g->tensors[i];
        if (strcmp(t->op_name, "GET_ROWS") != 0 || t->n_src < 2 || t->src[0] >= g->n_tensors ||
            t->src[1] >= g->n_tensors || t->ne[1] != rows)
            continue;
        const tt_tensor *from = &g->tensors[t->src[0]];
        if (from->weight != TT_NONE || from->ne[1] != n_tokens) continue;
        const tt_indices *x = tt_model_indices(m, run, t->src[1]);
        bool ok = x && x->n == rows;
        for (uint32_t k = 0; ok && k < x->n; k++)
            ok = x->values[k] >= 0 && (uint64_t)x->values[k] < n_tokens &&
                 (k == 0 || x->values[k] > x->values[k - 1]);
        if (ok) return x->values;
    }
    return NULL;
}

tt_router_rows tt_routers_rows(const tt_model *m, uint32_t run, uint32_t router)
{
    const tt_run *at = &m->runs[run];
    const tt_graph *g = &m->graphs[at->graph];
    const uint64_t n_tokens = at->batch == TT_NONE ? 0 : m->batches[at->batch].n_tokens;
    tt_router_rows out = {.n = g->tensors[g->tensors[router].src[2]].ne[1]};
    const bool whole = out.n == n_tokens;
    if (!whole && n_tokens) out.picked = picked_rows(m, run, router, out.n, n_tokens);
    out.known = at->batch != TT_NONE && (whole || out.picked);
    return out;
}

/* --- sequences and texts --- */

/* The interval of a token's sequences in the batch's list; without a list each token counts as of
 * sequence 0. */
static void places_of(const tt_batch *b, uint32_t token, uint32_t *first, uint32_t *end)
{
    *first = b->sequences ? b->sequence_first[token] : token;
    *end = b->sequences ? b->sequence_first[token + 1] : token + 1;
}

static uint64_t sequence_key(const tt_batch *b, uint32_t place)
{
    const int32_t sequence = b->sequences ? b->sequences[place] : 0;
    return (uint64_t)b->context << 32 | (uint32_t)sequence;
}

static follower *follower_of(tt_routers *r, uint64_t key)
{
    uint32_t was;
    if (!tt_array_one_more(r->followers, r->n_followers, r->followers_capacity) ||
        r->n_followers >= TT_NONE ||
        !tt_idmap_add(&r->by_sequence, key, (uint32_t)r->n_followers, &was)) {
        r->failed = true;
        return NULL;
    }
    if (was != TT_NONE) return &r->followers[was];
    r->followers[r->n_followers] = (follower){.text = TT_NONE};
    return &r->followers[r->n_followers++];
}

static uint32_t new_text(tt_routers *r, const tt_batch *b, uint64_t key, uint8_t phase)
{
    if (phase != r->texts_of) return TT_NONE;
    if (r->n_texts == TT_ROUTERS_TEXTS_MAX) {
        r->texts_left_out++;
        return TT_NONE;
    }
    r->texts[r->n_texts] =
        (tt_router_text){.context = b->context,
                         .has_sequence = b->sequences != NULL,
                         .sequence = (int32_t)(uint32_t)key,
                         .phase = phase,
                         .first_token = tt_model_batch_number(r->m, r->rows.batch),
                         .last_token = tt_model_batch_number(r->m, r->rows.batch)};
    return (uint32_t)r->n_texts++;
}

/* A batch may have a prompt and the next token of another sequence, and is then mixed (prompt, in
 * older traces): a single token that continues its sequence is generated. */
static uint8_t phase_of(const tt_batch *b, const follower *f, uint32_t token)
{
    const uint8_t otherwise = b->phase == TT_PHASE_MIXED ? TT_PHASE_PROMPT : b->phase;
    if (otherwise != TT_PHASE_PROMPT || b->n_tokens < 2 || !f->any || !b->sequences)
        return otherwise;
    bool follows = f->placed && b->positions && (int64_t)b->positions[token] - 1 == f->position;
    return f->here == 1 && follows ? TT_PHASE_GENERATE : otherwise;
}

static void place_token(tt_routers *r, const tt_batch *b, uint32_t token, uint32_t place)
{
    const uint64_t key = sequence_key(b, place);
    follower *f = follower_of(r, key);
    r->rows.text[place] = TT_NONE;
    if (!f) return;
    const bool placed = b->positions != NULL;
    const uint8_t phase = phase_of(b, f, token);
    bool goes_on = f->any && f->phase == phase && f->placed == placed &&
                   (!placed || (int64_t)b->positions[token] - 1 == f->position);
    if (!goes_on) f->text = new_text(r, b, key, phase);
    f->any = true;
    f->placed = placed;
    f->phase = phase;
    f->position = placed ? b->positions[token] : 0;
    r->rows.text[place] = f->text;
    if (f->text == TT_NONE) return;
    r->texts[f->text].tokens++;
    r->texts[f->text].last_token = tt_model_batch_number(r->m, r->rows.batch);
}

/* Called with 0 first, then with the rows: counts each sequence's rows in this batch. */
static void count_rows(tt_routers *r, const tt_batch *b, uint32_t n, bool clear)
{
    for (uint32_t i = 0; i < n && !r->failed; i++) {
        follower *f = follower_of(r, sequence_key(b, i));
        if (f) f->here = clear ? 0 : f->here + 1;
    }
}

/* Processes the tokens of a batch, once. */
static void enter_batch(tt_routers *r, uint32_t batch)
{
    const tt_batch *b = &r->m->batches[batch];
    const uint32_t n = b->sequences ? b->sequence_first[b->n_tokens] : b->n_tokens;
    if (r->rows.batch == batch) return;
    r->rows.batch = batch;
    if (!tt_array_room(r->rows.text, r->rows.capacity, n)) {
        r->failed = true;
        return;
    }
    if (!b->sequences) r->sequences_assumed = true;
    count_rows(r, b, n, true);
    count_rows(r, b, n, false);
    for (uint32_t i = 0; i < b->n_tokens && !r->failed; i++) {
        uint32_t first, end;
        places_of(b, i, &first, &end);
        for (uint32_t place = first; place < end && !r->failed; place++)
            place_token(r, b, i, place);
    }
}

/* --- choices --- */

static void count_in_text(tt_routers *r, const tt_router_layer *layer, uint32_t at,
                          const tt_routed *routed)
{
    if (at == TT_NONE) return;
    tt_router_text *text = &r->texts[at];
    if (text->n_counts < r->n_counts) {
        uint32_t *counts = reallocarray(text->counts, r->n_counts, sizeof *counts);
        if (!counts) {
            r->failed = true;
            return;
        }
        memset(counts + text->n_counts, 0, (r->n_counts - text->n_counts) * sizeof *counts);
        text->counts = counts;
        text->n_counts = r->n_counts;
    }
    for (size_t i = 0; i < routed->n; i++)
        if (routed->experts[i] < layer->n_experts)
            text->counts[layer->first_count + routed->experts[i]]++;
}

/* Finds the token's sequences and texts. `keys` has room for TT_ROUTERS_SEQUENCES_MAX. */
static void find_place(tt_routers *r, const tt_batch *b, const tt_router_layer *layer,
                       uint32_t token, uint64_t *keys, tt_routed *routed)
{
    uint32_t first, end;
    places_of(b, token, &first, &end);
    for (uint32_t place = first; place < end; place++) {
        count_in_text(r, layer, r->rows.text[place], routed);
        if (b->positions && routed->n_sequences < TT_ROUTERS_SEQUENCES_MAX)
            keys[routed->n_sequences++] = sequence_key(b, place);
    }
    routed->sequences = keys;
    routed->position = b->positions ? b->positions[token] : 0;
}

/* The choices of one router for one row. */
static void add_row(tt_routers *r, uint32_t run, uint32_t layer_at, const tt_router_rows *rows,
                    const tt_choice *list, size_t n)
{
    uint32_t experts[TT_ROUTER_CHOSEN_MAX];
    float weights[TT_ROUTER_CHOSEN_MAX];
    uint64_t keys[TT_ROUTERS_SEQUENCES_MAX];
    const uint32_t batch = r->m->runs[run].batch;
    tt_router_layer *layer = &r->layers[layer_at];
    tt_routed routed = {.batch = batch, .experts = experts, .weights = weights};
    for (; routed.n < n && routed.n < TT_ROUTER_CHOSEN_MAX; routed.n++) {
        experts[routed.n] = list[routed.n].expert;
        weights[routed.n] = list[routed.n].weight;
    }
    const tt_batch *b = batch == TT_NONE ? NULL : &r->m->batches[batch];
    if (b && rows->known) {
        uint64_t token = tt_router_rows_token(rows, list->token);
        if (token < b->n_tokens) find_place(r, b, layer, (uint32_t)token, keys, &routed);
    }
    layer->unplaced += routed.n_sequences == 0;
    r->failed |= !tt_router_add(layer->router, &routed);
}

/* The choices of one router in one run. */
static void add_node(tt_routers *r, uint32_t run, const tt_choice *list, size_t n)
{
    const tt_run *at = &r->m->runs[run];
    const uint32_t node = list->node, layer = layer_of(r, at->graph, node);
    if (layer == TT_NONE || !tt_access_router_counts(r->m, run, node)) return;
    const tt_router_rows rows = tt_routers_rows(r->m, run, node);
    for (size_t i = 0, end; i < n && !r->failed; i = end) {
        for (end = i; end < n && list[end].token == list[i].token;)
            end++;
        if (list[i].token < rows.n) add_row(r, run, layer, &rows, list + i, end - i);
    }
}

/* A warm-up's tokens are nobody's text: only if it is asked for. */
static bool is_left_out(const tt_routers *r, uint32_t batch)
{
    return batch != TT_NONE && r->m->batches[batch].phase == TT_PHASE_WARMUP &&
           r->filter.phase != TT_PHASE_WARMUP && r->texts_of != TT_PHASE_WARMUP &&
           !r->filter.has_batch;
}

static tt_status walk_run(tt_routers *r, uint32_t run, tt_error *err)
{
    size_t n;
    const tt_run *at = &r->m->runs[run];
    tt_status status = tt_accesses_run(r->accesses, run, err);
    if (status != TT_OK || at->graph == TT_NONE) return status;
    if (is_left_out(r, at->batch)) return TT_OK;
    if (at->batch != TT_NONE) enter_batch(r, at->batch);
    const tt_choice *list = tt_accesses_choices(r->accesses, &n);
    for (size_t i = 0, end; i < n && !r->failed; i = end) {
        for (end = i; end < n && list[end].node == list[i].node;)
            end++;
        add_node(r, run, list + i, end - i);
    }
    if (r->too_many)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than %u experts",
                            TT_ROUTERS_EXPERTS_MAX);
    return r->failed ? tt_error_memory(err, "the experts") : TT_OK;
}

/* --- order --- */

static int by_layer(const void *a, const void *b)
{
    const tt_router_layer *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->layer_id < y->layer_id ? -1 : x->layer_id > y->layer_id;
}

/* Sorts the layers by place, with the texts' counts. */
static bool put_in_order(tt_routers *r)
{
    uint32_t *counts = NULL;
    if (r->n_layers == 0) return true;
    qsort(r->layers, r->n_layers, sizeof *r->layers, by_layer);
    for (size_t t = 0; t < r->n_texts; t++) {
        tt_router_text *text = &r->texts[t];
        size_t used = 0;
        counts = calloc(r->n_counts, sizeof *counts);
        if (!counts) return false;
        for (size_t i = 0; i < r->n_layers; i++) {
            const tt_router_layer *layer = &r->layers[i];
            if (layer->first_count + layer->n_experts <= text->n_counts)
                memcpy(counts + used, text->counts + layer->first_count,
                       layer->n_experts * sizeof *counts);
            used += layer->n_experts;
        }
        free(text->counts);
        text->counts = counts;
        text->n_counts = r->n_counts;
    }
    for (size_t i = 0, first = 0; i < r->n_layers; i++) {
        r->layers[i].first_count = first;
        first += r->layers[i].n_experts;
    }
    return true;
}

void tt_routers_keep_transitions(tt_routers *r)
{
    r->keeps_transitions = true;
}

void tt_routers_until(tt_routers *r, tt_over over)
{
    r->over = over;
}

tt_status tt_routers_walk(tt_routers *r, tt_routers_progress *progress, void *context,
                          tt_error *err)
{
    tt_status status = TT_OK;
    for (uint32_t i = 0; i < r->m->n_runs && status == TT_OK; i++) {
        if (tt_filter_run(&r->filter, r->m, &r->m->runs[i])) status = walk_run(r, i, err);
        if (progress && i % PROGRESS_EVERY == 0) progress(context, i, r->m->n_runs);
        if (i % PROGRESS_EVERY == 0 && status == TT_OK) status = tt_over_check(&r->over, err);
    }
    if (status == TT_OK && !put_in_order(r)) status = tt_error_memory(err, "the experts");
    return status;
}

const tt_router_layer *tt_routers_layers(const tt_routers *r, size_t *n)
{
    *n = r->n_layers;
    return r->layers;
}

const tt_router_text *tt_routers_texts(const tt_routers *r, size_t *n, uint64_t *left_out)
{
    *n = r->n_texts;
    *left_out = r->texts_left_out;
    return r->texts;
}

bool tt_routers_sequences_assumed(const tt_routers *r)
{
    return r->sequences_assumed;
}

uint64_t tt_routers_expert_nodes(const tt_model *m)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < m->n_graphs; i++)
        for (uint32_t k = 0; k < m->graphs[i].n_nodes; k++)
            n += (m->graphs[i].tensors[k].flags & TT_TENSOR_EXECUTES) &&
                 strcmp(m->graphs[i].tensors[k].op_name, EXPERT_OP) == 0;
    return n;
}

bool tt_routers_same_shape(const tt_routers *a, const tt_routers *b)
{
    if (a->n_layers != b->n_layers || a->n_counts != b->n_counts) return false;
    for (size_t i = 0; i < a->n_layers; i++)
        if (a->layers[i].layer_id != b->layers[i].layer_id ||
            a->layers[i].n_experts != b->layers[i].n_experts)
            return false;
    return true;
}

double tt_router_texts_jaccard(const tt_router_text *a, const tt_router_text *b)
{
    return tt_routing_jaccard(a->counts, b->counts,
                              a->n_counts < b->n_counts ? a->n_counts : b->n_counts);
}

double tt_router_texts_cosine(const tt_router_text *a, const tt_router_text *b)
{
    return tt_routing_cosine(a->counts, b->counts,
                             a->n_counts < b->n_counts ? a->n_counts : b->n_counts);
}
