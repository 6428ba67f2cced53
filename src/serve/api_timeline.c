/* /api/v1/traces/ID/timeline: a time range as a binary tile (format: docs/api-http.md), and
 * timeline/overview: the tracks, and the load of the run. */
#include "serve/endpoints.h"
#include "serve/timeline_memo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE_VERSION 1u
#define BUCKETS_DEFAULT 1024u
#define LOAD_BUCKETS_MAX 4096u
/* Per request for the overview; the page repeats it until it is done. */
#define ADVANCE_NS 250000000u

enum { FLAG_OVERVIEW = 1, FLAG_MARKS = 2 };

/* --- columns --- */

static void put_f64(tt_bytes *b, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    tt_bytes_u64(b, bits);
}

/* A column begins at a multiple of 8. */
static void pad(tt_bytes *b)
{
    while (b->size % 8 && !b->failed)
        tt_bytes_u8(b, 0);
}

/* One column: `n` values of list[i].FIELD. */
#define COLUMN(b, put, list, n, expression)                                                        \
    do {                                                                                           \
        for (uint32_t i = 0; i < (n); i++) {                                                       \
            const __typeof__(*(list)) *x = &(list)[i];                                             \
            put((b), (expression));                                                                \
        }                                                                                          \
        pad(b);                                                                                    \
    } while (0)

static uint32_t batch_of(const tt_model *m, uint32_t run)
{
    const uint32_t batch = m->runs[run].batch;
    return batch == TT_NONE ? TT_NONE : tt_model_batch_number(m, batch);
}

static void put_slices(tt_bytes *b, const tt_model *m, const tt_tile *t)
{
    const uint32_t n = t->n_slices;
    COLUMN(b, put_f64, t->slices, n, x->start_ns);
    COLUMN(b, put_f64, t->slices, n, x->busy_ns);
    COLUMN(b, put_f64, t->slices, n, x->wait_ns);
    COLUMN(b, tt_bytes_u32, t->slices, n, x->run);
    COLUMN(b, tt_bytes_u32, t->slices, n, x->node);
    COLUMN(b, tt_bytes_u32, t->slices, n, x->name);
    COLUMN(b, tt_bytes_u32, t->slices, n, x->weight);
    COLUMN(b, tt_bytes_u32, t->slices, n, batch_of(m, x->run));
    COLUMN(b, tt_bytes_u32, t->slices, n, (uint32_t)x->layer_id);
    COLUMN(b, tt_bytes_u16, t->slices, n, x->track);
    COLUMN(b, tt_bytes_u8, t->slices, n, x->kind);
    COLUMN(b, tt_bytes_u8, t->slices, n, x->flags);
}

/* Six bytes: shares of the bucket in which ops of each category worked, in 255ths. */
static void put_shares_of(tt_bytes *b, const tt_tile_merged *x, double bucket_ns)
{
    for (uint32_t k = 0; k < TT_TIMELINE_CATEGORIES; k++)
        tt_bytes_u8(b, (uint8_t)fmin(255, round(255 * (double)x->category_ns[k] / bucket_ns)));
}

static void put_merged(tt_bytes *b, const tt_tile *t)
{
    const uint32_t n = t->n_merged;
    const double bucket_ns = (t->to_ns - t->from_ns) / t->n_buckets;
    COLUMN(b, put_f64, t->merged, n, x->busy_ns);
    COLUMN(b, put_f64, t->merged, n, x->wait_ns);
    COLUMN(b, tt_bytes_u32, t->merged, n, x->bucket);
    COLUMN(b, tt_bytes_u32, t->merged, n, x->count);
    COLUMN(b, tt_bytes_u32, t->merged, n, x->marked);
    COLUMN(b, tt_bytes_u16, t->merged, n, x->track);
    COLUMN(b, tt_bytes_u8, t->merged, n, x->kind);
    for (uint32_t i = 0; i < n; i++)
        put_shares_of(b, &t->merged[i], bucket_ns);
    pad(b);
}

static void put_layers(tt_bytes *b, const tt_model *m, const tt_tile *t)
{
    const uint32_t n = t->n_layers;
    COLUMN(b, put_f64, t->layers, n, x->start_ns);
    COLUMN(b, put_f64, t->layers, n, x->end_ns);
    COLUMN(b, tt_bytes_u32, t->layers, n, batch_of(m, x->run));
    COLUMN(b, tt_bytes_u32, t->layers, n, (uint32_t)x->first);
    COLUMN(b, tt_bytes_u32, t->layers, n, (uint32_t)x->last);
    COLUMN(b, tt_bytes_u32, t->layers, n, x->count);
    COLUMN(b, tt_bytes_u16, t->layers, n, x->row);
}

/* The end of each text, from the start of the first; then the texts. */
static void put_texts(tt_bytes *b, const tt_tile *t)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < t->n_kinds; i++)
        tt_bytes_u32(b, at += (uint32_t)strlen(t->kinds[i].op));
    pad(b);
    COLUMN(b, tt_bytes_u8, t->kinds, t->n_kinds, x->category);
    for (uint32_t i = 0; i < t->n_names; i++)
        tt_bytes_u32(b, at += (uint32_t)strlen(t->names[i]));
    pad(b);
    for (uint32_t i = 0; i < t->n_kinds; i++)
        tt_bytes_put(b, t->kinds[i].op, strlen(t->kinds[i].op));
    for (uint32_t i = 0; i < t->n_names; i++)
        tt_bytes_put(b, t->names[i], strlen(t->names[i]));
}

static void put_tile(tt_bytes *b, const tt_model *m, const tt_tile *t)
{
    tt_bytes_put(b, "TTTL", 4);
    tt_bytes_u32(b, TILE_VERSION);
    put_f64(b, t->from_ns);
    put_f64(b, t->to_ns);
    put_f64(b, t->until_ns);
    put_f64(b, (double)t->orphan);
    tt_bytes_u32(b, t->n_buckets);
    tt_bytes_u32(b, t->n_slices);
    tt_bytes_u32(b, t->n_merged);
    tt_bytes_u32(b, t->n_layers);
    tt_bytes_u32(b, t->n_kinds);
    tt_bytes_u32(b, t->n_names);
    tt_bytes_u32(b, (t->from_overview ? FLAG_OVERVIEW : 0u) | (t->marks_known ? FLAG_MARKS : 0u));
    pad(b);
    put_slices(b, m, t);
    put_merged(b, t);
    put_layers(b, m, t);
    put_texts(b, t);
}

tt_status tt_answer_timeline(tt_request *q, tt_reply *r, tt_error *err)
{
    static const char *const yes_no[] = {"0", "1", NULL};
    const tt_timeline *t;
    uint8_t *tracks = NULL;
    uint64_t n_buckets;
    size_t layers;
    tt_tile tile = {0};
    tt_tile_query query = {.tensor = tt_request_text(q, "tensor")};
    tt_status status = tt_timeline_of_request(q, &t, err);
    if (status == TT_OK) status = tt_timeline_window(q, t, &query.from_ns, &query.to_ns, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "buckets", 1, TT_TILE_BUCKETS_MAX, BUCKETS_DEFAULT, &n_buckets, err) ||
        !tt_request_layer(q, &query.has_layer, &query.layer, err) ||
        !tt_request_choice(q, "layers", yes_no, 0, &layers, err))
        return TT_E_USAGE;
    query.n_buckets = (uint32_t)n_buckets;
    query.layers = layers == 1;
    status = tt_timeline_tracks_param(q, t, &tracks, err);
    query.tracks = tracks;
    if (status == TT_OK && tt_tile_from_overview(t, q->m, &query))
        status = tt_timeline_advance(t, q->m, ADVANCE_NS, err);
    if (status == TT_OK) status = tt_tile_make(t, q->m, &query, &tile, err);
    tt_bytes *b = status == TT_OK ? tt_reply_binary(r) : NULL;
    if (status == TT_OK && !b) status = tt_error_memory(err, "the picture");
    if (b) put_tile(b, q->m, &tile);
    tt_tile_free(&tile);
    free(tracks);
    return status;
}

/* --- overview --- */

typedef struct overview_row {
    double from, to, bucket_ns, until;
    uint64_t done, total, left_out, n;
    uint32_t lanes, rows;
    float *busy, *wait; /* shares; below 0: not known */
} overview_row;

static void put_load(tt_json *j, const float *shares, uint64_t n)
{
    tt_json_array(j);
    for (uint64_t i = 0; i < n; i++)
        shares[i] < 0 ? tt_json_null(j) : tt_json_double(j, round((double)shares[i] * 1e4) / 1e4);
    tt_json_array_end(j);
}
TT_COLUMN_JSON(json_busy, overview_row, r, put_load(j, r->busy, r->n);)
TT_COLUMN_JSON(json_wait, overview_row, r, put_load(j, r->wait, r->n);)

static const tt_column overview_columns[] = {
    TT_FIELD("from_ns", "begin", TT_MEMBER(overview_row, from)),
    TT_FIELD("to_ns", "end", TT_MEMBER(overview_row, to)),
    TT_FIELD("lanes", "of a row", TT_MEMBER(overview_row, lanes)),
    TT_FIELD("rows", "of tracks", TT_MEMBER(overview_row, rows)),
    TT_FIELD("bucket_ns", "of the overview", TT_MEMBER(overview_row, bucket_ns)),
    TT_FIELD("runs_done", "in the overview", TT_MEMBER(overview_row, done)),
    TT_FIELD("runs", "all of them", TT_MEMBER(overview_row, total)),
    TT_FIELD("left_out", "ops that cannot be shown", TT_MEMBER(overview_row, left_out)),
    TT_FIELD("busy_share", "over time", .type = TT_CELL_ROWS, .json = json_busy),
    TT_FIELD("wait_share", "over time", .type = TT_CELL_ROWS, .json = json_wait),
};
static const tt_schema overview_schema = TT_SCHEMA("overview", "the tracks", overview_columns);

tt_status tt_answer_timeline_overview(tt_request *q, tt_reply *r, tt_error *err)
{
    const tt_timeline *t;
    overview_row row;
    tt_status status = tt_timeline_of_request(q, &t, err);
    if (status == TT_OK) status = tt_timeline_window(q, t, &row.from, &row.to, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "buckets", 1, LOAD_BUCKETS_MAX, BUCKETS_DEFAULT, &row.n, err))
        return TT_E_USAGE;
    status = tt_timeline_advance(t, q->m, ADVANCE_NS, err);
    if (status != TT_OK) return status;
    row.busy = calloc((size_t)row.n * 2, sizeof *row.busy);
    if (!row.busy) return tt_error_memory(err, "the picture");
    row.wait = row.busy + row.n;
    status = tt_timeline_load(t, row.from, row.to, (uint32_t)row.n, row.busy, row.wait, err);
    if (status == TT_OK) {
        row.rows = tt_timeline_tracks(t, &row.lanes);
        row.rows /= row.lanes;
        row.bucket_ns = tt_timeline_bucket_ns(t);
        row.left_out = tt_timeline_orphan(t);
        tt_timeline_progress(t, &row.done, &row.total, &row.until);
        status = tt_reply_row(r, &overview_schema, NULL, &row);
    }
    free(row.busy);
    return status;
}

/* --- aggregate --- */

TT_COLUMN_VALUE(get_bytes, tt_timeline_sum, s, f64, round(s->weight_bytes))
TT_COLUMN_GET(get_op, tt_timeline_sum, s,
              tt_cell_text(cell, ((const tt_timeline_sums *)context)->kinds[s->kind].op);)
TT_COLUMN_GET(get_category, tt_timeline_sum, s, {
    const tt_timeline_sums *sums = context;
    tt_cell_text(cell, tt_timeline_category_name(sums->kinds[s->kind].category));
})

static const tt_column sum_columns[] = {
    TT_FIELD("op", "", .type = TT_CELL_NAME, .get = get_op, .show = TT_SHOW_ROW),
    TT_FIELD("category", "", .type = TT_CELL_NAME, .get = get_category, .show = TT_SHOW_ROW),
    TT_FIELD("count", "ops", TT_MEMBER(tt_timeline_sum, count)),
    TT_FIELD("busy_ns", "of these", TT_MEMBER(tt_timeline_sum, busy_ns)),
    TT_FIELD("wait_ns", "behind these", TT_MEMBER(tt_timeline_sum, wait_ns)),
    TT_FIELD("weight_bytes", "that they read", .type = TT_CELL_F64, .get = get_bytes),
    TT_FIELD("weight_bytes_at_most", "an upper bound", TT_MEMBER(tt_timeline_sum, at_most)),
};
static const tt_schema sum_schema = TT_SCHEMA("ops", "ops of a kind", sum_columns);

tt_status tt_answer_timeline_aggregate(tt_request *q, tt_reply *r, tt_error *err)
{
    const tt_timeline *t;
    double from, to;
    uint8_t *tracks = NULL;
    tt_timeline_sums sums = {0};
    const tt_over over = tt_request_over(q);
    tt_status status = tt_timeline_of_request(q, &t, err);
    if (status == TT_OK) status = tt_timeline_window(q, t, &from, &to, err);
    if (status == TT_OK) status = tt_timeline_tracks_param(q, t, &tracks, err);
    if (status != TT_OK) return status;
    status = tt_timeline_aggregate(t, q->m, from, to, tracks, &over, &sums, err);
    if (status == TT_OK) {
        tt_rowset total = TT_ROWSET(&sum_schema, 0, &sums, &sums.total, 1);
        tt_json *j = tt_reply_json(r);
        uint32_t n = 0, all = tt_timeline_tracks(t, NULL);
        for (uint32_t i = 0; i < all; i++)
            n += !tracks || tracks[i];
        tt_json_object(j);
        tt_json_kv_double(j, "from_ns", from);
        tt_json_kv_double(j, "to_ns", to);
        tt_json_kv_u64(j, "tracks", n);
        total.sum = true;
        tt_rowset_json(j, &total, &sums.total);
        tt_rowset_json_rows(j, "ops", &TT_ROWSET(&sum_schema, 0, &sums, sums.list, sums.n), NULL);
        tt_json_object_end(j);
    }
    tt_timeline_sums_free(&sums);
    free(tracks);
    return status;
}
