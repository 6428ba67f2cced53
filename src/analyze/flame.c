#include "analyze/flame.h"

#include "analyze/log/log.h"
#include "analyze/ops.h"
#include "base/array.h"
#include "base/order.h"
#include "model/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The group of runs outside of batches. */
#define OUTSIDE TT_FLAME_GROUPS_MAX

/* Where the ops of a graph's node are counted. */
typedef struct leaf {
    uint32_t node;  /* of the tree */
    uint32_t group; /* of which batches; TT_NONE: not known yet */
    uint8_t covers;
} leaf;

struct tt_flame {
    const tt_model *m;
    bool merged, waits_unknown;
    uint32_t first_batch, group_size;
    uint32_t of_group[OUTSIDE + 1]; /* nodes */
    tt_flame_node *tree;
    uint32_t n, capacity;
    leaf **leaves; /* by graph, NULL until needed; then by node */
    tt_op_table *ops;
    tt_arena names;
    tt_log_load load;
    tt_flame_node *shown;
    uint32_t n_shown;
};

/* --- the tree --- */

static bool is_node(const tt_flame_node *x, tt_flame_kind kind, const char *name, int64_t number)
{
    if (x->kind != kind) return false;
    return name ? strcmp(x->name, name) == 0 : x->first == number;
}

/* TT_NONE if there is no room. */
static uint32_t add_node(tt_flame *f, uint32_t parent, tt_flame_kind kind, const char *name,
                         int64_t number)
{
    if (f->n == TT_FLAME_NODES_MAX || !tt_array_one_more(f->tree, f->n, f->capacity))
        return TT_NONE;
    const char *kept = name ? tt_arena_text(&f->names, name, strlen(name)) : NULL;
    if (name && !kept) return TT_NONE;
    f->tree[f->n] = (tt_flame_node){.kind = kind,
                                    .name = kept,
                                    .first = number,
                                    .last = number,
                                    .run = TT_NONE,
                                    .node = TT_NONE,
                                    .parent = parent,
                                    .child = TT_NONE,
                                    .last_child = TT_NONE,
                                    .next = TT_NONE};
    if (parent != TT_NONE) {
        tt_flame_node *p = &f->tree[parent];
        f->tree[f->n].depth = p->depth + 1;
        if (p->child == TT_NONE)
            p->child = f->n;
        else
            f->tree[p->last_child].next = f->n;
        p->last_child = f->n;
    }
    return f->n++;
}

/* The child, or the parent if there is no room for it. */
static uint32_t child_of(tt_flame *f, uint32_t parent, tt_flame_kind kind, const char *name,
                         int64_t number)
{
    const uint32_t last = f->tree[parent].last_child;
    if (last != TT_NONE && is_node(&f->tree[last], kind, name, number)) return last;
    for (uint32_t i = f->tree[parent].child; i != TT_NONE; i = f->tree[i].next)
        if (is_node(&f->tree[i], kind, name, number)) return i;
    const uint32_t made = add_node(f, parent, kind, name, number);
    return made == TT_NONE ? parent : made;
}

/* --- reading --- */

static uint32_t group_of(const tt_flame *f, const tt_run *run)
{
    if (f->merged) return 0;
    return run->batch == TT_NONE ? OUTSIDE : (run->batch - f->first_batch) / f->group_size;
}

/* The node of those batches, or the run's if there is no room. */
static uint32_t parent_of(tt_flame *f, const tt_run *run)
{
    if (f->merged) return 0;
    uint32_t *at = &f->of_group[group_of(f, run)];
    const int64_t number =
        run->batch == TT_NONE ? -1 : (int64_t)tt_model_batch_number(f->m, run->batch);
    if (*at == TT_NONE) *at = add_node(f, 0, TT_FLAME_BATCH, NULL, number);
    if (*at == TT_NONE) return 0;
    if (number > f->tree[*at].last) f->tree[*at].last = number;
    return *at;
}

static uint32_t find_leaf(tt_flame *f, const tt_run *run, uint32_t parent, const tt_log_item *i)
{
    const tt_op *op = tt_op_table_get(f->ops, run->graph, i->node, i->covers);
    if (!op) return TT_NONE;
    uint32_t at = child_of(f, parent, TT_FLAME_LAYER, NULL, op->place.layer_id);
    at = child_of(f, at, TT_FLAME_COMPONENT, op->place.component, 0);
    f->tree[at].category = op->place.category;
    at = child_of(f, at, TT_FLAME_OP, op->op, 0);
    f->tree[at].category = op->place.category;
    return at;
}

static void add_op(tt_flame_node *x, const tt_log_item *i, uint32_t run, bool waits_known)
{
    const uint64_t ticks = i->arrive > i->start ? i->arrive - i->start : 0;
    x->count++;
    x->ticks += i->busy + i->wait;
    tt_amount_add(&x->wait_ticks, tt_amount_of(waits_known, i->wait));
    if (x->node != TT_NONE && ticks <= x->longest_ticks) return;
    x->run = run;
    x->node = i->node;
    x->longest_ticks = ticks;
}

static tt_status take_run(tt_flame *f, uint32_t run, tt_error *err)
{
    const tt_run *r = &f->m->runs[run];
    if (!tt_log_load_may(&f->load, run)) return TT_OK;
    tt_status status = tt_log_load_run(&f->load, run, err);
    if (status != TT_OK || f->load.n == 0) return status;
    const uint32_t n_nodes = f->m->graphs[r->graph].n_nodes, group = group_of(f, r);
    leaf **leaves = &f->leaves[r->graph];
    if (!*leaves) {
        *leaves = malloc(((size_t)n_nodes + 1) * sizeof **leaves);
        if (!*leaves) return tt_error_memory(err, "a flame chart");
        memset(*leaves, 0xff, ((size_t)n_nodes + 1) * sizeof **leaves);
    }
    const bool waits = tt_model_waits_known(f->m, r);
    f->waits_unknown |= !waits;
    const uint32_t parent = parent_of(f, r);
    for (size_t i = 0; i < f->load.n; i++) {
        tt_log_item item = f->load.items[i];
        leaf *l = &(*leaves)[item.node];
        if (item.open) continue;
        if (!waits) item.wait = 0;
        if (l->group != group || l->covers != item.covers)
            *l = (leaf){find_leaf(f, r, parent, &item), group, item.covers};
        if (l->node == TT_NONE) return tt_error_memory(err, "a flame chart");
        add_op(&f->tree[l->node], &item, run, waits);
    }
    return TT_OK;
}

static tt_status read_all(tt_flame *f, const tt_filter *filter, const tt_over *over, tt_error *err)
{
    uint32_t *order = tt_log_order(f->m);
    tt_status status = order ? TT_OK : tt_error_memory(err, "a flame chart");
    tt_log_load_begin(&f->load, f->m, filter, false);
    for (uint32_t i = 0; i < f->m->n_runs && status == TT_OK; i++) {
        status = tt_over_check(over, err);
        if (status == TT_OK) status = take_run(f, order[i], err);
    }
    tt_log_load_free(&f->load);
    free(order);
    return status;
}

/* --- sums, and what is shown --- */

static void sum_up(tt_flame *f)
{
    /* Nodes come after their parents. */
    for (uint32_t i = f->n; i-- > 0;) {
        tt_flame_node *x = &f->tree[i];
        x->time_ns = tt_model_span_ns(f->m, x->ticks);
        x->wait_ns =
            x->wait_ticks.known ? tt_model_span_ns(f->m, x->wait_ticks.value) : (double)NAN;
        x->longest_ns = tt_model_span_ns(f->m, x->longest_ticks);
        if (x->parent == TT_NONE) continue;
        tt_flame_node *p = &f->tree[x->parent];
        p->count += x->count;
        p->ticks += x->ticks;
        tt_amount_add(&p->wait_ticks, x->wait_ticks);
        if (x->node == TT_NONE || (p->node != TT_NONE && p->longest_ticks >= x->longest_ticks))
            continue;
        p->run = x->run;
        p->node = x->node;
        p->longest_ticks = x->longest_ticks;
    }
}

static int by_ticks(const void *a, const void *b, void *tree)
{
    const tt_flame_node *x = (const tt_flame_node *)tree + *(const uint32_t *)a;
    const tt_flame_node *y = (const tt_flame_node *)tree + *(const uint32_t *)b;
    if (x->ticks != y->ticks) return x->ticks > y->ticks ? -1 : 1;
    return tt_order(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Appends the node and its children of at least so many ticks. list: room for all nodes. */
static void show(tt_flame *f, uint32_t at, uint64_t least, uint32_t *list)
{
    uint32_t n = 0;
    f->shown[f->n_shown++] = f->tree[at];
    for (uint32_t i = f->tree[at].child; i != TT_NONE; i = f->tree[i].next)
        if (f->tree[i].ticks >= least && f->tree[i].ticks > 0) list[n++] = i;
    if (f->merged && n) qsort_r(list, n, sizeof *list, by_ticks, f->tree);
    for (uint32_t i = 0; i < n; i++)
        show(f, list[i], least, list + n);
}

/* The ticks from which on at most so many nodes are shown. */
static uint64_t threshold(const tt_flame *f, double least, uint32_t most, uint64_t *ticks)
{
    uint64_t from = (uint64_t)(least * (double)f->tree[0].ticks);
    for (uint32_t i = 0; i < f->n; i++)
        ticks[i] = f->tree[i].ticks;
    if (f->n <= most) return from;
    qsort(ticks, f->n, sizeof *ticks, tt_by_u64);
    const uint64_t cut = ticks[f->n - most - 1] + 1;
    return cut > from ? cut : from;
}

static tt_status choose(tt_flame *f, double least, uint32_t most, tt_error *err)
{
    uint64_t *ticks = malloc((size_t)f->n * sizeof *ticks);
    uint32_t *list = malloc(((size_t)f->n + 1) * sizeof *list);
    f->shown = malloc((size_t)f->n * sizeof *f->shown);
    const bool ok = ticks && list && f->shown;
    if (ok) show(f, 0, threshold(f, least, most, ticks), list);
    free(ticks);
    free(list);
    return ok ? TT_OK : tt_error_memory(err, "a flame chart");
}

static void find_groups(tt_flame *f, const tt_filter *filter)
{
    uint32_t last = 0, n = 0;
    for (uint32_t i = 0; i < f->m->n_batches; i++) {
        if (!tt_filter_batch(filter, f->m, i)) continue;
        if (n++ == 0) f->first_batch = i;
        last = i;
    }
    f->group_size = n ? (last - f->first_batch) / TT_FLAME_GROUPS_MAX + 1 : 1;
}

tt_status tt_flame_new(const tt_model *m, const tt_filter *filter, bool merged, double least,
                       uint32_t most, const tt_over *over, tt_flame **out, tt_error *err)
{
    *out = NULL;
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    tt_flame *f = calloc(1, sizeof *f);
    if (!f) return tt_error_memory(err, "a flame chart");
    f->m = m;
    f->merged = merged;
    tt_arena_init(&f->names, TT_MODEL_MEMORY_MAX);
    find_groups(f, filter);
    memset(f->of_group, 0xff, sizeof f->of_group);
    f->leaves = calloc((size_t)m->n_graphs + 1, sizeof *f->leaves);
    f->ops = tt_op_table_new(m);
    if (!f->leaves || !f->ops || add_node(f, TT_NONE, TT_FLAME_RUN, NULL, -1) == TT_NONE)
        status = tt_error_memory(err, "a flame chart");
    if (status == TT_OK) status = read_all(f, filter, over, err);
    if (status == TT_OK) {
        sum_up(f);
        status = choose(f, least, most, err);
    }
    if (status == TT_OK)
        *out = f;
    else
        tt_flame_free(f);
    return status;
}

void tt_flame_free(tt_flame *f)
{
    if (!f) return;
    for (uint32_t i = 0; f->leaves && i < f->m->n_graphs; i++)
        free(f->leaves[i]);
    free(f->leaves);
    tt_op_table_free(f->ops);
    tt_arena_free(&f->names);
    free(f->tree);
    free(f->shown);
    free(f);
}

const tt_flame_node *tt_flame_nodes(const tt_flame *f, uint32_t *n)
{
    *n = f->n_shown;
    return f->shown;
}

bool tt_flame_waits_unknown(const tt_flame *f)
{
    return f->waits_unknown;
}

/* --- columns --- */

TT_COLUMN_GET(get_kind, tt_flame_node, x, {
    static const char *const names[] = {"run", "batch", "layer", "component", "op"};
    tt_cell_text(cell, names[x->kind]);
})
TT_COLUMN_KNOWN(is_named, tt_flame_node, x, x->name != NULL)
TT_COLUMN_GET(get_layer, tt_flame_node, x,
              tt_cell_id(cell, x->kind == TT_FLAME_LAYER ? x->first : -1);)
/* The numbers of layers, without their stacks. */
static void set_number(tt_cell *cell, const tt_flame_node *x, int64_t number)
{
    tt_cell_id(cell, x->kind == TT_FLAME_LAYER ? tt_layer_number((int32_t)number) : number);
}
TT_COLUMN_GET(get_first, tt_flame_node, x, set_number(cell, x, x->first);)
TT_COLUMN_GET(get_last, tt_flame_node, x, set_number(cell, x, x->last);)
TT_COLUMN_KNOWN(is_numbered, tt_flame_node, x, !x->name && x->first >= 0)
TT_COLUMN_KNOWN(has_op, tt_flame_node, x, x->node != TT_NONE)
TT_COLUMN_KNOWN(is_in_batch, tt_flame_node, x,
                x->node != TT_NONE && ((const tt_model *)context)->runs[x->run].batch != TT_NONE)
TT_COLUMN_VALUE(get_batch, tt_flame_node, x, u64,
                tt_model_batch_number(context, ((const tt_model *)context)->runs[x->run].batch))

static const tt_column columns[] = {
    TT_FIELD("depth", "0: the run", TT_MEMBER(tt_flame_node, depth)),
    TT_FIELD("kind", "what it is", .type = TT_CELL_NAME, .get = get_kind),
    TT_FIELD("name", "of a component or an op", TT_MEMBER(tt_flame_node, name), .nullable = true,
             .known = is_named),
    TT_FIELD("category", "of a component or an op", TT_MEMBER(tt_flame_node, category),
             .nullable = true, .known = is_named),
    TT_FIELD("first_id", "the layer, or the first batch", .type = TT_CELL_I64, .nullable = true,
             .known = is_numbered, .get = get_first),
    TT_FIELD("last_id", "the layer, or the last batch", .type = TT_CELL_I64, .nullable = true,
             .known = is_numbered, .get = get_last),
    TT_STACK(.get = get_layer),
    TT_FIELD("count", "ops", TT_MEMBER(tt_flame_node, count)),
    TT_FIELD("time_ns", "of all threads, with their waits", TT_MEMBER(tt_flame_node, time_ns)),
    TT_FIELD("wait_ns", "of these, waits", TT_MEMBER(tt_flame_node, wait_ns)),
    TT_FIELD("longest_ns", "of the op that took longest", TT_MEMBER(tt_flame_node, longest_ns)),
    TT_FIELD("run", "of that op, as an index", TT_MEMBER(tt_flame_node, run), .nullable = true,
             .known = has_op),
    TT_FIELD("batch_id", "of that op", .type = TT_CELL_U64, .get = get_batch, .nullable = true,
             .known = is_in_batch),
    TT_FIELD("node", "of that op", TT_MEMBER(tt_flame_node, node), .nullable = true,
             .known = has_op),
};
const tt_schema tt_flame_schema = TT_SCHEMA("flame", "a node of a flame chart", columns);
