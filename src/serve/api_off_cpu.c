/* /api/v1/traces/ID/timeline/off_cpu: which ops' threads were off CPU, and how long. */
#include "analyze/off_cpu.h"
#include "analyze/off_cpu_bins.h"
#include "serve/columns.h"
#include "serve/endpoints.h"
#include "serve/source.h"
#include "serve/timeline_memo.h"

#include <math.h>
#include <stdlib.h>

#define BUCKETS_MAX 4096u
#define BUCKETS_DEFAULT 512u
#define OPS_MAX 65536u
#define OPS_USUAL 4096u
#define CELLS_MAX (1u << 18) /* per request: tracks x buckets */
/* Ops that are kept of a trace, 40 bytes each. If it has more, they are merged into these buckets,
 * and a window with few enough of them is read once more. */
#define KEPT_MAX (1u << 21)
#define KEPT_CELLS_MAX (1u << 21)
#define WINDOW_MAX (1u << 18)

/* Of a trace. */
typedef struct known {
    tt_off_cpu_ops ops;   /* all; none if they are too many: then ... */
    tt_off_cpu_bins bins; /* ... these */
} known;

static tt_status find(known *k, tt_model *m, tt_error *err)
{
    tt_status status = tt_off_cpu_ops_find(&k->ops, m, -INFINITY, INFINITY, KEPT_MAX, err);
    if (status != TT_OK || !k->ops.cut) return status;
    tt_off_cpu_ops_free(&k->ops);
    return tt_off_cpu_bins_find(&k->bins, m, KEPT_CELLS_MAX, err);
}

static void release(known *k)
{
    tt_off_cpu_ops_free(&k->ops);
    tt_off_cpu_bins_free(&k->bins);
}

TT_SOURCE_MEMO(memo, known, "the time off CPU", find, release)

typedef struct shown_op {
    tt_off_cpu_op at;
    uint32_t track;
} shown_op;

/* All ops of one track in one bucket. */
typedef struct cell {
    uint32_t track, bucket;
    double off_ns;
} cell;

typedef struct answer {
    const tt_timeline *t;
    const tt_off_cpu_ops *ops;
    const uint8_t *tracks; /* NULL: all */
    bool observed;
    bool counted; /* n is known */
    double from, to;
    uint64_t n; /* ops in the range */
    uint32_t n_buckets, n_tracks;
    shown_op *list;
    size_t n_list;
    cell *cells;
    size_t n_cells;
} answer;

static const tt_column op_columns[] = {
    TT_COLUMN("start_relative_ns", NULL, MOMENT, "", TT_MEMBER(shown_op, at.start_ns)),
    TT_COLUMN("end_relative_ns", NULL, MOMENT, "", TT_MEMBER(shown_op, at.end_ns)),
    TT_COLUMN("off_cpu_ns", NULL, NS, "", TT_MEMBER(shown_op, at.off_ns)),
    TT_COLUMN("track", NULL, ID, "", TT_MEMBER(shown_op, track)),
    TT_COLUMN("run", NULL, ID, "", TT_MEMBER(shown_op, at.run)),
    TT_COLUMN("node", NULL, ID, "", TT_MEMBER(shown_op, at.node)),
};
static const tt_schema op_schema = TT_SCHEMA("off_cpu", "an op", op_columns);

static const tt_column cell_columns[] = {
    TT_COLUMN("merged_track", NULL, ID, "", TT_MEMBER(cell, track)),
    TT_COLUMN("merged_bucket", NULL, ID, "", TT_MEMBER(cell, bucket)),
    TT_COLUMN("merged_off_cpu_ns", NULL, NS, "", TT_MEMBER(cell, off_ns)),
};
static const tt_schema cell_schema = TT_SCHEMA("off_cpu_bins", "ops of a bin", cell_columns);

TT_COLUMN_KNOWN(was_counted, answer, a, a->observed && a->counted)

static const tt_column head_columns[] = {
    TT_FIELD("observed", "it was recorded", TT_MEMBER(answer, observed)),
    TT_FIELD("from_ns", "begin", TT_MEMBER(answer, from)),
    TT_FIELD("to_ns", "end", TT_MEMBER(answer, to)),
    TT_FIELD("buckets", "of the window", TT_MEMBER(answer, n_buckets)),
    TT_FIELD("n", "in the window", .known = was_counted, TT_MEMBER(answer, n)),
};
static const tt_schema head_schema = TT_SCHEMA("off_cpu", "a part of the time", head_columns);

/* False: not requested. */
static bool take(const answer *a, size_t i, shown_op *out)
{
    const tt_off_cpu_op *op = &a->ops->list[i];
    const uint32_t track = tt_timeline_track_of(a->t, op->run, op->lane);
    if (op->end_ns <= a->from || track >= a->n_tracks || (a->tracks && !a->tracks[track]))
        return false;
    *out = (shown_op){*op, track};
    return true;
}

/* The cells of requested tracks with time off CPU. */
static tt_status list_cells(answer *a, const tt_off_cpu_bins *b, tt_error *err)
{
    const size_t n = (size_t)b->n_tracks * b->n_buckets;
    a->n_buckets = b->n_buckets;
    a->cells = calloc(n + 1, sizeof *a->cells);
    if (!a->cells) return tt_error_memory(err, "the time off CPU");
    for (size_t i = 0; i < n; i++) {
        const uint32_t track = (uint32_t)(i / b->n_buckets);
        if (b->off_ns[i] <= 0 || (a->tracks && !a->tracks[track])) continue;
        a->cells[a->n_cells++] = (cell){track, (uint32_t)(i % b->n_buckets), b->off_ns[i]};
    }
    return TT_OK;
}

static tt_status bins_begin(tt_off_cpu_bins *b, const answer *a, tt_error *err)
{
    return tt_off_cpu_bins_begin(b, a->from, a->to, a->n_buckets, a->n_tracks, CELLS_MAX, err);
}

static tt_status merge(answer *a, size_t first, size_t end, tt_error *err)
{
    tt_off_cpu_bins b;
    shown_op op;
    tt_status status = bins_begin(&b, a, err);
    for (size_t i = first; i < end && status == TT_OK; i++)
        if (take(a, i, &op))
            tt_off_cpu_bins_add(&b, op.track, op.at.start_ns, op.at.end_ns, op.at.off_ns);
    if (status == TT_OK) status = list_cells(a, &b, err);
    tt_off_cpu_bins_free(&b);
    return status;
}

static tt_status cut_out(answer *a, const tt_off_cpu_bins *all, tt_error *err)
{
    tt_off_cpu_bins b;
    tt_status status = bins_begin(&b, a, err);
    if (status == TT_OK) tt_off_cpu_bins_cut(all, &b);
    if (status == TT_OK) status = list_cells(a, &b, err);
    tt_off_cpu_bins_free(&b);
    return status;
}

static tt_status fill(answer *a, const tt_off_cpu_ops *ops, uint64_t limit, tt_error *err)
{
    size_t first, end;
    shown_op op;
    a->ops = ops;
    a->counted = true;
    tt_off_cpu_ops_between(a->ops, a->from, a->to, &first, &end);
    for (size_t i = first; i < end; i++)
        a->n += take(a, i, &op);
    if (a->n > limit) return merge(a, first, end, err);
    a->list = calloc((size_t)a->n + 1, sizeof *a->list);
    if (!a->list) return tt_error_memory(err, "the time off CPU");
    for (size_t i = first; i < end; i++)
        a->n_list += take(a, i, &a->list[a->n_list]);
    return TT_OK;
}

static tt_status answer_from(answer *a, const tt_model *m, const known *k, uint64_t limit,
                             tt_error *err)
{
    tt_off_cpu_ops ops;
    a->n_tracks = tt_timeline_tracks(a->t, NULL);
    if (!k->bins.off_ns) return fill(a, &k->ops, limit, err);
    tt_status status = tt_off_cpu_ops_find(&ops, m, a->from, a->to, WINDOW_MAX, err);
    if (status == TT_OK) status = ops.cut ? cut_out(a, &k->bins, err) : fill(a, &ops, limit, err);
    tt_off_cpu_ops_free(&ops);
    return status;
}

tt_status tt_answer_timeline_off_cpu(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_listing_wish all;
    static const known none;
    const void *made = &none;
    uint8_t *tracks = NULL;
    uint64_t limit, n_buckets;
    tt_columns c;
    answer a = {.observed = tt_off_cpu_observed(q->m)};
    tt_status status = tt_timeline_of_request(q, &a.t, err);
    if (status == TT_OK) status = tt_timeline_window(q, a.t, &a.from, &a.to, err);
    if (status != TT_OK) return status;
    if (!tt_request_u64(q, "buckets", 1, BUCKETS_MAX, BUCKETS_DEFAULT, &n_buckets, err) ||
        !tt_request_u64(q, "limit", 0, OPS_MAX, OPS_USUAL, &limit, err))
        return TT_E_USAGE;
    a.n_buckets = (uint32_t)n_buckets;
    status = tt_timeline_tracks_param(q, a.t, &tracks, err);
    if (status == TT_OK && a.observed) status = tt_source_get(q, &memo, &made, err);
    a.tracks = tracks;
    if (status == TT_OK) status = answer_from(&a, q->m, made, limit, err);
    if (status == TT_OK) {
        tt_columns_begin(&c, &TT_ROWSET(&head_schema, 0, NULL, &a, 1));
        tt_columns_add_rows(&c, &TT_ROWSET(&op_schema, 0, NULL, a.list, a.n_list), &all);
        tt_columns_add_rows(&c, &TT_ROWSET(&cell_schema, 0, NULL, a.cells, a.n_cells), &all);
        status = tt_columns_end(&c, r, err);
    }
    free(a.list);
    free(a.cells);
    free(tracks);
    return status;
}
