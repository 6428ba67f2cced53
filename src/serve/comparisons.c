#include "serve/comparisons.h"

#include "analyze/diff/diff.h"
#include "answer/diff.h"
#include "answer/valuediff.h"
#include "base/json.h"
#include "serve/reply_body.h"
#include "serve/source.h"
#include "serve/traces.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Two traces compared, as the JSON of diff and of diff/batches. */

/* --- tokens --- */

static void or_null(tt_json *j, bool known, int64_t v)
{
    if (known)
        tt_json_i64(j, v);
    else
        tt_json_null(j);
}

typedef struct column_of {
    const tt_diff *d;
    const tt_diff_phase *p;
    size_t file;
} column_of;

static void column(tt_json *j, const char *key, const column_of *of,
                   void (*put)(tt_json *j, const column_of *of, size_t k))
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t k = 0; k < of->p->n_samples; k++)
        put(j, of, k);
    tt_json_array_end(j);
}

static void put_token(tt_json *j, const column_of *of, size_t k)
{
    tt_diff_token t = tt_diff_sample(of->d, of->p, of->file, k);
    or_null(j, t.token != TT_NONE, t.token);
}

static void put_position(tt_json *j, const column_of *of, size_t k)
{
    tt_diff_token t = tt_diff_sample(of->d, of->p, of->file, k);
    or_null(j, t.has_position, t.position);
}

static void put_begin(tt_json *j, const column_of *of, size_t k)
{
    tt_json_double(j, tt_diff_sample(of->d, of->p, of->file, k).begin_ns);
}

static void put_time(tt_json *j, const column_of *of, size_t k)
{
    tt_json_double(j, tt_diff_sample(of->d, of->p, of->file, k).time_ns);
}

static void put_least(tt_json *j, const column_of *of, size_t k)
{
    double least, most;
    tt_diff_sample_span(of->p, of->file, k, &least, &most);
    tt_json_double(j, least);
}

static void put_most(tt_json *j, const column_of *of, size_t k)
{
    double least, most;
    tt_diff_sample_span(of->p, of->file, k, &least, &most);
    tt_json_double(j, most);
}

static void side(tt_json *j, const char *key, const tt_diff *d, const tt_diff_phase *p, size_t file)
{
    const column_of of = {d, p, file};
    tt_json_key(j, key);
    tt_json_object(j);
    column(j, "batch_id", &of, put_token);
    column(j, "position", &of, put_position);
    column(j, "start_relative_ns", &of, put_begin);
    column(j, "time_ns", &of, put_time);
    column(j, "time_least_ns", &of, put_least);
    column(j, "time_most_ns", &of, put_most);
    tt_json_object_end(j);
}

static void part_side(tt_json *j, const char *key, const tt_diff *d, const tt_diff_phase *p,
                      size_t part, size_t file, double *work)
{
    tt_diff_part_times(d, p, part, file, work);
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t k = 0; k < p->n_samples; k++)
        tt_json_double(j, work[k]);
    tt_json_array_end(j);
}

static void phase(tt_json *j, const tt_diff *d, const tt_diff_phase *p, double *work)
{
    tt_json_object(j);
    tt_json_kv_string(j, "phase", tt_phase_name(p->phase));
    tt_json_kv_u64(j, "batches_compared", p->pairs.n);
    tt_json_kv_u64(j, "samples", p->n_samples);
    tt_json_kv_u64(j, "sample_every", p->stride);
    side(j, "a", d, p, 0);
    side(j, "b", d, p, d->n_a);
    tt_json_key(j, "parts");
    tt_json_array(j);
    for (size_t i = 0; i < p->n_rows[TT_DIFF_PARTS]; i++) {
        tt_json_object(j);
        tt_json_kv_string(j, "category", p->rows[TT_DIFF_PARTS][i].key);
        part_side(j, "time_a_ns", d, p, i, 0, work);
        part_side(j, "time_b_ns", d, p, i, d->n_a, work);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}

static tt_status tokens(tt_json *j, const tt_diff *d, tt_error *err)
{
    double *work = calloc(TT_PROFILE_SAMPLES_MAX + 1, sizeof *work);
    if (!work) return tt_error_memory(err, "the batches");
    tt_json_object(j);
    tt_json_key(j, "phases");
    tt_json_array(j);
    for (size_t i = 0; i < TT_DIFF_PHASES; i++)
        if (d->phases[i].pairs.n > 0) phase(j, d, &d->phases[i], work);
    tt_json_array_end(j);
    tt_json_object_end(j);
    free(work);
    return TT_OK;
}

/* --- both --- */

static tt_status write_part(const tt_diff_view *v, tt_comparison_part part, tt_bytes *out,
                            tt_error *err)
{
    tt_status status = TT_OK;
    tt_json *j = malloc(sizeof *j);
    FILE *stream = j ? tt_reply_stream(out) : NULL;
    if (stream) {
        tt_json_begin(j, stream, 0);
        if (part == TT_COMPARISON_TABLES)
            tt_diff_json(j, v);
        else
            status = tokens(j, v->d, err);
        bool written = tt_json_end(j);
        written &= fclose(stream) == 0;
        if (status == TT_OK && !written)
            status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                  "the comparison has more rows than a reply holds; "
                                  "`tensortrace diff --json` prints all of them");
    } else {
        status = tt_error_memory(err, "the comparison");
    }
    free(j);
    return status;
}

tt_status tt_comparison_make(tt_request *q, const tt_comparison_options *o,
                             tt_bytes parts[TT_COMPARISON_PARTS], tt_error *err)
{
    const tt_diff_options options = {
        .threshold = o->threshold, .level = o->level, .over = tt_request_over(q)};
    const tt_model *const files[2] = {q->m, q->other};
    const char *const paths[2] = {tt_traces_path(q->traces, q->trace_id),
                                  tt_traces_path(q->traces, q->other_id)};
    tt_diff *d;
    if (o->values) return tt_comparison_make_values(q, o, &parts[TT_COMPARISON_TABLES], err);
    tt_status status = tt_diff_make(files, 2, 1, &options, &d, err);
    if (status != TT_OK) return status;
    const tt_diff_view v = {.d = d, .paths = paths};
    if (!tt_diff_main(d) || !tt_diff_comparable(d))
        status =
            tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                         "nothing to compare: there is no batch of which both traces have ops");
    for (size_t i = 0; i < TT_COMPARISON_PARTS && status == TT_OK; i++)
        status = write_part(&v, (tt_comparison_part)i, &parts[i], err);
    tt_diff_free(d);
    return status;
}

/* The values of two traces compared, as the JSON of diff/values. */

typedef struct sides {
    tt_stages *stages;
    tt_dump *a, *b;
    tt_valuediff *d;
} sides;

static tt_status compare(tt_request *q, const tt_comparison_options *o, const char *const paths[2],
                         sides *s, tt_error *err)
{
    const tt_valuediff_options options = {.items_max = o->items, .over = tt_request_over(q)};
    s->stages = tt_stages_builtin();
    if (!s->stages) return tt_error_memory(err, "the comparison of values");
    tt_status status = tt_dump_of_trace(q->m, paths[0], s->stages, &s->a, err);
    if (status == TT_OK) status = tt_dump_of_trace(q->other, paths[1], s->stages, &s->b, err);
    if (status == TT_OK) status = tt_valuediff_make(s->a, s->b, &options, &s->d, err);
    return status;
}

static tt_status write_json(const tt_valuediff *d, const char *const paths[2], tt_bytes *out,
                            tt_error *err)
{
    tt_json *j = malloc(sizeof *j);
    FILE *stream = j ? tt_reply_stream(out) : NULL;
    bool written = false;
    if (stream) {
        tt_json_begin(j, stream, 0);
        tt_valuediff_json(j, d, paths);
        written = tt_json_end(j);
        written &= fclose(stream) == 0;
    }
    free(j);
    if (!stream) return tt_error_memory(err, "the comparison of values");
    if (written) return TT_OK;
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                        "the comparison has more rows than a reply holds; "
                        "`tensortrace diff --values --json` prints all of them");
}

tt_status tt_comparison_make_values(tt_request *q, const tt_comparison_options *o, tt_bytes *out,
                                    tt_error *err)
{
    const char *const paths[2] = {tt_traces_path(q->traces, q->trace_id),
                                  tt_traces_path(q->traces, q->other_id)};
    sides s = {0};
    tt_status status = compare(q, o, paths, &s, err);
    if (status == TT_OK) status = write_json(s.d, paths, out, err);
    tt_valuediff_free(s.d);
    tt_dump_close(s.a);
    tt_dump_close(s.b);
    tt_stages_free(s.stages);
    return status;
}

typedef struct comparison {
    bool made, making;
    uint64_t with; /* the other trace's table */
    tt_comparison_options options;
    uint64_t asked; /* time of last use, by the table's count */
    tt_bytes parts[TT_COMPARISON_PARTS];
} comparison;

/* Comparisons with one trace as A. Memoised like other results, so it is freed when the trace is
 * reopened; its content changes under its lock. */
typedef struct table {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t serial; /* unique in this process; an address could be reused */
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

/* A slot for another one; NULL while all are being computed. */
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

/* Called and returns with the lock held; releases it while it computes. */
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
    table *t = (table *)(uintptr_t)a; /* const except for what its lock protects */
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
