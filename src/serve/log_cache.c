#include "serve/log_cache.h"

#include "base/clock.h"
#include "serve/source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNTING_NS 120000000u /* per request, which then replies with its progress */
#define WORK 300000u           /* records at a time, some 10 ms: then others get the lock */
#define TURN_NS 200000

/* An index that requests read concurrently, and one at a time extends. */
struct tt_log_shared {
    pthread_rwlock_t lock; /* protects the index's content */
    tt_log_index *index;
    bool by_lane;
    unsigned refs;            /* by the cache and leases; under the cache's lock */
    pthread_mutex_t top_lock; /* protects what follows */
    bool has_top;
    tt_sort_key sort;
    tt_log_top top;
};

typedef struct entry {
    tt_log_shared *shared; /* NULL: free */
    uint64_t used;         /* time of last use, in requests */
} entry;

struct tt_log_cache {
    pthread_mutex_t
        lock; /* protects all that follows, and extending any index, which reads the survey */
    tt_log_survey *survey;
    entry entries[TT_LOG_CACHE_MAX];
    uint64_t requests;
};

/* Content of the memo: const for its users, while the cache changes under its lock. */
typedef struct holder {
    tt_log_cache *cache;
} holder;

/* The cache's lock is held, or nobody else has access. NULL is allowed. */
static void unref(tt_log_shared *x)
{
    if (!x || --x->refs > 0) return;
    tt_log_index_free(x->index);
    tt_log_top_free(&x->top);
    (void)pthread_mutex_destroy(&x->top_lock);
    (void)pthread_rwlock_destroy(&x->lock);
    free(x);
}

static void drop(void *made)
{
    holder *h = made;
    for (size_t i = 0; i < TT_LOG_CACHE_MAX; i++)
        unref(h->cache->entries[i].shared);
    tt_log_survey_free(h->cache->survey);
    (void)pthread_mutex_destroy(&h->cache->lock);
    free(h->cache);
    free(h);
}

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    holder *h = malloc(sizeof *h);
    tt_log_cache *s = calloc(1, sizeof *s);
    if (s) s->survey = tt_log_survey_new(m);
    if (!h || !s || !s->survey || pthread_mutex_init(&s->lock, NULL) != 0) {
        if (s) tt_log_survey_free(s->survey);
        free(s);
        free(h);
        return tt_error_memory(err, "the log");
    }
    h->cache = s;
    *out = h;
    return TT_OK;
}

static const tt_source_memo memo = {make, drop};

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_range(bool has, double value, bool other_has, double other)
{
    return has == other_has && !(has && (value < other || value > other));
}

static bool is_same(const tt_filter *a, const tt_filter *b)
{
    return a->has_batch == b->has_batch && a->batch_first == b->batch_first &&
           a->batch_last == b->batch_last && a->has_layer == b->has_layer && a->layer == b->layer &&
           a->has_lane == b->has_lane && a->lane == b->lane && a->phase == b->phase &&
           a->origin == b->origin && same_text(a->op, b->op) && same_text(a->tensor, b->tensor) &&
           same_text(a->text, b->text) && same_text(a->model, b->model) &&
           a->has_context == b->has_context && a->context == b->context &&
           same_range(a->has_from, a->from_ns, b->has_from, b->from_ns) &&
           same_range(a->has_to, a->to_ns, b->has_to, b->to_ns) &&
           same_range(a->has_least, a->least_ns, b->has_least, b->least_ns) &&
           same_range(a->has_most, a->most_ns, b->has_most, b->most_ns);
}

static tt_log_shared *new_shared(tt_log_cache *s, const tt_model *m, const tt_filter *f,
                                 bool by_lane, tt_error *err)
{
    tt_log_shared *x = calloc(1, sizeof *x);
    if (!x || pthread_rwlock_init(&x->lock, NULL) != 0) {
        free(x);
        (void)tt_error_memory(err, "the log");
        return NULL;
    }
    (void)pthread_mutex_init(&x->top_lock, NULL);
    x->by_lane = by_lane;
    x->refs = 1;
    if (tt_log_index_new(m, s->survey, f, by_lane, &x->index, err) == TT_OK) return x;
    unref(x);
    return NULL;
}

/* The index of that filter, or a new one in place of the least recently used; NULL on failure. The
 * caller gets one more reference. */
static tt_log_shared *take(tt_log_cache *s, const tt_model *m, const tt_filter *f, bool by_lane,
                           tt_error *err)
{
    tt_log_shared *found = NULL;
    (void)pthread_mutex_lock(&s->lock);
    entry *at = s->entries;
    for (entry *e = s->entries; e < s->entries + TT_LOG_CACHE_MAX && !found; e++) {
        const tt_log_shared *x = e->shared;
        if (x && x->by_lane == by_lane && is_same(tt_log_index_filter(x->index), f)) {
            at = e;
            found = e->shared;
        } else if (e->used < at->used) {
            at = e;
        }
    }
    if (!found) {
        found = new_shared(s, m, f, by_lane, err);
        if (found) {
            unref(at->shared); /* current readers have a reference */
            at->shared = found;
        }
    }
    if (found) {
        at->used = ++s->requests;
        found->refs++;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return found;
}

static void give(tt_log_cache *s, tt_log_shared *x)
{
    (void)pthread_mutex_lock(&s->lock);
    unref(x);
    (void)pthread_mutex_unlock(&s->lock);
}

static tt_status extend(tt_log_cache *s, tt_log_shared *x, const tt_model *m, tt_error *err)
{
    (void)pthread_rwlock_wrlock(&x->lock);
    (void)pthread_mutex_lock(&s->lock);
    tt_status status = tt_log_index_extend(x->index, m, WORK, err);
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_rwlock_unlock(&x->lock);
    return status;
}

tt_status tt_log_cache_acquire(tt_request *q, const tt_filter *f, bool by_lane, uint64_t rows,
                               tt_log_lease *out, tt_error *err)
{
    const void *kept;
    tt_status status = tt_source_get(q, &memo, &kept, err);
    if (status != TT_OK) return status;
    tt_log_cache *s = ((const holder *)kept)->cache;
    tt_log_shared *x = take(s, q->m, f, by_lane, err);
    if (!x) return err->status;
    const uint64_t begun = tt_clock_ns(CLOCK_MONOTONIC);
    *out = (tt_log_lease){
        .cache = s, .shared = x, .index = x->index, .order = tt_log_survey_order(s->survey)};
    for (bool late = false;; late = tt_clock_ns(CLOCK_MONOTONIC) - begun >= COUNTING_NS) {
        (void)pthread_rwlock_rdlock(&x->lock);
        tt_log_index_count(x->index, &out->count);
        if (late || out->count.done || out->count.rows >= rows) return TT_OK;
        (void)pthread_rwlock_unlock(&x->lock);
        status = extend(s, x, q->m, err);
        if (status == TT_OK && tt_request_is_over(q))
            status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "nobody waits for the answer");
        if (status != TT_OK) break;
        /* A mutex goes to the next thread that requests it, not to a waiting one: that would be
         * this thread. */
        (void)nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
    }
    give(s, x);
    *out = (tt_log_lease){0};
    return status;
}

static bool is_kept(const tt_log_shared *x, tt_sort_key sort)
{
    return x->has_top && x->sort.column == sort.column && x->sort.falling == sort.falling;
}

tt_status tt_log_cache_top(tt_request *q, tt_log_lease *lease, tt_sort_key sort,
                           const tt_log_top **out, tt_error *err)
{
    const tt_over over = tt_request_over(q);
    tt_log_shared *x = lease->shared;
    (void)pthread_mutex_lock(&x->top_lock);
    lease->has_top = true;
    *out = &x->top;
    if (is_kept(x, sort)) return TT_OK;
    tt_log_top_free(&x->top);
    const tt_status status =
        tt_log_top_find(q->m, tt_log_index_filter(x->index), x->by_lane, lease->order, sort,
                        TT_LOG_CACHE_TOP, &over, &x->top, err);
    x->has_top = status == TT_OK;
    x->sort = sort;
    return status;
}

void tt_log_cache_release(tt_log_lease *lease)
{
    if (lease->has_top) (void)pthread_mutex_unlock(&lease->shared->top_lock);
    lease->has_top = false;
    (void)pthread_rwlock_unlock(&lease->shared->lock);
    give(lease->cache, lease->shared);
    lease->index = NULL; /* what was counted stays valid */
    lease->shared = NULL;
}
