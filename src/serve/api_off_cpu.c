/* /api/v1/traces/ID/timeline/off_cpu: which ops' threads were off CPU, and how long. */
#include "analyze/off_cpu.h"
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

TT_SOURCE_MEMO(memo, tt_off_cpu_ops, "the time off CPU", tt_off_cpu_ops_find, tt_off_cpu_ops_free)

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
    bool observed, cut;
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

TT_COLUMN_KNOWN(was_observed, answer, a, a->observed)

static const tt_column head_columns[] = {
    TT_FIELD("observed", "it was recorded", TT_MEMBER(answer, observed)),
    TT_FIELD("from_ns", "begin", TT_MEMBER(answer, from)),
    TT_FIELD("to_ns", "end", TT_MEMBER(answer, to)),
    TT_FIELD("buckets", "of the window", TT_MEMBER(answer, n_buckets)),
    TT_FIELD("n", "in the window", .known = was_observed, TT_MEMBER(answer, n)),
    TT_FIELD("cut", "there are more", TT_MEMBER(answer, cut)),
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

/* Its time off CPU counts evenly from its start to its end. Ops of a lane do not overlap, so they
 * visit each bucket about once; in damaged traces the excess is left out. */
static void spread(answer *a, const shown_op *op, uint64_t *steps_left)
{
    const double width = (a->to - a->from) / a->n_buckets;
    const double begin = fmax(op->at.start_ns, a->from), end = fmin(op->at.end_ns, a->to);
    const uint32_t last = a->n_buckets - 1;
    const uint32_t i = (uint32_t)fmin(last, (begin - a->from) / width);
    const uint32_t k = (uint32_t)fmin(last, (end - a->from) / width);
    const double share = op->at.off_ns / (op->at.end_ns - op->at.start_ns);
    for (uint32_t at = i; at <= k && *steps_left; at++, --*steps_left) {
        const double left = fmax(begin, a->from + width * at);
        const double right = fmin(end, a->from + width * (at + 1));
        a->cells[(size_t)op->track * a->n_buckets + at].off_ns += share * fmax(0, right - left);
    }
}

static tt_status merge(answer *a, size_t first, size_t end, tt_error *err)
{
    if ((uint64_t)a->n_tracks * a->n_buckets > CELLS_MAX) a->n_buckets = CELLS_MAX / a->n_tracks;
    const size_t n = (size_t)a->n_tracks * a->n_buckets;
    uint64_t steps_left = 16 * ((uint64_t)n + a->n) + (1u << 20);
    a->cells = calloc(n + 1, sizeof *a->cells);
    if (!a->cells) return tt_error_memory(err, "the time off CPU");
    for (size_t i = first; i < end; i++) {
        shown_op op;
        if (take(a, i, &op)) spread(a, &op, &steps_left);
    }
    for (size_t i = 0; i < n; i++) {
        if (a->cells[i].off_ns <= 0) continue;
        a->cells[a->n_cells++] = (cell){.track = (uint32_t)(i / a->n_buckets),
                                        .bucket = (uint32_t)(i % a->n_buckets),
                                        .off_ns = a->cells[i].off_ns};
    }
    return TT_OK;
}

static tt_status fill(answer *a, uint64_t limit, tt_error *err)
{
    size_t first, end;
    shown_op op;
    a->n_tracks = tt_timeline_tracks(a->t, NULL);
    a->cut = a->ops->cut;
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

tt_status tt_answer_timeline_off_cpu(tt_request *q, tt_reply *r, tt_error *err)
{
    static const tt_listing_wish all;
    static const tt_off_cpu_ops none;
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
    a.ops = made;
    if (status == TT_OK) status = fill(&a, limit, err);
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
