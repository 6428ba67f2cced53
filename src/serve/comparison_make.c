/* Two traces compared, as the JSON of diff and of diff/tokens. */
#include "serve/comparison_make.h"

#include "analyze/diff/diff_tokens.h"
#include "answer/diff.h"
#include "base/json.h"
#include "serve/reply_body.h"
#include "serve/traces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
    column(j, "token", &of, put_token);
    column(j, "position", &of, put_position);
    column(j, "begin_ns", &of, put_begin);
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
    tt_json_kv_u64(j, "tokens_compared", p->pairs.n);
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
