/* Aligns the graphs of two runs, node by node. */
#include "analyze/diff/structure.h"

#include "analyze/diff/diff.h"
#include "base/array.h"
#include "base/order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An element of an interval. */
typedef struct item {
    uint64_t key;
    uint32_t nth; /* of its key on its side, if that counts */
    uint32_t at;
    uint32_t side;
} item;

typedef struct pair {
    uint32_t a, b;
} pair;

typedef struct aligner {
    const uint64_t *a, *b;
    uint32_t *match;
    item *items;     /* room for both sides */
    pair *pairs;     /* for the smaller side */
    uint32_t *tails; /* likewise: of the longest ascending sequence */
    uint32_t *before;
    uint8_t *steps; /* of the table */
} aligner;

typedef struct interval {
    size_t a, a_end, b, b_end;
} interval;

static int by_key(const void *x, const void *y)
{
    const item *p = x, *q = y;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    if (p->nth != q->nth) return p->nth < q->nth ? -1 : 1;
    if (p->side != q->side) return p->side < q->side ? -1 : 1;
    return p->at < q->at ? -1 : p->at > q->at;
}

static int by_a(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    return p->a < q->a ? -1 : p->a > q->a;
}

static size_t list_items(aligner *x, interval s)
{
    size_t n = 0;
    for (size_t i = s.a; i < s.a_end; i++)
        x->items[n++] = (item){x->a[i], 0, (uint32_t)i, 0};
    for (size_t i = s.b; i < s.b_end; i++)
        x->items[n++] = (item){x->b[i], 0, (uint32_t)i, 1};
    qsort(x->items, n, sizeof *x->items, by_key);
    return n;
}

/* Numbers equal items: then the first one of a matches the first one of b. */
static void number_items(item *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (items[i].key == items[i - 1].key && items[i].side == items[i - 1].side)
            items[i].nth = items[i - 1].nth + 1;
    qsort(items, n, sizeof *items, by_key);
}

/* Pairs of items whose key is unique on each side, ascending in a. */
static size_t list_pairs(aligner *x, size_t n)
{
    const item *t = x->items;
    size_t n_pairs = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && t[end].key == t[i].key && t[end].nth == t[i].nth;)
            end++;
        if (end == i + 2 && t[i].side == 0 && t[i + 1].side == 1)
            x->pairs[n_pairs++] = (pair){t[i].at, t[i + 1].at};
    }
    qsort(x->pairs, n_pairs, sizeof *x->pairs, by_a);
    return n_pairs;
}

/* The longest list of pairs that also ascends in b. */
static void match_longest(aligner *x, size_t n)
{
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at;
        tt_lower_bound(at, length, x->pairs[x->tails[at]].b < x->pairs[i].b);
        x->before[i] = at > 0 ? x->tails[at - 1] : TT_NONE;
        x->tails[at] = (uint32_t)i;
        if (at == length) length++;
    }
    for (uint32_t i = length ? x->tails[length - 1] : TT_NONE; i != TT_NONE; i = x->before[i])
        x->match[x->pairs[i].a] = x->pairs[i].b;
}

static void match_anchors(aligner *x, interval s, bool numbered)
{
    size_t n = list_items(x, s);
    if (numbered) number_items(x->items, n);
    match_longest(x, list_pairs(x, n));
}

/* The longest common subsequence, by the table: steps[i][j] is the best continuation from a[i..],
 * b[j..]. */
static tt_status match_table(aligner *x, interval s, tt_error *err)
{
    const size_t rows = s.a_end - s.a, columns = s.b_end - s.b;
    uint32_t *best = calloc(2 * (columns + 1), sizeof *best);
    if (!x->steps) x->steps = malloc(TT_ALIGN_CELLS_MAX);
    if (!best || !x->steps) {
        free(best);
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to align two graphs");
    }
    for (size_t i = rows; i-- > 0;) {
        uint32_t *here = best + (i & 1) * (columns + 1), *next = best + (~i & 1) * (columns + 1);
        here[columns] = 0;
        for (size_t j = columns; j-- > 0;) {
            bool same = x->a[s.a + i] == x->b[s.b + j];
            uint8_t step = same ? 2 : here[j + 1] > next[j];
            here[j] = same ? next[j + 1] + 1 : step ? here[j + 1] : next[j];
            x->steps[i * columns + j] = step;
        }
    }
    for (size_t i = 0, j = 0; i < rows && j < columns;) {
        uint8_t step = x->steps[i * columns + j];
        if (step == 2) x->match[s.a + i] = (uint32_t)(s.b + j);
        i += step != 1;
        j += step != 0;
    }
    free(best);
    return TT_OK;
}

/* Equal ends need no table. */
static void match_ends(aligner *x, interval *s)
{
    while (s->a < s->a_end && s->b < s->b_end && x->a[s->a] == x->b[s->b])
        x->match[s->a++] = (uint32_t)s->b++;
    while (s->a < s->a_end && s->b < s->b_end && x->a[s->a_end - 1] == x->b[s->b_end - 1])
        x->match[--s->a_end] = (uint32_t)--s->b_end;
}

static tt_status match_rest(aligner *x, interval s, tt_error *err)
{
    match_ends(x, &s);
    if (s.a == s.a_end || s.b == s.b_end) return TT_OK;
    if ((s.a_end - s.a) <= TT_ALIGN_CELLS_MAX / (s.b_end - s.b)) return match_table(x, s, err);
    match_anchors(x, s, true);
    return TT_OK;
}

/* Each interval between matches, in order. New matches are within it. */
static tt_status for_intervals(aligner *x, size_t n_a, size_t n_b, bool rest, tt_error *err)
{
    interval s = {0, 0, 0, 0};
    tt_status status = TT_OK;
    for (size_t i = 0; i <= n_a && status == TT_OK; i++) {
        if (i < n_a && x->match[i] == TT_NONE) continue;
        s.a_end = i;
        s.b_end = i < n_a ? x->match[i] : n_b;
        if (s.a < s.a_end && s.b < s.b_end) {
            if (rest)
                status = match_rest(x, s, err);
            else
                match_anchors(x, s, false);
        }
        s.a = i + 1;
        s.b = s.b_end + 1;
    }
    return status;
}

tt_status tt_align(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b, uint32_t *match,
                   tt_error *err)
{
    if (n_a == 0 || n_b == 0) return TT_OK;
    size_t least = n_a < n_b ? n_a : n_b;
    aligner x = {.a = a, .b = b, .match = match};
    tt_status status = TT_OK;
    x.items = reallocarray(NULL, n_a + n_b, sizeof *x.items);
    x.pairs = reallocarray(NULL, least, sizeof *x.pairs);
    x.tails = reallocarray(NULL, least, sizeof *x.tails);
    x.before = reallocarray(NULL, least, sizeof *x.before);
    if (!x.items || !x.pairs || !x.tails || !x.before)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to align two graphs");
    if (status == TT_OK) status = for_intervals(&x, n_a, n_b, false, err);
    if (status == TT_OK) status = for_intervals(&x, n_a, n_b, true, err);
    free(x.items);
    free(x.pairs);
    free(x.tails);
    free(x.before);
    free(x.steps);
    return status;
}

#define LEVELS 4u

/* One side of a pair of units. */
typedef struct side {
    const tt_profile *p;
    const tt_profile_class *c;
    const tt_unit *unit;
    uint64_t *keys;
} side;

typedef struct aligned {
    tt_diff_phase *phase;
    side a, b;
    size_t file_b;   /* in the phase's lists; a's is the first */
    uint32_t *match; /* by node of a, in the order of both */
    uint32_t *moved; /* by node of a: the same node of b, elsewhere in the order */
    uint8_t *taken;  /* by node of b: it was moved */
    bool shapes;
    uint32_t *parent; /* of slots, a's and then b's: union-find of matching ones */
    tt_idmap seen;    /* listed changes */
    size_t capacity;
} aligned;

static const tt_graph *graph_of(const side *s, const tt_profile_node *n)
{
    const tt_model *m = s->p->m;
    if (n->run >= s->unit->n_runs) return NULL;
    uint32_t graph = m->runs[s->p->units->runs[s->unit->first + n->run]].graph;
    return graph == TT_NONE || n->node >= m->graphs[graph].n_nodes ? NULL : &m->graphs[graph];
}

static const tt_tensor *tensor_of(const side *s, uint32_t i)
{
    const tt_graph *g = graph_of(s, &s->c->nodes[i]);
    return g ? &g->tensors[s->c->nodes[i].node] : NULL;
}

/* What nodes must have in common, from strict to loose. Between existing matches little is enough,
 * because the position is known. */
static uint64_t key_of(const side *s, uint32_t i, unsigned level)
{
    const tt_tensor *t = tensor_of(s, i);
    const tt_profile_slot *slot = &s->p->slots[s->c->nodes[i].slot];
    uint64_t key = TT_PROFILE_HASH + level;
    if (!t) return key;
    const char *name = tt_profile_name(t->name);
    if (level == 0 || level == 2) key = tt_profile_hash(key, name);
    if (level != 2 || !*name) key = tt_profile_hash(key, t->op_name);
    if (level == 1 || (level == 3 && slot->weight_bytes > 0))
        key = tt_profile_hash(key, slot->place.component);
    if (level == 1) key = (key ^ (uint32_t)slot->place.layer_id) * 0x100000001b3u;
    return key;
}

static tt_status match_nodes(aligned *x, tt_error *err)
{
    const uint32_t n_a = x->a.c->n_nodes, n_b = x->b.c->n_nodes;
    tt_status status = TT_OK;
    for (uint32_t i = 0; i < n_a; i++)
        x->match[i] = TT_NONE;
    for (unsigned level = 0; level < LEVELS && status == TT_OK; level++) {
        for (uint32_t i = 0; i < n_a; i++)
            x->a.keys[i] = key_of(&x->a, i, level);
        for (uint32_t i = 0; i < n_b; i++)
            x->b.keys[i] = key_of(&x->b, i, level);
        status = tt_align(x->a.keys, n_a, x->b.keys, n_b, x->match, err);
    }
    return status;
}

/* Nodes whose name and kind are unique on each side, and whose match would cross others. */
static tt_status match_moved(aligned *x, tt_error *err)
{
    const uint32_t n_a = x->a.c->n_nodes, n_b = x->b.c->n_nodes;
    const uint32_t many = TT_NONE - 1;
    tt_idmap b = {0}, a = {0};
    bool ok = true;
    uint32_t was;
    uint8_t *in_order = calloc((size_t)n_b + 1, 1);
    for (uint32_t i = 0; i < n_a && in_order; i++)
        if (x->match[i] != TT_NONE) in_order[x->match[i]] = 1;
    for (uint32_t j = 0; j < n_b && ok && in_order; j++) {
        const tt_tensor *t = tensor_of(&x->b, j);
        if (in_order[j] || !t || !*tt_profile_name(t->name)) continue;
        ok = tt_idmap_add(&b, key_of(&x->b, j, 0), j, &was);
        if (ok && was != TT_NONE) ok = tt_idmap_set(&b, key_of(&x->b, j, 0), many);
    }
    for (uint32_t i = 0; i < n_a && ok; i++) {
        x->moved[i] = TT_NONE;
        if (x->match[i] != TT_NONE) continue;
        uint64_t key = key_of(&x->a, i, 0);
        uint32_t j = tt_idmap_get(&b, key);
        ok = tt_idmap_add(&a, key, i, &was);
        if (j >= many || was != TT_NONE) continue;
        x->moved[i] = j;
        x->taken[j] = 1;
    }
    tt_idmap_free(&a);
    tt_idmap_free(&b);
    ok &= in_order != NULL;
    free(in_order);
    return ok ? TT_OK : tt_error_memory(err, "comparing two graphs");
}

/* --- union-find --- */

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void join_slots(aligned *x, uint32_t slot_a, uint32_t slot_b)
{
    uint32_t a = root_of(x->parent, slot_a), b = root_of(x->parent, x->a.p->n_slots + slot_b);
    if (a < b)
        x->parent[b] = a;
    else
        x->parent[a] = b;
}

/* --- differences --- */

static bool same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool sources_differ(const tt_graph *g, const tt_tensor *a, const tt_graph *h,
                           const tt_tensor *b)
{
    if (a->n_src != b->n_src) return true;
    for (uint32_t i = 0; i < a->n_src; i++) {
        if ((a->src[i] == TT_NONE) != (b->src[i] == TT_NONE)) return true;
        if (a->src[i] != TT_NONE &&
            !same_text(g->tensors[a->src[i]].type_name, h->tensors[b->src[i]].type_name))
            return true;
    }
    return false;
}

static unsigned differences(const aligned *x, uint32_t i, uint32_t j)
{
    const tt_tensor *a = tensor_of(&x->a, i), *b = tensor_of(&x->b, j);
    const tt_graph *g = graph_of(&x->a, &x->a.c->nodes[i]), *h = graph_of(&x->b, &x->b.c->nodes[j]);
    unsigned what = 0;
    if (!a || !b || !g || !h) return 0;
    if (!same_text(tt_profile_name(a->name), tt_profile_name(b->name))) what |= TT_CHANGE_NAME;
    if (!same_text(a->op_name, b->op_name) || !same_text(a->op_desc, b->op_desc))
        what |= TT_CHANGE_OP;
    if (!same_text(a->type_name, b->type_name)) what |= TT_CHANGE_TYPE;
    if (x->shapes && memcmp(a->ne, b->ne, sizeof a->ne) != 0) what |= TT_CHANGE_SHAPE;
    if (sources_differ(g, a, h, b)) what |= TT_CHANGE_SOURCES;
    if (a->backend[0] && b->backend[0] && !same_text(a->backend, b->backend))
        what |= TT_CHANGE_BACKEND;
    if (x->a.p->slots[x->a.c->nodes[i].slot].n_nodes !=
        x->b.p->slots[x->b.c->nodes[j].slot].n_nodes)
        what |= TT_CHANGE_FUSION;
    return what;
}

/* Lists a change, once for all graphs that have it. */
static tt_status add_change(aligned *x, uint32_t i, uint32_t j, unsigned what, tt_error *err)
{
    tt_diff_structure *s = &x->phase->structure;
    uint64_t key = TT_PROFILE_HASH + what;
    uint32_t was;
    tt_diff_change c = {.what = what};
    if (i != TT_NONE) {
        c.a = tensor_of(&x->a, i);
        c.graph_a = graph_of(&x->a, &x->a.c->nodes[i]);
        c.op_a = x->a.p->slots[x->a.c->nodes[i].slot].op;
        key = key * 31 + 1 + x->a.c->nodes[i].slot;
    }
    if (j != TT_NONE) {
        c.b = tensor_of(&x->b, j);
        c.graph_b = graph_of(&x->b, &x->b.c->nodes[j]);
        c.op_b = x->b.p->slots[x->b.c->nodes[j].slot].op;
        key = (key << 20 ^ key >> 44) * 31 + 1 + x->b.c->nodes[j].slot;
    }
    if (c.a) key = tt_profile_hash(key, c.a->name);
    if (c.b) key = tt_profile_hash(key, c.b->name);
    if (!tt_idmap_add(&x->seen, key, 0, &was)) return tt_error_memory(err, "comparing two graphs");
    if (was != TT_NONE) return TT_OK;
    s->added += i == TT_NONE;
    s->removed += j == TT_NONE;
    s->changed += i != TT_NONE && j != TT_NONE;
    if (s->n == TT_DIFF_CHANGES_MAX) return TT_OK;
    if (!tt_array_one_more(s->list, s->n, x->capacity))
        return tt_error_memory(err, "comparing two graphs");
    s->list[s->n++] = c;
    return TT_OK;
}

static tt_status add_common(aligned *x, uint32_t i, uint32_t j, unsigned what, tt_error *err)
{
    x->phase->structure.common++;
    join_slots(x, x->a.c->nodes[i].slot, x->b.c->nodes[j].slot);
    what |= differences(x, i, j);
    return what ? add_change(x, i, j, what, err) : TT_OK;
}

/* In the order of both: what only A has precedes what B has instead. */
static tt_status list_changes(aligned *x, tt_error *err)
{
    const uint32_t n_a = x->a.c->n_nodes, n_b = x->b.c->n_nodes;
    tt_diff_structure *s = &x->phase->structure;
    tt_status status = TT_OK;
    uint32_t j = 0;
    s->nodes_a += n_a;
    s->nodes_b += n_b;
    for (uint32_t i = 0; i < n_a && status == TT_OK; i++) {
        uint32_t other = x->match[i];
        if (other == TT_NONE) {
            status = x->moved[i] == TT_NONE ? add_change(x, i, TT_NONE, 0, err)
                                            : add_common(x, i, x->moved[i], TT_CHANGE_ORDER, err);
            continue;
        }
        for (; j < other && status == TT_OK; j++)
            if (!x->taken[j]) status = add_change(x, TT_NONE, j, 0, err);
        j = other + 1;
        if (status == TT_OK) status = add_common(x, i, other, 0, err);
    }
    for (; j < n_b && status == TT_OK; j++)
        if (!x->taken[j]) status = add_change(x, TT_NONE, j, 0, err);
    return status;
}

/* Whether two units can have the same shapes. */
static bool comparable(const tt_unit *a, const tt_unit *b)
{
    if (a->n_tokens != b->n_tokens || a->has_position != b->has_position) return false;
    return !a->has_position || a->position == b->position;
}

static tt_status align_pair(aligned *x, size_t k, tt_error *err)
{
    tt_diff_phase *p = x->phase;
    x->a.c = &x->a.p->classes[x->a.p->class_of[k]];
    x->b.c = &x->b.p->classes[x->b.p->class_of[k]];
    x->a.unit = &x->a.p->units->list[p->pairs.units[0][k]];
    x->b.unit = &x->b.p->units->list[p->pairs.units[x->file_b][k]];
    x->shapes = comparable(x->a.unit, x->b.unit);
    p->structure.shapes_compared &= x->shapes;
    p->structure.pairs++;
    x->a.keys = reallocarray(NULL, (size_t)x->a.c->n_nodes + 1, sizeof *x->a.keys);
    x->b.keys = reallocarray(NULL, (size_t)x->b.c->n_nodes + 1, sizeof *x->b.keys);
    x->match = reallocarray(NULL, (size_t)x->a.c->n_nodes + 1, sizeof *x->match);
    x->moved = reallocarray(NULL, (size_t)x->a.c->n_nodes + 1, sizeof *x->moved);
    x->taken = calloc((size_t)x->b.c->n_nodes + 1, 1);
    bool ok = x->a.keys && x->b.keys && x->match && x->moved && x->taken;
    tt_status status = ok ? match_nodes(x, err) : tt_error_memory(err, "comparing two graphs");
    if (status == TT_OK) status = match_moved(x, err);
    if (status == TT_OK) status = list_changes(x, err);
    free(x->a.keys);
    free(x->b.keys);
    free(x->match);
    free(x->moved);
    free(x->taken);
    return status;
}

/* Numbers the sets of slots as rows, in A's order of execution, B's own last. */
static tt_status number_rows(aligned *x, tt_error *err)
{
    const uint32_t n_a = x->a.p->n_slots, n = n_a + x->b.p->n_slots;
    tt_diff_structure *s = &x->phase->structure;
    uint32_t *row = reallocarray(NULL, (size_t)n + 1, sizeof *row), rows = 0;
    if (!row) return tt_error_memory(err, "comparing two graphs");
    for (uint32_t i = 0; i < n; i++) {
        /* The root is the smallest of its set. */
        uint32_t root = root_of(x->parent, i);
        row[i] = root == i ? rows++ : row[root];
    }
    s->row_of_slot_a = row;
    s->row_of_slot_b = row + n_a;
    x->phase->n_rows[TT_DIFF_OPS] = rows;
    return TT_OK;
}

tt_status tt_diff_align_phase(tt_diff_phase *p, size_t n_a, tt_error *err)
{
    aligned x = {.phase = p, .a.p = p->profiles[0], .b.p = p->profiles[n_a], .file_b = n_a};
    const uint32_t n = x.a.p->n_slots + x.b.p->n_slots;
    tt_idmap pairs = {0};
    tt_status status = TT_OK;
    uint32_t was;
    x.parent = reallocarray(NULL, (size_t)n + 1, sizeof *x.parent);
    if (!x.parent) return tt_error_memory(err, "comparing two graphs");
    for (uint32_t i = 0; i < n; i++)
        x.parent[i] = i;
    join_slots(&x, TT_PROFILE_BETWEEN, TT_PROFILE_BETWEEN);
    p->structure.shapes_compared = true;
    for (size_t k = 0; k < p->pairs.n && status == TT_OK; k++) {
        uint64_t key = (uint64_t)x.a.p->class_of[k] << 32 | x.b.p->class_of[k];
        if (!tt_idmap_add(&pairs, key, 0, &was))
            status = tt_error_memory(err, "comparing two graphs");
        else if (was == TT_NONE)
            status = align_pair(&x, k, err);
    }
    if (status == TT_OK) status = number_rows(&x, err);
    tt_idmap_free(&pairs);
    tt_idmap_free(&x.seen);
    free(x.parent);
    return status;
}
