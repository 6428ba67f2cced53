#include "adapter/ggml/tokens.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/models.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"
#include "base/array.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MAX (1 << 20)
#define SEQUENCES_MAX 4096 /* per token */
#define VOCABULARIES_MAX 64u
#define ENGINES_MAX 8u
#define TEXT_MAX 1024
#define WARMING_MAX 64u
#define NONE UINT32_MAX /* of rows */
#define NO_VOCABULARY 0 /* LLAMA_VOCAB_TYPE_NONE */

/* The current call on this thread, in our own memory: after an exception nothing may point into
 * the program. */
typedef struct call {
    uint32_t n; /* 0: none */
    uint32_t vocabulary;
    bool has_tokens, has_positions;
    bool encodes, warms_up, is_bos_eos, has_phases;
    bool reads_are_seen;                        /* reads of its outputs are seen */
    const void *engine_context, *engine_memory; /* NULL: not known */
    int32_t *tokens;
    int32_t *positions;
    uint32_t *first; /* n + 1 */
    int32_t *ids;
    uint8_t *used;
    uint8_t *outputs;      /* requested */
    uint8_t *phases;       /* enum tt_phase, once decided */
    uint8_t *drafted;      /* likewise */
    uint32_t first_unused; /* rows before it are used up */
    size_t ids_capacity;
    uint32_t capacity;
    /* Results of tt_tokens_match. */
    uint32_t *out_first;
    int32_t *out_ids;
    size_t out_capacity;
} call;

static __thread call *current __attribute__((tls_model("initial-exec")));

/* --- the call's rows --- */

static bool grow(call *c, uint32_t n)
{
    if (n <= c->capacity) return true;
    struct {
        void **at;
        size_t bytes;
    } arrays[] = {{(void **)&c->tokens, n * sizeof *c->tokens},
                  {(void **)&c->positions, n * sizeof *c->positions},
                  {(void **)&c->first, (n + 1) * sizeof *c->first},
                  {(void **)&c->out_first, (n + 1) * sizeof *c->out_first},
                  {(void **)&c->used, n},
                  {(void **)&c->outputs, n},
                  {(void **)&c->phases, n},
                  {(void **)&c->drafted, n}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *more = realloc(*arrays[i].at, arrays[i].bytes);
        if (!more) return false;
        *arrays[i].at = more;
    }
    c->capacity = n;
    return true;
}

static bool add_id(call *c, size_t at, int32_t id)
{
    if (!tt_array_one_more(c->ids, at, c->ids_capacity)) return false;
    c->ids[at] = id;
    return true;
}

/* A batch without sequences belongs to sequence 0, as one of llama_batch_get_one. */
static bool copy_sequences(call *c, const struct llama_batch_mirror *b, uint32_t n)
{
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        c->first[i] = (uint32_t)at;
        int32_t count = b->seq_id && b->n_seq_id ? b->n_seq_id[i] : 1;
        if (count < 0 || count > SEQUENCES_MAX) return false;
        for (int32_t k = 0; k < count; k++) {
            const int32_t *ids = b->seq_id ? b->seq_id[i] : NULL;
            if (b->seq_id && !ids) return false;
            if (!add_id(c, at++, ids ? ids[k] : 0)) return false;
        }
    }
    c->first[n] = (uint32_t)at;
    return true;
}

static void copy_rows(call *c, const struct llama_batch_mirror *b)
{
    c->n = 0;
    c->first_unused = 0;
    if (b->n_tokens <= 0 || b->n_tokens > TOKENS_MAX) return;
    uint32_t n = (uint32_t)b->n_tokens;
    if (!grow(c, n) || !copy_sequences(c, b, n)) return;
    c->has_tokens = b->token != NULL;
    c->has_positions = b->pos != NULL;
    if (b->token) memcpy(c->tokens, b->token, n * sizeof *c->tokens);
    if (b->pos) memcpy(c->positions, b->pos, n * sizeof *c->positions);
    memset(c->used, 0, n);
    /* Without the list, the engine returns outputs of the last row. */
    for (uint32_t i = 0; i < n; i++)
        c->outputs[i] = b->logits ? b->logits[i] != 0 : i + 1 == n;
    c->n = n;
}

/* --- texts --- */

typedef struct vocabulary {
    uint32_t id;
    const void *engine_vocab;
    uint64_t models_opened; /* if it changes, an address may belong to another model */
    uint8_t *seen;          /* a bit per token */
    uint32_t n_tokens;
} vocabulary;

/* The engine's functions on vocabularies; before 2025 they took the model itself. */
typedef struct text_api {
    const void *(*model)(const void *context);
    const void *(*vocab)(const void *model); /* NULL: the model is the vocabulary */
    int (*type)(const void *vocab);
    int32_t (*size)(const void *vocab);
    int32_t (*bos)(const void *vocab);
    int32_t (*eos)(const void *vocab);
    int32_t (*piece)(const void *vocab, int32_t token, char *out, int32_t size, int32_t lstrip,
                     bool special);
    const void *(*memory)(const void *context); /* NULL: the functions take the context itself */
} text_api;

static vocabulary vocabularies[VOCABULARIES_MAX];
static uint32_t n_vocabularies;
static uint32_t last_id;
static pthread_mutex_t api_lock = PTHREAD_MUTEX_INITIALIZER;

static void find(const void *in_engine, void *member, const char *name)
{
    *(void **)member = tt_resolve(in_engine, name);
}

static text_api find_api(const void *in_engine)
{
    text_api a = {0};
    find(in_engine, &a.model, "llama_get_model");
    find(in_engine, &a.vocab, "llama_model_get_vocab");
    find(in_engine, &a.type, "llama_vocab_type");
    find(in_engine, &a.size, a.vocab ? "llama_vocab_n_tokens" : "llama_n_vocab");
    find(in_engine, &a.piece, "llama_token_to_piece");
    find(in_engine, &a.bos, "llama_vocab_bos");
    find(in_engine, &a.eos, "llama_vocab_eos");
    find(in_engine, &a.memory, "llama_get_memory");
    return a;
}

/* The functions of the library at this address, looked up once; false when some are missing.
 * Asks the dynamic linker, so do not hold tt_process_lock. */
static bool get_api(const void *in_engine, text_api *a)
{
    static struct {
        const void *in_engine;
        text_api api;
    } known[ENGINES_MAX];
    static uint32_t n;
    uint32_t i = 0;
    (void)pthread_mutex_lock(&api_lock);
    while (i < n && known[i].in_engine != in_engine)
        i++;
    if (i == n && n < ENGINES_MAX) {
        known[n].in_engine = in_engine;
        known[n++].api = find_api(in_engine);
    }
    *a = i < n ? known[i].api : (text_api){0};
    (void)pthread_mutex_unlock(&api_lock);
    return a->model && a->type && a->size && a->piece;
}

/* The vocabulary at this address; entries from before the last model was opened are dropped. NULL
 * if there are too many; its id is 0 if it has no texts. */
static vocabulary *identify(const text_api *a, const void *engine_vocab)
{
    uint64_t opened = tt_models_opened_count();
    uint32_t i = 0;
    while (i < n_vocabularies && vocabularies[i].engine_vocab != engine_vocab)
        i++;
    if (i == VOCABULARIES_MAX) return NULL;
    vocabulary *v = &vocabularies[i];
    if (i < n_vocabularies && v->models_opened == opened) return v;
    /* The engine aborts if asked for a text of a model without texts. */
    int32_t size = a->type(engine_vocab) != NO_VOCABULARY ? a->size(engine_vocab) : 0;
    uint32_t n_tokens = size > 0 && size <= 1 << 24 ? (uint32_t)size : 0;
    uint8_t *seen = calloc(n_tokens / 8 + 1, 1);
    if (!seen) return NULL;
    if (i == n_vocabularies)
        n_vocabularies++;
    else
        free(v->seen);
    *v = (vocabulary){n_tokens ? ++last_id : 0, engine_vocab, opened, seen, n_tokens};
    return v;
}

static void record_text(tt_recorder *r, const text_api *a, vocabulary *v, int32_t token)
{
    char text[TEXT_MAX];
    /* The engine throws on an unknown id. */
    if (token < 0 || (uint32_t)token >= v->n_tokens) return;
    if (v->seen[token / 8] & 1 << token % 8) return;
    int32_t n = a->piece(v->engine_vocab, token, text, sizeof text, 0, true);
    if (n < 0) return;
    tt_bytes payload;
    tt_bytes_init(&payload, 2 * TEXT_MAX);
    tt_meta_put_token_text(
        &payload, &(tt_meta_token_text){v->id, token, (tt_span){(const uint8_t *)text, (size_t)n}});
    if (tt_process_put(r, TT_META_TOKEN_TEXT, &payload))
        v->seen[token / 8] |= (uint8_t)(1 << token % 8);
}

static void record_texts(tt_recorder *r, const text_api *a, const void *vocab, call *c)
{
    (void)pthread_mutex_lock(&tt_process_lock);
    vocabulary *v = identify(a, vocab);
    if (v) c->vocabulary = v->id;
    for (uint32_t i = 0; c->vocabulary && i < c->n; i++)
        record_text(r, a, v, c->tokens[i]);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

/* llama.cpp's own programs warm up with these tokens: not a text that is continued. */
static bool is_bos_eos(const text_api *a, const void *vocab, const call *c)
{
    return c->n == 2 && a->bos && a->eos && c->tokens[0] == a->bos(vocab) &&
           c->tokens[1] == a->eos(vocab);
}

/* Reads what needs the call's vocabulary. */
static void ask_vocabulary(tt_recorder *r, const tt_tokens_call *t, call *c)
{
    text_api a;
    bool wants_texts = tt_capture_options.text && t->is_recorded;
    c->vocabulary = 0;
    c->is_bos_eos = false;
    if (!c->n || !c->has_tokens || !(wants_texts || c->n == 2) || !get_api(t->in_engine, &a))
        return;
    const void *model = a.model(t->context);
    const void *vocab = model && a.vocab ? a.vocab(model) : model;
    if (!vocab) return;
    c->is_bos_eos = is_bos_eos(&a, vocab, c);
    if (wants_texts) record_texts(r, &a, vocab, c);
}

/* --- warm-up --- */

static const void *warming[WARMING_MAX]; /* contexts in that mode */

void tt_tokens_set_warmup(const void *context, bool on)
{
    size_t found = WARMING_MAX, empty = WARMING_MAX;
    (void)pthread_mutex_lock(&api_lock);
    for (size_t i = 0; i < WARMING_MAX; i++) {
        if (warming[i] == context) found = i;
        if (!warming[i]) empty = i;
    }
    if (on && found == WARMING_MAX && empty < WARMING_MAX) warming[empty] = context;
    if (!on && found < WARMING_MAX) warming[found] = NULL;
    (void)pthread_mutex_unlock(&api_lock);
}

static bool warms_contexts;

void tt_tokens_set_benchmark(bool on)
{
    warms_contexts = on;
}

static bool is_warming(const void *context)
{
    bool is = false;
    (void)pthread_mutex_lock(&api_lock);
    for (size_t i = 0; i < WARMING_MAX; i++)
        is |= warming[i] == context;
    (void)pthread_mutex_unlock(&api_lock);
    return is;
}

/* --- the context --- */

static const void *memory_of(const tt_tokens_call *t)
{
    text_api a;
    (void)get_api(t->in_engine, &a);
    return a.memory ? a.memory(t->context) : NULL;
}

static bool is_reader(const char *function, const void *user)
{
    (void)user;
    return strncmp(function, "llama_get_logits", 16) == 0 ||
           strncmp(function, "llama_get_embeddings", 20) == 0 ||
           strncmp(function, "llama_get_sampled_", 18) == 0 ||
           strcmp(function, "llama_sampler_sample") == 0;
}

/* Whether a library other than the engine calls functions that read outputs: hooks see it. */
static bool sees_reads(const void *in_engine)
{
    static _Atomic uint64_t asked_at; /* number of loaded libraries then */
    static _Atomic bool answer;
    uint64_t loaded = tt_resolve_loaded_count();
    if (atomic_load(&asked_at) != loaded) {
        atomic_store(&answer, tt_resolve_any_import(is_reader, NULL, in_engine));
        atomic_store(&asked_at, loaded);
    }
    return atomic_load(&answer);
}

void tt_tokens_begin(tt_recorder *r, const tt_tokens_call *a)
{
    if (!current) current = calloc(1, sizeof *current);
    if (!current) return;
    copy_rows(current, a->batch);
    current->encodes = a->encodes;
    current->warms_up = is_warming(a->context);
    current->engine_context = a->context;
    current->engine_memory = memory_of(a);
    current->reads_are_seen = sees_reads(a->in_engine);
    current->has_phases = false;
    ask_vocabulary(r, a, current);
}

void tt_tokens_assign_phases(tt_phases *p, int32_t first_position)
{
    call *c = current;
    if (!c || !c->n || c->has_phases) return;
    c->has_phases = true;
    p->engine_context = c->engine_context;
    p->engine_memory = c->engine_memory;
    p->reads_are_seen = c->reads_are_seen;
    bool warms_up =
        c->warms_up || (c->is_bos_eos && !p->called) || (warms_contexts && !p->was_cleared);
    if (warms_up || c->encodes) {
        memset(c->phases, warms_up ? TT_PHASE_WARMUP : TT_PHASE_PROMPT, c->n);
        memset(c->drafted, 0, c->n);
        p->called = true;
        return;
    }
    tt_phases_assign(p,
                     &(tt_phases_rows){.n = c->n,
                                       .positions = c->has_positions ? c->positions : NULL,
                                       .first = c->first,
                                       .ids = c->ids,
                                       .outputs = c->outputs,
                                       .tokens = c->has_tokens ? c->tokens : NULL},
                     first_position, c->phases, c->drafted);
}

static __thread bool trains __attribute__((tls_model("initial-exec")));

void tt_tokens_set_training(bool on)
{
    trains = on;
}

bool tt_tokens_in_training(void)
{
    return trains;
}

void tt_tokens_end(void)
{
    if (current) current->n = 0;
}

bool tt_tokens_in_call(void)
{
    return current && current->n;
}

void tt_tokens_thread_ends(void)
{
    call *c = current;
    current = NULL;
    if (!c) return;
    free(c->tokens);
    free(c->positions);
    free(c->first);
    free(c->ids);
    free(c->used);
    free(c->outputs);
    free(c->phases);
    free(c->drafted);
    free(c->out_first);
    free(c->out_ids);
    free(c);
}

void tt_tokens_in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    api_lock = fresh;
}

void tt_tokens_reset(void)
{
    for (uint32_t i = 0; i < n_vocabularies; i++)
        free(vocabularies[i].seen);
    n_vocabularies = last_id = 0;
    if (current) current->n = 0;
}

uint32_t tt_tokens_vocabulary(void)
{
    return tt_tokens_in_call() ? current->vocabulary : 0;
}

/* --- matching --- */

static bool fits(const call *c, uint32_t row, const int32_t *token, const int32_t *position)
{
    return !c->used[row] && (!token || !c->has_tokens || c->tokens[row] == *token) &&
           (!position || !c->has_positions || c->positions[row] == *position);
}

static bool same_sequences(const call *c, uint32_t a, uint32_t b)
{
    uint32_t n = c->first[a + 1] - c->first[a];
    return n == c->first[b + 1] - c->first[b] &&
           memcmp(c->ids + c->first[a], c->ids + c->first[b], n * sizeof *c->ids) == 0;
}

/* Finds the next row of the batch. Rows mostly keep their order. If not, the engine has grouped
 * them by sequence: among several matches, take the one in the same sequence as `before`, the
 * previous row (NONE at a batch's start). The search starts at row `at`, after `before`. */
static uint32_t find_row(const call *c, uint32_t at, uint32_t before, const int32_t *token,
                         const int32_t *position)
{
    uint32_t other = NONE;
    if (at < c->n && fits(c, at, token, position)) return at;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t row = at + i < c->n ? at + i : at + i - c->n;
        if (!fits(c, row, token, position)) continue;
        if (before == NONE || same_sequences(c, row, before)) return row;
        /* The next group starts with the row that is first in the call. */
        if (row < other) other = row;
    }
    return other;
}

static bool give(call *c, uint32_t at, uint32_t row)
{
    uint32_t n = c->first[row + 1] - c->first[row], begin = c->out_first[at];
    if (!tt_array_room(c->out_ids, c->out_capacity, (size_t)begin + n)) return false;
    if (n) memcpy(c->out_ids + begin, c->ids + c->first[row], n * sizeof *c->ids);
    c->out_first[at + 1] = begin + n;
    return true;
}

bool tt_tokens_match(const int32_t *tokens, const int32_t *positions, uint32_t n, tt_phases *p,
                     tt_batch_sequences *s, uint32_t counts[TT_PHASES])
{
    call *c = current;
    memset(counts, 0, TT_PHASES * sizeof *counts);
    if (!c || n == 0 || n > c->n) return false;
    /* However the engine splits a call, a batch starts with the first unused row, not with the
     * one after the last row, which may be the same token of another sequence. */
    while (c->first_unused < c->n && c->used[c->first_unused])
        c->first_unused++;
    c->out_first[0] = 0;
    for (uint32_t i = 0, at = c->first_unused, row = NONE; i < n; i++, at = row + 1) {
        row = find_row(c, at, row, tokens ? &tokens[i] : NULL, positions ? &positions[i] : NULL);
        if (row == NONE || !give(c, i, row)) return false;
        c->used[row] = 1;
        counts[c->has_phases ? c->phases[row] : TT_PHASE_UNKNOWN]++;
        if (c->has_phases && c->drafted[row])
            tt_phases_drafted(p, p->last_batch, c->ids[c->first[row]],
                              c->has_positions ? c->positions[row]
                              : positions      ? positions[i]
                                               : -1);
    }
    *s = (tt_batch_sequences){c->out_first, c->out_ids};
    return true;
}
