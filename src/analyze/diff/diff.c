#include "analyze/diff/diff.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The profiles of one phase, made by several threads. */
typedef struct team {
    tt_diff *d;
    tt_diff_phase *p;
    atomic_size_t next;
    pthread_mutex_t lock;
    uint64_t *done; /* by file */
    uint64_t total;
    tt_status status; /* the first failure, by file */
    size_t failed;
    tt_error err;
} team;

typedef struct reader {
    team *team;
    size_t file;
} reader;

static const unsigned phases[TT_DIFF_PHASES] = {TT_PHASE_GENERATE, TT_PHASE_PROMPT, TT_PHASE_MIXED,
                                                TT_PHASE_UNKNOWN};

static void progress(void *context, uint64_t done, uint64_t total)
{
    reader *r = context;
    team *t = r->team;
    uint64_t sum = 0;
    (void)total;
    pthread_mutex_lock(&t->lock);
    t->done[r->file] = done;
    for (size_t f = 0; f < t->d->n_files; f++)
        sum += t->done[f];
    t->d->options.progress(t->d->options.context, sum, t->total);
    pthread_mutex_unlock(&t->lock);
}

static void read_file(team *t, size_t f)
{
    tt_error err;
    reader r = {t, f};
    const tt_diff *d = t->d;
    const tt_profile_plan plan = {.m = d->files[f],
                                  .units = &t->p->units[f],
                                  .list = t->p->pairs.units[f],
                                  .n = t->p->pairs.n,
                                  .stride = t->p->stride,
                                  .structure_only = d->options.structure_only,
                                  .progress = d->options.progress ? progress : NULL,
                                  .context = &r,
                                  .over = d->options.over};
    tt_status status = tt_profile_make(&plan, &t->p->profiles[f], &err);
    if (status == TT_OK) return;
    pthread_mutex_lock(&t->lock);
    if (t->status == TT_OK || f < t->failed) {
        t->status = status;
        t->failed = f;
        t->err = err;
    }
    pthread_mutex_unlock(&t->lock);
}

static void *work(void *context)
{
    team *t = context;
    for (size_t f; (f = atomic_fetch_add(&t->next, 1)) < t->d->n_files;)
        read_file(t, f);
    return NULL;
}

/* Each model is one thread's alone. */
static tt_status read_files(tt_diff *d, tt_diff_phase *p, tt_error *err)
{
    pthread_t threads[TT_DIFF_FILES_MAX];
    size_t n = 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    team t = {.d = d, .p = p, .lock = PTHREAD_MUTEX_INITIALIZER, .total = p->pairs.n * d->n_files};
    t.done = calloc(d->n_files, sizeof *t.done);
    if (!t.done) return tt_error_memory(err, "the comparison");
    /* This one works too; without more threads it does all of it. */
    while (n + 1 < d->n_files && (long)n + 1 < processors &&
           pthread_create(&threads[n], NULL, work, &t) == 0)
        n++;
    (void)work(&t);
    while (n > 0)
        (void)pthread_join(threads[--n], NULL);
    free(t.done);
    pthread_mutex_destroy(&t.lock);
    if (t.status != TT_OK && err) *err = t.err;
    return t.status;
}

static tt_status pair_units(tt_diff *d, tt_diff_phase *p, tt_error *err)
{
    tt_status status = TT_OK;
    p->units = calloc(d->n_files, sizeof *p->units);
    p->profiles = calloc(d->n_files, sizeof(tt_profile *));
    if (!p->units || !p->profiles) return tt_error_memory(err, "the comparison");
    for (size_t f = 0; f < d->n_files && status == TT_OK; f++)
        status = tt_units_list(d->files[f], p->phase, &p->units[f], err);
    if (status == TT_OK) status = tt_units_pair(p->units, d->n_files, d->n_a, &p->pairs, err);
    return status;
}

static tt_status compare_phase(tt_diff *d, tt_diff_phase *p, tt_error *err)
{
    uint32_t executed = 0;
    tt_arena_init(&p->texts, TT_MODEL_MEMORY_MAX);
    tt_status status = pair_units(d, p, err);
    if (status != TT_OK || p->pairs.n == 0) return status;
    for (size_t f = 0; f < d->n_files; f++) {
        uint32_t own =
            tt_profile_executed(d->files[f], &p->units[f], p->pairs.units[f], p->pairs.n);
        executed = own > executed ? own : executed;
    }
    p->stride = tt_profile_stride(p->pairs.n, executed);
    p->n_samples = (uint32_t)((p->pairs.n + p->stride - 1) / p->stride);
    status = read_files(d, p, err);
    for (size_t f = 0; f < d->n_files && status == TT_OK; f++) {
        d->records += p->profiles[f]->records;
        d->orphan += p->profiles[f]->orphan;
    }
    if (status == TT_OK) status = tt_diff_align_phase(p, d->n_a, err);
    if (status == TT_OK && !d->options.structure_only) {
        status = tt_diff_sum_phase(p, d, err);
        if (status == TT_OK) status = tt_diff_judge_phase(p, d, err);
    }
    return status;
}

tt_status tt_diff_make(const tt_model *const *files, size_t n_files, size_t n_a,
                       const tt_diff_options *options, tt_diff **out, tt_error *err)
{
    tt_status status = TT_OK;
    *out = NULL;
    if (n_a == 0 || n_a >= n_files || n_files > TT_DIFF_FILES_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "a comparison is of 2 to %u runs, some on each side",
                            TT_DIFF_FILES_MAX);
    tt_diff *d = calloc(1, sizeof *d);
    if (!d) return tt_error_memory(err, "the comparison");
    d->files = files;
    d->n_files = n_files;
    d->n_a = n_a;
    d->options = *options;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        d->phases[i].phase = phases[i];
    for (size_t i = 0; i < TT_DIFF_PHASES && status == TT_OK; i++)
        status = compare_phase(d, &d->phases[i], err);
    if (status == TT_OK) status = tt_diff_look_around(d, err);
    if (status == TT_OK)
        *out = d;
    else
        tt_diff_free(d);
    return status;
}

static void free_phase(tt_diff_phase *p, size_t n_files)
{
    for (size_t f = 0; f < n_files; f++) {
        if (p->units) tt_units_free(&p->units[f]);
        if (p->profiles) tt_profile_free(p->profiles[f]);
    }
    for (size_t i = 0; i < TT_DIFF_FAMILIES; i++)
        free(p->rows[i]);
    free(p->units);
    free(p->profiles);
    free(p->layers);
    free(p->structure.list);
    free(p->structure.row_of_slot_a);
    tt_unit_pairs_free(&p->pairs);
    tt_arena_free(&p->texts);
}

void tt_diff_free(tt_diff *d)
{
    if (!d) return;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        free_phase(&d->phases[i], d->n_files);
    tt_diff_around_free(&d->around);
    free(d);
}

const tt_diff_phase *tt_diff_main(const tt_diff *d)
{
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        if (d->phases[i].pairs.n > 0) return &d->phases[i];
    return NULL;
}

uint64_t tt_diff_common(const tt_diff *d)
{
    uint64_t n = 0;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        n += d->phases[i].structure.common;
    return n;
}

bool tt_diff_comparable(const tt_diff *d)
{
    uint64_t a = 0, b = 0;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++) {
        a += d->phases[i].structure.nodes_a;
        b += d->phases[i].structure.nodes_b;
    }
    return a > 0 && b > 0;
}

uint64_t tt_diff_changes(const tt_diff *d)
{
    uint64_t n = 0;
    for (size_t i = 0; i < TT_DIFF_PHASES; i++) {
        const tt_diff_structure *s = &d->phases[i].structure;
        n += s->added + s->removed + s->changed;
    }
    return n;
}

bool tt_diff_times_differ(const tt_diff *d)
{
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        if (d->phases[i].verdict >= TT_DIFF_SLOWER) return true;
    return false;
}

const char *tt_diff_verdict_name(tt_diff_verdict verdict)
{
    static const char *const names[] = {"untested", "undecided", "same",
                                        "slower",   "faster",    "shifted"};
    return (size_t)verdict < sizeof names / sizeof *names ? names[verdict] : "untested";
}
