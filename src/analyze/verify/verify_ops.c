/* The checks of `verify` that walk the op records. */
#include "analyze/verify/checks.h"

#include <inttypes.h>
#include <string.h>

/* With more losses than this each interval counts as touched by one. */
#define LOSSES_LOOKED_AT 256u

/* Called per piece, in the order of run, lane and file. */
typedef void piece_visit(void *context, const tt_model *m, const tt_run *run, const tt_piece_ops *p,
                         tt_check *c);

/* Visits every piece whose run is known (any_run: all pieces). A piece that cannot be
 * decoded is the checksums check's business. */
static tt_status walk(const tt_model *m, tt_check *c, bool any_run, piece_visit *visit,
                      void *context, tt_error *err)
{
    size_t n;
    const tt_piece *list = tt_pieces_list(m->pieces, &n);
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops p;
        uint32_t run = tt_model_run(m, list[i].run);
        if (run == TT_NONE && !any_run) continue;
        tt_status status = tt_pieces_get(m->pieces, &list[i], &p, err);
        if (status == TT_E_MEMORY || status == TT_E_IO || status == TT_E_LIMIT) return status;
        if (status != TT_OK) continue;
        c->examined += p.n;
        visit(context, m, run == TT_NONE ? NULL : &m->runs[run], &p, c);
    }
    return TT_OK;
}

static bool zero(const tt_piece_ops *p, size_t i)
{
    return (p->start[i] | p->arrive[i] | p->release[i]) == 0;
}

static const char *node_name(const tt_model *m, const tt_run *run, uint32_t node)
{
    if (!run || run->graph == TT_NONE || node >= m->graphs[run->graph].n_nodes) return "?";
    return m->graphs[run->graph].tensors[node].name;
}

/* A run is judged at its end only when it ended well. */
static bool ended_well(const tt_run *run)
{
    return run->ended && run->status == 0;
}

/* Of ops that a program tells itself nothing is required but that each is whole: which threads take
 * part in which op, and in what order, is its own affair. */
static bool by_program(const tt_run *run)
{
    return run && run->observed == TT_OBSERVED_PROGRAM;
}

/* --- times --- */

typedef struct times_state {
    uint32_t run;
    uint32_t lane;
    uint64_t release; /* of the record before, on that run and lane */
    bool any;
} times_state;

static void check_times(void *context, const tt_model *m, const tt_run *run, const tt_piece_ops *p,
                        tt_check *c)
{
    times_state *s = context;
    const unsigned shift = p->tick_shift; /* a record has lost these low bits */
    if (!s->any || s->run != p->run || s->lane != p->lane) {
        *s = (times_state){p->run, p->lane, 0, true};
    }
    for (size_t i = 0; i < p->n; i++) {
        uint64_t start = p->start[i], arrive = p->arrive[i], release = p->release[i];
        const char *wrong = NULL;
        uint64_t a = 0, b = 0;
        if (zero(p, i)) continue; /* the no-zero check's business */
        if (by_program(run)) {
            if (!p->open && (start > arrive || arrive > release)) wrong = "has times that fall";
            a = start, b = release;
        } else if (p->open && ended_well(run)) {
            wrong = "never ends, but its run ended";
            a = start, b = run->end_ticks;
        } else if (start > arrive) {
            wrong = "arrives before it starts";
            a = arrive, b = start;
        } else if (arrive > release) {
            wrong = "is released before it arrives";
            a = release, b = arrive;
        } else if (start < s->release) {
            wrong = "starts before the op before it is released";
            a = start, b = s->release;
        } else if (start >> shift < run->begin_ticks >> shift) {
            wrong = "starts before its run begins";
            a = start, b = run->begin_ticks;
        } else if (run->ended && arrive >> shift > run->end_ticks >> shift) {
            wrong = "ends after its run";
            a = arrive, b = run->end_ticks;
        }
        if (wrong)
            tt_check_offend(c, p->chunk_offset_bytes,
                            "run %u, lane %u, node %u (%.64s) %s: ticks %" PRIu64 " and %" PRIu64,
                            p->run, p->lane, p->node[i], node_name(m, run, p->node[i]), wrong, a,
                            b);
        s->release = release;
    }
}

tt_status tt_check_times(const tt_model *m, tt_check *c, tt_error *err)
{
    times_state s = {0};
    tt_status status = walk(m, c, false, check_times, &s, err);
    if (status == TT_OK && c->examined == 0) tt_check_not_observed(c, "the trace holds no ops");
    return status;
}

/* --- no-zero --- */

static void check_zero(void *context, const tt_model *m, const tt_run *run, const tt_piece_ops *p,
                       tt_check *c)
{
    (void)context;
    for (size_t i = 0; i < p->n; i++)
        if (zero(p, i))
            tt_check_offend(c, p->chunk_offset_bytes,
                            "run %u, lane %u, node %u (%.64s), record %" PRIu64
                            " of stream %u has no times at all",
                            p->run, p->lane, p->node[i], node_name(m, run, p->node[i]),
                            p->position + i, p->stream);
}

tt_status tt_check_no_zero(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_status status = walk(m, c, true, check_zero, NULL, err);
    if (status == TT_OK && c->examined == 0) tt_check_not_observed(c, "the trace holds no ops");
    return status;
}

/* --- graph-order --- */

/* Whether losses were reported where records of this piece could be missing. */
static bool has_loss(const tt_model *m, const tt_piece_ops *p)
{
    if (m->n_losses > LOSSES_LOOKED_AT) return true;
    for (uint32_t i = 0; i < m->n_losses; i++)
        if (m->losses[i].ring + 1 == p->stream && m->losses[i].position >= p->position &&
            m->losses[i].position <= p->position + p->n)
            return true;
    return false;
}

/* The executing node at or behind `from`; n_nodes when there is none. */
static uint32_t executing(const tt_graph *g, uint32_t from)
{
    while (from < g->n_nodes && !(g->tensors[from].flags & TT_TENSOR_EXECUTES))
        from++;
    return from;
}

typedef struct order_state {
    const tt_run *run;
    const tt_graph *graph;
    uint32_t lane;
    uint32_t next; /* node that has to come next */
    bool skip;     /* the lane had losses, or was found wrong */
    uint64_t offset;
} order_state;

/* Where the trace was cut off, what is missing may have stood behind the cut. */
static void end_lane(order_state *s, const tt_model *m, tt_check *c)
{
    if (s->run && !s->skip && ended_well(s->run) && tt_check_has_end(m) &&
        s->next < s->graph->n_nodes)
        tt_check_offend(c, s->offset,
                        "run %u, lane %u: node %u (%.64s) and what follows is missing", s->run->id,
                        s->lane, s->next, s->graph->tensors[s->next].name);
    s->run = NULL;
}

static void check_order(void *context, const tt_model *m, const tt_run *run, const tt_piece_ops *p,
                        tt_check *c)
{
    order_state *s = context;
    if (s->run != run || s->lane != p->lane) {
        end_lane(s, m, c);
        if (run->graph == TT_NONE || by_program(run)) return; /* the references check's business */
        *s = (order_state){.run = run, .graph = &m->graphs[run->graph], .lane = p->lane};
        s->next = executing(s->graph, 0);
    }
    s->offset = p->chunk_offset_bytes;
    s->skip |= m->n_losses > 0 && has_loss(m, p);
    for (size_t i = 0; i < p->n && !s->skip; i++) {
        uint32_t node = p->node[i];
        if (node != s->next) {
            const char *had = node_name(m, run, node);
            const char *want =
                s->next < s->graph->n_nodes ? s->graph->tensors[s->next].name : "none";
            tt_check_offend(c, p->chunk_offset_bytes,
                            "run %u, lane %u: node %u (%.64s) where node %u (%.64s) has to come",
                            p->run, p->lane, node, had, s->next, want);
            s->skip = true;
            break;
        }
        s->next = executing(s->graph, node + 1);
        for (uint32_t k = 0; k < p->covers[i]; k++)
            s->next = executing(s->graph, s->next < s->graph->n_nodes ? s->next + 1 : s->next);
    }
}

/* Lanes of a run are numbered from 0 without a gap. 0 lanes: nothing was recorded. */
static uint32_t lanes_of_run(const tt_model *m, const tt_run *run, uint32_t *highest)
{
    const tt_piece *list;
    size_t n;
    uint32_t lanes = 0;
    *highest = 0;
    /* After the survey this reads nothing and cannot fail. */
    (void)tt_pieces_of_run(m->pieces, run->id, &list, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i].lane != list[i - 1].lane) lanes++;
        *highest = list[i].lane;
    }
    return lanes;
}

tt_status tt_check_graph_order(const tt_model *m, tt_check *c, tt_error *err)
{
    order_state s = {0};
    tt_status status = walk(m, c, false, check_order, &s, err);
    if (status != TT_OK) return status;
    end_lane(&s, m, c);
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *run = &m->runs[i];
        uint32_t highest, lanes = lanes_of_run(m, run, &highest);
        if (!ended_well(run) || by_program(run) || run->graph == TT_NONE || m->n_losses > 0 ||
            !tt_check_has_end(m) || run->observed == TT_OBSERVED_BOUNDS ||
            m->graphs[run->graph].n_executed == 0)
            continue;
        if (lanes == 0)
            tt_check_offend(c, TT_NO_OFFSET, "run %u (graph %u) has no ops at all", run->id,
                            m->graphs[run->graph].id);
        /* Fewer may take part than were asked for: the pool is smaller, or OpenMP has a limit. */
        else if (run->threads > 0 && run->threads < lanes && run->observed == TT_OBSERVED_HOOK)
            tt_check_offend(c, TT_NO_OFFSET,
                            "run %u was asked for on %u thread%s, ops of %u are there", run->id,
                            run->threads, run->threads == 1 ? "" : "s", lanes);
        else if (lanes != highest + 1)
            tt_check_offend(c, TT_NO_OFFSET, "run %u has ops of %u lanes, the highest is lane %u",
                            run->id, lanes, highest);
    }
    if (m->n_runs == 0) tt_check_not_observed(c, "the trace holds no runs");
    return TT_OK;
}

/* --- op-count --- */

typedef struct count_state {
    uint64_t seen; /* executed nodes, covered ones included, of runs that ended */
} count_state;

static void count_piece(void *context, const tt_model *m, const tt_run *run, const tt_piece_ops *p,
                        tt_check *c)
{
    count_state *s = context;
    (void)m;
    (void)c;
    if (!ended_well(run) || by_program(run) || run->graph == TT_NONE) return;
    s->seen += p->n;
    for (size_t i = 0; i < p->n; i++)
        s->seen += p->covers[i];
}

tt_status tt_check_op_count(const tt_model *m, tt_check *c, tt_error *err)
{
    count_state s = {0};
    uint64_t expected = 0, written, dropped = m->losses_total;
    if (!tt_check_has_end(m)) {
        tt_check_not_observed(
            c, tt_check_no_end(m, "the trace was cut off: what stood behind the cut is not known"));
        return TT_OK;
    }
    tt_status status = walk(m, c, false, count_piece, &s, err);
    if (status != TT_OK) return status;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        uint32_t highest, lanes = lanes_of_run(m, &m->runs[i], &highest);
        if (ended_well(&m->runs[i]) && !by_program(&m->runs[i]) && m->runs[i].graph != TT_NONE)
            expected += (uint64_t)m->graphs[m->runs[i].graph].n_executed * lanes;
    }
    /* A dropped record may have covered several nodes: then fewer are missing than that. */
    if (s.seen > expected || expected - s.seen > dropped * 8 || (!dropped && s.seen != expected))
        tt_check_offend(c, TT_NO_OFFSET,
                        "%" PRIu64 " executed nodes of all runs and lanes, %" PRIu64
                        " in the records, %" PRIu64 " records dropped",
                        expected, s.seen, dropped);
    if (tt_model_count(m, "ops", &written) &&
        written != tt_pieces_records(m->pieces) + m->front.was.ops)
        tt_check_offend(c, TT_NO_OFFSET,
                        "the recorder wrote %" PRIu64 " records, the trace holds %" PRIu64, written,
                        tt_pieces_records(m->pieces) + m->front.was.ops);
    if (m->n_runs == 0) tt_check_not_observed(c, "the trace holds no runs");
    return TT_OK;
}
