/* Filling a tt_model: batches, their tokens and texts, and the row numbers of runs. */
#include "model/load.h"

#include <inttypes.h>

/* n zigzags (added up when they are differences) as 32-bit integers. */
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

/* How many ids the n lists of sequences hold; a look ahead. */
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
    /* Each takes a byte at least, and a record is no longer than TT_META_RECORD_MAX. */
    return c.failed ? 0 : (uint32_t)total;
}

/* The sequences of n tokens; *first gets where each token's begin. */
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

/* A number alone can claim any number of tokens, which analyses then walk: no more than in
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

bool tt_load_token_text(tt_loader *l, tt_cursor *c)
{
    tt_meta_token_text t;
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_meta_get_token_text(c, &t)) return false;
    if (!TT_GROW(l, m->token_texts, m->n_token_texts, l->capacity.token_texts)) return true;
    /* Not tt_arena_text: a token may be a NUL. */
    char *copy = tt_arena_take(&m->arena, t.text.size + 1, 1);
    if (!copy || !tt_idmap_add(&m->text_by_token, tt_token_key(t.vocabulary, t.token),
                               m->n_token_texts, &was)) {
        l->no_memory = true;
        return true;
    }
    if (t.text.size) memcpy(copy, t.text.data, t.text.size);
    /* One that is defined twice stays in the list, for `verify`; the first one is found. */
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
