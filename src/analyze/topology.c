#include "analyze/topology.h"

#include "analyze/access.h"
#include "analyze/join.h"
#include "analyze/ops.h"
#include "base/order.h"
#include "base/saturate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- edges and counts --- */

uint32_t tt_topology_edges(const tt_graph *g, uint32_t tensor, tt_edge out[TT_EDGES_MAX])
{
    const tt_tensor *t = &g->tensors[tensor];
    uint32_t n = 0;
    bool viewed = t->view_src == TT_NONE;
    for (uint32_t i = 0; i < t->n_src; i++) {
        if (t->src[i] == TT_NONE) continue;
        /* For a view of a view, ggml only has the final owner of the bytes. One source may occur
         * twice; the viewed one is marked once. */
        bool is_view = !viewed && g->tensors[t->src[i]].root == t->root;
        viewed |= is_view;
        out[n++] = (tt_edge){t->src[i], tensor, i, is_view};
    }
    if (!viewed) out[n++] = (tt_edge){t->view_src, tensor, TT_NONE, true};
    return n;
}

static void count_tensors(tt_topology *t)
{
    const tt_graph *g = t->graph;
    tt_edge edges[TT_EDGES_MAX];
    t->n_leafs = g->n_tensors - g->n_nodes;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *x = &g->tensors[i];
        t->n_edges += tt_topology_edges(g, i, edges);
        t->n_inputs += (x->flags & TT_TENSOR_INPUT) != 0;
        t->n_outputs += (x->flags & TT_TENSOR_OUTPUT) != 0;
        if (i < g->n_nodes) {
            t->n_views += !(x->flags & TT_TENSOR_EXECUTES);
        } else if (x->weight != TT_NONE && x->root == i) {
            t->n_weights++;
            t->weights_size_bytes = tt_plus(t->weights_size_bytes, x->size_bytes);
        }
    }
}

static void count_runs(tt_topology *t, uint32_t graph)
{
    uint32_t last = TT_NONE;
    for (uint32_t i = 0; i < t->m->n_runs; i++) {
        const tt_run *r = &t->m->runs[i];
        if (r->graph != graph) continue;
        t->n_runs++;
        /* Runs of one batch are consecutive. */
        t->n_batches += r->batch != TT_NONE && r->batch != last;
        last = r->batch;
    }
}

uint32_t tt_topology_last_run(const tt_model *m, uint32_t graph)
{
    for (uint32_t i = m->n_runs; i-- > 0;)
        if (m->runs[i].graph == graph) return i;
    return TT_NONE;
}

/* The one with the larger graph of two runs of a batch (best may be TT_NONE), else the first. */
static uint32_t larger(const tt_model *m, uint32_t best, uint32_t run)
{
    if (best == TT_NONE) return run;
    const tt_graph *a = &m->graphs[m->runs[best].graph], *b = &m->graphs[m->runs[run].graph];
    return b->n_nodes > a->n_nodes ? run : best;
}

uint32_t tt_topology_run_of(const tt_model *m, const tt_filter *f, uint32_t batch, uint32_t *n)
{
    uint32_t best = TT_NONE;
    *n = 0;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        if (r->batch != batch || r->graph == TT_NONE || !tt_filter_run(f, m, r)) continue;
        ++*n;
        best = larger(m, best, i);
    }
    return best;
}

uint32_t tt_topology_usual_batch(const tt_model *m, const tt_filter *f)
{
    uint32_t best = TT_NONE;
    unsigned most = 0;
    for (uint32_t i = m->n_batches; i-- > 0;) {
        const tt_batch *b = &m->batches[i];
        if (!b->n_runs || !tt_filter_batch(f, m, i)) continue;
        const unsigned fits = 1u + (b->drafts ? 0 : 1) + (b->phase == TT_PHASE_GENERATE ? 2 : 0);
        if (fits <= most) continue;
        most = fits;
        best = i;
    }
    return best;
}

/* n times TT_NONE. */
static uint32_t *list_none(uint32_t n)
{
    uint32_t *list = malloc(((size_t)n + 1) * sizeof *list);
    for (uint32_t i = 0; list && i < n; i++)
        list[i] = TT_NONE;
    return list;
}

uint32_t *tt_topology_run_of_each(const tt_model *m)
{
    uint32_t *list = list_none(m->n_batches);
    for (uint32_t i = 0; list && i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        if (r->batch != TT_NONE && r->graph != TT_NONE)
            list[r->batch] = larger(m, list[r->batch], i);
    }
    return list;
}

uint32_t *tt_topology_last_run_of_each(const tt_model *m)
{
    uint32_t *list = list_none(m->n_graphs);
    for (uint32_t i = 0; list && i < m->n_runs; i++)
        if (m->runs[i].graph != TT_NONE) list[m->runs[i].graph] = i;
    return list;
}

/* --- ops --- */

static void set_op(tt_topology *t, tt_topology_sum *sum, const tt_op *op, const tt_joined *joined)
{
    bool timed = joined && !joined->open;
    uint64_t ticks = timed ? tt_joined_ticks(joined) : 0;
    for (uint32_t i = 0; i < op->n_nodes; i++) {
        tt_topology_node *n = &t->nodes[op->nodes[i]];
        /* If records contradict each other, the first op that claims a node gets it. */
        if (i > 0 && n->op != TT_NONE) continue;
        n->op = op->node;
        n->n_nodes = op->n_nodes;
        n->timed = timed;
        n->layer_id = op->place.layer_id;
    }
    t->nodes[op->node].ticks = ticks;
    t->nodes[op->node].weight_bytes = op->weight_bytes;
    t->nodes[op->node].at_most = op->at_most;
    *sum = (tt_topology_sum){.layer_id = op->place.layer_id,
                             .count = 1,
                             .timed = timed,
                             .ticks = ticks,
                             .weight_bytes = op->weight_bytes,
                             .at_most = op->at_most};
    (void)snprintf(sum->key, sizeof sum->key, "%s", op->op);
}

/* Every recorded op of the run, with its selections if observed. */
static tt_status describe_run(tt_topology *t, const tt_join *join, tt_topology_sum *ops,
                              tt_error *err)
{
    tt_accesses *accesses = tt_accesses_new(t->m);
    if (!accesses) return tt_error_memory(err, "the graph");
    tt_status status = tt_accesses_run(accesses, t->run, err);
    for (uint32_t i = 0; i < join->n_touched && status == TT_OK; i++) {
        const tt_joined *joined = &join->ops[join->touched[i]];
        const tt_access *list;
        size_t n;
        tt_op op;
        tt_op_describe(t->m, t->graph, join->touched[i], joined->covers, &op);
        status = tt_accesses_of(accesses, &op, &list, &n, err);
        if (status != TT_OK) break;
        tt_access_apply(&op, list, n);
        set_op(t, &ops[t->n_ops++], &op, joined);
        t->n_fused_ops += op.n_nodes > 1;
        t->n_fused_nodes += op.n_nodes > 1 ? op.n_nodes : 0;
    }
    tt_accesses_free(accesses);
    return status;
}

/* Executing nodes without a record; if there are only these, each counts as an op. Returns the
 * number of ops. */
static uint32_t describe_rest(tt_topology *t, tt_topology_sum *ops)
{
    const tt_graph *g = t->graph;
    uint32_t n = t->n_ops;
    tt_op op;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!(g->tensors[i].flags & TT_TENSOR_EXECUTES) || t->nodes[i].op != TT_NONE) continue;
        t->n_missing++;
        if (t->n_ops) continue;
        tt_op_describe(t->m, g, i, 0, &op);
        set_op(t, &ops[n++], &op, NULL);
        t->nodes[i].op = TT_NONE;
    }
    return n;
}

/* --- sums --- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const tt_topology_sum *)a)->key, ((const tt_topology_sum *)b)->key);
}

TT_ORDER_BY(by_layer, tt_topology_sum, layer_id)

static int by_size(const void *a, const void *b)
{
    const tt_topology_sum *x = a, *y = b;
    if (x->ticks != y->ticks) return x->ticks > y->ticks ? -1 : 1;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return strcmp(x->key, y->key);
}

static void add(tt_topology_sum *to, const tt_topology_sum *from)
{
    to->count += from->count;
    to->timed += from->timed;
    to->ticks = tt_plus(to->ticks, from->ticks);
    to->weight_bytes = tt_plus(to->weight_bytes, from->weight_bytes);
    to->at_most |= from->at_most;
}

typedef int compare(const void *, const void *);

/* Sorts the ops and sums those that compare equal, into a list of its own. */
static bool sum_by(tt_topology_sums *sums, tt_topology_sum *ops, uint32_t n, compare *same)
{
    qsort(ops, n, sizeof *ops, same);
    uint32_t groups = 0;
    for (uint32_t i = 0; i < n; i++)
        groups += i == 0 || same(&ops[i - 1], &ops[i]) != 0;
    sums->list = calloc((size_t)groups + 1, sizeof *sums->list);
    if (!sums->list) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || same(&ops[i - 1], &ops[i]) != 0)
            sums->list[sums->n++] = ops[i];
        else
            add(&sums->list[sums->n - 1], &ops[i]);
    }
    return true;
}

static bool sum_backends(tt_topology *t, tt_topology_sum *room)
{
    const tt_graph *g = t->graph;
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (!(g->tensors[i].flags & TT_TENSOR_EXECUTES)) continue;
        room[n] = (tt_topology_sum){.count = 1};
        (void)snprintf(room[n].key, sizeof room[n].key, "%s",
                       g->tensors[i].backend ? g->tensors[i].backend : "");
        n++;
    }
    return sum_by(&t->by_backend, room, n, by_key);
}

/* A view without a name of its own has the place of what it views. */
static void place_views(tt_topology *t)
{
    for (uint32_t i = 0; i < t->graph->n_nodes; i++) {
        const tt_tensor *x = &t->graph->tensors[i];
        if (x->flags & TT_TENSOR_EXECUTES || t->nodes[i].layer_id >= 0 || x->root == i) continue;
        t->nodes[i].layer_id = x->root < t->graph->n_nodes
                                   ? t->nodes[x->root].layer_id
                                   : t->graph->tensors[x->root].place.layer_id;
    }
}

static tt_status sum_up(tt_topology *t, const tt_join *join, tt_error *err)
{
    tt_topology_sum *ops = calloc((size_t)t->graph->n_nodes + 1, sizeof *ops);
    if (!ops) return tt_error_memory(err, "the graph");
    tt_status status = join->n_touched ? describe_run(t, join, ops, err) : TT_OK;
    if (status == TT_OK) {
        uint32_t n = describe_rest(t, ops);
        place_views(t);
        for (uint32_t i = 0; i < n; i++)
            add(&t->total, &ops[i]);
        if (!sum_by(&t->by_op, ops, n, by_key) || !sum_by(&t->by_layer, ops, n, by_layer) ||
            !sum_backends(t, ops))
            status = tt_error_memory(err, "the graph");
        else
            qsort(t->by_op.list, t->by_op.n, sizeof *t->by_op.list, by_size);
    }
    free(ops);
    return status;
}

static tt_status fill(tt_topology *t, uint32_t graph, const tt_join *join, tt_error *err)
{
    t->nodes = calloc((size_t)t->graph->n_nodes + 1, sizeof *t->nodes);
    if (!t->nodes) return tt_error_memory(err, "the graph");
    for (uint32_t i = 0; i < t->graph->n_nodes; i++)
        t->nodes[i] = (tt_topology_node){
            .op = TT_NONE, .n_nodes = 1, .layer_id = t->graph->tensors[i].place.layer_id};
    count_tensors(t);
    count_runs(t, graph);
    return sum_up(t, join, err);
}

tt_status tt_topology_make(const tt_model *m, uint32_t graph, uint32_t run, tt_topology **out,
                           tt_error *err)
{
    tt_join join = {0};
    *out = NULL;
    tt_status status = run == TT_NONE ? TT_OK : tt_join_run(&join, m, run, err);
    tt_topology *t = calloc(1, sizeof *t);
    if (status == TT_OK && !t) status = tt_error_memory(err, "the graph");
    if (status == TT_OK) {
        t->m = m;
        t->graph = &m->graphs[graph];
        t->run = run;
        status = fill(t, graph, &join, err);
    }
    tt_join_free(&join);
    if (status == TT_OK)
        *out = t;
    else
        tt_topology_free(t);
    return status;
}

void tt_topology_free(tt_topology *t)
{
    if (!t) return;
    free(t->nodes);
    free(t->by_op.list);
    free(t->by_layer.list);
    free(t->by_backend.list);
    free(t);
}

/* A unit is what is computed together: the nodes of one op, or a single node without a recorded op
 * (such as views, which take no time). Its number is its first node, and it is done when its last
 * node is, so units are visited in the order of their last nodes: then everything they need was
 * visited before, unless the trace contradicts itself. */
typedef struct finder {
    const tt_topology *t;
    const tt_graph *g;
    tt_critical *c;
    uint32_t *last;   /* by unit: its last node */
    uint32_t *next;   /* by node: the next one of its unit, or TT_NONE */
    uint64_t *done;   /* by unit: the longest path that ends with it, in ticks */
    uint32_t *before; /* by unit: its predecessor on that path, or TT_NONE */
    uint32_t *writer; /* by tensor: the unit that last wrote into it, or TT_NONE */
} finder;

static uint32_t unit_of(const finder *f, uint32_t node)
{
    uint32_t op = f->t->nodes[node].op;
    /* An op's nodes follow its first one; a node with another claim counts as its own. */
    return op != TT_NONE && op <= node ? op : node;
}

static void find_units(finder *f)
{
    for (uint32_t i = 0; i < f->g->n_nodes; i++) {
        uint32_t unit = unit_of(f, i);
        f->next[i] = TT_NONE;
        f->before[i] = TT_NONE;
        if (unit != i) f->next[f->last[unit]] = i;
        f->last[unit] = i;
    }
    for (uint32_t i = 0; i < f->g->n_tensors; i++)
        f->writer[i] = TT_NONE;
}

/* `unit` cannot begin before `needed` is done. */
static void needs(finder *f, uint32_t unit, uint32_t needed)
{
    if (needed == unit) return;
    if (f->last[needed] >= f->last[unit]) {
        f->c->n_against++;
        return;
    }
    uint32_t best = f->before[unit];
    if (best == TT_NONE || f->done[needed] > f->done[best] ||
        (f->done[needed] == f->done[best] && needed < best))
        f->before[unit] = needed;
}

/* The tensor, and whatever was written into its bytes before. */
static void needs_tensor(finder *f, uint32_t unit, uint32_t tensor)
{
    if (tensor == TT_NONE) return;
    uint32_t writer = f->writer[f->g->tensors[tensor].root];
    if (tensor < f->g->n_nodes) needs(f, unit, unit_of(f, tensor));
    if (writer != TT_NONE) needs(f, unit, writer);
}

static void finish_unit(finder *f, uint32_t unit)
{
    for (uint32_t i = unit; i != TT_NONE; i = f->next[i]) {
        const tt_tensor *t = &f->g->tensors[i];
        for (uint32_t k = 0; k < t->n_src; k++)
            needs_tensor(f, unit, t->src[k]);
        needs_tensor(f, unit, t->view_src);
    }
    uint32_t before = f->before[unit];
    f->done[unit] = tt_plus(f->t->nodes[unit].ticks, before == TT_NONE ? 0 : f->done[before]);
    /* A node that executes and is a view writes into the viewed tensor. */
    for (uint32_t i = unit; i != TT_NONE; i = f->next[i])
        if (f->g->tensors[i].flags & TT_TENSOR_EXECUTES && f->g->tensors[i].root != i)
            f->writer[f->g->tensors[i].root] = unit;
}

static bool is_op(const finder *f, uint32_t unit)
{
    return f->g->tensors[unit].flags & TT_TENSOR_EXECUTES && f->t->nodes[unit].op == unit;
}

/* The path backwards from its end; only ops are listed. */
static bool list_path(finder *f, uint32_t end)
{
    tt_critical *c = f->c;
    uint32_t n = 0;
    for (uint32_t u = end; u != TT_NONE; u = f->before[u])
        n += is_op(f, u);
    c->ops = calloc((size_t)n + 1, sizeof *c->ops);
    if (!c->ops) return false;
    c->n_ops = n;
    for (uint32_t u = end; u != TT_NONE; u = f->before[u])
        if (is_op(f, u)) c->ops[--n] = u;
    c->ticks = f->done[end];
    return true;
}

static bool find(finder *f)
{
    uint32_t end = TT_NONE;
    find_units(f);
    for (uint32_t i = 0; i < f->g->n_nodes; i++) {
        uint32_t unit = unit_of(f, i);
        const tt_topology_node *x = &f->t->nodes[i];
        bool executes = f->g->tensors[i].flags & TT_TENSOR_EXECUTES;
        f->c->n_untimed += executes && unit == i && (x->op == TT_NONE || !x->timed);
        if (f->last[unit] != i) continue;
        finish_unit(f, unit);
        if (f->done[unit] > (end == TT_NONE ? 0 : f->done[end])) end = unit;
    }
    return end == TT_NONE || list_path(f, end);
}

tt_status tt_critical_find(const tt_topology *t, tt_critical *out, tt_error *err)
{
    *out = (tt_critical){0};
    finder f = {.t = t, .g = t->graph, .c = out};
    size_t n = (size_t)f.g->n_nodes + 1;
    f.last = calloc(n, sizeof *f.last);
    f.next = calloc(n, sizeof *f.next);
    f.done = calloc(n, sizeof *f.done);
    f.before = calloc(n, sizeof *f.before);
    f.writer = calloc((size_t)f.g->n_tensors + 1, sizeof *f.writer);
    bool ok = f.last && f.next && f.done && f.before && f.writer && find(&f);
    free(f.last);
    free(f.next);
    free(f.done);
    free(f.before);
    free(f.writer);
    return ok ? TT_OK : tt_error_memory(err, "the critical path");
}

void tt_critical_free(tt_critical *c)
{
    free(c->ops);
    *c = (tt_critical){0};
}

const tt_run *tt_topology_run(const tt_topology *t)
{
    return t->run == TT_NONE ? NULL : &t->m->runs[t->run];
}

uint32_t tt_topology_batch(const tt_topology *t)
{
    return tt_topology_run(t) ? tt_topology_run(t)->batch : TT_NONE;
}
