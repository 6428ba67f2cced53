#include "adapter/ggml/batches.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/owner.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/tokens.h"
#include "adapter/ggml/values.h"
#include "base/clock.h"
#include "format/meta.h"

#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX (1 << 20)

static bool is_named(const struct ggml_tensor *t, const char *name)
{
    return strncmp(t->name, name, sizeof t->name) == 0;
}

static bool is_op(const tt_engine *e, const struct ggml_tensor *t, const char *name)
{
    return strcmp(e->op_name(t->op), name) == 0;
}

bool tt_batches_is_tokens(const tt_engine *e, const struct ggml_tensor *node, int s)
{
    const struct ggml_tensor *t = node->src[s], *table = node->src[0];
    if (!t) return false;
    return is_named(t, "inp_tokens") || memmem(t->name, sizeof t->name, "#inp_tokens#", 12) ||
           (s == 1 && table && is_op(e, node, "GET_ROWS") && is_named(table, "token_embd.weight"));
}

bool tt_batches_is_copy(const struct ggml_tensor *t)
{
    return memchr(t->name, '#', strnlen(t->name, sizeof t->name)) != NULL;
}

/* Only newer engines name their inputs. In older ones, the ops that use an input identify it:
 * the embedding's row numbers are the tokens, ROPE takes the positions. Since 2026 graphs
 * contain the inputs for tokens and for embeddings; only one is computed, and the other holds
 * stale values. */
void tt_batches_look(const tt_engine *e, const struct ggml_tensor *node, bool is_computed,
                     tt_batch_inputs *in)
{
    for (int s = 0; s < 4; s++) {
        const struct ggml_tensor *t = node->src[s];
        if (!t) continue;
        /* Multimodal models use slices of inp_pos. */
        if (t->view_src) t = t->view_src;
        if (!is_computed && tt_batches_is_tokens(e, node, s)) in->idle = t;
        if (!is_computed || !(t->flags & GGML_MIRROR_FLAG_INPUT) || tt_batches_is_copy(t)) continue;
        bool gathers = s == 1 && node->src[0] && is_op(e, node, "GET_ROWS");
        if (!in->tokens && tt_batches_is_tokens(e, node, s)) in->tokens = t;
        if (!in->positions && (is_named(t, "inp_pos") || (s == 1 && is_op(e, node, "ROPE")) ||
                               (gathers && is_named(node->src[0], "position_embd.weight"))))
            in->positions = t;
        if (!in->embeddings && is_named(t, "inp_embd")) in->embeddings = t;
    }
}

static const struct ggml_tensor *find_output(struct ggml_tensor *const *nodes, int n_nodes)
{
    for (int i = n_nodes - 1; i >= 0 && i > n_nodes - 32; i--)
        if (is_named(nodes[i], "result_output") || is_named(nodes[i], "result_embd_pooled"))
            return nodes[i];
    return NULL;
}

static tt_batch_inputs find_inputs(const tt_engine *e, struct ggml_cgraph *graph)
{
    tt_batch_inputs in = {0};
    struct ggml_tensor **nodes = e->graph_nodes(graph);
    int n_nodes = e->graph_n_nodes(graph);
    bool marked = tt_graphs_marked(e, nodes, n_nodes);
    for (int i = 0; i < n_nodes && !(in.tokens && in.positions); i++)
        tt_batches_look(e, nodes[i], !marked || nodes[i]->flags & GGML_MIRROR_FLAG_COMPUTE, &in);
    /* With several backends, nodes refer to copies that are made later; the inputs themselves
     * are still leafs of the graph. */
    if (!in.tokens && !in.idle && e->graph_tensor) in.tokens = e->graph_tensor(graph, "inp_tokens");
    if (!in.positions && e->graph_tensor) in.positions = e->graph_tensor(graph, "inp_pos");
    in.output = find_output(nodes, n_nodes);
    return in;
}

/* While the layout is unchanged, the inputs are those of the batch before. */
static tt_batch_inputs get_inputs(const tt_engine *e, tt_context *c, struct ggml_cgraph *graph,
                                  uint64_t layout)
{
    if (!layout || c->inputs_layout != layout || c->graph != graph) {
        c->inputs = find_inputs(e, graph);
        c->inputs_layout = layout;
        c->graph = graph;
    }
    return c->inputs;
}

int32_t *tt_batches_numbers(const tt_engine *e, const struct ggml_tensor *t, uint32_t n)
{
    if (!t || strcmp(e->type_name(t->type), "i32") != 0) return NULL;
    return tt_values_copy(e, t, n * sizeof(int32_t));
}

static uint32_t count_tokens(const tt_batch_inputs *in)
{
    const struct ggml_tensor *counted = in->tokens ? in->tokens : in->idle;
    int64_t n = counted ? counted->ne[0] : in->embeddings ? in->embeddings->ne[1] : 0;
    return n > 0 && n <= TOKENS_MAX ? (uint32_t)n : 0;
}

static uint32_t count_outputs(const tt_batch_inputs *in)
{
    return in->output && in->output->ne[1] >= 0 ? (uint32_t)in->output->ne[1] + 1 : 0;
}

void tt_batches_tell_fates(tt_phases *p)
{
    tt_recorder *r = p->n_fates && tt_owner_is_self() ? tt_process_recorder_if_open() : NULL;
    for (size_t i = 0; r && i < p->n_fates; i++) {
        tt_bytes payload;
        tt_bytes_init(&payload, 64);
        tt_meta_put_fate(&payload, &p->fates[i]);
        (void)tt_process_put(r, TT_META_FATE, &payload);
    }
    p->n_fates = 0;
}

/* Sets phase and sequences from the current call. A batch without tokens shifts the context: the
 * engine moves positions before it computes the call. counts: see tt_tokens_match. */
static void set_phase(tt_context *c, tt_meta_batch *b, const int32_t *tokens,
                      const int32_t *positions, tt_batch_sequences *sequences)
{
    tt_phases *p = &c->phases;
    uint32_t counts[TT_PHASES];
    tt_contexts_find_others(c); /* first: those of the batch before may have been freed */
    if (tt_tokens_in_training() && !tt_tokens_in_call()) {
        tt_phases_note_training(p, b->id);
        return;
    }
    uint8_t guessed = tt_phases_guess(&c->phases, positions, b->n_tokens, b->n_outputs_plus_1);
    if (b->n_tokens == 0) {
        c->phases.shifted |= tt_tokens_in_call();
        return;
    }
    tt_tokens_assign_phases(&c->phases, positions ? positions[0] : -1);
    p->last_batch = b->id;
    b->phase = guessed;
    if (!tt_tokens_match(tokens, positions, b->n_tokens, p, sequences, counts)) return;
    b->flags |= TT_BATCH_SEQUENCES;
    b->n_generate = counts[TT_PHASE_GENERATE];
    b->phase = counts[TT_PHASE_WARMUP]
                   ? TT_PHASE_WARMUP
                   : tt_phases_of(counts[TT_PHASE_PROMPT], b->n_generate, counts[TT_PHASE_UNKNOWN]);
}

/* Contexts that draft say so at each batch: a flight recorder keeps the last ones. */
static void tell_fates_of_call(tt_context *c)
{
    tt_phases_note_drafting(&c->phases);
    for (uint32_t i = 0; i < c->phases.n_others; i++) {
        tt_phases *other = c->phases.others[i];
        if (!other->drafts_told) tt_phases_note_drafting(other);
        tt_batches_tell_fates(other);
    }
    tt_batches_tell_fates(&c->phases);
}

/* Follows a batch that is not recorded, because the phases of later ones depend on it. */
static void look_past(const tt_engine *e, tt_context *context, struct ggml_cgraph *graph,
                      uint64_t layout)
{
    tt_batch_inputs in = get_inputs(e, context, graph, layout);
    tt_meta_batch b = {.n_tokens = count_tokens(&in), .n_outputs_plus_1 = count_outputs(&in)};
    tt_batch_sequences sequences;
    int32_t *positions = tt_batches_numbers(e, in.positions, b.n_tokens);
    set_phase(context, &b, NULL, positions, &sequences);
    tell_fates_of_call(context);
    free(positions);
}

static bool leave_out(tt_area *a, uint32_t id, const tt_engine *e, tt_context *context,
                      struct ggml_cgraph *graph, uint64_t layout)
{
    bool stopped = atomic_load_explicit(&a->stopped, memory_order_relaxed);
    if (!stopped && tt_capture_wants(id - 1u, id - 1u)) return false;
    atomic_fetch_add(stopped ? &a->counts.batches_after_limit : &a->counts.batches_not_asked, 1);
    if (!stopped) look_past(e, context, graph, layout);
    return true;
}

bool tt_batches_go_on(tt_recorder *r)
{
    return !atomic_load_explicit(&tt_recorder_area(r)->area->stopped, memory_order_relaxed);
}

bool tt_batches_may_follow(tt_recorder *r, int32_t n_tokens)
{
    const tt_area *a = tt_recorder_area(r)->area;
    uint64_t next = atomic_load_explicit(&a->counts.batches, memory_order_relaxed);
    return tt_batches_go_on(r) &&
           tt_capture_wants(next, next + (n_tokens > 1 ? (uint64_t)n_tokens - 1 : 0));
}

uint32_t tt_batches_begin(tt_recorder *r, const tt_engine *e, tt_context *context,
                          struct ggml_cgraph *graph, uint64_t layout)
{
    tt_area *area = tt_recorder_area(r)->area;
    tt_meta_batch b = {.context = context->id, .ticks = tt_ticks()};
    b.id = (uint32_t)atomic_fetch_add(&area->counts.batches, 1) + 1;
    if (leave_out(area, b.id, e, context, graph, layout)) return 0;
    tt_batch_inputs in = get_inputs(e, context, graph, layout);
    b.thread = tt_owner_thread();
    b.n_tokens = count_tokens(&in);
    b.n_outputs_plus_1 = count_outputs(&in);
    int32_t *tokens = tt_batches_numbers(e, in.tokens, b.n_tokens);
    int32_t *positions = tt_batches_numbers(e, in.positions, b.n_tokens);
    tt_batch_sequences sequences;
    set_phase(context, &b, tokens, positions, &sequences);
    if (tokens && tt_capture_options.text) {
        b.flags |= TT_BATCH_TOKENS;
        b.vocabulary = tt_tokens_vocabulary();
    }
    if (positions) b.flags |= TT_BATCH_POSITIONS;
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_batch(&payload, &b, tokens, positions, &sequences);
    (void)tt_process_put(r, TT_META_BATCH, &payload);
    tell_fates_of_call(context);
    free(tokens);
    free(positions);
    return b.id;
}

void tt_batches_end(tt_recorder *r, uint32_t batch, int status)
{
    tt_bytes payload;
    tt_meta_end end = {batch, tt_ticks(), status};
    tt_bytes_init(&payload, 64);
    tt_meta_put_end(&payload, &end);
    (void)tt_process_put(r, TT_META_BATCH_END, &payload);
}
