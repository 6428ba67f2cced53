/* A table of the trace as a stream: parts of it are made ahead by threads, and handed out in
 * order. */
#include "arrow/stream.h"

#include "base/hex.h"
#include "export/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each has up to two parts ahead, some ten to fifty MiB each. */
#define THREADS_MAX 16u

/* What makes a part: of one thread. */
typedef struct maker {
    tt_model *share;
    tt_rows rows;
} maker;

typedef struct slot {
    struct ArrowArray batch;
    bool made;
} slot;

typedef struct table_source {
    tt_held_model *model;
    tt_arrow_options options;
    tt_arrow_shape shape;
    uint32_t n_parts;
    maker here; /* where there are no threads */
    pthread_t threads[THREADS_MAX];
    unsigned n_threads;
    pid_t process; /* that the threads are of */
    bool begun;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a part was made or taken, or something failed, or it is over */
    slot *slots;            /* of the parts next_take .. next_take + n_slots - 1, by part modulo */
    uint32_t n_slots, next_make, next_take;
    uint32_t failed_part; /* of the error, the first; TT_NONE: none */
    tt_error error;
    bool over;
} table_source;

static void end_maker(maker *k)
{
    tt_rows_free(&k->rows);
    tt_model_close(k->share);
    memset(k, 0, sizeof *k);
}

/* *out is not there when the part has no rows. */
static tt_status make_part(const table_source *s, maker *k, uint32_t part, struct ArrowArray *out,
                           tt_error *err)
{
    tt_status status = TT_OK;
    out->release = NULL;
    if (!k->share) status = tt_model_share(tt_held_model_get(s->model), &k->share, err);
    k->rows.left_out = UINT64_MAX;
    for (uint32_t i = 0; i < s->shape.n_columns; i++)
        k->rows.left_out &= ~((uint64_t)1 << s->shape.columns[i]);
    if (status == TT_OK)
        status = s->shape.table->fill(k->share, &s->options.filter, part, &k->rows, err);
    if (status != TT_OK || k->rows.n == 0) return status;
    return tt_arrow_batch(&s->shape, &k->rows, out, err);
}

/* With the lock held: the next part to make, or TT_NONE when there is none. */
static uint32_t next_part(table_source *s)
{
    while (!s->over && s->failed_part == TT_NONE && s->next_make < s->n_parts &&
           s->next_make - s->next_take >= s->n_slots)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    if (s->over || s->failed_part != TT_NONE || s->next_make >= s->n_parts) return TT_NONE;
    return s->next_make++;
}

static void *run_thread(void *argument)
{
    table_source *s = argument;
    maker k = {0};
    (void)pthread_mutex_lock(&s->lock);
    for (uint32_t part = next_part(s); part != TT_NONE; part = next_part(s)) {
        struct ArrowArray batch;
        tt_error error;
        (void)pthread_mutex_unlock(&s->lock);
        tt_status status = make_part(s, &k, part, &batch, &error);
        (void)pthread_mutex_lock(&s->lock);
        s->slots[part % s->n_slots] = (slot){batch, true};
        if (status != TT_OK && part < s->failed_part) {
            s->failed_part = part;
            s->error = error;
        }
        (void)pthread_cond_broadcast(&s->changed);
    }
    (void)pthread_mutex_unlock(&s->lock);
    end_maker(&k);
    return NULL;
}

/* Where none can be had, parts are made by the caller. */
static void begin(table_source *s)
{
    unsigned threads = tt_workers_threads(s->options.threads);
    sigset_t all, before;
    s->begun = true;
    s->process = getpid();
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    if (threads > s->n_parts) threads = s->n_parts;
    if (threads < 2) return;
    s->n_slots = 2 * threads;
    s->slots = calloc(s->n_slots, sizeof *s->slots);
    if (!s->slots) return;
    /* Signals are the program's, which expects them in threads of its own. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (s->n_threads < threads &&
           pthread_create(&s->threads[s->n_threads], NULL, run_thread, s) == 0)
        s->n_threads++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* After a fork the threads are the parent's alone, and what they had in hand is as it was. */
static bool is_orphan(const table_source *s)
{
    return s->n_threads && s->process != getpid();
}

/* The next part from the threads. */
static tt_status take_part(table_source *s, struct ArrowArray *out, tt_error *err)
{
    const uint32_t part = s->next_take;
    slot *made = &s->slots[part % s->n_slots];
    tt_status status = TT_OK;
    (void)pthread_mutex_lock(&s->lock);
    while (!made->made && s->failed_part > part)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    if (s->failed_part <= part) {
        *err = s->error;
        status = s->error.status;
    } else {
        *out = made->batch;
        *made = (slot){.made = false};
        s->next_take++;
        (void)pthread_cond_broadcast(&s->changed);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

static tt_status next(void *own, struct ArrowArray *out, tt_error *err)
{
    table_source *s = own;
    tt_status status = TT_OK;
    if (!s->begun) begin(s);
    if (is_orphan(s))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "this stream of %s was begun before a fork: ask for another",
                            s->shape.table->name);
    while (status == TT_OK && !out->release && s->next_take < s->n_parts)
        status = s->n_threads ? take_part(s, out, err)
                              : make_part(s, &s->here, s->next_take++, out, err);
    return status;
}

static void close_table(void *own)
{
    table_source *s = own;
    if (is_orphan(s)) return;
    (void)pthread_mutex_lock(&s->lock);
    s->over = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < s->n_threads; i++)
        (void)pthread_join(s->threads[i], NULL);
    for (uint32_t i = 0; i < s->n_slots && s->slots; i++)
        if (s->slots[i].batch.release) s->slots[i].batch.release(&s->slots[i].batch);
    free(s->slots);
    end_maker(&s->here);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->changed);
    tt_arrow_options_free(&s->options);
    tt_held_model_give(s->model);
    free(s);
}

tt_status tt_arrow_table_stream(tt_held_model *model, const tt_export_table *table,
                                tt_arrow_options *options, struct ArrowArrayStream *out,
                                tt_error *err)
{
    const tt_model *m = tt_held_model_get(model);
    table_source *s = calloc(1, sizeof *s);
    if (!s) return tt_error_memory(err, "the stream");
    s->shape.table = table;
    tt_status status = tt_arrow_choose(&s->shape, options->columns, err);
    if (status != TT_OK) {
        free(s);
        return status;
    }
    tt_hex(s->shape.run_id, m->trace.header.run_id, 16);
    s->model = tt_held_model_take(model);
    s->options = *options;
    *options = (tt_arrow_options){0};
    s->failed_part = TT_NONE;
    s->n_parts = table->parts(m, &s->options.filter);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    const tt_arrow_source source = {next, close_table, s};
    return tt_arrow_stream_make(&s->shape, &source, out, err);
}
