/* /api/v1/traces/ID/pool and below it: what `tensortrace boost` held and read, by batch, over time
 * and by read, and the ops that waited for it. */
#include "serve/api_pool.h"

#include "analyze/pool_lanes.h"
#include "analyze/pool_sums.h"
#include "serve/columns.h"
#include "serve/endpoints.h"
#include "serve/source.h"
#include "serve/timeline_memo.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_USUAL 200u
#define ROWS_MAX 10000u
#define BUCKETS_DEFAULT 512u
#define READS_USUAL 4096u
#define READS_MAX 65536u
#define WAIT_CELLS_MAX (1u << 18) /* per request: tracks x buckets */
#define OP_READS_MAX 100u

/* --- computed once per trace --- */

typedef struct known_pool {
    tt_pool_report report;
    tt_pool_time time;
    bool timed;
} known_pool;

static void release_pool(known_pool *p)
{
    tt_pool_free(&p->report);
    tt_pool_time_free(&p->time);
}

static tt_status find_pool(known_pool *p, tt_model *m, tt_error *err)
{
    p->timed = m->clock.known;
    tt_status status = tt_pool_find(&p->report, m, err);
    if (status == TT_OK && p->timed) status = tt_pool_time_find(&p->time, m, err);
    return status;
}

TT_SOURCE_MEMO(pool_memo, known_pool, "what boost did", find_pool, release_pool)
TT_SOURCE_MEMO(lanes_memo, tt_pool_lanes, "the waits", tt_pool_lanes_find, tt_pool_lanes_free)

static bool is_observed(const tt_model *m)
{
    return m->n_pool_states > 0;
}

/* --- pool --- */

tt_status tt_answer_pool(tt_request *q, tt_reply *r, tt_error *err)
{
    const void *made;
    tt_filter filter;
    tt_pool_sums sums;
    uint64_t limit;
    if (!tt_request_filter(q, &filter, err) ||
        !tt_request_u64(q, "limit", 0, ROWS_MAX, ROWS_USUAL, &limit, err))
        return TT_E_USAGE;
    tt_status status = tt_source_get(q, &pool_memo, &made, err);
    if (status != TT_OK) return status;
    const known_pool *p = made;
    status = tt_pool_sums_make(&sums, &p->report, p->timed ? &p->time : NULL, &filter, err);
    if (status == TT_OK) {
        tt_json *j = tt_reply_json(r);
        tt_json_object(j);
        tt_json_kv_bool(j, "observed", is_observed(q->m));
        tt_rowset_json(j, &TT_ROWSET(&tt_pool_sums_schema, 0, &p->report, &sums, 1), &sums);
        tt_json_kv_double_or_null(j, "reading_ns", p->timed, p->time.reading_ns);
        tt_json_kv_u64(j, "n", sums.n);
        tt_rowset_json_rows(j, "rows",
                            &TT_ROWSET(&tt_pool_schema, 0, &p->report, sums.rows,
                                       sums.n < limit ? sums.n : (size_t)limit),
                            NULL);
        tt_json_object_end(j);
    }
    tt_pool_sums_free(&sums);
    return status;
}

/* --- over time --- */

/* The time range, and the state of the pool. */
static tt_status take_window(tt_request *q, const known_pool **p, double *from, double *to,
                             tt_error *err)
{
    const tt_timeline *t;
    const void *made = NULL;
    tt_status status = tt_timeline_of_request(q, &t, err);
    if (status == TT_OK) status = tt_timeline_window(q, t, from, to, err);
    if (status == TT_OK) status = tt_source_get(q, &pool_memo, &made, err);
    *p = made;
    return status;
}

/* Common members of the replies' headers; `cut`: some waits are not known. */
typedef struct window {
    bool observed, cut;
    double from, to;
    uint64_t n, buckets, slots;
} window;

enum { OF_BINS = 1, OF_READS = 2, OF_WAITS = 4 };

static const tt_column window_columns[] = {
    TT_FIELD("observed", "there was a pool", TT_MEMBER(window, observed)),
    TT_FIELD("from_ns", "begin", TT_MEMBER(window, from)),
    TT_FIELD("to_ns", "end", TT_MEMBER(window, to)),
    TT_FIELD("buckets", "of the window", TT_MEMBER(window, buckets), .kinds = OF_BINS | OF_WAITS),
    TT_FIELD("n", "in the window", TT_MEMBER(window, n), .kinds = OF_READS | OF_WAITS),
    TT_FIELD("slots", "for reads at a time", TT_MEMBER(window, slots), .kinds = OF_READS),
    TT_FIELD("cut", "there are more", TT_MEMBER(window, cut), .kinds = OF_WAITS),
};
static const tt_schema window_schema = TT_SCHEMA("window", "a part of the time", window_columns);

static const tt_column bin_columns[] = {
    TT_COLUMN("present_bytes", NULL, BYTES, "", TT_MEMBER(tt_pool_bin, present_bytes)),
    TT_COLUMN("budget_bytes", NULL, BYTES, "", TT_MEMBER(tt_pool_bin, budget_bytes)),
#define OF_CAUSE(name, member, cause)                                                              \
    TT_COLUMN(name, NULL, NONE, "", TT_MEMBER(tt_pool_bin, member[cause]))
    OF_CAUSE("kept_bytes", read_bytes, TT_READ_KEPT),
    OF_CAUSE("ahead_bytes", read_bytes, TT_READ_AHEAD),
    OF_CAUSE("chosen_bytes", read_bytes, TT_READ_CHOSEN),
    OF_CAUSE("at_op_bytes", read_bytes, TT_READ_AT_OP),
    OF_CAUSE("kept_pause_ns", pause_ns, TT_READ_KEPT),
    OF_CAUSE("ahead_pause_ns", pause_ns, TT_READ_AHEAD),
    OF_CAUSE("chosen_pause_ns", pause_ns, TT_READ_CHOSEN),
    OF_CAUSE("at_op_pause_ns", pause_ns, TT_READ_AT_OP),
#undef OF_CAUSE
};
static const tt_schema bin_schema = TT_SCHEMA("pool_bins", "a stretch of time", bin_columns);

tt_status tt_answer_pool_bins(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_listing_wish all;
    const known_pool *p;
    double from, to;
    uint64_t n;
    tt_columns c;
    tt_status status = take_window(q, &p, &from, &to, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "buckets", 1, TT_POOL_BUCKETS_MAX, BUCKETS_DEFAULT, &n, err))
        return TT_E_USAGE;
    tt_pool_bin *bins = calloc((size_t)n, sizeof *bins);
    status = bins ? tt_pool_time_bins(&p->time, from, to, (uint32_t)n, bins, err)
                  : tt_error_memory(err, "the bins");
    if (status == TT_OK) {
        const window head = {.observed = is_observed(q->m), .from = from, .to = to, .buckets = n};
        tt_columns_begin(&c, &TT_ROWSET(&window_schema, OF_BINS, NULL, &head, 1));
        tt_columns_add_rows(&c, &TT_ROWSET(&bin_schema, 0, NULL, bins, (size_t)n), &all);
        status = tt_columns_end(&c, r, err);
    }
    free(bins);
    return status;
}

/* --- single reads --- */

/* A read with further figures for drawing; as a read it is a row of tt_pool_reads_schema. */
typedef struct shown_read {
    tt_pool_read at;
    uint32_t number, weight;
    uint8_t slot;
} shown_read;

static const tt_column shown_columns[] = {
    TT_COLUMN("read", NULL, ID, "", TT_MEMBER(shown_read, number)),
    TT_COLUMN("cause", NULL, ID, "", TT_MEMBER(shown_read, at.cause)),
    TT_COLUMN("slot", NULL, ID, "", TT_MEMBER(shown_read, slot)),
    TT_COLUMN("model_file_id", NULL, ID, "", TT_MEMBER(shown_read, at.file)),
    TT_COLUMN("weight", NULL, ID, "", TT_MEMBER(shown_read, weight)),
};
static const tt_schema shown_schema = TT_SCHEMA("shown_reads", "a read", shown_columns);

static shown_read show(const known_pool *p, const tt_pool_span *s)
{
    const tt_pool_read *r = &p->report.m->pool_reads[s->read];
    const tt_weight_location w = tt_weight_locations_at(&p->report.weights, r->file,
                                                        r->file_offset_bytes + r->size_bytes / 2);
    return (shown_read){*r, s->read, w.weight, s->slot};
}

/* The matching reads of the range, and their number. At most `most` are returned; *out is freed
 * with free(). */
static tt_status pick_reads(const known_pool *p, const tt_filter *f, double from, double to,
                            size_t most, shown_read **out, size_t *n, tt_error *err)
{
    const tt_model *m = p->report.m;
    uint32_t first, end;
    *n = 0;
    tt_pool_time_reads(&p->time, from, to, &first, &end);
    const size_t room = end - first < most ? end - first : most;
    *out = calloc(room + 1, sizeof **out);
    if (!*out) return tt_error_memory(err, "the reads");
    for (uint32_t i = first; i < end; i++) {
        const tt_pool_span *s = &p->time.reads[i];
        const uint64_t begin = m->pool_reads[s->read].begin_ticks;
        if (s->end_ns < from || !tt_filter_batch(f, m, tt_model_batch_at(m, begin))) continue;
        if (*n < room) (*out)[*n] = show(p, s);
        ++*n;
    }
    return TT_OK;
}

tt_status tt_answer_pool_reads(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_listing_wish own,
        columns = {
            .columns =
                "start_relative_ns,duration_ns,queued_ns,batch_id,expert_id,file_offset_bytes,"
                "size_bytes,waiters,waited_ns,os_thread_id,failed,discarded"};
    const known_pool *p;
    shown_read *list;
    tt_filter filter;
    double from, to;
    uint64_t limit;
    size_t n;
    tt_columns c;
    tt_status status = take_window(q, &p, &from, &to, err);
    if (status != TT_OK) return status;
    if (!tt_request_filter(q, &filter, err) ||
        !tt_request_u64(q, "limit", 0, READS_MAX, READS_USUAL, &limit, err))
        return TT_E_USAGE;
    status = pick_reads(p, &filter, from, to, (size_t)limit, &list, &n, err);
    if (status != TT_OK) return status;
    const size_t shown = n <= limit ? n : 0;
    const window head = {
        .observed = is_observed(q->m), .from = from, .to = to, .n = n, .slots = p->time.slots};
    tt_columns_begin(&c, &TT_ROWSET(&window_schema, OF_READS, NULL, &head, 1));
    tt_columns_add_rows(&c, &TT_ROWSET(&shown_schema, 0, NULL, list, shown), &own);
    tt_columns_add_rows(&c, &TT_ROWSET(&tt_pool_reads_schema, 0, &p->report, list, shown),
                        &columns);
    status = tt_columns_end(&c, r, err);
    free(list);
    return status;
}

/* --- waiting ops --- */

/* A wait; the waits of one track in one bucket. */
typedef struct shown_wait {
    double start_ns, end_ns;
    uint32_t track, run, node, read;
    uint8_t cause;
} shown_wait;

typedef struct wait_cell {
    uint32_t track, bucket;
    double pause_ns[TT_READ_CAUSES];
} wait_cell;

static const tt_column wait_columns[] = {
    TT_COLUMN("start_relative_ns", NULL, MOMENT, "", TT_MEMBER(shown_wait, start_ns)),
    TT_COLUMN("end_relative_ns", NULL, MOMENT, "", TT_MEMBER(shown_wait, end_ns)),
    TT_COLUMN("track", NULL, ID, "", TT_MEMBER(shown_wait, track)),
    TT_COLUMN("run", NULL, ID, "", TT_MEMBER(shown_wait, run)),
    TT_COLUMN("node", NULL, ID, "", TT_MEMBER(shown_wait, node)),
    TT_COLUMN("read", NULL, ID, "", TT_MEMBER(shown_wait, read)),
    TT_COLUMN("cause", NULL, ID, "", TT_MEMBER(shown_wait, cause)),
};
static const tt_schema wait_schema = TT_SCHEMA("pool_waits", "a wait", wait_columns);

static const tt_column cell_columns[] = {
    TT_COLUMN("merged_track", NULL, ID, "", TT_MEMBER(wait_cell, track)),
    TT_COLUMN("merged_bucket", NULL, ID, "", TT_MEMBER(wait_cell, bucket)),
    TT_COLUMN("kept_ns", NULL, NS, "", TT_MEMBER(wait_cell, pause_ns[TT_READ_KEPT])),
    TT_COLUMN("ahead_ns", NULL, NS, "", TT_MEMBER(wait_cell, pause_ns[TT_READ_AHEAD])),
    TT_COLUMN("chosen_ns", NULL, NS, "", TT_MEMBER(wait_cell, pause_ns[TT_READ_CHOSEN])),
    TT_COLUMN("at_op_ns", NULL, NS, "", TT_MEMBER(wait_cell, pause_ns[TT_READ_AT_OP])),
};
static const tt_schema cell_schema = TT_SCHEMA("pool_wait_bins", "waits of a bin", cell_columns);

/* A request for waits. */
typedef struct waits {
    const tt_model *m;
    const tt_timeline *t;
    const tt_pool_lanes *lanes;
    const uint8_t *tracks; /* NULL: all */
    double from, to;
    uint32_t first, end; /* of lanes->list */
    uint32_t n_tracks, n_buckets;
    size_t n; /* in the range */
    shown_wait *list;
    size_t n_list;
    wait_cell *cells;
    size_t n_cells;
    uint64_t steps_left;
} waits;

/* False: not requested. */
static bool take_wait(const waits *w, uint32_t i, shown_wait *out)
{
    const tt_pool_wait *x = &w->lanes->list[i];
    const uint32_t track = tt_timeline_track_of(w->t, x->run, x->lane);
    if (x->end_ns < w->from || track >= w->n_tracks || (w->tracks && !w->tracks[track]))
        return false;
    *out = (shown_wait){.start_ns = x->begin_ns,
                        .end_ns = x->end_ns,
                        .track = track,
                        .run = x->run,
                        .node = x->node,
                        .read = x->read,
                        .cause = w->m->pool_reads[x->read].cause};
    return true;
}

static tt_status list_waits(waits *w, tt_error *err)
{
    w->list = calloc(w->n + 1, sizeof *w->list);
    if (!w->list) return tt_error_memory(err, "the waits");
    for (uint32_t i = w->first; i < w->end && w->n_list < w->n; i++)
        w->n_list += take_wait(w, i, &w->list[w->n_list]);
    return TT_OK;
}

/* Waits of a lane do not overlap, so they touch each bucket about once; in damaged traces the
 * excess is left out. */
static void add_wait(waits *w, const shown_wait *x, double width)
{
    const double a = fmax(x->start_ns, w->from), b = fmin(x->end_ns, w->to);
    if (!(a <= b)) return;
    const uint32_t last = w->n_buckets - 1;
    const uint32_t i = (uint32_t)fmin(last, (a - w->from) / width);
    const uint32_t k = (uint32_t)fmin(last, (b - w->from) / width);
    for (uint32_t at = i; at <= k && w->steps_left; at++, w->steps_left--) {
        const double begin = fmax(a, w->from + width * at);
        const double end = fmin(b, w->from + width * (at + 1));
        wait_cell *cell = &w->cells[(size_t)x->track * w->n_buckets + at];
        cell->pause_ns[x->cause] += fmax(0, end - begin);
    }
}

static tt_status merge_waits(waits *w, tt_error *err)
{
    if ((uint64_t)w->n_tracks * w->n_buckets > WAIT_CELLS_MAX)
        w->n_buckets = WAIT_CELLS_MAX / w->n_tracks;
    const size_t n = (size_t)w->n_tracks * w->n_buckets;
    w->cells = calloc(n + 1, sizeof *w->cells);
    w->steps_left = 16 * ((uint64_t)n + w->n) + (1u << 20);
    if (!w->cells) return tt_error_memory(err, "the waits");
    for (uint32_t i = w->first; i < w->end; i++) {
        shown_wait x;
        if (take_wait(w, i, &x)) add_wait(w, &x, (w->to - w->from) / w->n_buckets);
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (unsigned cause = 0; cause < TT_READ_CAUSES; cause++)
            sum += w->cells[i].pause_ns[cause];
        if (sum == 0) continue;
        w->cells[w->n_cells] = w->cells[i];
        w->cells[w->n_cells].track = (uint32_t)(i / w->n_buckets);
        w->cells[w->n_cells++].bucket = (uint32_t)(i % w->n_buckets);
    }
    return TT_OK;
}

static tt_status put_waits(const waits *w, tt_reply *r, tt_error *err)
{
    static const tt_listing_wish all;
    tt_columns c;
    const window head = {.observed = is_observed(w->m),
                         .from = w->from,
                         .to = w->to,
                         .n = w->n,
                         .buckets = w->n_buckets,
                         .cut = w->lanes->cut};
    tt_columns_begin(&c, &TT_ROWSET(&window_schema, OF_WAITS, NULL, &head, 1));
    tt_columns_add_rows(&c, &TT_ROWSET(&wait_schema, 0, NULL, w->list, w->n_list), &all);
    tt_columns_add_rows(&c, &TT_ROWSET(&cell_schema, 0, NULL, w->cells, w->n_cells), &all);
    return tt_columns_end(&c, r, err);
}

tt_status tt_answer_pool_waits(tt_request *q, tt_reply *r, tt_error *err)
{
    const known_pool *p;
    const void *made = NULL;
    uint8_t *tracks = NULL;
    uint64_t limit, n_buckets;
    waits w = {.m = q->m};
    tt_status status = take_window(q, &p, &w.from, &w.to, err);
    if (status == TT_OK) status = tt_timeline_of_request(q, &w.t, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "buckets", 1, TT_POOL_BUCKETS_MAX, BUCKETS_DEFAULT, &n_buckets, err) ||
        !tt_request_u64(q, "limit", 0, READS_MAX, READS_USUAL, &limit, err))
        return TT_E_USAGE;
    status = tt_timeline_tracks_param(q, w.t, &tracks, err);
    if (status == TT_OK) status = tt_source_get(q, &lanes_memo, &made, err);
    if (status == TT_OK) {
        shown_wait x;
        w.lanes = made;
        w.tracks = tracks;
        w.n_buckets = (uint32_t)n_buckets;
        w.n_tracks = tt_timeline_tracks(w.t, NULL);
        tt_pool_lanes_waits(w.lanes, w.from, w.to, &w.first, &w.end);
        for (uint32_t i = w.first; i < w.end; i++)
            w.n += take_wait(&w, i, &x);
        status = w.n <= limit ? list_waits(&w, err) : merge_waits(&w, err);
    }
    if (status == TT_OK) status = put_waits(&w, r, err);
    free(w.list);
    free(w.cells);
    free(tracks);
    return status;
}

/* --- of an op --- */

tt_status tt_pool_of_op_find(tt_request *q, tt_pool_of_op *o, uint32_t run, uint32_t node,
                             tt_error *err)
{
    const void *pool, *lanes;
    *o = (tt_pool_of_op){.run = run, .node = node};
    if (!is_observed(q->m)) return TT_OK;
    tt_status status = tt_source_get(q, &pool_memo, &pool, err);
    if (status == TT_OK) status = tt_source_get(q, &lanes_memo, &lanes, err);
    if (status != TT_OK) return status;
    o->known = true;
    o->pool = pool;
    o->lanes = lanes;
    return TT_OK;
}

double tt_pool_of_op_lane(const tt_pool_of_op *o, uint32_t lane)
{
    double ns = 0;
    uint32_t first, end;
    if (!o->known) return NAN;
    tt_pool_lanes_of_op(o->lanes, o->run, o->node, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        const tt_pool_wait *w = &o->lanes->list[o->lanes->by_op[i]];
        if (w->lane == lane) ns += w->end_ns - w->begin_ns;
    }
    return ns;
}

void tt_pool_of_op_reads(tt_json *j, const tt_pool_of_op *o)
{
    uint32_t first, end, reads, last, n = 0;
    tt_json_array(j);
    tt_pool_lanes_of_op(o->lanes, o->run, o->node, &first, &end);
    double from = INFINITY, to = -INFINITY;
    for (uint32_t i = first; i < end; i++) {
        const tt_pool_wait *w = &o->lanes->list[o->lanes->by_op[i]];
        from = fmin(from, w->begin_ns);
        to = fmax(to, w->end_ns);
    }
    tt_pool_time_reads(&o->pool->time, from, to, &reads, &last);
    for (uint32_t i = reads; i < last && n < OP_READS_MAX; i++) {
        const uint32_t read = o->pool->time.reads[i].read;
        if (o->lanes->run_of_read[read] != o->run || o->lanes->node_of_read[read] != o->node)
            continue;
        tt_row_json(j, NULL, &tt_pool_reads_schema, &o->pool->report,
                    &o->pool->report.m->pool_reads[read]);
        n++;
    }
    tt_json_array_end(j);
}
