#include "export/workers.h"

#include "base/threads.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct slot {
    tt_bytes bytes;
    bool made;
} slot;

typedef struct pool {
    const tt_workers_plan *plan;
    const tt_model *m;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a part was made or consumed, or something failed */
    slot *slots;            /* of the parts next_take .. next_take + n_slots - 1, by part modulo */
    uint32_t n_slots;
    uint32_t next_make, next_take;
    bool taking;
    uint32_t failed_part; /* of the error; TT_NONE: none */
    tt_error error;
} pool;

unsigned tt_workers_threads(unsigned threads)
{
    if (threads == 0) threads = tt_processors();
    return threads < TT_WORKERS_MAX ? threads : TT_WORKERS_MAX;
}

/* With the lock held. Keeps the error of the first part. */
static void fail(pool *p, uint32_t part, const tt_error *error)
{
    if (p->failed_part == TT_NONE || part < p->failed_part) {
        p->failed_part = part;
        p->error = *error;
    }
    pthread_cond_broadcast(&p->changed);
}

/* With the lock held: consumes ready parts in order, one thread at a time. */
static void take_ready(pool *p)
{
    if (p->taking) return;
    p->taking = true;
    while (p->failed_part == TT_NONE && p->next_take < p->plan->n_parts) {
        uint32_t part = p->next_take;
        slot *s = &p->slots[part % p->n_slots];
        tt_error error = {.status = TT_OK};
        if (!s->made) break;
        pthread_mutex_unlock(&p->lock);
        tt_status status =
            p->plan->take ? p->plan->take(p->plan->context, part, &s->bytes, &error) : TT_OK;
        if (p->plan->progress)
            p->plan->progress(p->plan->progress_context, part + 1, p->plan->n_parts);
        pthread_mutex_lock(&p->lock);
        s->made = false;
        p->next_take++;
        if (status != TT_OK) fail(p, part, &error);
        pthread_cond_broadcast(&p->changed);
    }
    p->taking = false;
}

/* With the lock held: the next part to make, or TT_NONE. */
static uint32_t next_part(pool *p)
{
    while (p->failed_part == TT_NONE && p->next_make < p->plan->n_parts &&
           p->next_make - p->next_take >= p->n_slots)
        pthread_cond_wait(&p->changed, &p->lock);
    if (p->failed_part != TT_NONE || p->next_make >= p->plan->n_parts) return TT_NONE;
    return p->next_make++;
}

static void work(pool *p, const tt_model *m, void *own)
{
    pthread_mutex_lock(&p->lock);
    for (uint32_t part = next_part(p); part != TT_NONE; part = next_part(p)) {
        slot *s = &p->slots[part % p->n_slots];
        tt_error error = {.status = TT_OK};
        pthread_mutex_unlock(&p->lock);
        tt_bytes_clear(&s->bytes);
        tt_status status = p->plan->make(p->plan->context, own, m, part, &s->bytes, &error);
        if (status == TT_OK && s->bytes.failed)
            status =
                tt_error_set(&error, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
        pthread_mutex_lock(&p->lock);
        s->made = true;
        if (status != TT_OK) fail(p, part, &error);
        take_ready(p);
    }
    pthread_mutex_unlock(&p->lock);
}

/* A thread that is out of memory leaves its work to the others; the calling one must have it. */
static void provide_and_work(pool *p, bool is_caller)
{
    tt_model *share;
    tt_error error;
    tt_status status = tt_model_share(p->m, &share, &error);
    void *own = status == TT_OK && p->plan->open ? p->plan->open(p->plan->context) : NULL;
    if (status == TT_OK && p->plan->open && !own)
        status = tt_error_set(&error, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
    if (status == TT_OK) {
        work(p, share, own);
    } else if (is_caller) {
        pthread_mutex_lock(&p->lock);
        fail(p, 0, &error);
        pthread_mutex_unlock(&p->lock);
    }
    if (own && p->plan->close) p->plan->close(own);
    tt_model_close(share);
}

static void *run_thread(void *argument)
{
    provide_and_work(argument, false);
    return NULL;
}

static void run_all(pool *p, unsigned threads)
{
    pthread_t list[TT_WORKERS_MAX];
    unsigned n = 0;
    /* This thread is one of them: if no other can be created, it does all the work. */
    while (n + 1 < threads && pthread_create(&list[n], NULL, run_thread, p) == 0)
        n++;
    provide_and_work(p, true);
    for (unsigned i = 0; i < n; i++)
        (void)pthread_join(list[i], NULL);
}

tt_status tt_workers_run(const tt_model *m, const tt_workers_plan *plan, tt_error *err)
{
    unsigned threads = tt_workers_threads(plan->threads);
    pool p = {.plan = plan,
              .m = m,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .changed = PTHREAD_COND_INITIALIZER,
              .failed_part = TT_NONE};
    if (plan->n_parts == 0) return TT_OK;
    if (threads > plan->n_parts) threads = plan->n_parts;
    p.n_slots = threads * 2;
    p.slots = calloc(p.n_slots, sizeof *p.slots);
    if (!p.slots)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
    for (uint32_t i = 0; i < p.n_slots; i++)
        tt_bytes_init(&p.slots[i].bytes, plan->limit_bytes);
    run_all(&p, threads);
    for (uint32_t i = 0; i < p.n_slots; i++)
        tt_bytes_free(&p.slots[i].bytes);
    free(p.slots);
    if (p.failed_part == TT_NONE) return TT_OK;
    if (err) *err = p.error;
    return p.error.status;
}
