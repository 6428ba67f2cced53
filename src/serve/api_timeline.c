/* /api/v1/traces/ID/timeline: a picture of a window as a binary tile (docs/api-http.md draws it),
 * and timeline/overview: which tracks there are, and how busy the run was. */
#include "serve/endpoints.h"
#include "serve/timeline_memo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILE_VERSION 1u
#define BUCKETS_DEFAULT 1024u
#define LOAD_BUCKETS_MAX 4096u
/* Of a request, for the overview; the page asks again until it is done. */
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

static uint32_t token_of(const tt_model *m, uint32_t run)
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
    COLUMN(b, tt_bytes_u32, t->slices, n, token_of(m, x->run));
    COLUMN(b, tt_bytes_u32, t->slices, n, (uint32_t)x->layer_id);
    COLUMN(b, tt_bytes_u16, t->slices, n, x->track);
    COLUMN(b, tt_bytes_u8, t->slices, n, x->kind);
    COLUMN(b, tt_bytes_u8, t->slices, n, x->flags);
}

/* Six bytes: what share of the bucket ops of each category worked, in 255ths. */
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
    COLUMN(b, tt_bytes_u32, t->layers, n, token_of(m, x->run));
    COLUMN(b, tt_bytes_u32, t->layers, n, (uint32_t)x->first);
    COLUMN(b, tt_bytes_u32, t->layers, n, (uint32_t)x->last);
    COLUMN(b, tt_bytes_u32, t->layers, n, x->count);
    COLUMN(b, tt_bytes_u16, t->layers, n, x->row);
}

/* Where each text ends, counted from the first one's begin; then all of them. */
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
    uint64_t n_buckets, layer;
    size_t layers;
    tt_tile tile = {0};
    tt_tile_query query = {.tensor = tt_request_text(q, "tensor"),
                           .has_layer = tt_request_text(q, "layer") != NULL};
    tt_status status = tt_timeline_of_request(q, &t, err);
    if (status == TT_OK) status = tt_timeline_window(q, t, &query.from_ns, &query.to_ns, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "buckets", 1, TT_TILE_BUCKETS_MAX, BUCKETS_DEFAULT, &n_buckets, err) ||
        !tt_request_u64(q, "layer", 0, INT32_MAX, 0, &layer, err) ||
        !tt_request_choice(q, "layers", yes_no, 0, &layers, err))
        return TT_E_USAGE;
    query.n_buckets = (uint32_t)n_buckets;
    query.layer = (int32_t)layer;
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

static void put_load(tt_json *j, const char *key, const float *shares, uint64_t n)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (uint64_t i = 0; i < n; i++)
        shares[i] < 0 ? tt_json_null(j) : tt_json_double(j, round((double)shares[i] * 1e4) / 1e4);
    tt_json_array_end(j);
}

static void put_overview(tt_json *j, const tt_timeline *t, double from, double to)
{
    uint64_t done, total;
    double until;
    uint32_t lanes, tracks = tt_timeline_tracks(t, &lanes);
    tt_timeline_progress(t, &done, &total, &until);
    tt_json_kv_double(j, "from_ns", from);
    tt_json_kv_double(j, "to_ns", to);
    tt_json_kv_u64(j, "lanes", lanes);
    tt_json_kv_u64(j, "rows", tracks / lanes);
    tt_json_kv_double(j, "bucket_ns", tt_timeline_bucket_ns(t));
    tt_json_kv_u64(j, "runs_done", done);
    tt_json_kv_u64(j, "runs", total);
    tt_json_kv_u64(j, "left_out", tt_timeline_orphan(t));
}

tt_status tt_answer_timeline_overview(tt_request *q, tt_reply *r, tt_error *err)
{
    const tt_timeline *t;
    double from, to;
    uint64_t n;
    tt_status status = tt_timeline_of_request(q, &t, err);
    if (status == TT_OK) status = tt_timeline_window(q, t, &from, &to, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "buckets", 1, LOAD_BUCKETS_MAX, BUCKETS_DEFAULT, &n, err))
        return TT_E_USAGE;
    status = tt_timeline_advance(t, q->m, ADVANCE_NS, err);
    if (status != TT_OK) return status;
    float *shares = calloc((size_t)n * 2, sizeof *shares);
    tt_json *j = shares ? tt_reply_json(r) : NULL;
    if (!j) {
        free(shares);
        return tt_error_memory(err, "the picture");
    }
    status = tt_timeline_load(t, from, to, (uint32_t)n, shares, shares + n, err);
    if (status == TT_OK) {
        tt_json_object(j);
        put_overview(j, t, from, to);
        put_load(j, "busy_share", shares, n);
        put_load(j, "wait_share", shares + n, n);
        tt_json_object_end(j);
    }
    free(shares);
    return status;
}

/* --- aggregate --- */

static void put_sum(tt_json *j, const tt_timeline_sum *s)
{
    tt_json_kv_u64(j, "count", s->count);
    tt_json_kv_double(j, "busy_ns", s->busy_ns);
    tt_json_kv_double(j, "wait_ns", s->wait_ns);
    tt_json_kv_double(j, "weight_bytes", round(s->weight_bytes));
    tt_json_kv_bool(j, "weight_bytes_at_most", s->at_most);
}

static void put_sums(tt_json *j, const tt_timeline_sums *s)
{
    put_sum(j, &s->total);
    tt_json_key(j, "ops");
    tt_json_array(j);
    for (uint32_t i = 0; i < s->n; i++) {
        const tt_timeline_kind *kind = &s->kinds[s->list[i].kind];
        tt_json_object(j);
        tt_json_kv_string(j, "op", kind->op);
        tt_json_kv_string(j, "category", tt_timeline_category_name(kind->category));
        put_sum(j, &s->list[i]);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
}

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
    tt_json *j = status == TT_OK ? tt_reply_json(r) : NULL;
    if (status == TT_OK && !j) status = tt_error_memory(err, "the picture");
    if (j) {
        uint32_t n = 0, all = tt_timeline_tracks(t, NULL);
        for (uint32_t i = 0; i < all; i++)
            n += !tracks || tracks[i];
        tt_json_object(j);
        tt_json_kv_double(j, "from_ns", from);
        tt_json_kv_double(j, "to_ns", to);
        tt_json_kv_u64(j, "tracks", n);
        put_sums(j, &sums);
        tt_json_object_end(j);
    }
    tt_timeline_sums_free(&sums);
    free(tracks);
    return status;
}
