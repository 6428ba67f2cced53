#include "analyze/recomputed.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 2u  /* tokens */
#define STEPS 64u /* for each token and change of the trace */

/* A token behind a text: the nodes up to the root, which stands for a context. */
typedef struct node {
    uint32_t parent, depth;
    uint32_t jump; /* one further up, so that all are a few jumps and parents away */
    int32_t token;
    uint32_t batch; /* in m->batches: the last one that computed it, for: */
    int32_t sequence;
    uint32_t lost; /* in m->sequence_changes: the last one that removed it since; or TT_NONE */
} node;

typedef struct sequence {
    uint32_t context;
    int32_t id;
    uint32_t root, tip;        /* TT_NONE: what it holds is not known */
    int64_t moved_from, moved; /* positions from there on are so much smaller than their depths */
    uint32_t refused;          /* the last change that was refused since it computed; or TT_NONE */
    uint32_t row;              /* of the prompt that is being computed; TT_NONE: none */
    int64_t prompt_next;       /* the position behind the prompt's tokens so far */
    uint32_t prompt_tokens;
} sequence;

typedef struct saved {
    uint32_t tip;
    int64_t moved_from, moved;
} saved;

typedef struct walk {
    const tt_model *m;
    tt_recomputed_list *out;
    size_t rows_capacity;
    node *nodes;
    size_t n_nodes, nodes_capacity;
    tt_idmap node_of, sequence_of, root_of, saved_of, remembering;
    sequence *list;
    size_t n, capacity;
    saved *states;
    size_t n_states, states_capacity;
    uint64_t steps; /* left */
    bool recorded, failed;
    bool begins; /* the trace holds the contexts' first batches */
} walk;

static const char *const LOSSES[TT_LOSSES] = {"unknown", "not_recorded", "elsewhere", "removed",
                                              "cleared", "not_held",     "refused",   "replaced"};

const char *tt_loss_name(tt_loss loss)
{
    return LOSSES[loss];
}

static bool step(walk *w)
{
    if (w->steps) w->steps--;
    return w->steps > 0;
}

/* --- the tokens of a context --- */

typedef struct wanted {
    const walk *w;
    uint32_t parent;
    int32_t token;
} wanted;

static bool is_wanted(const void *context, uint32_t index)
{
    const wanted *k = context;
    const node *n = &k->w->nodes[index];
    return n->parent == k->parent && n->token == k->token;
}

static uint32_t add_node(walk *w, uint32_t parent, int32_t token)
{
    node *n = tt_array_add(w->nodes, w->n_nodes, w->nodes_capacity);
    if (!n) {
        w->failed = true;
        return TT_NONE;
    }
    const uint32_t at = (uint32_t)w->n_nodes - 1;
    *n = (node){.parent = parent, .jump = at, .token = token, .batch = TT_NONE, .lost = TT_NONE};
    if (parent == TT_NONE) return at;
    const node *up = &w->nodes[parent], *jump = &w->nodes[up->jump];
    n->depth = up->depth + 1;
    n->jump =
        up->depth - jump->depth == jump->depth - w->nodes[jump->jump].depth ? jump->jump : parent;
    return at;
}

/* The node at that depth behind which it is; itself if it is not deeper. */
static uint32_t above(walk *w, uint32_t at, int64_t depth)
{
    while (w->nodes[at].depth > depth && step(w))
        at = w->nodes[w->nodes[at].jump].depth >= depth ? w->nodes[at].jump : w->nodes[at].parent;
    return at;
}

static uint32_t child_of(walk *w, uint32_t parent, int32_t token)
{
    const wanted k = {w, parent, token};
    uint64_t key = tt_hash_mix(tt_hash_mix(1, parent), (uint32_t)token);
    uint32_t at = tt_idmap_find(&w->node_of, &key, is_wanted, &k), was;
    if (at != TT_NONE) return at;
    at = add_node(w, parent, token);
    if (at != TT_NONE && !tt_idmap_add(&w->node_of, key, at, &was)) w->failed = true;
    return at;
}

static uint32_t root_of(walk *w, uint32_t context)
{
    uint32_t at = tt_idmap_get(&w->root_of, context), was;
    if (at != TT_NONE) return at;
    at = add_node(w, TT_NONE, 0);
    if (at != TT_NONE && !tt_idmap_add(&w->root_of, context, at, &was)) w->failed = true;
    return at;
}

static sequence *find(walk *w, uint32_t context, int32_t id, bool make)
{
    const uint64_t key = (uint64_t)context << 32 | (uint32_t)id;
    uint32_t at = tt_idmap_get(&w->sequence_of, key);
    if (at != TT_NONE) return &w->list[at];
    if (!make || id < 0) return NULL;
    if (!tt_idmap_add(&w->sequence_of, key, (uint32_t)w->n, &at)) w->failed = true;
    const uint32_t root = root_of(w, context);
    sequence *s = w->failed ? NULL : tt_array_add(w->list, w->n, w->capacity);
    if (!s) {
        w->failed = true;
        return NULL;
    }
    *s = (sequence){.context = context,
                    .id = id,
                    .root = root,
                    .tip = w->recorded && w->begins ? root : TT_NONE,
                    .refused = TT_NONE,
                    .row = TT_NONE,
                    .prompt_next = -1};
    return s;
}

/* --- what a sequence holds --- */

static int64_t depth_of(const sequence *s, int64_t position)
{
    return position >= s->moved_from ? position + s->moved : position;
}

static void forget(sequence *s, uint32_t tip)
{
    s->tip = tip;
    s->moved_from = s->moved = 0;
}

/* Removes what is deeper; change: that did it, or TT_NONE. */
static void cut(walk *w, sequence *s, int64_t depth, uint32_t change)
{
    if (s->tip == TT_NONE) return;
    while (w->nodes[s->tip].depth > depth && step(w)) {
        w->nodes[s->tip].lost = change;
        s->tip = w->nodes[s->tip].parent;
    }
    if (w->nodes[s->tip].depth <= s->moved_from) s->moved_from = s->moved = 0;
}

static void remove_positions(walk *w, sequence *s, const tt_meta_sequences *r, uint32_t change)
{
    const int64_t from = r->from < 0 ? 0 : r->from;
    if (s->tip == TT_NONE) return;
    const int64_t end = (int64_t)w->nodes[s->tip].depth - s->moved;
    if (r->to < 0 || r->to >= end) {
        cut(w, s, depth_of(s, from), change);
        return;
    }
    /* A hole, before what is kept is moved: what is behind it was computed with it. */
    if (r->to > from && r->to > s->moved_from) s->moved_from = r->to;
}

static void apply(walk *w, sequence *s, const tt_meta_sequences *r, uint32_t change)
{
    switch (r->kind) {
    case TT_SEQUENCES_REMOVED:
        remove_positions(w, s, r, change);
        if (r->from <= 0 && r->to < 0) forget(s, s->root);
        break;
    case TT_SEQUENCES_RESTORED: /* of all: what they hold now is not known */
        cut(w, s, 0, change);
        forget(s, TT_NONE);
        break;
    case TT_SEQUENCES_KEPT:
        if (s->id == r->sequence) break;
        cut(w, s, 0, change);
        forget(s, s->root);
        break;
    case TT_SEQUENCES_MOVED:
        if (s->tip == TT_NONE) break;
        /* Of what is behind a hole, and on to the end; else its positions say nothing any more. */
        if (r->from == s->moved_from && r->by < 0 && r->from + (int64_t)r->by >= 0) {
            s->moved_from = r->from + (int64_t)r->by;
            s->moved -= r->by;
        } else
            forget(s, TT_NONE);
        break;
    default:
        forget(s, TT_NONE);
        break;
    }
}

static void copy(walk *w, const tt_meta_sequences *r)
{
    sequence *s = find(w, r->context, r->sequence, true);
    const sequence *source = find(w, r->context, r->source, false);
    if (!s || r->source == r->sequence) return;
    if (!source || r->from > 0) {
        forget(s, TT_NONE);
        return;
    }
    s->tip = source->tip;
    s->moved_from = source->moved_from;
    s->moved = source->moved;
    if (s->tip != TT_NONE && r->to >= 0) s->tip = above(w, s->tip, depth_of(s, r->to));
}

static void save(walk *w, const tt_meta_sequences *r)
{
    const sequence *s = find(w, r->context, r->sequence, false);
    uint32_t at = tt_idmap_get(&w->saved_of, r->state), was;
    if (!s || !r->state) return;
    if (at == TT_NONE) {
        at = (uint32_t)w->n_states;
        const saved *room = tt_array_add(w->states, w->n_states, w->states_capacity);
        if (!room || !tt_idmap_add(&w->saved_of, r->state, at, &was)) {
            w->failed = true;
            return;
        }
    }
    w->states[at] = (saved){s->tip, s->moved_from, s->moved};
}

static void restore(walk *w, const tt_meta_sequences *r, uint32_t change)
{
    sequence *s = find(w, r->context, r->sequence, true);
    const uint32_t at = r->state ? tt_idmap_get(&w->saved_of, r->state) : TT_NONE;
    if (!s) return;
    uint32_t tip = at == TT_NONE ? TT_NONE : w->states[at].tip;
    /* A state of another context is of another text. */
    if (tip != TT_NONE && above(w, tip, 0) != s->root) tip = TT_NONE;
    uint32_t common = tip == TT_NONE ? s->root : s->tip;
    while (tip != TT_NONE && common != TT_NONE && step(w) &&
           common != above(w, tip, w->nodes[common].depth))
        common = w->nodes[common].parent;
    if (common != TT_NONE) cut(w, s, w->nodes[common].depth, change);
    forget(s, tip);
    if (tip == TT_NONE) return;
    s->moved_from = w->states[at].moved_from;
    s->moved = w->states[at].moved;
}

static void change(walk *w, uint32_t index)
{
    const tt_meta_sequences *r = &w->m->sequence_changes[index];
    uint32_t was;
    if (!tt_idmap_add(&w->remembering, r->context, 0, &was)) w->failed = true;
    if (r->flags & TT_SEQUENCES_REFUSED) {
        sequence *s = find(w, r->context, r->sequence, false);
        if (s) s->refused = index;
        return;
    }
    switch (r->kind) {
    case TT_SEQUENCES_COPIED:
        copy(w, r);
        return;
    case TT_SEQUENCES_SAVED:
        save(w, r);
        return;
    case TT_SEQUENCES_RESTORED:
        if (r->sequence < 0) break;
        restore(w, r, index);
        return;
    default:
        break;
    }
    const bool is_all = r->sequence < 0 || r->kind == TT_SEQUENCES_KEPT;
    sequence *one = is_all ? NULL : find(w, r->context, r->sequence, false);
    if (one) apply(w, one, r, index);
    for (size_t i = 0; is_all && i < w->n && step(w); i++)
        if (w->list[i].context == r->context) apply(w, &w->list[i], r, index);
}

/* --- a prompt's tokens --- */

static int32_t holder_of(walk *w, const sequence *of, uint32_t wanted_node)
{
    for (size_t i = 0; i < w->n && step(w); i++) {
        const sequence *s = &w->list[i];
        if (s->root == of->root && s != of && s->tip != TT_NONE &&
            above(w, s->tip, w->nodes[wanted_node].depth) == wanted_node)
            return s->id;
    }
    return -1;
}

/* Whether it removed all that the context held of all sequences, or of all others. */
static bool is_clear(const tt_meta_sequences *c)
{
    return c->kind == TT_SEQUENCES_KEPT || (c->sequence < 0 && c->from <= 0 && c->to < 0);
}

static tt_loss loss_of(const walk *w, const sequence *s, const tt_recomputed *r)
{
    if (s->refused != TT_NONE) return TT_LOSS_REFUSED;
    if (r->change == TT_NONE && r->holder >= 0 && r->before_sequence != s->id)
        return TT_LOSS_ELSEWHERE;
    if (r->change == TT_NONE) return w->recorded ? TT_LOSS_UNKNOWN : TT_LOSS_NOT_RECORDED;
    const tt_meta_sequences *c = &w->m->sequence_changes[r->change];
    if (c->kind == TT_SEQUENCES_RESTORED) return TT_LOSS_REPLACED;
    if (is_clear(c)) return TT_LOSS_CLEARED;
    return c->sequence >= 0 && c->flags & TT_SEQUENCES_HELD && c->held_first > r->first_position
               ? TT_LOSS_NOT_HELD
               : TT_LOSS_REMOVED;
}

static void begin_row(walk *w, sequence *s, uint32_t at, uint32_t batch, int64_t position)
{
    const node *n = &w->nodes[at];
    const int32_t holder = holder_of(w, s, at);
    tt_recomputed *r = w->steps ? tt_array_add(w->out->rows, w->out->n, w->rows_capacity) : NULL;
    if (!w->steps) return;
    if (!r) {
        w->failed = true;
        return;
    }
    s->row = (uint32_t)w->out->n - 1;
    *r = (tt_recomputed){.first_batch = batch,
                         .last_batch = batch,
                         .sequence = s->id,
                         .first_position = position,
                         .n_prompt = s->prompt_tokens,
                         .time_ns = (double)NAN,
                         .before = n->batch,
                         .before_sequence = n->sequence,
                         .holder = holder,
                         .change = s->refused != TT_NONE ? s->refused : n->lost};
    r->loss = loss_of(w, s, r);
}

/* Adds a token's share of the batch's time. */
static void take_time(const walk *w, tt_recomputed *r, const tt_batch *b)
{
    if (!w->m->clock.known || !b->ended || b->end_ticks < b->begin_ticks) {
        r->time_at_least = true;
        return;
    }
    const double ns = tt_model_span_ns(w->m, b->end_ticks - b->begin_ticks) / b->n_tokens;
    r->time_ns = isnan(r->time_ns) ? ns : r->time_ns + ns;
}

/* node: of this token, TT_NONE: not known. */
static void count(walk *w, sequence *s, uint32_t at, uint32_t batch, int64_t position)
{
    if (position != s->prompt_next) {
        s->prompt_tokens = 0;
        s->row = TT_NONE;
    }
    s->prompt_next = position + 1;
    s->prompt_tokens++;
    tt_recomputed *r = s->row == TT_NONE ? NULL : &w->out->rows[s->row];
    if (r) r->n_prompt++;
    if (at == TT_NONE || w->nodes[at].batch == TT_NONE || w->nodes[at].batch == batch) return;
    if (!r && s->prompt_tokens == 1) begin_row(w, s, at, batch, position);
    if (s->row == TT_NONE) return;
    r = &w->out->rows[s->row];
    r->n_tokens++;
    r->last_batch = batch;
    take_time(w, r, &w->m->batches[batch]);
}

/* The node of a token at that position; TT_NONE: what is before it is not known. */
static uint32_t advance(walk *w, sequence *s, uint32_t batch, int64_t position, int32_t token)
{
    uint32_t was;
    if (position < 0) return TT_NONE;
    if (position == 0) {
        cut(w, s, 0, TT_NONE);
        forget(s, s->root);
    } else if ((s->tip == TT_NONE || w->nodes[s->tip].batch != batch) &&
               !tt_idmap_add(&w->remembering, s->context, 0, &was))
        w->failed = true;
    const int64_t depth = depth_of(s, position);
    cut(w, s, depth, TT_NONE);
    if (s->tip != TT_NONE && w->nodes[s->tip].depth != depth) forget(s, TT_NONE);
    if (s->tip == TT_NONE || !w->steps) return TT_NONE;
    const uint32_t at = child_of(w, s->tip, token);
    if (at != TT_NONE) s->tip = at;
    return at;
}

/* In a mixed batch a sequence's only token may be generated. */
static bool is_prompt(const tt_batch *b, uint32_t i)
{
    if (b->phase != TT_PHASE_MIXED) return b->phase == TT_PHASE_PROMPT;
    const int32_t id = b->sequences[b->sequence_first[i]];
    for (uint32_t k = i ? i - 1 : 0; k < b->n_tokens && k <= i + 1; k++)
        if (k != i && b->sequence_first[k] < b->sequence_first[k + 1] &&
            b->sequences[b->sequence_first[k]] == id)
            return true;
    return false;
}

/* Recurrent models compute without positions: then behind what it holds. */
static int64_t next_of(const walk *w, const sequence *s)
{
    return s->tip == TT_NONE ? -1 : (int64_t)w->nodes[s->tip].depth - s->moved;
}

static void read_row(walk *w, uint32_t batch, uint32_t i)
{
    const tt_batch *b = &w->m->batches[batch];
    const bool counts = b->sequence_first[i] < b->sequence_first[i + 1] && is_prompt(b, i);
    uint32_t node_at = TT_NONE;
    for (uint32_t k = b->sequence_first[i]; k < b->sequence_first[i + 1]; k++) {
        sequence *s = find(w, b->context, b->sequences[k], true);
        if (!s || !step(w)) return;
        const int64_t position = b->positions ? b->positions[i] : next_of(w, s);
        const uint32_t at = advance(w, s, batch, position, b->tokens[i]);
        if (k == b->sequence_first[i]) {
            node_at = at;
            if (counts)
                count(w, s, at, batch, position);
            else
                s->prompt_next = -1;
        }
        s->refused = TT_NONE;
    }
    if (node_at == TT_NONE || w->failed) return;
    w->nodes[node_at].batch = batch;
    w->nodes[node_at].sequence = b->sequences[b->sequence_first[i]];
    w->nodes[node_at].lost = TT_NONE;
}

static void read_batch(walk *w, uint32_t batch)
{
    const tt_batch *b = &w->m->batches[batch];
    if (!b->sequences || b->phase == TT_PHASE_WARMUP || b->trains || b->drafts) return;
    if (b->tokens && (b->positions || w->recorded)) {
        for (uint32_t i = 0; i < b->n_tokens && w->steps && !w->failed; i++)
            read_row(w, batch, i);
        return;
    }
    /* Embeddings, such as of an image. */
    for (uint32_t k = 0; k < b->sequence_first[b->n_tokens]; k++) {
        sequence *s = find(w, b->context, b->sequences[k], true);
        if (s) forget(s, TT_NONE);
    }
}

/* Leaves out single tokens, and contexts that may hold nothing between batches. */
static void choose(walk *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->out->n; i++) {
        const tt_recomputed *r = &w->out->rows[i];
        const uint32_t context = w->m->batches[r->first_batch].context;
        if (r->n_tokens >= LEAST && tt_idmap_get(&w->remembering, context) != TT_NONE)
            w->out->rows[n++] = *r;
    }
    w->out->n = n;
}

static uint64_t steps_for(const tt_model *m)
{
    uint64_t n = m->n_sequence_changes;
    for (uint32_t i = 0; i < m->n_batches; i++)
        n += m->batches[i].n_tokens;
    return (n + 1) * STEPS;
}

tt_status tt_recomputed_find(const tt_model *m, tt_recomputed_list *out, tt_error *err)
{
    walk w = {.m = m,
              .out = out,
              .steps = steps_for(m),
              .recorded = tt_model_captured(m, "capture_sequences"),
              .begins = !m->front.present && m->n_batches && m->batches[0].number == 0 &&
                        !tt_model_environment(m, "attached")};
    uint32_t next = 0;
    *out = (tt_recomputed_list){.is_cut = m->partial};
    for (uint32_t i = 0; i < m->n_batches && !m->partial && w.steps && !w.failed; i++) {
        while (next < m->n_sequence_changes &&
               m->sequence_changes[next].ticks < m->batches[i].begin_ticks)
            change(&w, next++);
        read_batch(&w, i);
    }
    out->is_cut |= !w.steps;
    for (size_t i = 0; i < w.n && !w.steps; i++)
        if (w.list[i].row != TT_NONE && w.list[i].prompt_next >= 0)
            out->rows[w.list[i].row].is_cut = true;
    choose(&w);
    free(w.nodes);
    free(w.list);
    free(w.states);
    tt_idmap_free(&w.node_of);
    tt_idmap_free(&w.sequence_of);
    tt_idmap_free(&w.root_of);
    tt_idmap_free(&w.saved_of);
    tt_idmap_free(&w.remembering);
    return w.failed ? tt_error_memory(err, "the texts of sequences") : TT_OK;
}

void tt_recomputed_free(tt_recomputed_list *list)
{
    free(list->rows);
    *list = (tt_recomputed_list){0};
}

/* --- in words --- */

static const char *whose_of(const tt_meta_sequences *c, char out[32])
{
    if (c->sequence < 0)
        (void)snprintf(out, 32, "all sequences");
    else
        (void)snprintf(out, 32, "sequence %" PRId32, c->sequence);
    return out;
}

static const char *range_of(const tt_meta_sequences *c, char out[96])
{
    const size_t room = 96;
    char whose[32];
    (void)whose_of(c, whose);
    if (c->from <= 0 && c->to < 0)
        (void)snprintf(out, room, "all positions of %s", whose);
    else if (c->to < 0)
        (void)snprintf(out, room, "the positions from %" PRId32 " on of %s", c->from, whose);
    else
        (void)snprintf(out, room, "the positions %" PRId32 " to %" PRId64 " of %s",
                       c->from < 0 ? 0 : c->from, (int64_t)c->to - 1, whose);
    return out;
}

static const char *held(const tt_meta_sequences *c, char out[96])
{
    if (c->held_first == c->held_last)
        (void)snprintf(out, 96, "only position %" PRId32 ", as for a recurrent state",
                       c->held_last);
    else
        (void)snprintf(out, 96, "only the positions %" PRId32 " to %" PRId32, c->held_first,
                       c->held_last);
    return out;
}

const char *tt_recomputed_text(const tt_model *m, const tt_recomputed *r,
                               char out[TT_RECOMPUTED_TEXT])
{
    static const tt_meta_sequences none;
    const tt_meta_sequences *c = r->change == TT_NONE ? &none : &m->sequence_changes[r->change];
    char range[96], holds[96], until[48] = "", also[96] = "", ns[TT_UNITS_TEXT];
    char ago[TT_UNITS_TEXT + 16] = "Before"; /* without a clock */
    if (m->clock.known && m->batches[r->first_batch].begin_ticks > c->ticks)
        (void)snprintf(ago, sizeof ago, "%s before",
                       tt_units_ns(ns, tt_model_span_ns(m, m->batches[r->first_batch].begin_ticks -
                                                               c->ticks)));
    if (r->holder >= 0)
        (void)snprintf(also, sizeof also, " Sequence %" PRId32 " still held them.", r->holder);
    switch (r->loss) {
    case TT_LOSS_REMOVED:
        (void)snprintf(out, TT_RECOMPUTED_TEXT, "%s, the program removed %s.%s", ago,
                       range_of(c, range), also);
        break;
    case TT_LOSS_CLEARED:
        (void)snprintf(out, TT_RECOMPUTED_TEXT, "%s, the program removed %s.%s", ago,
                       c->kind == TT_SEQUENCES_KEPT ? "all other sequences"
                                                    : "what the context held of all sequences",
                       also);
        break;
    case TT_LOSS_NOT_HELD:
        (void)snprintf(out, TT_RECOMPUTED_TEXT,
                       "%s, the program removed %s; of that sequence the engine held %s.%s", ago,
                       range_of(c, range), held(c, holds), also);
        break;
    case TT_LOSS_REFUSED:
        (void)snprintf(out, TT_RECOMPUTED_TEXT,
                       "%s, the engine refused to remove %s, so the program began anew.%s", ago,
                       range_of(c, range), also);
        break;
    case TT_LOSS_REPLACED:
        if (c->flags & TT_SEQUENCES_HELD)
            (void)snprintf(until, sizeof until, ", up to position %" PRId32, c->held_last);
        (void)snprintf(out, TT_RECOMPUTED_TEXT,
                       "%s, the program restored a saved state into %s%s.%s", ago,
                       whose_of(c, range), until, also);
        break;
    case TT_LOSS_ELSEWHERE:
        (void)snprintf(out, TT_RECOMPUTED_TEXT,
                       "Sequence %" PRId32 " held them; this one did not get them from there.",
                       r->holder);
        break;
    case TT_LOSS_NOT_RECORDED:
        (void)snprintf(out, TT_RECOMPUTED_TEXT,
                       "Whether the program removed them was not recorded.%s", also);
        break;
    default:
        (void)snprintf(out, TT_RECOMPUTED_TEXT, "That the program had removed them was not seen.%s",
                       also);
        break;
    }
    return out;
}
