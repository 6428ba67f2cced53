/* The check of `verify` on the fingerprints of outputs, and on their recorded data. */
#include "analyze/values/outputs.h"
#include "analyze/verify/checks.h"
#include "base/array.h"
#include "value/pack.h"
#include "value/type.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX ((uint64_t)1 << 30) /* of one output, assembled for comparison */

/* State of the check, reused for each run. */
typedef struct work {
    const tt_model *m;
    tt_check *c;
    tt_outputs outputs;
    uint8_t *inner; /* by node: it stays inside a fused op, and so has no output */
    uint32_t n_inner;
    tt_bytes data;
    tt_value_piece *pieces; /* TT_VALUE_PIECES_MAX */
    uint64_t bad;           /* outputs with NaN or infinity */
} work;

/* Marks the nodes of the run that were computed with a later one. */
static tt_status mark_inner(work *w, const tt_run *run, const tt_graph *g, tt_error *err)
{
    const tt_piece *list;
    size_t n;
    if (!tt_array_room(w->inner, w->n_inner, g->n_nodes)) return tt_error_memory(err, "a run");
    memset(w->inner, 0, g->n_nodes);
    tt_status status = tt_pieces_of_run(w->m->pieces, run->id, &list, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        tt_piece piece = list[i];
        tt_status got = tt_pieces_get(w->m->pieces, &piece, &p, err);
        if (got == TT_E_MEMORY || got == TT_E_IO || got == TT_E_LIMIT) return got;
        for (size_t k = 0; got == TT_OK && k < p.n; k++) {
            uint32_t node = p.node[k];
            for (unsigned left = p.covers[k]; left && node < g->n_nodes; node++) {
                if (!(g->tensors[node].flags & TT_TENSOR_EXECUTES)) continue;
                w->inner[node] = 1;
                left--;
            }
        }
    }
    return status;
}

/* All of the output's data, contiguous; false if there is none, or a part is missing. */
static bool gather(work *w, uint32_t run, uint32_t node, const tt_output_data *d, tt_status *status,
                   tt_error *err)
{
    const tt_output_shape *s = &d->shape;
    if (d->n_kept < d->n_parts ||
        s->n / tt_value_block_elements(s->type) * tt_value_block_bytes(s->type) > DATA_MAX)
        return false;
    tt_bytes_clear(&w->data);
    for (uint32_t part = 0; part < d->n_parts; part++) {
        uint64_t first;
        tt_span bytes;
        tt_error why;
        tt_status got = tt_output_data_read(w->m, run, node, part, &first, &bytes, &why);
        if (got == TT_E_MEMORY || got == TT_E_IO) {
            *status = tt_error_set(err, got, why.offset, "%s", why.message);
            return false;
        }
        if (got != TT_OK) {
            tt_check_offend(w->c, why.offset, "run %u, node %u: %s", w->m->runs[run].id, node,
                            why.message);
            return false;
        }
        tt_bytes_put(&w->data, bytes.data, bytes.size);
    }
    if (!w->data.failed) return true;
    *status = tt_error_memory(err, "an output's data");
    return false;
}

/* Compares the fingerprint with that of the data. */
static void compare(work *w, const tt_run *run, const tt_output *o, const tt_output_shape *s)
{
    uint8_t a[TT_VALUE_PACKED_MAX], b[TT_VALUE_PACKED_MAX];
    tt_fingerprint again;
    const uint64_t block = tt_value_block_bytes(s->type), each = tt_value_block_elements(s->type);
    const unsigned with = o->print.has_blake3 ? TT_VALUE_WITH_BLAKE3 : 0;
    const tt_value_data v = {.type = s->type,
                             .ne = {s->n, 1, 1, 1},
                             .nb = {block, s->n / each * block, 0, 0},
                             .data = w->data.data};
    uint32_t n = tt_value_pieces(&v);
    for (uint32_t k = 0; k < n; k++)
        tt_value_take(&v, k, with, &w->pieces[k]);
    tt_value_look(&v, &again);
    tt_value_finish(w->pieces, n, with, &again);
    size_t size = tt_value_pack(&again, b);
    if (tt_value_pack(&o->print, a) != size || memcmp(a, b, size) != 0)
        tt_check_offend(w->c, TT_NO_OFFSET,
                        "run %u, node %u: the data that was kept is not what the fingerprint says",
                        run->id, o->node);
}

static tt_status check_data(work *w, uint32_t run, const tt_output *o, tt_error *err)
{
    tt_output_data d;
    tt_status status = TT_OK;
    tt_output_data_find(w->m, run, o->node, &d);
    if (d.n_kept && gather(w, run, o->node, &d, &status, err))
        compare(w, &w->m->runs[run], o, &d.shape);
    return status;
}

static void check_output(work *w, const tt_run *run, const tt_graph *g, const tt_output *o)
{
    tt_output_shape s;
    const char *name = g->tensors[o->node].name;
    tt_output_shape_of(g, o->node, &s);
    if (w->inner[o->node])
        tt_check_offend(w->c, TT_NO_OFFSET,
                        "run %u: node %u (%.64s) has a fingerprint, but was computed together with "
                        "the next one and put nothing out",
                        run->id, o->node, name);
    if (s.n != o->print.n)
        tt_check_offend(w->c, TT_NO_OFFSET,
                        "run %u, node %u (%.64s): a fingerprint of %" PRIu64
                        " elements, the node has %" PRIu64,
                        run->id, o->node, name, o->print.n, s.n);
    const tt_fingerprint *f = &o->print;
    /* Written so that a NaN among them fails as well. */
    if (f->has_range && !(f->min <= f->max && f->mean >= (double)f->min - 1e-6 * f->rms &&
                          f->mean <= (double)f->max + 1e-6 * f->rms && f->rms >= 0))
        tt_check_offend(w->c, TT_NO_OFFSET,
                        "run %u, node %u (%.64s): least %g, mean %g, greatest %g, RMS %g", run->id,
                        o->node, name, (double)f->min, f->mean, (double)f->max, f->rms);
}

/* Whether missing parts of fingerprints are explained. */
static bool may_lack(const tt_model *m, const tt_run *run)
{
    return m->detail_losses_total > 0 || !tt_check_has_end(m) || !run->ended;
}

static tt_status check_run(work *w, uint32_t run, tt_error *err)
{
    const tt_run *r = &w->m->runs[run];
    uint64_t incomplete = w->outputs.incomplete;
    tt_status status = tt_outputs_of_run(&w->outputs, w->m, run, err);
    if (status != TT_OK || !w->outputs.graph) return status;
    if (w->outputs.incomplete > incomplete && !may_lack(w->m, r))
        tt_check_offend(w->c, TT_NO_OFFSET,
                        "run %u: %" PRIu64 " fingerprints are not whole, or there twice", r->id,
                        w->outputs.incomplete - incomplete);
    if (w->outputs.n) status = mark_inner(w, r, w->outputs.graph, err);
    for (size_t i = 0; i < w->outputs.n && status == TT_OK; i++) {
        w->c->examined++;
        w->bad += w->outputs.list[i].print.n_nan > 0 || w->outputs.list[i].print.n_inf > 0;
        check_output(w, r, w->outputs.graph, &w->outputs.list[i]);
        status = check_data(w, run, &w->outputs.list[i], err);
    }
    return status;
}

/* Data must be of an executed node in an existing run. */
static void check_chunks(const tt_model *m, tt_check *c)
{
    size_t n;
    const tt_data_part *list = tt_data_all(m->data, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t run = tt_model_run(m, list[i].run);
        uint64_t offset = m->trace.chunks[list[i].chunk].offset;
        if (run == TT_NONE && m->front.present && list[i].run <= m->front.runs_cut) continue;
        if (i > 0 && list[i].run == list[i - 1].run && list[i].node == list[i - 1].node &&
            list[i].part == list[i - 1].part)
            tt_check_offend(c, offset, "run %u, node %u: part %u of the data is there twice",
                            list[i].run, list[i].node, list[i].part);
        if (run == TT_NONE) {
            if (tt_check_has_end(m))
                tt_check_offend(c, offset, "data belongs to run %u, which is not there",
                                list[i].run);
            continue;
        }
        if (m->runs[run].graph == TT_NONE) continue; /* among the model's problems */
        const tt_graph *g = &m->graphs[m->runs[run].graph];
        tt_output_data d;
        tt_output_data_find(m, run, list[i].node, &d);
        if (list[i].node >= g->n_nodes || list[i].part >= d.n_parts ||
            !(g->tensors[list[i].node].flags & TT_TENSOR_EXECUTES))
            tt_check_offend(c, offset, "run %u: data of part %u of node %u, which has none",
                            list[i].run, list[i].part, list[i].node);
    }
}

/* The recorder's own counts; part of what it recorded may not be in the file. */
static void check_counts(const work *w)
{
    const tt_model *m = w->m;
    uint64_t taken, not_finite, lost = 0;
    if (!tt_check_has_end(m) || !tt_model_count(m, "outputs", &taken)) return;
    (void)tt_model_count(m, "meta_dropped", &lost);
    const uint64_t there = w->c->examined + w->outputs.incomplete;
    const bool may_lack = m->front.present || m->detail_losses_total > 0 || lost > 0;
    if (w->c->examined > taken || (there < taken && !may_lack))
        tt_check_offend(w->c, TT_NO_OFFSET,
                        "the recorder took %" PRIu64 " fingerprints, the trace holds %" PRIu64,
                        taken, there);
    if (!tt_model_count(m, "outputs_not_finite", &not_finite)) return;
    if (w->bad > not_finite || (w->bad < not_finite && !may_lack && w->outputs.incomplete == 0))
        tt_check_offend(w->c, TT_NO_OFFSET,
                        "the recorder counted %" PRIu64
                        " outputs with NaN or infinity, the trace holds %" PRIu64,
                        not_finite, w->bad);
}

tt_status tt_check_values(const tt_model *m, tt_check *c, tt_error *err)
{
    work w = {.m = m, .c = c};
    tt_status status = TT_OK;
    tt_bytes_init(&w.data, DATA_MAX);
    w.pieces = malloc(TT_VALUE_PIECES_MAX * sizeof *w.pieces);
    if (!w.pieces)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check values");
    if (status == TT_OK) check_chunks(m, c);
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++)
        status = check_run(&w, i, err);
    if (status == TT_OK) check_counts(&w);
    if (status == TT_OK && c->examined == 0) tt_check_not_captured(m, "capture_values", c);
    free(w.pieces);
    free(w.inner);
    tt_bytes_free(&w.data);
    tt_outputs_free(&w.outputs);
    return status;
}
