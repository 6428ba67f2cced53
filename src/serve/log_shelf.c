#include "serve/log_shelf.h"

#include "base/clock.h"
#include "serve/source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define COUNTING_NS 120000000u /* of one request: then it answers how far it is */
#define WORK 300000u           /* records at a time, some 10 ms: then others may have their turn */
#define TURN_NS 200000

typedef struct entry {
    tt_log_index *index; /* NULL: free */
    bool by_lane;
    uint64_t used; /* when, in requests */
} entry;

struct tt_log_shelf {
    pthread_mutex_t lock; /* of all that follows */
    tt_log_survey *survey;
    entry entries[TT_LOG_SHELF_MAX];
    uint64_t requests;
};

/* What the memo keeps: it is const to those who get it, and the shelf changes under its lock. */
typedef struct holder {
    tt_log_shelf *shelf;
} holder;

static void drop(void *made)
{
    holder *h = made;
    for (size_t i = 0; i < TT_LOG_SHELF_MAX; i++)
        tt_log_index_free(h->shelf->entries[i].index);
    tt_log_survey_free(h->shelf->survey);
    (void)pthread_mutex_destroy(&h->shelf->lock);
    free(h->shelf);
    free(h);
}

static tt_status make(tt_model *m, void **out, tt_error *err)
{
    holder *h = malloc(sizeof *h);
    tt_log_shelf *s = calloc(1, sizeof *s);
    if (s) s->survey = tt_log_survey_new(m);
    if (!h || !s || !s->survey || pthread_mutex_init(&s->lock, NULL) != 0) {
        if (s) tt_log_survey_free(s->survey);
        free(s);
        free(h);
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for the log");
    }
    h->shelf = s;
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
    return a->has_token == b->has_token && a->token_first == b->token_first &&
           a->token_last == b->token_last && a->has_layer == b->has_layer && a->layer == b->layer &&
           a->has_lane == b->has_lane && a->lane == b->lane && a->phase == b->phase &&
           a->origin == b->origin && same_text(a->op, b->op) && same_text(a->tensor, b->tensor) &&
           same_text(a->text, b->text) &&
           same_range(a->has_from, a->from_ns, b->has_from, b->from_ns) &&
           same_range(a->has_to, a->to_ns, b->has_to, b->to_ns) &&
           same_range(a->has_least, a->least_ns, b->has_least, b->least_ns) &&
           same_range(a->has_most, a->most_ns, b->has_most, b->most_ns);
}

/* The index of that filter, made anew in the place of the one not used for longest; NULL on
 * failure. The lock is held. */
static tt_log_index *index_of(tt_log_shelf *s, const tt_model *m, const tt_filter *f, bool by_lane,
                              tt_error *err)
{
    entry *at = s->entries;
    for (entry *e = s->entries; e < s->entries + TT_LOG_SHELF_MAX; e++) {
        if (e->index && e->by_lane == by_lane && is_same(tt_log_index_filter(e->index), f)) {
            e->used = ++s->requests;
            return e->index;
        }
        if (e->used < at->used) at = e;
    }
    tt_log_index *made;
    if (tt_log_index_new(m, s->survey, f, by_lane, &made, err) != TT_OK) return NULL;
    tt_log_index_free(at->index);
    *at = (entry){made, by_lane, ++s->requests};
    return made;
}

tt_status tt_log_shelf_borrow(tt_request *q, const tt_filter *f, bool by_lane, uint64_t rows,
                              tt_log_loan *out, tt_error *err)
{
    const void *kept;
    tt_status status = tt_source_get(q, &memo, &kept, err);
    if (status != TT_OK) return status;
    tt_log_shelf *s = ((const holder *)kept)->shelf;
    const uint64_t begun = tt_clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        (void)pthread_mutex_lock(&s->lock);
        tt_log_index *x = index_of(s, q->m, f, by_lane, err);
        status = x ? TT_OK : err->status;
        *out = (tt_log_loan){.shelf = s, .index = x, .order = tt_log_survey_order(s->survey)};
        if (x) tt_log_index_count(x, &out->count);
        bool enough = !x || out->count.done || out->count.rows >= rows;
        if (x && !enough) {
            status = tt_log_index_extend(x, q->m, WORK, err);
            tt_log_index_count(x, &out->count);
            enough = status != TT_OK || out->count.done || out->count.rows >= rows ||
                     tt_clock_ns(CLOCK_MONOTONIC) - begun >= COUNTING_NS;
        }
        if (enough && status == TT_OK) return TT_OK;
        (void)pthread_mutex_unlock(&s->lock);
        if (status == TT_OK && tt_request_is_over(q))
            status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "nobody waits for the answer");
        if (status != TT_OK) return status;
        /* A lock is given to whoever asks next, not to who waits: that would be this thread. */
        (void)nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
    }
}

void tt_log_shelf_give(tt_log_loan *loan)
{
    (void)pthread_mutex_unlock(&loan->shelf->lock);
    loan->index = NULL;
}
