#include "adapter/ggml/batch_ext.h"

#include "adapter/ggml/resolve.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES_MAX 1024u
#define ROWS_MAX (1u << 20)   /* for all batches together */
#define EXTRAS_MAX (1u << 22) /* for all batches together: sequences of a row beyond its first */

typedef struct row {
    int32_t token, position, sequence;
    bool has_position, is_output;
} row;

typedef struct extra {
    uint32_t row;
    int32_t sequence;
} extra;

typedef struct noted {
    const void *batch; /* NULL: the slot is free */
    bool is_known;
    row *rows;
    extra *extras;
    uint32_t n, capacity, n_extras, extras_capacity;
} noted;

static noted *list;
static uint32_t n_list, last_found;
static uint64_t rows_held, extras_held; /* capacities */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void hold(void)
{
    (void)pthread_mutex_lock(&lock);
}

static void give_back(void)
{
    (void)pthread_mutex_unlock(&lock);
}

static noted *find(const void *batch)
{
    if (last_found < n_list && list[last_found].batch == batch) return &list[last_found];
    for (uint32_t i = 0; i < n_list; i++) {
        if (list[i].batch != batch) continue;
        last_found = i;
        return &list[i];
    }
    return NULL;
}

static void free_rows(noted *b)
{
    rows_held -= b->capacity;
    extras_held -= b->extras_capacity;
    free(b->rows);
    free(b->extras);
    *b = (noted){0};
}

/* --- functions of the family that are unknown to this library --- */

static bool is_unknown(const char *function, const void *user)
{
    static const char family[] = "llama_batch_ext_";
    static const char *const known[] = {
        "init",           "free",           "clear",           "add",
        "add_token",      "add_embd",       "add_seq",         "set_pos",
        "set_embd_token", "set_embd_state", "set_output_embd", "set_output_logits"};
    (void)user;
    if (strncmp(function, family, sizeof family - 1) != 0) return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(function + sizeof family - 1, known[i]) == 0) return false;
    /* Functions that only read are harmless. */
    return strncmp(function + sizeof family - 1, "get_", 4) != 0 &&
           strncmp(function + sizeof family - 1, "n_", 2) != 0;
}

/* Asks the dynamic linker, so do not call it under the lock. */
static bool any_unknown_function(void)
{
    static _Atomic uint64_t asked_at;
    static _Atomic bool is;
    uint64_t loaded = tt_resolve_loaded_count();
    if (loaded != asked_at) {
        is = tt_resolve_any_import(is_unknown, NULL, NULL);
        asked_at = loaded;
    }
    return is;
}

/* --- a batch --- */

static noted *free_slot(void)
{
    noted *place = find(NULL);
    if (place) return place;
    if (n_list == BATCHES_MAX) return NULL;
    if (!list) list = calloc(BATCHES_MAX, sizeof *list);
    return list ? &list[n_list++] : NULL;
}

void tt_batch_ext_init(const void *batch)
{
    if (!batch) return;
    bool is_known = !any_unknown_function();
    hold();
    noted *b = find(batch);
    if (b)
        free_rows(b);
    else
        b = free_slot();
    if (b) *b = (noted){.batch = batch, .is_known = is_known};
    give_back();
}

void tt_batch_ext_clear(const void *batch)
{
    bool is_known = !any_unknown_function();
    hold();
    noted *b = batch ? find(batch) : NULL;
    if (b) {
        b->n = b->n_extras = 0;
        b->is_known = is_known;
    }
    give_back();
}

void tt_batch_ext_drop(const void *batch)
{
    hold();
    noted *b = batch ? find(batch) : NULL;
    if (b) free_rows(b);
    give_back();
}

static bool grow(void **items, size_t size, uint32_t n, uint32_t *capacity, uint64_t *held,
                 uint64_t max)
{
    if (n < *capacity) return true;
    uint32_t larger = *capacity ? *capacity * 2 : 64;
    if (*held + (larger - *capacity) > max) return false;
    void *more = realloc(*items, larger * size);
    if (!more) return false;
    *held += larger - *capacity;
    *items = more;
    *capacity = larger;
    return true;
}

void tt_batch_ext_add(const void *batch, int32_t index, int32_t sequence, int32_t token)
{
    if (index < 0 && index != TT_BATCH_EXT_INVALID) return;
    hold();
    noted *b = batch ? find(batch) : NULL;
    if (b && index >= 0 && (uint32_t)index != b->n) b->is_known = false;
    if (b && b->is_known)
        b->is_known =
            grow((void **)&b->rows, sizeof *b->rows, b->n, &b->capacity, &rows_held, ROWS_MAX);
    if (b && b->is_known) b->rows[b->n++] = (row){.token = token, .sequence = sequence};
    give_back();
}

void tt_batch_ext_add_sequence(const void *batch, int32_t index, int32_t sequence)
{
    hold();
    noted *b = batch ? find(batch) : NULL;
    if (b && (index < 0 || (uint32_t)index >= b->n)) b->is_known = false;
    bool is_there = !b || !b->is_known || b->rows[index].sequence == sequence;
    for (uint32_t i = 0; !is_there && i < b->n_extras; i++)
        is_there = b->extras[i].row == (uint32_t)index && b->extras[i].sequence == sequence;
    if (!is_there)
        b->is_known = grow((void **)&b->extras, sizeof *b->extras, b->n_extras, &b->extras_capacity,
                           &extras_held, EXTRAS_MAX);
    if (!is_there && b->is_known) b->extras[b->n_extras++] = (extra){(uint32_t)index, sequence};
    give_back();
}

/* Takes the lock; the caller gives it back. NULL: no such row, and the batch is now unknown. */
static row *hold_row(const void *batch, int32_t index)
{
    hold();
    noted *b = batch ? find(batch) : NULL;
    if (b && (index < 0 || (uint32_t)index >= b->n)) b->is_known = false;
    return b && b->is_known ? &b->rows[index] : NULL;
}

void tt_batch_ext_set_position(const void *batch, int32_t index, int32_t position)
{
    row *r = hold_row(batch, index);
    if (r) {
        r->position = position;
        r->has_position = true;
    }
    give_back();
}

void tt_batch_ext_set_output(const void *batch, int32_t index, bool value)
{
    row *r = hold_row(batch, index);
    if (r) r->is_output = value;
    give_back();
}

/* --- as a struct llama_batch --- */

typedef struct arrays {
    int32_t *token, *position, *n_sequences, *ids, **sequences;
    int8_t *is_output;
} arrays;

static void *make_arrays(uint32_t n, size_t n_ids, arrays *a)
{
    size_t pointers = (n + 1) * sizeof(int32_t *);
    char *held = calloc(1, pointers + (3 * (size_t)n + n_ids) * sizeof(int32_t) + n + 1);
    if (!held) return NULL;
    a->sequences = (int32_t **)(void *)held;
    a->token = (int32_t *)(void *)(held + pointers);
    a->position = a->token + n;
    a->n_sequences = a->position + n;
    a->ids = a->n_sequences + n;
    a->is_output = (int8_t *)(a->ids + n_ids);
    return held;
}

static void fill(const noted *b, const arrays *a)
{
    int32_t *at = a->ids;
    for (uint32_t i = 0; i < b->n; i++) {
        a->token[i] = b->rows[i].token;
        a->position[i] = b->rows[i].position;
        a->is_output[i] = b->rows[i].is_output;
        a->n_sequences[i] = 1;
    }
    for (uint32_t i = 0; i < b->n_extras; i++)
        a->n_sequences[b->extras[i].row]++;
    for (uint32_t i = 0; i < b->n; i++) {
        a->sequences[i] = at;
        at += a->n_sequences[i];
        a->sequences[i][0] = b->rows[i].sequence;
        a->n_sequences[i] = 1;
    }
    for (uint32_t i = 0; i < b->n_extras; i++) {
        uint32_t r = b->extras[i].row;
        a->sequences[r][a->n_sequences[r]++] = b->extras[i].sequence;
    }
}

static void *copy(const noted *b, struct llama_batch_mirror *out)
{
    arrays a;
    uint32_t with_token = 0, with_position = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        with_token += b->rows[i].token != TT_BATCH_EXT_NO_TOKEN;
        with_position += b->rows[i].has_position;
    }
    void *held = make_arrays(b->n, (size_t)b->n + b->n_extras, &a);
    if (!held) return NULL;
    fill(b, &a);
    *out = (struct llama_batch_mirror){.n_tokens = (int32_t)b->n,
                                       /* With both kinds of rows, token ids mean nothing. */
                                       .token = with_token == b->n ? a.token : NULL,
                                       .pos = with_position == b->n ? a.position : NULL,
                                       .n_seq_id = a.n_sequences,
                                       .seq_id = a.sequences,
                                       .logits = a.is_output};
    return held;
}

void *tt_batch_ext_copy(const void *batch, struct llama_batch_mirror *out)
{
    bool is_unknown_now = any_unknown_function();
    hold();
    noted *b = batch ? find(batch) : NULL;
    void *held = b && b->is_known && !is_unknown_now ? copy(b, out) : NULL;
    give_back();
    return held;
}

void tt_batch_ext_before_fork(void)
{
    hold();
}

void tt_batch_ext_in_parent(void)
{
    give_back();
}

void tt_batch_ext_in_child(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;
}
