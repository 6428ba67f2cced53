/* The checks of `verify` that walk the op records. */
#include "analyze/access.h"
#include "analyze/verify/checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With more losses than this each interval counts as affected. */
#define LOSSES_LOOKED_AT 256u

/* Called per piece, in the order of run, lane and file. */
typedef void piece_visit(void *context, const tt_model *m, const tt_run *run, const tt_piece_ops *p,
                         tt_check *c);

/* Visits every piece whose run is known (any_run: all pieces). Pieces that cannot be decoded are
 * left to the checksums check. */
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

/* The end of a run is checked only if the run succeeded. */
static bool ended_well(const tt_run *run)
{
    return run->ended && run->status == 0;
}

/* For ops that a program reports itself, only each op must be consistent: the program decides which
 * threads take part in which op, and in what order. */
static bool by_program(const tt_run *run)
{
    return run && run->observed == TT_OBSERVED_PROGRAM;
}

/* --- times --- */

typedef struct times_state {
    uint32_t run;
    uint32_t lane;
    uint64_t release; /* of the previous record of that run and lane */
    bool any;
} times_state;

static void check_times(void *context, const tt_model *m, const tt_run *run, const tt_piece_ops *p,
                        tt_check *c)
{
    times_state *s = context;
    const unsigned shift = p->tick_shift; /* records lack these low bits */
    if (!s->any || s->run != p->run || s->lane != p->lane) {
        *s = (times_state){p->run, p->lane, 0, true};
    }
    for (size_t i = 0; i < p->n; i++) {
        uint64_t start = p->start[i], arrive = p->arrive[i], release = p->release[i];
        const char *wrong = NULL;
        uint64_t a = 0, b = 0;
        if (zero(p, i)) continue; /* left to the no-zero check */
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

/* Whether losses were reported where this piece may lack records. */
static bool has_loss(const tt_model *m, const tt_piece_ops *p)
{
    if (m->n_losses > LOSSES_LOOKED_AT) return true;
    for (uint32_t i = 0; i < m->n_losses; i++)
        if (m->losses[i].ring + 1 == p->stream && m->losses[i].position >= p->position &&
            m->losses[i].position <= p->position + p->n)
            return true;
    return false;
}

/* The node at or after `from` that has records; n_nodes if there is none. */
static uint32_t executing(const tt_graph *g, uint32_t from)
{
    const uint32_t recorded = TT_TENSOR_EXECUTES, mask = recorded | TT_TENSOR_UNTIMED;
    while (from < g->n_nodes && (g->tensors[from].flags & mask) != recorded)
        from++;
    return from;
}

typedef struct order_state {
    const tt_run *run;
    const tt_graph *graph;
    uint32_t lane;
    uint32_t next; /* the node expected next */
    bool skip;     /* the lane had losses, or an error */
    uint64_t offset;
} order_state;

/* If the trace was cut off, missing records may have been after the cut. */
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
        if (run->graph == TT_NONE || by_program(run)) return; /* left to the references check */
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
    uint32_t most = 0, limited = 0, most_wanted = 0;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        uint32_t highest, lanes = lanes_of_run(m, &m->runs[i], &highest);
        if (m->runs[i].observed == TT_OBSERVED_HOOK && lanes > most) most = lanes;
    }
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *run = &m->runs[i];
        uint32_t highest, lanes = lanes_of_run(m, run, &highest);
        if (!ended_well(run) || by_program(run) || run->graph == TT_NONE || m->n_losses > 0 ||
            !tt_check_has_end(m) || run->observed == TT_OBSERVED_BOUNDS ||
            m->graphs[run->graph].n_executed == m->graphs[run->graph].n_untimed)
            continue;
        if (lanes == 0)
            tt_check_offend(c, TT_NO_OFFSET, "run %u (graph %u) has no ops at all", run->id,
                            m->graphs[run->graph].id);
        else if (run->threads > 0 && run->threads < lanes && run->observed == TT_OBSERVED_HOOK)
            tt_check_offend(c, TT_NO_OFFSET,
                            "run %u was asked for on %u thread%s, ops of %u are there", run->id,
                            run->threads, run->threads == 1 ? "" : "s", lanes);
        else if (lanes != highest + 1)
            tt_check_offend(c, TT_NO_OFFSET, "run %u has ops of %u lanes, the highest is lane %u",
                            run->id, lanes, highest);
        else if (run->threads > lanes && lanes < most && run->observed == TT_OBSERVED_HOOK)
            tt_check_offend(c, TT_NO_OFFSET,
                            "run %u was asked for on %u threads, ops of %u are there, and of %u of "
                            "another run",
                            run->id, run->threads, lanes, most);
        /* Where no run has more, the pool may be smaller, or OpenMP may have a limit. */
        else if (run->threads > lanes && run->observed == TT_OBSERVED_HOOK) {
            limited++;
            if (run->threads > most_wanted) most_wanted = run->threads;
        }
    }
    if (limited && c->offences == 0)
        (void)snprintf(c->detail, sizeof c->detail,
                       "%u run%s asked for on up to %u threads, and %u took part: a limit of the "
                       "program's, or lanes that are not in the trace",
                       limited, limited == 1 ? " was" : "s were", most_wanted, most);
    if (m->n_runs == 0) tt_check_not_observed(c, "the trace holds no runs");
    return TT_OK;
}

/* --- op-count --- */

typedef struct count_state {
    uint64_t seen; /* executed nodes, including covered ones, of runs that ended */
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
            expected += (uint64_t)(m->graphs[m->runs[i].graph].n_executed -
                                   m->graphs[m->runs[i].graph].n_untimed) *
                        lanes;
    }
    /* A dropped record may have covered several nodes: then it explains several missing ones. */
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

/* The check of `verify` on what else was observed of ops. */

/* The check of `verify` that every weight is at its offset in the model file. */

#define USAGE_WEIGHTS 1u

/* A leaf in memory that holds weights must be a weight. */
static bool must_be_weight(const tt_model *m, const tt_tensor *t)
{
    if (t->buffer == TT_NONE) return false;
    const tt_buffer *b = &m->buffers[t->buffer];
    return b->usage == USAGE_WEIGHTS || b->flags & TT_BUFFER_FILE;
}

static void check_leaf(const tt_model *m, const tt_graph *g, const tt_tensor *t, tt_check *c)
{
    uint64_t at = g->chunk_offset_bytes;
    if (t->weight == TT_NONE) {
        if (must_be_weight(m, t))
            tt_check_offend(c, at,
                            "graph %u: %.80s lies among the weights but no model file has it",
                            g->id, t->name);
        return;
    }
    const tt_weight *w = &m->weights[t->weight];
    const tt_model_file *f = &m->files[w->file];
    c->examined++;
    if (w->size_bytes != t->size_bytes)
        tt_check_offend(c, at,
                        "graph %u: %.80s has %" PRIu64 " bytes, %" PRIu64 " in the model file",
                        g->id, t->name, t->size_bytes, w->size_bytes);
    if (w->offset_bytes < f->data_offset_bytes || w->offset_bytes > f->size_bytes ||
        w->size_bytes > f->size_bytes - w->offset_bytes)
        tt_check_offend(c, at,
                        "%.80s (bytes %" PRIu64 " + %" PRIu64
                        ") is not inside the data of its file (%" PRIu64 " to %" PRIu64 ")",
                        t->name, w->offset_bytes, w->size_bytes, f->data_offset_bytes,
                        f->size_bytes);
    if (t->buffer == TT_NONE) return;
    const tt_buffer *b = &m->buffers[t->buffer];
    if (b->flags & TT_BUFFER_FILE && t->origin != TT_ORIGIN_FILE)
        tt_check_offend(c, at,
                        "graph %u: %.80s is mapped from byte %" PRIu64
                        " of its file, but lies at byte %" PRIu64 " of it",
                        g->id, t->name, b->file_offset_bytes + t->location, w->offset_bytes);
    if (t->location > b->size_bytes || t->size_bytes > b->size_bytes - t->location)
        tt_check_offend(c, at, "graph %u: %.80s passes the end of buffer %" PRIu64, g->id, t->name,
                        b->id);
}

tt_status tt_check_weights(const tt_model *m, tt_check *c, tt_error *err)
{
    (void)err;
    if (m->n_weights == 0) {
        tt_check_not_observed(c, "no model file was seen");
        return TT_OK;
    }
    for (uint32_t k = 0; k < m->n_graphs; k++) {
        const tt_graph *g = &m->graphs[k];
        for (uint32_t i = g->n_nodes; i < g->n_tensors; i++)
            if (g->tensors[i].root == i) check_leaf(m, g, &g->tensors[i], c);
    }
    if (c->examined == 0) tt_check_not_observed(c, "no graph has a weight");
    return TT_OK;
}

static bool has_lane(const tt_model *m, uint32_t run_id, uint32_t lane)
{
    const tt_piece *list;
    size_t n;
    /* After the survey this reads nothing and cannot fail. */
    (void)tt_pieces_of_run(m->pieces, run_id, &list, &n, NULL);
    for (size_t i = 0; i < n; i++)
        if (list[i].lane == lane) return true;
    /* Its records may be among the dropped ones. */
    return n == 0 || m->losses_total > 0;
}

static void check_experts(const tt_graph *g, const tt_detail *d, tt_check *c, uint64_t offset)
{
    uint32_t node = tt_detail_node(d);
    if (tt_access_router(g, node) != node) {
        tt_check_offend(c, offset,
                        "run %u: node %u (%.64s) chooses experts, but is not the first that uses "
                        "its ids",
                        d->run, node, g->tensors[node].name);
        return;
    }
    const tt_tensor *t = &g->tensors[node];
    const tt_tensor *from = &g->tensors[t->src[0]], *ids = &g->tensors[t->src[2]];
    uint32_t n = d->experts.n;
    if (d->experts.token >= ids->ne[1] || (uint64_t)d->experts.first_rank + n > ids->ne[0])
        tt_check_offend(c, offset,
                        "run %u, node %u (%.64s): ranks %u to %u of row %u, but there are %" PRIu64
                        " of %" PRIu64 " rows",
                        d->run, node, t->name, d->experts.first_rank, d->experts.first_rank + n - 1,
                        d->experts.token, ids->ne[0], ids->ne[1]);
    if (tt_detail_kind_of(d) != TT_DETAIL_EXPERTS) return;
    for (uint32_t i = 0; i < n && i < TT_DETAIL_EXPERTS_MAX; i++)
        if (d->experts.expert[i] >= from->ne[2])
            tt_check_offend(c, offset,
                            "run %u, node %u (%.64s): row %u chooses expert %u of %" PRIu64, d->run,
                            node, t->name, d->experts.token, d->experts.expert[i], from->ne[2]);
}

static void check_detail(const tt_model *m, const tt_detail *d, tt_check *c, uint64_t offset)
{
    uint32_t run = tt_model_run(m, d->run), node = tt_detail_node(d);
    c->examined++;
    if (run == TT_NONE && m->front.present && d->run <= m->front.runs_cut) return;
    if (run == TT_NONE) {
        /* The META record may have been after the cut. */
        if (tt_check_has_end(m))
            tt_check_offend(c, offset, "a detail belongs to run %u, which is not there", d->run);
        return;
    }
    if (m->runs[run].graph == TT_NONE) return; /* among the model's problems */
    const tt_graph *g = &m->graphs[m->runs[run].graph];
    if (node >= g->n_nodes || !(g->tensors[node].flags & TT_TENSOR_EXECUTES)) {
        tt_check_offend(c, offset, "run %u: a detail of node %u, which is not executed", d->run,
                        node);
        return;
    }
    const enum tt_detail_kind kind = tt_detail_kind_of(d);
    if (kind == TT_DETAIL_FAULTS || kind >= TT_DETAIL_OFF_CPU) {
        if (!has_lane(m, d->run, tt_detail_lane(d)))
            tt_check_offend(c, offset, "run %u, node %u (%.64s): %s of lane %u, which has no ops",
                            d->run, node, g->tensors[node].name,
                            kind == TT_DETAIL_FAULTS        ? "faults"
                            : kind == TT_DETAIL_OFF_CPU     ? "off-CPU time"
                            : kind == TT_DETAIL_WAIT_INSIDE ? "a wait inside the op"
                            : kind == TT_DETAIL_THREAD      ? "the thread's time"
                                                            : "the time between ops",
                            tt_detail_lane(d));
    } else if (tt_detail_kind_of(d) != TT_DETAIL_VALUE) {
        check_experts(g, d, c, offset);
    }
}

/* Each detail. *records: the sum of the chunks' headers. */
static tt_status check_chunks(const tt_model *m, tt_check *c, uint64_t *records, tt_error *err)
{
    tt_unpacker u;
    tt_status status = TT_OK;
    const tt_trace *t = &m->trace;
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t->n_chunks && status == TT_OK; i++) {
        tt_chunk_header h;
        tt_span payload;
        tt_detail *list = NULL;
        size_t n = 0;
        if (t->chunks[i].type != TT_CHUNK_DETAIL) continue;
        status = tt_trace_chunk(t, i, SIZE_MAX, &u, &h, &payload, err);
        if (status == TT_OK) status = tt_detail_decode(payload, h.count, &list, &n, err);
        if (status == TT_E_MEMORY || status == TT_E_IO) break;
        if (status != TT_OK) {
            tt_check_not_observed(c, "a DETAIL chunk is damaged: see checksums");
            status = TT_OK;
        }
        *records += t->chunks[i].count;
        for (size_t k = 0; k < n; k++)
            check_detail(m, &list[k], c, t->chunks[i].offset);
        free(list);
    }
    tt_unpacker_free(&u);
    return status;
}

static void check_faults(const tt_detail *list, size_t n, tt_check *c)
{
    for (size_t i = 1; i < n; i++)
        if (tt_detail_kind_of(&list[i]) == TT_DETAIL_FAULTS && list[i].place == list[i - 1].place)
            tt_check_offend(c, TT_NO_OFFSET,
                            "run %u, node %u: the faults of lane %u are told twice", list[i].run,
                            tt_detail_node(&list[i]), tt_detail_lane(&list[i]));
}

/* If one choice of a router was observed, all must have been. */
static void check_choices(const tt_model *m, const tt_run *run, const tt_accesses *a, tt_check *c)
{
    size_t n;
    const tt_choice *list = tt_accesses_choices(a, &n);
    const tt_graph *g = &m->graphs[run->graph];
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && list[i].node == list[i - 1].node) continue;
        if (!tt_accesses_router_known(a, list[i].node))
            tt_check_offend(c, TT_NO_OFFSET,
                            "run %u, node %u (%.64s): not every rank of every row has an expert",
                            run->id, list[i].node, g->tensors[list[i].node].name);
    }
}

/* Consistency within a run. */
static tt_status check_runs(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_status status = TT_OK;
    tt_accesses *a = tt_accesses_new(m);
    if (!a) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check details");
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        const tt_run *run = &m->runs[i];
        const tt_detail *list;
        size_t n;
        if (run->graph == TT_NONE) continue;
        status = tt_details_of_run(m->details, run->id, &list, &n, err);
        if (status != TT_OK || n == 0) continue;
        check_faults(list, n, c);
        if (m->detail_losses_total || !tt_check_has_end(m) || !run->ended || run->status != 0)
            continue;
        status = tt_accesses_run(a, i, err);
        if (status == TT_OK) check_choices(m, run, a, c);
    }
    tt_accesses_free(a);
    return status;
}

static void check_totals(const tt_model *m, uint64_t records, tt_check *c)
{
    uint64_t counted;
    if (!tt_check_has_end(m)) return;
    if (tt_model_count(m, "details", &counted) && counted != records + m->front.was.details)
        tt_check_offend(c, TT_NO_OFFSET,
                        "the recorder wrote %" PRIu64 " details, the trace holds %" PRIu64, counted,
                        records + m->front.was.details);
    if (tt_model_count(m, "details_dropped", &counted) && counted != m->detail_losses_total)
        tt_check_offend(c, TT_NO_OFFSET,
                        "the recorder dropped %" PRIu64
                        " details, DETAIL_LOSS records account for %" PRIu64,
                        counted, m->detail_losses_total);
}

tt_status tt_check_details(const tt_model *m, tt_check *c, tt_error *err)
{
    uint64_t records = 0;
    tt_status status = check_chunks(m, c, &records, err);
    bool damaged = c->verdict == TT_CHECK_NOT_OBSERVED;
    if (status == TT_OK && !damaged) status = check_runs(m, c, err);
    if (status == TT_OK && !damaged) check_totals(m, records, c);
    if (records == 0) tt_check_not_captured(m, "capture_experts", c);
    return status;
}
