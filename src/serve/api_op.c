/* /api/v1/traces/ID/op: the details of one executed op. */
#include "analyze/access.h"
#include "analyze/join.h"
#include "analyze/log/columns.h"
#include "analyze/log/log.h"
#include "model/faults.h"
#include "serve/api_pool.h"
#include "serve/endpoints.h"
#include "serve/timeline_memo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Counters of one lane. */
typedef struct lane_times {
    uint32_t lane;
    bool open;
    uint64_t start, arrive, release;
    const tt_detail *faults; /* NULL: not observed */
    uint64_t off_cpu;        /* ticks, if observed for the run */
    tt_waits_inside inside;
} lane_times;

typedef struct op_answer {
    tt_request *q;
    const tt_timeline *t;
    uint32_t run, node;
    tt_joined joined;
    lane_times lanes[TT_OPS_LANE_MAX + 1];
    uint32_t n_lanes;
    bool off_cpu_known, inside_known;
    tt_op op;
    tt_accesses *accesses;
    const tt_access *list;
    size_t n_list;
    tt_pool_of_op pool;
} op_answer;

static tt_status find_lanes(op_answer *a, tt_error *err)
{
    const tt_model *m = a->q->m;
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, m->runs[a->run].id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        for (size_t k = 0; status == TT_OK && k < p.n && a->n_lanes <= TT_OPS_LANE_MAX; k++)
            if (p.node[k] == a->node)
                a->lanes[a->n_lanes++] = (lane_times){p.lane,       p.open, p.start[k], p.arrive[k],
                                                      p.release[k], NULL,   0,          {0, 0}};
    }
    return status;
}

static tt_status find_faults(op_answer *a, tt_error *err)
{
    const tt_model *m = a->q->m;
    const tt_detail *list;
    size_t n;
    tt_status status = tt_model_faults_of_run(m, a->run, &list, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        if (tt_detail_node(&list[i]) != a->node) continue;
        for (uint32_t k = 0; k < a->n_lanes; k++)
            if (a->lanes[k].lane == tt_detail_lane(&list[i])) a->lanes[k].faults = &list[i];
    }
    return status;
}

static tt_status find_off_cpu(op_answer *a, tt_error *err)
{
    tt_off_cpu off = {0};
    tt_status status = tt_off_cpu_load(&off, a->q->m, &a->q->m->runs[a->run], err);
    a->off_cpu_known = status == TT_OK && off.known;
    a->inside_known = status == TT_OK && off.inside_known;
    for (uint32_t i = 0; a->off_cpu_known && i < a->n_lanes; i++) {
        lane_times *l = &a->lanes[i];
        if (!l->open && l->arrive > l->start)
            l->off_cpu = tt_off_cpu_ticks(&off, a->node, l->lane, l->arrive - l->start, &l->inside);
    }
    tt_off_cpu_free(&off);
    return status;
}

static tt_status find(op_answer *a, tt_error *err)
{
    const tt_model *m = a->q->m;
    tt_join j = {0};
    tt_status status = tt_join_run(&j, m, a->run, err);
    /* Without records there is no table of ops. */
    bool there = status == TT_OK && j.graph && j.n_touched > 0 && a->node < j.graph->n_nodes &&
                 j.ops[a->node].stamp == j.stamp;
    if (there) {
        a->joined = j.ops[a->node];
        tt_op_describe(m, j.graph, a->node, a->joined.covers, &a->op);
    }
    tt_join_free(&j);
    if (status != TT_OK) return status;
    if (!there)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "no op was recorded at node %u of run %u", a->node, a->run);
    status = find_lanes(a, err);
    if (status == TT_OK) status = find_off_cpu(a, err);
    if (status == TT_OK && a->op.picks) {
        a->accesses = tt_accesses_new(m);
        if (!a->accesses) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
        status = tt_accesses_run(a->accesses, a->run, err);
        if (status == TT_OK)
            status = tt_accesses_of(a->accesses, &a->op, &a->list, &a->n_list, err);
        if (status == TT_OK) tt_access_apply(&a->op, a->list, a->n_list);
    }
    return status;
}

static void put_shape(tt_json *j, const tt_tensor *t)
{
    tt_json_array(j);
    for (unsigned i = 0; i < TT_DIMS; i++)
        tt_json_u64(j, t->ne[i]);
    tt_json_array_end(j);
}

static void put_what(tt_json *j, op_answer *a)
{
    const tt_model *m = a->q->m;
    const tt_log_op row = {.op = &a->op,
                           .run = &m->runs[a->run],
                           .lane = TT_NONE,
                           .lanes = a->joined.lanes,
                           .open = a->joined.open,
                           .start_ticks = a->joined.start,
                           .arrive_ticks = a->joined.arrive,
                           .release_ticks = a->joined.release,
                           .busy_ticks = a->joined.busy,
                           .wait_ticks = a->joined.wait,
                           .off_cpu_ticks = a->joined.off_cpu,
                           .off_cpu_known = a->off_cpu_known,
                           .inside_ticks = a->joined.inside,
                           .inside_known = a->inside_known};
    const char *weight = NULL;
    tt_json_key(j, "log");
    tt_log_json_op(j, m, &row, &a->op, a->list, a->n_list);
    tt_json_key(j, "ne");
    put_shape(j, &a->op.graph->tensors[a->op.nodes[a->op.n_nodes - 1]]);
    tt_json_key(j, "sources_ne");
    tt_json_array(j);
    for (uint32_t i = 0; i < a->op.n_sources; i++) {
        const tt_op_source *s = &a->op.sources[i];
        put_shape(j, &a->op.graph->tensors[s->tensor]);
        if (!weight && s->weight != TT_NONE) weight = m->weights[s->weight].name;
    }
    tt_json_array_end(j);
    tt_json_kv_string(j, "tensor", weight);
    tt_json_key(j, "nodes");
    tt_json_array(j);
    for (uint32_t i = 0; i < a->op.n_nodes; i++)
        tt_json_string(j, a->op.graph->tensors[a->op.nodes[i]].name);
    tt_json_array_end(j);
}

static const tt_column step_columns[] = {
    TT_FIELD("run", "", TT_MEMBER(tt_timeline_step, run)),
    TT_FIELD("node", "", TT_MEMBER(tt_timeline_step, node)),
    TT_FIELD("start_relative_ns", "", TT_MEMBER(tt_timeline_step, start_ns)),
    TT_FIELD("end_relative_ns", "", TT_MEMBER(tt_timeline_step, end_ns)),
};
static const tt_schema step_schema = TT_SCHEMA("step", "an op of the lane", step_columns);

/* A lane as displayed; NAN: not known. */
typedef struct lane_row {
    uint32_t lane, track;
    double start_ns, busy_ns, wait_ns, wait_inside_ns, off_cpu_ns, read_wait_ns;
    const tt_detail_faults *faults; /* NULL: not observed */
    tt_timeline_step before, behind;
} lane_row;

TT_COLUMN_KNOWN(has_track, lane_row, r, r->track != TT_NONE)
TT_COLUMN_KNOWN(has_faults, lane_row, r, r->faults)
TT_COLUMN_KNOWN(has_cpu, lane_row, r, r->faults && r->faults->cpu_ns != TT_FAULTS_NO_CPU)
TT_COLUMN_KNOWN(has_read, lane_row, r, r->faults && r->faults->read_bytes != UINT64_MAX)
TT_COLUMN_KNOWN(has_before, lane_row, r, r->before.run != TT_NONE)
TT_COLUMN_KNOWN(has_behind, lane_row, r, r->behind.run != TT_NONE)

#define OF_LANE(member_, about_) TT_FIELD(#member_, about_, TT_MEMBER(lane_row, member_))
#define OF_FAULTS(key_, member_, known_, about_)                                                   \
    TT_FIELD(key_, about_, TT_THROUGH(lane_row, faults), TT_MEMBER(tt_detail_faults, member_),     \
             .known = known_)
static const tt_column lane_columns[] = {
    OF_LANE(lane, "number of the thread"),
    TT_FIELD("track", "of the timeline", TT_MEMBER(lane_row, track), .known = has_track),
    TT_FIELD("start_relative_ns", "its begin", TT_MEMBER(lane_row, start_ns)),
    OF_LANE(busy_ns, "from its begin to its arrival at the barrier"),
    OF_LANE(wait_ns, "it waited for others, there"),
    OF_LANE(wait_inside_ns, "of busy_ns, it waited for others at barriers inside the op"),
    OF_LANE(off_cpu_ns, "likewise, it had no CPU"),
    OF_LANE(read_wait_ns, "it waited for the pool of `boost`"),
    OF_FAULTS("minor_faults", minor, has_faults, "that waited for nothing"),
    OF_FAULTS("major_faults", major, has_faults, "that waited for a device"),
    OF_FAULTS("cpu_ns", cpu_ns, has_cpu, "of a CPU"),
    OF_FAULTS("read_bytes", read_bytes, has_read, "from a device"),
    TT_FIELD("before", "the op before it", TT_MEMBER_OBJECT(lane_row, before, &step_schema),
             .known = has_before),
    TT_FIELD("behind", "the op behind it", TT_MEMBER_OBJECT(lane_row, behind, &step_schema),
             .known = has_behind),
};
static const tt_schema lane_schema = TT_SCHEMA("lanes", "a thread of the op", lane_columns);

static tt_status put_lane(tt_json *j, const op_answer *a, const lane_times *l, tt_error *err)
{
    const tt_model *m = a->q->m;
    const bool waits = !l->open && tt_model_waits_known(m, &m->runs[a->run]);
    const bool inside = !l->open && a->inside_known;
    lane_row row = {
        .lane = l->lane,
        .track = tt_timeline_track_of(a->t, a->run, l->lane),
        .start_ns = tt_model_ns(m, l->start),
        .busy_ns = l->open ? NAN : tt_model_span_ns(m, l->arrive - l->start),
        .wait_ns = waits ? tt_model_span_ns(m, l->release - l->arrive) : NAN,
        .wait_inside_ns = inside ? tt_model_span_ns(m, l->inside.ticks) : NAN,
        .off_cpu_ns = !l->open && a->off_cpu_known ? tt_model_span_ns(m, l->off_cpu) : NAN,
        .read_wait_ns = tt_pool_of_op_lane(&a->pool, l->lane),
        .faults = l->faults ? &l->faults->faults : NULL,
    };
    tt_status status =
        tt_timeline_neighbours(a->t, m, a->run, a->node, l->lane, &row.before, &row.behind, err);
    if (status == TT_OK) tt_row_json(j, NULL, &lane_schema, NULL, &row);
    return status;
}

static tt_status put_op(tt_json *j, op_answer *a, tt_error *err)
{
    const tt_model *m = a->q->m;
    const uint32_t batch = m->runs[a->run].batch;
    tt_status status = TT_OK;
    tt_json_object(j);
    tt_json_kv_u64(j, "run", a->run);
    tt_json_kv_u64(j, "node", a->node);
    tt_json_kv_u64_or_null(j, "batch_id", batch != TT_NONE,
                           batch != TT_NONE ? tt_model_batch_number(m, batch) : 0);
    tt_json_kv_double(j, "start_relative_ns", tt_model_ns(m, a->joined.start));
    tt_json_kv_double_or_null(j, "end_relative_ns", !a->joined.open,
                              tt_model_ns(m, a->joined.release));
    put_what(j, a);
    /* Last: accesses read details too, which invalidates the previous list of them. */
    status = find_faults(a, err);
    tt_json_key(j, "lanes");
    tt_json_array(j);
    for (uint32_t i = 0; i < a->n_lanes && status == TT_OK; i++)
        status = put_lane(j, a, &a->lanes[i], err);
    tt_json_array_end(j);
    tt_json_key(j, "awaited_reads");
    if (a->pool.known)
        tt_pool_of_op_reads(j, &a->pool);
    else
        tt_json_null(j);
    tt_json_object_end(j);
    return status;
}

tt_status tt_answer_op(tt_request *q, tt_reply *r, tt_error *err)
{
    uint32_t run, node;
    tt_status status = tt_request_op(q, &run, &node, err);
    if (status != TT_OK) return status;
    op_answer *a = calloc(1, sizeof *a);
    if (!a) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    a->q = q;
    a->run = run;
    a->node = node;
    status = tt_timeline_of_request(q, &a->t, err);
    if (status == TT_OK) status = tt_pool_of_op_find(q, &a->pool, run, node, err);
    if (status == TT_OK) status = find(a, err);
    if (status == TT_OK) status = put_op(tt_reply_json(r), a, err);
    tt_accesses_free(a->accesses);
    free(a);
    return status;
}
