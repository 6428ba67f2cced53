/* The check of `verify` on what else was observed of ops. */
#include "analyze/access.h"
#include "analyze/verify/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The check of `verify` that every weight is where the model file says. */

#define USAGE_WEIGHTS 1u

/* A leaf in memory that holds weights has to be a weight. */
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
    if (b->flags & TT_BUFFER_FILE && t->origin != TT_ORIGIN_DISK)
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
    /* Its records may be among those that were dropped. */
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
        /* The META record may stand behind the point of the cut. */
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
    if (tt_detail_kind_of(d) == TT_DETAIL_FAULTS || tt_detail_kind_of(d) == TT_DETAIL_OFF_CPU) {
        if (!has_lane(m, d->run, tt_detail_lane(d)))
            tt_check_offend(c, offset, "run %u, node %u (%.64s): %s of lane %u, which has no ops",
                            d->run, node, g->tensors[node].name,
                            tt_detail_kind_of(d) == TT_DETAIL_FAULTS ? "faults" : "off-CPU time",
                            tt_detail_lane(d));
    } else if (tt_detail_kind_of(d) != TT_DETAIL_VALUE) {
        check_experts(g, d, c, offset);
    }
}

/* Every detail by itself. *records: as the chunks' headers say. */
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

/* Where one choice of a router was observed, all of them were. */
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

/* What belongs together over a run. */
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
