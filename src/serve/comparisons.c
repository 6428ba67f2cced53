#include "serve/comparisons.h"

#include "analyze/diff/diff.h"
#include "answer/diff.h"
#include "answer/valuediff.h"
#include "base/json.h"
#include "serve/reply.h"
#include "serve/source.h"
#include "serve/traces.h"
#include "table/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Two traces compared, as the JSON of diff and of diff/batches. */

/* --- tokens --- */

typedef struct sample {
    tt_diff_token t;
    double least_ns, most_ns;
} sample;

TT_COLUMN_KNOWN(in_batch, sample, x, x->t.token != TT_NONE)
TT_COLUMN_KNOWN(has_position, sample, x, x->t.has_position)

static const tt_column sample_columns[] = {
    TT_FIELD("batch_id", "the batch", .known = in_batch, TT_MEMBER(sample, t.token)),
    TT_FIELD("position", "in the text", .known = has_position, TT_MEMBER(sample, t.position)),
    TT_FIELD("start_relative_ns", "of the batch", TT_MEMBER(sample, t.begin_ns)),
    TT_FIELD("time_ns", "of the batch", TT_MEMBER(sample, t.time_ns)),
    TT_FIELD("time_least_ns", "up to the next sample", TT_MEMBER(sample, least_ns)),
    TT_FIELD("time_most_ns", "up to the next sample", TT_MEMBER(sample, most_ns)),
};
static const tt_schema sample_schema = TT_SCHEMA("samples", "one side of a pair", sample_columns);

static void side(tt_json *j, const char *key, const tt_diff *d, const tt_diff_phase *p, size_t file,
                 sample *rows)
{
    const tt_rowset set = TT_ROWSET(&sample_schema, 0, NULL, rows, p->n_samples);
    for (size_t k = 0; k < p->n_samples; k++) {
        rows[k].t = tt_diff_sample(d, p, file, k);
        tt_diff_sample_span(p, file, k, &rows[k].least_ns, &rows[k].most_ns);
    }
    tt_rowset_json_columns(j, key, &set);
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

static void phase(tt_json *j, const tt_diff *d, const tt_diff_phase *p, sample *rows, double *work)
{
    tt_json_object(j);
    tt_json_kv_string(j, "phase", tt_phase_name(p->phase));
    tt_json_kv_u64(j, "batches_compared", p->pairs.n);
    tt_json_kv_u64(j, "samples", p->n_samples);
    tt_json_kv_u64(j, "sample_every", p->stride);
    side(j, "a", d, p, 0, rows);
    side(j, "b", d, p, d->n_a, rows);
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
    sample *rows = calloc(TT_PROFILE_SAMPLES_MAX + 1, sizeof *rows);
    double *work = calloc(TT_PROFILE_SAMPLES_MAX + 1, sizeof *work);
    if (rows && work) {
        tt_json_object(j);
        tt_json_key(j, "phases");
        tt_json_array(j);
        for (size_t i = 0; i < TT_DIFF_PHASES; i++)
            if (d->phases[i].pairs.n > 0) phase(j, d, &d->phases[i], rows, work);
        tt_json_array_end(j);
        tt_json_object_end(j);
    }
    const bool room = rows && work;
    free(rows);
    free(work);
    return room ? TT_OK : tt_error_memory(err, "the batches");
}

/* --- of times, and of values --- */

/* What is compared: `values`, or `d`. */
typedef struct compared {
    const char *paths[2];
    const tt_diff *d;
    const tt_valuediff *values;
} compared;

static tt_status write_part(const compared *c, tt_comparison_part part, tt_bytes *out,
                            tt_error *err)
{
    const tt_diff_view v = {.d = c->d, .paths = c->paths};
    tt_status status = TT_OK;
    tt_json *j = malloc(sizeof *j);
    FILE *stream = j ? tt_reply_stream(out) : NULL;
    if (stream) {
        tt_json_begin(j, stream, 0);
        if (c->values)
            tt_valuediff_json(j, c->values, c->paths);
        else if (part == TT_COMPARISON_TABLES)
            tt_diff_json(j, &v);
        else
            status = tokens(j, c->d, err);
        bool written = tt_json_end(j);
        written &= fclose(stream) == 0;
        if (status == TT_OK && !written)
            status = tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                                  "the comparison has more rows than a reply holds; "
                                  "`tensortrace diff%s --json` prints all of them",
                                  c->values ? " --values" : "");
    } else {
        status = tt_error_memory(err, "the comparison");
    }
    free(j);
    return status;
}

static tt_status compare_times(tt_request *q, const tt_comparison_options *o, compared *c,
                               tt_bytes parts[TT_COMPARISON_PARTS], tt_error *err)
{
    const tt_diff_options options = {
        .threshold = o->threshold, .level = o->level, .over = tt_request_over(q)};
    const tt_model *const files[2] = {q->m, q->other};
    tt_diff *d;
    tt_status status = tt_diff_make(files, 2, 1, &options, &d, err);
    if (status != TT_OK) return status;
    c->d = d;
    if (!tt_diff_main(d) || !tt_diff_comparable(d))
        status =
            tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                         "nothing to compare: there is no batch of which both traces have ops");
    for (size_t i = 0; i < TT_COMPARISON_PARTS && status == TT_OK; i++)
        status = write_part(c, (tt_comparison_part)i, &parts[i], err);
    tt_diff_free(d);
    return status;
}

/* That nothing could be compared is part of the JSON. */
static tt_status compare_values(tt_request *q, const tt_comparison_options *o, compared *c,
                                tt_bytes *out, tt_error *err)
{
    const tt_valuediff_options options = {.items_max = o->items, .over = tt_request_over(q)};
    tt_dump *a = NULL, *b = NULL;
    tt_valuediff *d = NULL;
    tt_stages *stages = tt_stages_builtin();
    tt_status status = stages ? tt_dump_of_trace(q->m, c->paths[0], stages, &a, err)
                              : tt_error_memory(err, "the comparison of values");
    if (status == TT_OK) status = tt_dump_of_trace(q->other, c->paths[1], stages, &b, err);
    if (status == TT_OK) status = tt_valuediff_make(a, b, &options, &d, err);
    c->values = d;
    if (status == TT_OK) status = write_part(c, TT_COMPARISON_TABLES, out, err);
    tt_valuediff_free(d);
    tt_dump_close(a);
    tt_dump_close(b);
    tt_stages_free(stages);
    return status;
}

/* Compares q->m (A) with q->other (B) and appends the JSON to the parts, each within its limit.
 * TT_E_NOT_FOUND if there is nothing to compare, TT_E_IO if the client is gone. */
static tt_status compare(tt_request *q, const tt_comparison_options *o,
                         tt_bytes parts[TT_COMPARISON_PARTS], tt_error *err)
{
    compared c = {
        .paths = {tt_traces_path(q->traces, q->trace_id), tt_traces_path(q->traces, q->other_id)}};
    return o->values ? compare_values(q, o, &c, &parts[TT_COMPARISON_TABLES], err)
                     : compare_times(q, o, &c, parts, err);
}

/* --- kept --- */

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
    tt_status status = compare(q, &options, parts, err);
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
