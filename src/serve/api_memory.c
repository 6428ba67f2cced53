/* /api/v1/traces/ID/memory and below it: the map of the memory, and what is known of its units in
 * a part of the trace. */
#include "serve/endpoints.h"

#include "analyze/faults.h"
#include "analyze/spaces/space_heat.h"
#include "analyze/spaces/space_residency.h"
#include "answer/faults.h"
#include "answer/spaces.h"
#include "model/faults.h"
#include "serve/columns.h"
#include "serve/request.h"
#include "serve/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- computed once a trace --- */

static tt_status make_spaces(tt_model *m, void **out, tt_error *err)
{
    tt_spaces *s;
    tt_status status = tt_spaces_make(m, &s, err);
    *out = s;
    return status;
}

static void drop_spaces(void *made)
{
    tt_spaces_free(made);
}

static const tt_source_memo spaces_memo = {make_spaces, drop_spaces};

typedef struct whole {
    tt_spaces *spaces;
    tt_space_heat heat;
} whole;

static void drop_whole(void *made)
{
    whole *w = made;
    if (!w) return;
    tt_space_heat_free(&w->heat);
    tt_spaces_free(w->spaces);
    free(w);
}

static tt_status make_whole(tt_model *m, void **out, tt_error *err)
{
    const tt_filter all = {0};
    whole *w = calloc(1, sizeof *w);
    *out = NULL;
    if (!w) return tt_error_memory(err, "the heat");
    tt_status status = tt_spaces_make(m, &w->spaces, err);
    if (status == TT_OK) status = tt_space_heat_measure(m, w->spaces, &all, NULL, &w->heat, err);
    if (status == TT_OK)
        *out = w;
    else
        drop_whole(w);
    return status;
}

static const tt_source_memo whole_memo = {make_whole, drop_whole};

/* Rows of tensors, sorted: reading them changes nothing any more. */
typedef struct fault_rows {
    tt_faults *sums;
    const tt_faults_row *rows;
    size_t n;
} fault_rows;

static void drop_faults(void *made)
{
    fault_rows *f = made;
    if (f) tt_faults_free(f->sums);
    free(f);
}

static tt_status sum_faults(tt_model *m, const tt_filter *filter, tt_over over, fault_rows **out,
                            tt_error *err)
{
    fault_rows *f = calloc(1, sizeof *f);
    *out = NULL;
    if (f) f->sums = tt_faults_new(m, TT_FAULTS_BY_TENSOR, filter);
    if (!f || !f->sums) {
        drop_faults(f);
        return tt_error_memory(err, "the faults");
    }
    tt_faults_until(f->sums, over);
    tt_status status = tt_faults_sum(f->sums, NULL, NULL, err);
    if (status == TT_OK) {
        f->rows = tt_faults_rows(f->sums, &f->n);
        *out = f;
    } else {
        drop_faults(f);
    }
    return status;
}

static tt_status make_faults(tt_model *m, void **out, tt_error *err)
{
    const tt_filter all = {0};
    fault_rows *f;
    tt_status status = sum_faults(m, &all, (tt_over){0}, &f, err);
    *out = f;
    return status;
}

static const tt_source_memo faults_memo = {make_faults, drop_faults};

/* --- the part that is asked for --- */

/* --- memory, memory/region --- */

tt_status tt_answer_memory(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *spaces;
    tt_status status = tt_source_get(q, &spaces_memo, &spaces, err);
    if (status != TT_OK) return status;
    const tt_spaces_observed observed = {
        .experts = tt_details_has(q->m->details, TT_DETAIL_EXPERTS),
        .faults = tt_model_has_faults(q->m),
        .residency = q->m->n_residencies > 0,
    };
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_memory(err, "the answer");
    tt_spaces_json(j, q->m, spaces, &observed);
    return TT_OK;
}

tt_status tt_answer_memory_region(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    uint64_t region;
    if (!tt_request_text(q, "region"))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "region is missing: the number of a region of `memory`");
    if (!tt_request_u64(q, "region", 0, UINT32_MAX, 0, &region, err)) return TT_E_USAGE;
    tt_status status = tt_source_get(q, &spaces_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_spaces *s = made;
    if (region >= s->n_regions)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "there are only %u regions",
                            s->n_regions);
    tt_json *j = tt_reply_json(r);
    if (!j) return tt_error_memory(err, "the answer");
    tt_spaces_region_json(j, q->m, s, (uint32_t)region);
    return TT_OK;
}

/* --- memory/heat --- */

enum heat_column { ACCESSES, READ, WRITTEN, TOUCHED, TIME, FIRST, LAST, HEAT_COLUMNS };

static double heat_value(const tt_model *m, const tt_unit_use *u, enum heat_column column)
{
    switch (column) {
    case ACCESSES:
        return (double)u->accesses;
    case READ:
        return (double)u->read_bytes;
    case WRITTEN:
        return (double)u->written_bytes;
    case TOUCHED:
        return (double)u->touched_bytes;
    case TIME:
        return u->timed && m->clock.known ? tt_model_span_ns(m, u->ticks) : NAN;
    case FIRST:
        return m->clock.known ? tt_model_ns(m, u->first_ticks) : NAN;
    case LAST:
    case HEAT_COLUMNS:
        break;
    }
    return m->clock.known ? tt_model_ns(m, u->last_ticks) : NAN;
}

static uint32_t token_of(const tt_model *m, uint32_t batch)
{
    return batch == TT_NONE ? TT_COLUMNS_NO_U32 : tt_model_token(m, batch);
}

/* Units that were used, by ascending number. */
static void put_heat(tt_columns *c, const tt_model *m, const tt_space_heat *h, uint32_t n_units)
{
    static const char *const names[HEAT_COLUMNS] = {"accesses",      "read_bytes", "written_bytes",
                                                    "touched_bytes", "time_ns",    "first_ns",
                                                    "last_ns"};
    static const char *const last_names[] = {"unit", "first_token", "last_token"};
    size_t n = 0, at;
    for (uint32_t i = 0; i < n_units; i++)
        n += h->units[i].accesses > 0;
    for (int column = 0; column < HEAT_COLUMNS; column++) {
        double *values = tt_columns_add(c, names[column], TT_COLUMN_F64, n);
        if (!values) return;
        at = 0;
        for (uint32_t i = 0; i < n_units; i++)
            if (h->units[i].accesses > 0)
                values[at++] = heat_value(m, &h->units[i], (enum heat_column)column);
    }
    for (int column = 0; column < 3; column++) {
        uint32_t *values = tt_columns_add(c, last_names[column], TT_COLUMN_U32, n);
        if (!values) return;
        at = 0;
        for (uint32_t i = 0; i < n_units; i++) {
            const tt_unit_use *u = &h->units[i];
            if (u->accesses == 0) continue;
            values[at++] = column == 0   ? i
                           : column == 1 ? token_of(m, u->first_batch)
                                         : token_of(m, u->last_batch);
        }
    }
    uint8_t *flags = tt_columns_add(c, "at_most", TT_COLUMN_U8, n);
    at = 0;
    for (uint32_t i = 0; flags && i < n_units; i++)
        if (h->units[i].accesses > 0) flags[at++] = h->units[i].at_most;
}

static tt_status reply_heat(const tt_request *q, const tt_space_heat *h, uint32_t n_units,
                            tt_reply *r, tt_error *err)
{
    tt_columns c;
    if (tt_columns_begin(&c)) {
        tt_json_kv_u64(c.json, "ops", h->ops);
        put_heat(&c, q->m, h, n_units);
    }
    return tt_columns_end(&c, r, err);
}

tt_status tt_answer_memory_heat(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_filter filter;
    tt_space_heat heat = {0};
    tt_status status;
    const tt_over over = tt_request_over(q);
    if (!tt_request_filter(q, &filter, err)) return TT_E_USAGE;
    if (tt_request_is_unfiltered(q)) {
        status = tt_source_get(q, &whole_memo, &made, err);
        if (status != TT_OK) return status;
        const whole *w = made;
        return reply_heat(q, &w->heat, w->spaces->n_units, r, err);
    }
    status = tt_source_get(q, &spaces_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_spaces *s = made;
    status = tt_space_heat_measure(q->m, s, &filter, &over, &heat, err);
    if (status == TT_OK) status = reply_heat(q, &heat, s->n_units, r, err);
    tt_space_heat_free(&heat);
    return status;
}

/* --- memory/residency --- */

static void put_samples(tt_json *j, const tt_model *m, const tt_space_residency *p)
{
    tt_json_key(j, "samples");
    tt_json_array(j);
    for (uint32_t i = 0; i < m->n_files && i < TT_SPACES_MAX; i++) {
        if (p->samples[i] == TT_NONE) continue;
        const tt_residency *s = &m->residencies[p->samples[i]];
        tt_json_object(j);
        tt_json_kv_u64(j, "file", i);
        tt_json_key(j, "token");
        if (s->batch == TT_NONE)
            tt_json_null(j);
        else
            tt_json_u64(j, tt_model_token(m, s->batch));
        tt_json_kv_string(j, "moment", tt_faults_moment(s->moment));
        tt_json_key(j, "begin_ns");
        tt_json_double(j, m->clock.known ? tt_model_ns(m, s->begin_ticks) : NAN);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

static void put_residency(tt_columns *c, const tt_space_residency *p, uint32_t n_units)
{
    size_t n = 0, at = 0;
    for (uint32_t i = 0; i < n_units; i++)
        n += p->units[i].observed_bytes > 0;
    uint32_t *units = tt_columns_add(c, "unit", TT_COLUMN_U32, n);
    for (uint32_t i = 0; units && i < n_units; i++)
        if (p->units[i].observed_bytes > 0) units[at++] = i;
    for (int column = 0; column < 2 && units; column++) {
        double *values =
            tt_columns_add(c, column ? "resident_bytes" : "observed_bytes", TT_COLUMN_F64, n);
        if (!values) return;
        at = 0;
        for (uint32_t i = 0; i < n_units; i++)
            if (p->units[i].observed_bytes > 0)
                values[at++] =
                    (double)(column ? p->units[i].resident_bytes : p->units[i].observed_bytes);
    }
}

tt_status tt_answer_memory_residency(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_space_residency found = {0};
    uint64_t token;
    tt_columns c;
    tt_space_moment moment = {.has_token = tt_request_text(q, "token_to"),
                              .has_ns = tt_request_text(q, "to_ns")};
    if (!tt_request_u64(q, "token_to", 0, UINT32_MAX, 0, &token, err) ||
        !tt_request_double(q, "to_ns", -1e18, 1e18, 0, &moment.ns, err))
        return TT_E_USAGE;
    moment.token = (uint32_t)token;
    tt_status status = tt_source_get(q, &spaces_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_spaces *s = made;
    status = tt_space_residency_find(q->m, s, &moment, &found, err);
    if (status == TT_OK) {
        if (tt_columns_begin(&c)) {
            put_samples(c.json, q->m, &found);
            put_residency(&c, &found, s->n_units);
        }
        status = tt_columns_end(&c, r, err);
    }
    tt_space_residency_free(&found);
    return status;
}

/* --- memory/faults --- */

enum fault_column { MAJOR, MINOR, DISK, OPS, FAULT_COLUMNS };

static double fault_value(const tt_faults_row *row, enum fault_column column)
{
    switch (column) {
    case MAJOR:
        return row->counts.observed ? (double)row->counts.major : NAN;
    case MINOR:
        return row->counts.observed ? (double)row->counts.minor : NAN;
    case DISK:
        return row->counts.observed_reads ? (double)row->counts.read_bytes : NAN;
    case OPS:
    case FAULT_COLUMNS:
        break;
    }
    return (double)row->count;
}

/* Rows of weights, in the order of the files. */
static void put_faults(tt_columns *c, const tt_faults_row *rows, size_t n_rows)
{
    static const char *const names[FAULT_COLUMNS] = {"major_faults", "minor_faults",
                                                     "disk_read_bytes", "ops"};
    size_t n = 0, at = 0;
    for (size_t i = 0; i < n_rows; i++)
        n += rows[i].weight != TT_NONE;
    for (int column = 0; column < FAULT_COLUMNS; column++) {
        double *values = tt_columns_add(c, names[column], TT_COLUMN_F64, n);
        if (!values) return;
        at = 0;
        for (size_t i = 0; i < n_rows; i++)
            if (rows[i].weight != TT_NONE)
                values[at++] = fault_value(&rows[i], (enum fault_column)column);
    }
    uint32_t *weights = tt_columns_add(c, "weight", TT_COLUMN_U32, n);
    at = 0;
    for (size_t i = 0; weights && i < n_rows; i++)
        if (rows[i].weight != TT_NONE) weights[at++] = rows[i].weight;
    uint8_t *shared = weights ? tt_columns_add(c, "shared", TT_COLUMN_U8, n) : NULL;
    at = 0;
    for (size_t i = 0; shared && i < n_rows; i++)
        if (rows[i].weight != TT_NONE) shared[at++] = rows[i].shared;
}

static tt_status reply_faults(const fault_rows *f, tt_reply *r, tt_error *err)
{
    tt_columns c;
    if (tt_columns_begin(&c)) put_faults(&c, f->rows, f->n);
    return tt_columns_end(&c, r, err);
}

tt_status tt_answer_memory_faults(tt_request *q, tt_reply *r, tt_error *err)
{
    tt_filter filter;
    tt_status status;
    if (!tt_request_filter(q, &filter, err)) return TT_E_USAGE;
    if (tt_request_is_unfiltered(q)) {
        const void *made;
        status = tt_source_get(q, &faults_memo, &made, err);
        return status == TT_OK ? reply_faults(made, r, err) : status;
    }
    fault_rows *f;
    status = sum_faults(q->m, &filter, tt_request_over(q), &f, err);
    if (status == TT_OK) status = reply_faults(f, r, err);
    drop_faults(f);
    return status;
}
