#include "analyze/memory/layout.h"

#include "analyze/access.h"
#include "analyze/filter.h"
#include "analyze/join.h"
#include "analyze/ranges.h"
#include "analyze/reads.h"
#include "base/array.h"
#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

/* --- the units that an op uses --- */

typedef struct unit_piece {
    uint32_t unit;
    bool writes;
    bool at_most;        /* bytes is an upper bound */
    bool placed;         /* all bytes from begin to end were used */
    uint64_t bytes;      /* read or written of the unit */
    uint64_t begin, end; /* in the unit's segment */
} unit_piece;

/* A list of pieces; zero-filled is empty. A unit may occur several times. */
typedef struct unit_pieces {
    unit_piece *list;
    size_t n, capacity;
    uint64_t impossible; /* counts uses outside of any file or buffer */
    bool failed;         /* out of memory */
} unit_pieces;

/* An interval of a segment that an op uses, and how much of it. */
typedef struct interval {
    uint64_t begin, end;
    uint64_t bytes;       /* less than end - begin: unknown bytes of it */
    bool writes, at_most; /* at_most: of bytes */
} interval;

static void add_piece(unit_pieces *p, uint32_t unit, const interval *s, uint64_t begin,
                      uint64_t end)
{
    const uint64_t part = end - begin;
    unit_piece *piece = tt_array_add(p->list, p->n, p->capacity);
    p->failed |= !piece;
    if (!piece) return;
    *piece = (unit_piece){.unit = unit,
                          .writes = s->writes,
                          .at_most = s->at_most ||
                                     (s->bytes < s->end - s->begin && part < s->end - s->begin),
                          .placed = !s->at_most && s->bytes == s->end - s->begin,
                          .bytes = s->bytes < part ? s->bytes : part,
                          .begin = begin,
                          .end = end};
}

static void add_slices(unit_pieces *p, const tt_region *r, const interval *s, uint64_t begin,
                       uint64_t end)
{
    uint32_t first, last;
    tt_region_slices_of(r, begin, end, &first, &last);
    for (uint32_t i = first; i < last && !p->failed; i++) {
        uint64_t from, to;
        tt_region_slice(r, i, &from, &to);
        add_piece(p, r->first_slice + i, s, from > begin ? from : begin, to < end ? to : end);
    }
}

/* Adds the interval's part in each region of the segment. */
static void add_interval(unit_pieces *p, const tt_memory_layout *s, uint32_t segment, interval t)
{
    const tt_memory_segment *of = &s->segments[segment];
    uint32_t r = t.end > t.begin ? tt_memory_layout_find(s, segment, t.begin) : TT_NONE;
    if (r == TT_NONE) {
        p->impossible += t.end > t.begin;
        return;
    }
    if (t.bytes > t.end - t.begin) t.bytes = t.end - t.begin;
    for (; r < of->first_region + of->n_regions && s->regions[r].begin < t.end && !p->failed; r++) {
        const tt_region *region = &s->regions[r];
        uint64_t begin = region->begin > t.begin ? region->begin : t.begin;
        uint64_t end = region->end < t.end ? region->end : t.end;
        add_piece(p, r, &t, begin, end);
        if (region->n_slices) add_slices(p, region, &t, begin, end);
    }
}

/* Bytes [begin, begin + size) of a tensor's root, if that is in a buffer. */
static void add_in_buffer(const tt_model *m, const tt_memory_layout *s, const tt_graph *g,
                          uint32_t tensor, uint64_t begin, uint64_t size, interval t,
                          unit_pieces *p)
{
    const tt_tensor *root = &g->tensors[g->tensors[tensor].root];
    if (root->buffer >= m->n_buffers || s->segment_of_buffer[root->buffer] == TT_NONE) return;
    if (__builtin_add_overflow(begin, root->location, &t.begin) ||
        __builtin_add_overflow(t.begin, size, &t.end)) {
        p->impossible++;
        return;
    }
    add_interval(p, s, s->segment_of_buffer[root->buffer], t);
}

static void add_access(const tt_model *m, const tt_memory_layout *s, const tt_op *op,
                       const tt_access *a, unit_pieces *p)
{
    if (a->size_bytes == 0) return;
    if (!tt_reads_is_possible(m, a)) {
        p->impossible++;
        return;
    }
    const tt_weight *w = &m->weights[a->weight];
    const interval t = {.begin = a->offset_bytes,
                        .end = a->offset_bytes + a->span_bytes,
                        .bytes = a->size_bytes,
                        .at_most = a->at_most};
    /* A copy's internal layout may differ, but it has the same rows and experts in order. */
    add_in_buffer(m, s, op->graph, a->tensor, a->offset_bytes - w->offset_bytes, a->span_bytes, t,
                  p);
    if (w->file < s->n_segments) add_interval(p, s, w->file, t);
}

/* Written by the op: for SET_ROWS as many rows as in its source, somewhere in the result. */
static void add_result(const tt_model *m, const tt_memory_layout *s, const tt_op *op,
                       unit_pieces *p)
{
    const uint32_t node = op->nodes[op->n_nodes - 1];
    const tt_tensor *t = &op->graph->tensors[node];
    uint64_t bytes = t->size_bytes;
    if (strcmp(t->op_name, "SET_ROWS") == 0 && t->n_src > 0 && t->src[0] != TT_NONE) {
        const tt_tensor *from = &op->graph->tensors[t->src[0]];
        uint64_t rows = from->ne[0] ? tt_elements(from) / from->ne[0] : 0, all;
        if (!__builtin_mul_overflow(rows, t->nb[1], &all) && all < bytes) bytes = all;
    }
    add_in_buffer(m, s, op->graph, node, t->root_offset_bytes, t->size_bytes,
                  (interval){.bytes = bytes, .writes = true}, p);
}

/* Sets the list to what the op uses: `accesses` (tt_accesses_of) to weights, and the buffers of its
 * sources and its result. */
static void pieces_of(const tt_model *m, const tt_memory_layout *s, const tt_op *op,
                      const tt_access *accesses, size_t n_accesses, unit_pieces *p)
{
    p->n = 0;
    for (size_t i = 0; i < n_accesses && !p->failed; i++)
        add_access(m, s, op, &accesses[i], p);
    for (uint32_t i = 0; i < op->n_sources && !p->failed; i++) {
        const tt_op_source *source = &op->sources[i];
        const tt_tensor *t = &op->graph->tensors[source->tensor];
        if (source->weight != TT_NONE) continue;
        add_in_buffer(m, s, op->graph, source->tensor, t->root_offset_bytes, t->size_bytes,
                      (interval){.bytes = source->read_bytes, .at_most = source->at_most}, p);
    }
    if (!p->failed) add_result(m, s, op, p);
}

/* --- sums --- */

/* New ranges of a partly touched unit after which they are merged. */
#define RANGES_EACH 1024u
/* Runs between two checks for cancellation. */
#define RUNS_EACH 64u

/* Executions of a node whose uses are always the same: added to its units at the end, or when what
 * it covers changes. */
typedef struct node_sum {
    uint64_t ops; /* 0: nothing to add */
    uint64_t timed, ticks, first_ticks, last_ticks;
    uint32_t first_batch, last_batch;
    uint32_t run;   /* one that executed it */
    uint8_t covers; /* examined with so many covered nodes ... */
    bool known;     /* ... and then: */
    bool picks;     /* rows or experts of weights: uses differ from run to run */
} node_sum;

/* Which bytes of a unit were touched. */
typedef struct touch {
    tt_ranges ranges;
    size_t merged;           /* number of ranges after the last merge */
    uint64_t unplaced_bytes; /* also somewhere in it */
} touch;

typedef struct measure {
    const tt_model *m;
    const tt_memory_layout *s;
    const tt_filter *filter;
    tt_memory_heat *heat;
    tt_filter_ops passing;
    tt_slice_filter slices;
    tt_join join;
    tt_accesses *accesses;
    uint32_t accesses_run; /* of the accesses, or TT_NONE */
    node_sum **sums;       /* by graph, by node; NULL until needed */
    touch **touched;       /* by unit; NULL: nothing */
    uint64_t *last_op;     /* by unit: number of the last counted op */
    uint64_t n_ops;
    unit_pieces pieces;
} measure;

static void bounds_of(const tt_memory_layout *s, uint32_t unit, uint32_t region, uint64_t *begin,
                      uint64_t *end)
{
    const tt_region *r = &s->regions[region];
    *begin = r->begin;
    *end = r->end;
    if (unit >= s->n_regions) tt_region_slice(r, unit - r->first_slice, begin, end);
}

/* --- units --- */

static bool add_touch(measure *q, const unit_piece *p, uint64_t ops)
{
    touch *t = q->touched[p->unit];
    if (!t) t = q->touched[p->unit] = calloc(1, sizeof *t);
    if (!t) return false;
    if (!p->placed) t->unplaced_bytes = tt_plus(t->unplaced_bytes, tt_times(p->bytes, ops));
    if (!p->placed) return true;
    tt_ranges *r = &t->ranges;
    /* The same bytes again, token after token. */
    if (r->n && r->list[r->n - 1].begin <= p->begin && p->end <= r->list[r->n - 1].end) return true;
    tt_ranges_add(r, p->begin, p->end);
    if (r->n > t->merged * 2 + RANGES_EACH) {
        tt_ranges_merge(r);
        t->merged = r->n;
    }
    return !r->failed;
}

static void add_ops(tt_unit_use *u, const node_sum *n)
{
    if (u->accesses == 0 || n->first_ticks < u->first_ticks) {
        u->first_ticks = n->first_ticks;
        u->first_batch = n->first_batch;
    }
    if (u->accesses == 0 || n->last_ticks >= u->last_ticks) {
        u->last_ticks = n->last_ticks;
        u->last_batch = n->last_batch;
    }
    u->accesses += n->ops;
    u->timed += n->timed;
    u->ticks += n->ticks;
}

/* All of q->pieces, used by each op of n. */
static bool add_pieces(measure *q, const node_sum *n)
{
    const uint64_t number = ++q->n_ops;
    for (size_t i = 0; i < q->pieces.n; i++) {
        const unit_piece *p = &q->pieces.list[i];
        tt_unit_use *u = &q->heat->units[p->unit];
        u->at_most |= p->at_most;
        if (q->last_op[p->unit] != number) add_ops(u, n);
        q->last_op[p->unit] = number;
        uint64_t *bytes = p->writes ? &u->written_bytes : &u->read_bytes;
        *bytes = tt_plus(*bytes, tt_times(p->bytes, n->ops));
        if (!add_touch(q, p, n->ops)) return false;
    }
    return !q->pieces.failed;
}

/* --- ops --- */

static tt_status find_pieces(measure *q, const tt_op *op, uint32_t run, tt_error *err)
{
    const tt_access *list;
    size_t n;
    if (q->accesses_run != run) {
        q->accesses_run = TT_NONE;
        tt_status status = tt_accesses_run(q->accesses, run, err);
        if (status != TT_OK) return status;
        q->accesses_run = run;
    }
    tt_status status = tt_accesses_of(q->accesses, op, &list, &n, err);
    if (status != TT_OK) return status;
    const uint64_t impossible = q->pieces.impossible;
    pieces_of(q->m, q->s, op, list, n, &q->pieces);
    q->heat->impossible += q->pieces.impossible - impossible;
    return q->pieces.failed ? tt_error_memory(err, "the heat of the memory") : TT_OK;
}

/* Adds the node's uses to its units. */
static tt_status report(measure *q, uint32_t graph, uint32_t node, node_sum *n, tt_error *err)
{
    tt_op op;
    if (n->ops == 0) return TT_OK;
    tt_op_describe(q->m, &q->m->graphs[graph], node, n->covers, &op);
    tt_status status = find_pieces(q, &op, n->run, err);
    if (status == TT_OK && !add_pieces(q, n))
        status = tt_error_memory(err, "the heat of the memory");
    n->ops = n->timed = n->ticks = 0;
    return status;
}

static bool knows(node_sum *n, uint8_t covers)
{
    return n->known && n->covers == covers;
}

static tt_status look_at(measure *q, uint32_t graph, uint32_t node, node_sum *n, uint8_t covers,
                         tt_error *err)
{
    tt_op op;
    tt_status status = report(q, graph, node, n, err);
    tt_op_describe(q->m, &q->m->graphs[graph], node, covers, &op);
    n->covers = covers;
    n->known = true;
    n->picks = op.picks;
    return status;
}

static tt_status add_op(measure *q, uint32_t run, uint32_t node, node_sum *n, tt_error *err)
{
    const tt_joined *o = &q->join.ops[node];
    const tt_run *r = &q->m->runs[run];
    tt_status status = TT_OK;
    if (!knows(n, o->covers)) status = look_at(q, r->graph, node, n, o->covers, err);
    if (n->ops == 0 || o->start < n->first_ticks) {
        n->first_ticks = o->start;
        n->first_batch = r->batch;
    }
    if (n->ops == 0 || o->start >= n->last_ticks) {
        n->last_ticks = o->start;
        n->last_batch = r->batch;
    }
    n->run = run;
    n->ops++;
    n->timed += !o->open;
    if (!o->open) n->ticks += tt_joined_ticks(o);
    q->heat->ops++;
    if (status == TT_OK && n->picks) status = report(q, r->graph, node, n, err);
    return status;
}

static node_sum *sums_of(measure *q, uint32_t graph)
{
    if (!q->sums[graph])
        q->sums[graph] = calloc((size_t)q->m->graphs[graph].n_nodes + 1, sizeof **q->sums);
    return q->sums[graph];
}

static tt_status walk_run(measure *q, uint32_t run, tt_error *err)
{
    const tt_filter *f = q->filter;
    const uint32_t graph = q->m->runs[run].graph;
    const bool timed = f->has_from || f->has_to;
    if (graph == TT_NONE || !tt_filter_run(f, q->m, &q->m->runs[run])) return TT_OK;
    tt_status status = tt_join_run(&q->join, q->m, run, err);
    if (status != TT_OK || q->join.n_touched == 0) return status;
    node_sum *sums = sums_of(q, graph);
    uint8_t *verdicts = tt_filter_ops_of(&q->passing, graph);
    if (!sums || q->passing.failed) return tt_error_memory(err, "the heat of the memory");
    for (uint32_t i = 0; i < q->join.n_touched && status == TT_OK; i++) {
        const uint32_t node = q->join.touched[i];
        const tt_joined *o = &q->join.ops[node];
        if (!tt_filter_ops_pass(&q->passing, verdicts, graph, node, o->covers)) continue;
        if (timed && !tt_filter_span(f, tt_model_ns(q->m, o->start), tt_model_ns(q->m, o->release)))
            continue;
        bool passes;
        status = tt_slice_filter_passes(&q->slices, run, node, o->covers, &passes, err);
        if (status == TT_OK && passes) status = add_op(q, run, node, &sums[node], err);
    }
    return status;
}

static tt_status report_all(measure *q, tt_error *err)
{
    tt_status status = TT_OK;
    for (uint32_t g = 0; g < q->m->n_graphs; g++)
        for (uint32_t i = 0; q->sums[g] && i < q->m->graphs[g].n_nodes && status == TT_OK; i++)
            status = report(q, g, i, &q->sums[g][i], err);
    return status;
}

/* --- everything --- */

static bool finish_touch(measure *q, uint32_t unit, uint32_t region)
{
    touch *t = q->touched[unit];
    uint64_t begin, end;
    if (!t) return true;
    bounds_of(q->s, unit, region, &begin, &end);
    tt_ranges_merge(&t->ranges);
    const uint64_t bytes = tt_plus(tt_ranges_within(&t->ranges, begin, end), t->unplaced_bytes);
    q->heat->units[unit].touched_bytes = bytes < end - begin ? bytes : end - begin;
    q->heat->units[unit].touched_at_most = t->unplaced_bytes > 0;
    return !t->ranges.failed;
}

static bool finish(measure *q)
{
    bool ok = true;
    for (uint32_t i = 0; i < q->s->n_regions; i++) {
        const tt_region *r = &q->s->regions[i];
        ok &= finish_touch(q, i, i);
        for (uint32_t k = 0; k < r->n_slices; k++)
            ok &= finish_touch(q, r->first_slice + k, i);
    }
    return ok;
}

static void free_measure(measure *q)
{
    for (uint32_t i = 0; q->touched && i < q->s->n_units; i++) {
        if (q->touched[i]) tt_ranges_free(&q->touched[i]->ranges);
        free(q->touched[i]);
    }
    for (uint32_t i = 0; q->sums && i < q->m->n_graphs; i++)
        free(q->sums[i]);
    free(q->touched);
    free(q->sums);
    free(q->last_op);
    tt_accesses_free(q->accesses);
    tt_join_free(&q->join);
    tt_filter_ops_free(&q->passing);
    tt_slice_filter_free(&q->slices);
    free(q->pieces.list);
}

tt_status tt_memory_heat_measure(const tt_model *m, const tt_memory_layout *s,
                                 const tt_filter *filter, const tt_over *over, tt_memory_heat *heat,
                                 tt_error *err)
{
    measure q = {.m = m, .s = s, .filter = filter, .heat = heat, .accesses_run = TT_NONE};
    tt_status status = TT_OK;
    memset(heat, 0, sizeof *heat);
    q.passing = (tt_filter_ops){.m = m, .filter = filter};
    q.slices = tt_slice_filter_of(m, filter);
    if (filter->has_from || filter->has_to) status = tt_model_need_clock(m, err);
    heat->units = calloc((size_t)s->n_units + 1, sizeof *heat->units);
    q.touched = calloc((size_t)s->n_units + 1, sizeof(touch *));
    q.last_op = calloc((size_t)s->n_units + 1, sizeof *q.last_op);
    q.sums = calloc((size_t)m->n_graphs + 1, sizeof(node_sum *));
    q.accesses = tt_accesses_new(m);
    if (status == TT_OK && (!heat->units || !q.touched || !q.last_op || !q.sums || !q.accesses))
        status = tt_error_memory(err, "the heat of the memory");
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        status = walk_run(&q, i, err);
        if (i % RUNS_EACH == RUNS_EACH - 1 && status == TT_OK) status = tt_over_check(over, err);
    }
    if (status == TT_OK) status = report_all(&q, err);
    if (status == TT_OK && !finish(&q)) status = tt_error_memory(err, "the heat of the memory");
    free_measure(&q);
    return status;
}

void tt_memory_heat_free(tt_memory_heat *heat)
{
    free(heat->units);
    memset(heat, 0, sizeof *heat);
}
