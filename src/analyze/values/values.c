#include "analyze/values/values.h"

#include "analyze/filter.h"
#include "analyze/join.h"
#include "analyze/values/outputs.h"
#include "base/array.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct building {
    const tt_model *m;
    tt_values_marks *out;
    size_t capacity;
} building;

static tt_status take_mark(void *context, tt_values_walk *w, const tt_values_seen *seen,
                           tt_error *err)
{
    building *b = context;
    (void)w;
    if (!seen->print || !tt_values_state_is_bad(seen->state)) return TT_OK;
    if (b->out->total++ >= TT_VALUES_MARKS_MAX) return TT_OK;
    tt_values_mark *mark = tt_array_add(b->out->list, b->out->n, b->capacity);
    if (!mark) return tt_error_memory(err, "marks of values");
    const uint32_t batch = b->m->runs[seen->run].batch;
    *mark = (tt_values_mark){
        .run = seen->run,
        .node = seen->node,
        .op = seen->first,
        .layer = b->m->graphs[seen->graph].tensors[seen->node].place.layer_id,
        .token = batch == TT_NONE ? TT_NONE : tt_model_batch_number(b->m, batch),
        .n_nan = seen->print->n_nan,
        .n_inf = seen->print->n_inf,
    };
    return TT_OK;
}

/* When the ops of the marks were computed. */
static tt_status find_times(building *b, const tt_over *over, tt_error *err)
{
    tt_join j = {0};
    tt_status status = TT_OK;
    for (size_t i = 0; i < b->out->n && status == TT_OK; i++) {
        tt_values_mark *mark = &b->out->list[i];
        if (i == 0 || mark->run != mark[-1].run) {
            status = tt_over_check(over, err);
            if (status == TT_OK) status = tt_join_run(&j, b->m, mark->run, err);
        }
        if (status != TT_OK || !j.graph || j.n_touched == 0) continue;
        const tt_joined *op = &j.ops[mark->op];
        mark->timed = op->stamp == j.stamp && !op->open;
        if (!mark->timed) continue;
        mark->start = op->start;
        mark->end = op->start + tt_joined_ticks(op);
    }
    tt_join_free(&j);
    return status;
}

tt_status tt_values_marks_make(const tt_model *m, const tt_over *over, tt_values_marks *out,
                               tt_error *err)
{
    static const tt_values_query everything;
    tt_values_counts counts = {0};
    building b = {.m = m, .out = out};
    memset(out, 0, sizeof *out);
    if (!tt_outputs_any(m)) return TT_OK;
    tt_status status = tt_values_walk_all(m, &everything, false, over, take_mark, &b, &counts, err);
    if (status == TT_OK && m->clock.known) status = find_times(&b, over, err);
    return status;
}

void tt_values_marks_free(tt_values_marks *marks)
{
    free(marks->list);
    memset(marks, 0, sizeof *marks);
}

double tt_values_max_abs(const tt_fingerprint *p)
{
    return p->has_range ? fmax(fabs((double)p->min), fabs((double)p->max)) : 0;
}

static bool is_finite(const tt_fingerprint *p)
{
    return p->has_range && !p->n_nan && !p->n_inf;
}

bool tt_values_is_constant(const tt_fingerprint *p)
{
    return p->n > 1 && is_finite(p) && !(p->min < p->max);
}

bool tt_values_is_zero(const tt_fingerprint *p)
{
    return is_finite(p) && tt_values_max_abs(p) <= 0;
}

bool tt_values_coordinates(const tt_graph *g, uint32_t node, uint64_t index, uint64_t out[4])
{
    tt_output_shape shape;
    tt_output_shape_of(g, node, &shape);
    for (unsigned d = 0; d < 4; d++) {
        if (shape.ne[d] == 0) return false;
        out[d] = index % shape.ne[d];
        index /= shape.ne[d];
    }
    return index == 0;
}

/* --- a list --- */

typedef struct listing {
    const tt_values_query *q;
    tt_values_page *page;
    size_t capacity;
} listing;

static bool is_wanted(tt_values_which which, const tt_values_seen *seen)
{
    switch (which) {
    case TT_VALUES_ALL:
        return true;
    case TT_VALUES_BAD:
        return tt_values_state_is_bad(seen->state);
    case TT_VALUES_MASKING:
        return seen->state == TT_STATE_MASKING;
    case TT_VALUES_CONSTANT:
        return tt_values_is_constant(seen->print);
    case TT_VALUES_ZERO:
        return tt_values_is_zero(seen->print);
    }
    return false;
}

static tt_status take(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    listing *l = context;
    (void)w;
    if (!seen->print || !is_wanted(l->q->which, seen)) return TT_OK;
    const uint64_t place = l->page->total++;
    if (place < l->q->offset || (l->q->limit && place - l->q->offset >= l->q->limit)) return TT_OK;
    tt_values_row *row = tt_array_add(l->page->rows, l->page->n, l->capacity);
    if (!row) return tt_error_memory(err, "the list of values");
    *row = tt_values_seen_row(seen);
    return TT_OK;
}

tt_status tt_values_list(const tt_model *m, const tt_values_query *q, const tt_over *over,
                         tt_values_page *out, tt_error *err)
{
    listing l = {.q = q, .page = out};
    memset(out, 0, sizeof *out);
    return tt_values_walk_all(m, q, false, over, take, &l, &out->counts, err);
}

void tt_values_page_free(tt_values_page *p)
{
    free(p->rows);
    memset(p, 0, sizeof *p);
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0) return true;
    return false;
}

/* Ops whose result is infinite if a source is, and otherwise only if sums overflow. Includes empty
 * ops: a view of a mask is one. */
static bool passes_on(const tt_tensor *t)
{
    static const char *const ops[] = {
        "CPY",      "CONT", "DUP",  "CONCAT", "REPEAT", "PAD",     "SET",     "SET_ROWS", "ACC",
        "GET_ROWS", "ADD",  "ADD1", "SCALE",  "VIEW",   "RESHAPE", "PERMUTE", "TRANSPOSE"};
    return is_one_of(t->op_name, ops, sizeof ops / sizeof *ops);
}

/* Floats that the program gives for each batch. */
static bool is_given(const tt_graph *g, uint32_t tensor)
{
    static const char *const floats[] = {"f32", "f16", "bf16"};
    const tt_tensor *t = &g->tensors[tensor];
    return tensor >= g->n_nodes && t->weight == TT_NONE && (t->flags & TT_TENSOR_INPUT) &&
           is_one_of(t->type_name, floats, sizeof floats / sizeof *floats);
}

static bool makes(const tt_graph *g, const tt_tensor *t)
{
    if (strcmp(t->op_name, "DIAG_MASK_INF") == 0 || strcmp(t->op_name, "FILL") == 0) return true;
    if (strcmp(t->op_name, "LOG") != 0 || t->n_src == 0 || t->src[0] == TT_NONE) return false;
    return strcmp(g->tensors[g->tensors[t->src[0]].root].op_desc, "STEP") == 0;
}

uint8_t *tt_values_mask_of(const tt_graph *g)
{
    uint8_t *may = calloc((size_t)g->n_tensors + 1, 1);
    for (uint32_t i = 0; may && i < g->n_nodes; i++) {
        const tt_tensor *t = &g->tensors[i];
        may[i] = makes(g, t);
        for (uint32_t s = 0; s < t->n_src && !may[i] && passes_on(t); s++) {
            if (t->src[s] == TT_NONE) continue;
            const uint32_t root = g->tensors[t->src[s]].root;
            may[i] = may[t->src[s]] || may[root] || is_given(g, root);
        }
    }
    return may;
}

/* The state of a node, or of tensors with this root, in the current run. */
typedef struct known {
    uint32_t op;     /* the first node of its op, + 1; 0: unknown */
    uint32_t writer; /* the node that last wrote to it as a root, + 1; 0: none yet */
    uint32_t bad;    /* the first that left something bad there, + 1 */
    uint32_t output; /* in outputs.list, + 1; 0: not measured */
    uint8_t covers;
    uint8_t state; /* tt_values_state, once it was executed */
} known;

struct tt_values_walk {
    const tt_model *m;
    const tt_values_query *q;
    tt_filter_ops filter;
    tt_slice_filter slices;
    tt_op_table *ops;
    tt_outputs outputs;
    tt_join join;
    uint8_t **masks;       /* by graph; NULL until met */
    const tt_graph *graph; /* of this run */
    known *known;          /* by tensor of it */
    size_t capacity;
    bool everything;
    tt_values_visit *visit;
    void *context;
    tt_values_counts *counts;
};

const char *tt_values_state_name(tt_values_state s)
{
    static const char *const names[] = {[TT_STATE_UNMEASURED] = "unmeasured",
                                        [TT_STATE_FINITE] = "finite",
                                        [TT_STATE_MASKING] = "masking",
                                        [TT_STATE_INFINITE] = "infinite",
                                        [TT_STATE_NAN] = "nan",
                                        [TT_STATE_WEIGHT] = "weight",
                                        [TT_STATE_INPUT] = "input"};
    return names[s];
}

tt_values_row tt_values_seen_row(const tt_values_seen *seen)
{
    return (tt_values_row){.run = seen->run,
                           .node = seen->node,
                           .first = seen->first,
                           .covers = seen->covers,
                           .masking = seen->state == TT_STATE_MASKING,
                           .print = *seen->print};
}

const tt_op *tt_values_walk_op(tt_values_walk *w, const tt_values_seen *seen)
{
    return tt_op_table_get(w->ops, seen->graph, seen->first, seen->covers);
}

uint32_t tt_values_walk_writer(const tt_values_walk *w, uint32_t tensor)
{
    const known *root = &w->known[w->graph->tensors[tensor].root];
    if (root->bad) return root->bad - 1;
    return root->writer ? root->writer - 1 : TT_NONE;
}

tt_values_state tt_values_walk_state(const tt_values_walk *w, uint32_t node,
                                     const tt_fingerprint **print)
{
    const known *k = &w->known[node];
    *print = k->output ? &w->outputs.list[k->output - 1].print : NULL;
    return (tt_values_state)k->state;
}

/* --- the state of an output --- */

/* Whether an infinity of known sign is positive: masks have none. */
static bool has_positive(const tt_fingerprint *p)
{
    for (uint32_t i = 0; i < p->n_prefix; i++)
        if (p->prefix[i] > 0 && __builtin_isinf(p->prefix[i])) return true;
    for (uint32_t i = 0; i < p->n_samples; i++)
        if (p->samples[i] > 0 && __builtin_isinf(p->samples[i])) return true;
    return false;
}

static bool reads_bad(tt_values_walk *w, const tt_values_seen *seen)
{
    const tt_op *op = tt_values_walk_op(w, seen);
    for (uint32_t i = 0; op && i < op->n_sources; i++) {
        if (tt_op_writes_into(op->graph, op->sources[i].node, op->sources[i].slot)) continue;
        uint32_t writer = tt_values_walk_writer(w, op->sources[i].tensor);
        if (writer != TT_NONE && tt_values_state_is_bad((tt_values_state)w->known[writer].state))
            return true;
    }
    return false;
}

static tt_values_state evaluate(tt_values_walk *w, const tt_values_seen *seen)
{
    const tt_fingerprint *p = seen->print;
    if (!p) return TT_STATE_UNMEASURED;
    if (p->n_nan) return TT_STATE_NAN;
    if (!p->n_inf) return TT_STATE_FINITE;
    if (w->masks[seen->graph][seen->node] && !has_positive(p) && !reads_bad(w, seen))
        return TT_STATE_MASKING;
    return TT_STATE_INFINITE;
}

static bool passes(tt_values_walk *w, const tt_values_seen *seen, uint8_t *verdicts, bool in_run)
{
    const tt_tensor *t = &w->graph->tensors[seen->node];
    const tt_filter *f = &w->q->filter;
    if (!in_run) return false;
    if (w->q->name && fnmatch(w->q->name, t->name, 0) != 0) return false;
    if ((f->has_from || f->has_to) && w->join.graph && seen->first < w->join.graph->n_nodes) {
        const tt_joined *op = &w->join.ops[seen->first];
        if (op->stamp == w->join.stamp &&
            !tt_filter_span(f, tt_model_ns(w->m, op->start), tt_model_ns(w->m, op->release)))
            return false;
    }
    return tt_filter_ops_pass(&w->filter, verdicts, seen->graph, seen->first, seen->covers);
}

static void count_range(tt_values_counts *c, const tt_fingerprint *p)
{
    if (!p->has_range) return;
    if (!c->has_range || p->min < c->min) c->min = p->min;
    if (!c->has_range || p->max > c->max) c->max = p->max;
    c->has_range = true;
}

static void count(tt_values_counts *c, const tt_values_seen *seen)
{
    const tt_fingerprint *p = seen->print;
    if (!p) {
        c->unmeasured++;
        return;
    }
    c->outputs++;
    c->elements += p->n;
    c->masking += seen->state == TT_STATE_MASKING;
    if (tt_values_state_is_bad(seen->state)) {
        c->bad++;
        c->n_nan += p->n_nan;
        c->n_inf += p->n_inf;
    }
    c->constant += tt_values_is_constant(p);
    c->zero += tt_values_is_zero(p);
    count_range(c, p);
}

/* --- a run --- */

/* Room for the state of the graph's tensors, cleared. */
static bool begin_graph(tt_values_walk *w, uint32_t graph)
{
    w->graph = &w->m->graphs[graph];
    if (!w->masks[graph]) w->masks[graph] = tt_values_mask_of(w->graph);
    if (!tt_array_room(w->known, w->capacity, (size_t)w->graph->n_tensors + 1)) return false;
    memset(w->known, 0, ((size_t)w->graph->n_tensors + 1) * sizeof *w->known);
    return w->masks[graph];
}

/* The op of each output, and whether it was measured. */
static void place_outputs(tt_values_walk *w)
{
    for (uint32_t i = 0; i < w->join.n_touched; i++) {
        uint32_t more[TT_OP_NODES_MAX - 1], first = w->join.touched[i];
        uint32_t n = tt_op_covered(w->graph, first, w->join.ops[first].covers, more);
        known *k = &w->known[n ? more[n - 1] : first];
        k->op = first + 1;
        k->covers = (uint8_t)n;
    }
    for (size_t i = 0; i < w->outputs.n; i++) {
        known *k = &w->known[w->outputs.list[i].node];
        k->output = (uint32_t)i + 1;
        /* The op's own record was lost. */
        if (!k->op) k->op = w->outputs.list[i].node + 1;
    }
}

static void executed(tt_values_walk *w, const tt_values_seen *seen)
{
    known *root = &w->known[w->graph->tensors[seen->node].root];
    w->known[seen->node].state = (uint8_t)seen->state;
    root->writer = seen->node + 1;
    if (!root->bad && tt_values_state_is_bad(seen->state)) root->bad = seen->node + 1;
}

tt_status tt_values_walk_run(tt_values_walk *w, uint32_t run, tt_error *err)
{
    const tt_run *r = &w->m->runs[run];
    const bool in_run = tt_filter_run(&w->q->filter, w->m, r);
    if (r->graph == TT_NONE || (!in_run && !w->everything)) return TT_OK;
    if (!begin_graph(w, r->graph)) return tt_error_memory(err, "the values of a run");
    tt_status status = tt_outputs_of_run(&w->outputs, w->m, run, err);
    if (status == TT_OK) status = tt_join_run(&w->join, w->m, run, err);
    if (status != TT_OK) return status;
    place_outputs(w);
    uint8_t *verdicts = tt_filter_ops_of(&w->filter, r->graph);
    if (w->filter.failed) return tt_error_memory(err, "the values of a run");
    w->counts->runs += in_run && w->outputs.n > 0;
    for (uint32_t node = 0; status == TT_OK && node < w->graph->n_nodes; node++) {
        const known *k = &w->known[node];
        if (!k->op) continue;
        tt_values_seen seen = {.run = run,
                               .graph = r->graph,
                               .node = node,
                               .first = k->op - 1,
                               .covers = k->covers,
                               .print = k->output ? &w->outputs.list[k->output - 1].print : NULL};
        seen.state = evaluate(w, &seen);
        seen.passes = passes(w, &seen, verdicts, in_run);
        if (seen.passes)
            status =
                tt_slice_filter_passes(&w->slices, run, seen.first, seen.covers, &seen.passes, err);
        if (status != TT_OK) return status;
        if (seen.passes) count(w->counts, &seen);
        if (seen.passes || w->everything) status = w->visit(w->context, w, &seen, err);
        executed(w, &seen);
    }
    w->counts->incomplete = w->outputs.incomplete;
    return status;
}

void tt_values_walk_free(tt_values_walk *w)
{
    if (!w) return;
    for (uint32_t i = 0; w->masks && i < w->m->n_graphs; i++)
        free(w->masks[i]);
    free(w->masks);
    free(w->known);
    tt_outputs_free(&w->outputs);
    tt_join_free(&w->join);
    tt_filter_ops_free(&w->filter);
    tt_slice_filter_free(&w->slices);
    tt_op_table_free(w->ops);
    free(w);
}

tt_values_walk *tt_values_walk_new(const tt_model *m, const tt_values_query *q, bool everything,
                                   tt_values_visit *visit, void *context, tt_values_counts *counts)
{
    tt_values_walk *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    memset(counts, 0, sizeof *counts);
    *w = (tt_values_walk){.m = m,
                          .q = q,
                          .filter = {.m = m, .filter = &q->filter},
                          .slices = tt_slice_filter_of(m, &q->filter),
                          .ops = tt_op_table_new(m),
                          .masks = calloc((size_t)m->n_graphs + 1, sizeof *w->masks),
                          .everything = everything,
                          .visit = visit,
                          .context = context,
                          .counts = counts};
    if (w->ops && w->masks) return w;
    tt_values_walk_free(w);
    return NULL;
}

tt_status tt_values_walk_all(const tt_model *m, const tt_values_query *q, bool everything,
                             const tt_over *over, tt_values_visit *visit, void *context,
                             tt_values_counts *counts, tt_error *err)
{
    tt_values_walk *w = tt_values_walk_new(m, q, everything, visit, context, counts);
    tt_status status = w ? TT_OK : tt_error_memory(err, "the values of a run");
    for (uint32_t run = 0; run < m->n_runs && status == TT_OK; run++) {
        status = tt_over_check(over, err);
        if (status == TT_OK) status = tt_values_walk_run(w, run, err);
    }
    tt_values_walk_free(w);
    return status;
}
