#include "serve/comparisons.h"

#include "serve/source.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct comparison {
    bool made, making;
    uint64_t with; /* the other trace's table */
    tt_comparison_options options;
    uint64_t asked; /* when, by the table's count */
    tt_bytes parts[TT_COMPARISON_PARTS];
} comparison;

/* Of one trace as A. It is made like anything that is computed of a trace once, so it goes when the
 * trace is opened anew; what is in it changes under its lock. */
typedef struct table {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t serial; /* of this process; an address could come again */
    uint64_t count;
    comparison kept[TT_COMPARISONS_KEPT];
} table;

static tt_status make_table(tt_model *m, void **out, tt_error *err)
{
    static atomic_uint_fast64_t serials;
    (void)m;
    table *t = calloc(1, sizeof *t);
    if (!t) return tt_error_memory(err, "the comparison");
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    t->serial = atomic_fetch_add(&serials, 1) + 1;
    *out = t;
    return TT_OK;
}

static void clear(comparison *c)
{
    for (size_t i = 0; i < TT_COMPARISON_PARTS; i++)
        tt_bytes_free(&c->parts[i]);
    *c = (comparison){.made = false};
}

static void drop_table(void *made)
{
    table *t = made;
    for (size_t i = 0; i < TT_COMPARISONS_KEPT; i++)
        clear(&t->kept[i]);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static const tt_source_memo tables = {make_table, drop_table};

static comparison *find(table *t, uint64_t with, const tt_comparison_options *o)
{
    for (size_t i = 0; i < TT_COMPARISONS_KEPT; i++) {
        comparison *c = &t->kept[i];
        if ((c->made || c->making) && c->with == with && c->options.threshold == o->threshold &&
            c->options.level == o->level && c->options.values == o->values &&
            c->options.items == o->items)
            return c;
    }
    return NULL;
}

/* A place for another one; NULL while all are being made. */
static comparison *make_room(table *t)
{
    comparison *oldest = NULL;
    for (size_t i = 0; i < TT_COMPARISONS_KEPT; i++) {
        comparison *c = &t->kept[i];
        if (c->making) continue;
        if (!c->made) return c;
        if (!oldest || c->asked < oldest->asked) oldest = c;
    }
    if (oldest) clear(oldest);
    return oldest;
}

/* Called and returns with the lock held; not while it computes. */
static tt_status make(table *t, comparison *c, tt_request *q, tt_error *err)
{
    tt_bytes parts[TT_COMPARISON_PARTS];
    const tt_comparison_options options = c->options;
    for (size_t i = 0; i < TT_COMPARISON_PARTS; i++)
        tt_bytes_init(&parts[i], TT_COMPARISON_BYTES_MAX);
    pthread_mutex_unlock(&t->lock);
    tt_status status = tt_comparison_make(q, &options, parts, err);
    pthread_mutex_lock(&t->lock);
    c->making = false;
    c->made = status == TT_OK;
    for (size_t i = 0; i < TT_COMPARISON_PARTS; i++)
        if (c->made)
            c->parts[i] = parts[i];
        else
            tt_bytes_free(&parts[i]);
    pthread_cond_broadcast(&t->changed);
    return status;
}

tt_status tt_comparison_get(tt_request *q, const tt_comparison_options *o, tt_comparison_part part,
                            tt_bytes *out, tt_error *err)
{
    const void *a, *b;
    tt_status status = tt_source_get(q, &tables, &a, err);
    if (status == TT_OK) status = tt_source_get_other(q, &tables, &b, err);
    if (status != TT_OK) return status;
    table *t = (table *)(uintptr_t)a; /* const, but for what its lock guards */
    const uint64_t with = ((const table *)b)->serial;
    pthread_mutex_lock(&t->lock);
    comparison *c;
    while (!(c = find(t, with, o)) || c->making) {
        comparison *room = c ? NULL : make_room(t);
        if (!room) {
            pthread_cond_wait(&t->changed, &t->lock);
            continue;
        }
        *room = (comparison){.making = true, .with = with, .options = *o};
        status = make(t, room, q, err);
        if (status != TT_OK) break;
    }
    if (status == TT_OK) {
        c->asked = ++t->count;
        tt_bytes_put(out, c->parts[part].data, c->parts[part].size);
    }
    pthread_mutex_unlock(&t->lock);
    return status;
}
