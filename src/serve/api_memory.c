/* /api/v1/traces/ID/memory and below it: the memory map, and figures of its units in a part of the
 * trace. */
#include "serve/endpoints.h"

#include "analyze/faults.h"
#include "analyze/memory/columns.h"
#include "analyze/memory/layout.h"
#include "answer/faults.h"
#include "model/faults.h"
#include "serve/columns.h"
#include "serve/request.h"
#include "serve/source.h"

#include <stdlib.h>

/* --- computed once per trace --- */

static tt_status make_layout(tt_model *m, void **out, tt_error *err)
{
    tt_memory_layout *s;
    tt_status status = tt_memory_layout_make(m, &s, err);
    *out = s;
    return status;
}

static void drop_layout(void *made)
{
    tt_memory_layout_free(made);
}

static const tt_source_memo layout_memo = {make_layout, drop_layout};

typedef struct whole {
    tt_memory_layout *layout;
    tt_memory_heat heat;
} whole;

static void release_whole(whole *w)
{
    tt_memory_heat_free(&w->heat);
    tt_memory_layout_free(w->layout);
}

static tt_status find_whole(whole *w, tt_model *m, tt_error *err)
{
    const tt_filter all = {0};
    tt_status status = tt_memory_layout_make(m, &w->layout, err);
    if (status == TT_OK) status = tt_memory_heat_measure(m, w->layout, &all, NULL, &w->heat, err);
    return status;
}

TT_SOURCE_MEMO(whole_memo, whole, "the heat", find_whole, release_whole)

/* Rows of tensors, sorted in advance: readers change nothing. */
typedef struct fault_rows {
    tt_faults *sums;
    const tt_faults_row *rows;
    size_t n;
} fault_rows;

static void release_faults(fault_rows *f)
{
    tt_faults_free(f->sums);
}

static tt_status sum_faults(fault_rows *f, tt_model *m, const tt_filter *filter, tt_over over,
                            tt_error *err)
{
    f->sums = tt_faults_new(m, TT_FAULTS_BY_EXPERT, filter);
    if (!f->sums) return tt_error_memory(err, "the faults");
    tt_faults_until(f->sums, over);
    tt_status status = tt_faults_sum(f->sums, NULL, NULL, err);
    if (status == TT_OK) f->rows = tt_faults_rows(f->sums, &f->n);
    return status;
}

static tt_status find_faults(fault_rows *f, tt_model *m, tt_error *err)
{
    const tt_filter all = {0};
    return sum_faults(f, m, &all, (tt_over){0}, err);
}

TT_SOURCE_MEMO(faults_memo, fault_rows, "the faults", find_faults, release_faults)

/* --- memory, memory/region --- */

/* Whether there are residency samples before the first batch. */
static bool has_loading(const tt_model *m)
{
    bool found = false;
    for (uint32_t i = 0; i < m->n_residencies && !found; i++) {
        const uint8_t moment = m->residencies[i].moment;
        found = moment == TT_AT_BEGIN || moment == TT_AT_MAP_BEGIN || moment == TT_AT_MAP_END ||
                moment == TT_AT_FIRST_BATCH;
    }
    return found;
}

tt_status tt_answer_memory(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *layout;
    tt_status status = tt_source_get(q, &layout_memo, &layout, err);
    if (status != TT_OK) return status;
    const tt_memory_observed observed = {
        .experts = tt_details_has(q->m->details, TT_DETAIL_EXPERTS),
        .faults = tt_model_has_faults(q->m),
        .residency = q->m->n_residencies > 0,
        .pages = q->m->n_fault_spans > 0,
        .loading = has_loading(q->m),
    };
    tt_memory_json(tt_reply_json(r), q->m, layout, &observed);
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
    tt_status status = tt_source_get(q, &layout_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_memory_layout *s = made;
    if (region >= s->n_regions)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "there are only %u regions",
                            s->n_regions);
    tt_memory_region_json(tt_reply_json(r), q->m, s, (uint32_t)region);
    return TT_OK;
}

/* --- memory/heat --- */

/* Context of the units' columns. */
typedef struct units {
    const tt_model *m;
    const void *first; /* the first row */
} units;

static void set_token(tt_cell *cell, const void *context, uint32_t batch)
{
    cell->known = batch != TT_NONE;
    if (cell->known) cell->u64 = tt_model_batch_number(((const units *)context)->m, batch);
}

static void set_moment(tt_cell *cell, const tt_model *m, uint64_t ticks)
{
    cell->known = m->clock.known;
    cell->f64 = tt_model_ns(m, ticks);
}

TT_COLUMN_KNOWN(was_used, tt_unit_use, u, u->accesses > 0)

TT_COLUMN_VALUE(get_unit, tt_unit_use, u, u64,
                (uint64_t)(u - (const tt_unit_use *)((const units *)context)->first))
TT_COLUMN_GET(get_time, tt_unit_use, u, const tt_model *m = ((const units *)context)->m;
              cell->f64 = tt_model_span_ns(m, u->ticks); cell->known = u->timed && m->clock.known;)
TT_COLUMN_GET(get_first, tt_unit_use, u,
              set_moment(cell, ((const units *)context)->m, u->first_ticks);)
TT_COLUMN_GET(get_last, tt_unit_use, u,
              set_moment(cell, ((const units *)context)->m, u->last_ticks);)
TT_COLUMN_GET(get_first_token, tt_unit_use, u, set_token(cell, context, u->first_batch);)
TT_COLUMN_GET(get_last_token, tt_unit_use, u, set_token(cell, context, u->last_batch);)

static const tt_column heat_columns[] = {
    TT_COLUMN("unit", NULL, ID, "", .type = TT_CELL_U32, .get = get_unit),
    TT_COLUMN("accesses", NULL, COUNT, "ops that read or wrote some of it",
              TT_MEMBER(tt_unit_use, accesses)),
    TT_COLUMN("read_bytes", NULL, BYTES, "over all ops", TT_MEMBER(tt_unit_use, read_bytes)),
    TT_COLUMN("written_bytes", NULL, BYTES, "over all ops", TT_MEMBER(tt_unit_use, written_bytes)),
    TT_COLUMN("touched_bytes", NULL, BYTES, "distinct ones", TT_MEMBER(tt_unit_use, touched_bytes)),
    TT_COLUMN("time_ns", NULL, NS, "of these ops", .type = TT_CELL_F64, .get = get_time),
    TT_COLUMN("first_relative_ns", NULL, MOMENT, "begin of the first", .type = TT_CELL_F64,
              .get = get_first),
    TT_COLUMN("last_relative_ns", NULL, MOMENT, "the last", .type = TT_CELL_F64, .get = get_last),
    TT_COLUMN("first_batch_id", NULL, ID, "", .type = TT_CELL_U32, .get = get_first_token),
    TT_COLUMN("last_batch_id", NULL, ID, "", .type = TT_CELL_U32, .get = get_last_token),
    TT_COLUMN("at_most", NULL, NONE, "read_bytes and written_bytes are upper bounds",
              TT_MEMBER(tt_unit_use, at_most)),
    TT_COLUMN("touched_bytes_at_most", NULL, NONE, "touched_bytes is one",
              TT_MEMBER(tt_unit_use, touched_at_most)),
};

static const tt_schema heat_schema = TT_SCHEMA("heat", "how a unit was used", heat_columns);

/* Used units, by ascending number. */
static tt_status reply_heat(const tt_request *q, const tt_memory_heat *h, uint32_t n_units,
                            tt_reply *r, tt_error *err)
{
    static const tt_column ops =
        TT_FIELD("ops", "that were looked at", TT_MEMBER(tt_memory_heat, ops));
    static const tt_schema head = {"heat", "of all units", &ops, 1};
    const units x = {q->m, h->units};
    const tt_rowset set = TT_ROWSET(&heat_schema, 0, &x, h->units, n_units);
    const tt_listing_wish used = {.passes = was_used};
    tt_columns c;
    tt_columns_begin(&c, &TT_ROWSET(&head, 0, NULL, h, 1));
    tt_columns_add_rows(&c, &set, &used);
    return tt_columns_end(&c, r, err);
}

tt_status tt_answer_memory_heat(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_filter filter;
    tt_memory_heat heat = {0};
    tt_status status;
    const tt_over over = tt_request_over(q);
    if (!tt_request_filter(q, &filter, err)) return TT_E_USAGE;
    if (tt_request_is_unfiltered(q)) {
        status = tt_source_get(q, &whole_memo, &made, err);
        if (status != TT_OK) return status;
        const whole *w = made;
        return reply_heat(q, &w->heat, w->layout->n_units, r, err);
    }
    status = tt_source_get(q, &layout_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_memory_layout *s = made;
    status = tt_memory_heat_measure(q->m, s, &filter, &over, &heat, err);
    if (status == TT_OK) status = reply_heat(q, &heat, s->n_units, r, err);
    tt_memory_heat_free(&heat);
    return status;
}

/* --- memory/residency --- */

/* The sample of a file at that time: its index in tt_model.residencies; TT_NONE: none. The context
 * is a units with `first`, the samples of all files. */
static const tt_residency *sample_of(const void *context, const uint32_t *sample)
{
    return &((const units *)context)->m->residencies[*sample];
}

TT_COLUMN_KNOWN(was_sampled, uint32_t, s, *s != TT_NONE)
TT_COLUMN_VALUE(get_file, uint32_t, s, u64,
                (uint64_t)(s - (const uint32_t *)((const units *)context)->first))
TT_COLUMN_GET(get_batch, uint32_t, s, set_token(cell, context, sample_of(context, s)->batch);)
TT_COLUMN_GET(get_moment, uint32_t, s,
              tt_cell_text(cell, tt_residency_moment(sample_of(context, s)->moment));)
TT_COLUMN_GET(get_start, uint32_t, s,
              set_moment(cell, ((const units *)context)->m, sample_of(context, s)->begin_ticks);)

static const tt_column sample_columns[] = {
    TT_FIELD("model_file_id", "its index", .type = TT_CELL_U64, .get = get_file),
    TT_FIELD("batch_id", "", .type = TT_CELL_U64, .get = get_batch),
    TT_FIELD("moment", "when", .type = TT_CELL_NAME, .get = get_moment),
    TT_FIELD("start_relative_ns", "", .type = TT_CELL_F64, .get = get_start),
};
static const tt_schema sample_schema = TT_SCHEMA("samples", "of a file", sample_columns);

static void samples(const void *context, const void *row, tt_rowset *out)
{
    const tt_memory_residency *p = row;
    const uint32_t n = ((const units *)context)->m->n_files;
    *out = TT_ROWSET(&sample_schema, 0, context, p->samples,
                     n < TT_MEMORY_SEGMENTS_MAX ? n : TT_MEMORY_SEGMENTS_MAX);
    out->passes = was_sampled;
}

TT_COLUMN_KNOWN(was_observed, tt_unit_residency, u, u->observed_bytes > 0)
TT_COLUMN_VALUE(get_resident_unit, tt_unit_residency, u, u64,
                (uint64_t)(u - (const tt_unit_residency *)((const units *)context)->first))

static const tt_column residency_columns[] = {
    TT_COLUMN("unit", NULL, ID, "", .type = TT_CELL_U32, .get = get_resident_unit),
    TT_COLUMN("observed_bytes", NULL, BYTES, "pages that were looked at",
              TT_MEMBER(tt_unit_residency, observed_bytes)),
    TT_COLUMN("resident_bytes", NULL, BYTES, "of these, in RAM",
              TT_MEMBER(tt_unit_residency, resident_bytes)),
};

static const tt_schema residency_schema =
    TT_SCHEMA("residency", "a unit's pages", residency_columns);

static tt_status reply_residency(const tt_request *q, const tt_memory_residency *found,
                                 uint32_t n_units, tt_reply *r, tt_error *err)
{
    static const tt_column list =
        TT_FIELD("samples", "of the files", .type = TT_CELL_ROWS, .rows = samples);
    static const tt_schema head = {"residency", "of all units", &list, 1};
    const units x = {q->m, found->units}, of_files = {q->m, found->samples};
    const tt_rowset set = TT_ROWSET(&residency_schema, 0, &x, found->units, n_units);
    const tt_listing_wish observed = {.passes = was_observed};
    tt_columns c;
    tt_columns_begin(&c, &TT_ROWSET(&head, 0, &of_files, found, 1));
    tt_columns_add_rows(&c, &set, &observed);
    return tt_columns_end(&c, r, err);
}

tt_status tt_answer_memory_residency(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_memory_residency found = {0};
    uint64_t token;
    tt_memory_moment moment = {.has_batch = tt_request_text(q, "batch_to"),
                               .has_ns = tt_request_text(q, "to_ns")};
    if (!tt_request_u64(q, "batch_to", 0, UINT32_MAX, 0, &token, err) ||
        !tt_request_double(q, "to_ns", -1e18, 1e18, 0, &moment.ns, err))
        return TT_E_USAGE;
    moment.token = (uint32_t)token;
    tt_status status = tt_source_get(q, &layout_memo, &made, err);
    if (status != TT_OK) return status;
    const tt_memory_layout *s = made;
    status = tt_memory_residency_find(q->m, s, &moment, &found, err);
    if (status == TT_OK) status = reply_residency(q, &found, s->n_units, r, err);
    tt_memory_residency_free(&found);
    return status;
}

/* --- memory/faults --- */

TT_COLUMN_KNOWN(is_weight, tt_faults_row, f, f->weight != TT_NONE)

TT_COLUMN_GET(get_fault_expert, tt_faults_row, f, cell->known = f->number >= 0;
              if (cell->known) cell->u64 = (uint64_t)f->number;)

/* Rows of weights and of their experts, in file order. */
static tt_status reply_faults(const tt_model *m, const fault_rows *f, tt_reply *r, tt_error *err)
{
    static const tt_column columns[] = {
        TT_COLUMN("weight", NULL, ID, "row of tensors", TT_MEMBER(tt_faults_row, weight)),
        TT_FIELD("expert", "", .type = TT_CELL_U32, .get = get_fault_expert)};
    static const tt_schema names = TT_SCHEMA("weights", "of the rows", columns);
    const tt_faults_context x = {.m = m, .by = TT_FAULTS_BY_EXPERT};
    const tt_rowset set = tt_faults_rowset(&x, x.by, f->rows, f->n);
    const tt_rowset weights = TT_ROWSET(&names, 0, NULL, f->rows, f->n);
    const tt_listing_wish counts = {.columns = "major_faults,minor_faults,read_bytes,count,shared",
                                    .passes = is_weight},
                          all = {.passes = is_weight};
    tt_columns c;
    tt_columns_begin(&c, NULL);
    tt_columns_add_rows(&c, &set, &counts);
    tt_columns_add_rows(&c, &weights, &all);
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
        return status == TT_OK ? reply_faults(q->m, made, r, err) : status;
    }
    fault_rows f = {0};
    status = sum_faults(&f, q->m, &filter, tt_request_over(q), err);
    if (status == TT_OK) status = reply_faults(q->m, &f, r, err);
    release_faults(&f);
    return status;
}
