#include "serve/generation.h"

#include "serve/request.h"
#include "serve/source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Shares kept for later requests: each has decoded chunks in its cache. */
#define SPARE_MAX 3u

enum memo_state { MAKING, MADE, FAILED };

typedef struct memo {
    const tt_source_memo *key;
    enum memo_state state;
    void *made;
    tt_model *by; /* the share it was made with, which it may refer to */
    bool keeps;   /* that share is owned by this entry */
    struct memo *next;
    tt_error why;     /* FAILED */
    unsigned waiting; /* threads that have not seen the failure yet */
} memo;

struct tt_generation {
    tt_model *m;
    uint64_t number;
    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t made;
    unsigned refs;
    tt_model *spare[SPARE_MAX];
    unsigned n_spare;
    memo *memos;
};

tt_status tt_generation_new(tt_model *m, uint64_t number, tt_generation **out, tt_error *err)
{
    tt_generation *g = calloc(1, sizeof *g);
    *out = g;
    if (!g) {
        tt_model_close(m);
        return tt_error_memory(err, "a trace");
    }
    g->m = m;
    g->number = number;
    g->refs = 1;
    (void)pthread_mutex_init(&g->lock, NULL);
    (void)pthread_cond_init(&g->made, NULL);
    return TT_OK;
}

void tt_generation_ref(tt_generation *g)
{
    (void)pthread_mutex_lock(&g->lock);
    g->refs++;
    (void)pthread_mutex_unlock(&g->lock);
}

static void destroy(tt_generation *g)
{
    for (memo *x = g->memos; x; x = x->next)
        if (x->state == MADE) x->key->drop(x->made);
    for (memo *x = g->memos, *next; x; x = next) {
        next = x->next;
        if (x->keeps) tt_model_close(x->by);
        free(x);
    }
    for (unsigned i = 0; i < g->n_spare; i++)
        tt_model_close(g->spare[i]);
    tt_model_close(g->m);
    (void)pthread_cond_destroy(&g->made);
    (void)pthread_mutex_destroy(&g->lock);
    free(g);
}

void tt_generation_unref(tt_generation *g)
{
    if (!g) return;
    (void)pthread_mutex_lock(&g->lock);
    bool last = --g->refs == 0;
    (void)pthread_mutex_unlock(&g->lock);
    if (last) destroy(g);
}

uint64_t tt_generation_number(const tt_generation *g)
{
    return g->number;
}

const tt_model *tt_generation_model(const tt_generation *g)
{
    return g->m;
}

tt_status tt_generation_take(tt_generation *g, tt_model **out, tt_error *err)
{
    *out = NULL;
    (void)pthread_mutex_lock(&g->lock);
    if (g->n_spare) *out = g->spare[--g->n_spare];
    (void)pthread_mutex_unlock(&g->lock);
    return *out ? TT_OK : tt_model_share(g->m, out, err);
}

/* A result made with the share, or NULL. */
static memo *made_with(const tt_generation *g, const tt_model *share)
{
    memo *x = g->memos;
    while (x && x->by != share)
        x = x->next;
    return x;
}

void tt_generation_give(tt_generation *g, tt_model *share)
{
    memo *x;
    if (!share) return;
    (void)pthread_mutex_lock(&g->lock);
    if (g->n_spare < SPARE_MAX) {
        g->spare[g->n_spare++] = share;
        share = NULL;
    } else if ((x = made_with(g, share)) != NULL) {
        x->keeps = true;
        tt_model_share_rest(share);
        share = NULL;
    }
    (void)pthread_mutex_unlock(&g->lock);
    tt_model_close(share);
}

static void unlink_memo(tt_generation *g, const memo *gone)
{
    memo **at = &g->memos;
    while (*at != gone)
        at = &(*at)->next;
    *at = gone->next;
}

/* The first request: computes without the lock. */
static tt_status make(tt_generation *g, tt_model *m, memo *x, tt_error *why)
{
    void *made = NULL;
    (void)pthread_mutex_unlock(&g->lock);
    tt_status status = x->key->make(m, &made, why);
    (void)pthread_mutex_lock(&g->lock);
    x->state = status == TT_OK ? MADE : FAILED;
    x->made = made;
    x->by = m;
    if (status != TT_OK) {
        x->why = *why;
        unlink_memo(g, x);
    }
    (void)pthread_cond_broadcast(&g->made);
    return status;
}

static tt_status await(tt_generation *g, memo *x, tt_error *why)
{
    x->waiting++;
    while (x->state == MAKING)
        (void)pthread_cond_wait(&g->made, &g->lock);
    x->waiting--;
    if (x->state == FAILED) *why = x->why;
    return x->state == MADE ? TT_OK : x->why.status;
}

static tt_status get(tt_generation *g, tt_model *m, const tt_source_memo *key, const void **out,
                     tt_error *err)
{
    tt_error why = {.status = TT_OK, .offset = TT_NO_OFFSET};
    *out = NULL;
    (void)pthread_mutex_lock(&g->lock);
    memo *x = g->memos;
    while (x && x->key != key)
        x = x->next;
    bool is_first = !x;
    if (is_first && (x = calloc(1, sizeof *x)) != NULL) {
        x->key = key;
        x->next = g->memos;
        g->memos = x;
    }
    tt_status status = !x         ? tt_error_set(&why, TT_E_MEMORY, TT_NO_OFFSET, "no memory")
                       : is_first ? make(g, m, x, &why)
                                  : await(g, x, &why);
    if (status == TT_OK) *out = x->made;
    bool unused = x && x->state == FAILED && x->waiting == 0;
    (void)pthread_mutex_unlock(&g->lock);
    if (unused) free(x);
    if (status != TT_OK) (void)tt_error_set(err, status, why.offset, "%s", why.message);
    return status;
}

tt_status tt_source_get(tt_request *q, const tt_source_memo *key, const void **out, tt_error *err)
{
    return get(q->source, q->m, key, out, err);
}

tt_status tt_source_get_other(tt_request *q, const tt_source_memo *key, const void **out,
                              tt_error *err)
{
    return get(q->other_source, q->other, key, out, err);
}
