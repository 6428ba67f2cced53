#include "analyze/critical.h"

#include <stdlib.h>

/* A unit is what is computed at one go: the nodes of one op, or a single node of which no op was
 * recorded (views, which take no time, are such). It is named by its first node, and it is done
 * when its last node is, so that units are gone through in the order of their last nodes: whatever
 * they need was then gone through before, or the trace contradicts itself. */
typedef struct finder {
    const tt_topology *t;
    const tt_graph *g;
    tt_critical *c;
    uint32_t *last;   /* by unit: its last node */
    uint32_t *next;   /* by node: the next one of its unit, or TT_NONE */
    uint64_t *done;   /* by unit: the longest path that ends with it, in ticks */
    uint32_t *before; /* by unit: the one before it on that path, or TT_NONE */
    uint32_t *writer; /* by tensor: the unit that last wrote into it, or TT_NONE */
} finder;

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t v;
    return __builtin_add_overflow(a, b, &v) ? UINT64_MAX : v;
}

static uint32_t unit_of(const finder *f, uint32_t node)
{
    uint32_t op = f->t->nodes[node].op;
    /* An op's nodes follow its first one; what claims else is taken for itself. */
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
    f->done[unit] = plus(f->t->nodes[unit].ticks, before == TT_NONE ? 0 : f->done[before]);
    /* What executes and is a view writes where the viewed tensor lies. */
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
