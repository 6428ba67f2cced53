#include "analyze/access.h"

#include "base/array.h"
#include "base/order.h"
#include "base/saturate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPERTS_MAX 65536u /* an expert is a 16-bit number in the details */
/* Runs, and their nodes, that are looked at before one, for the choices of experts: those of a
 * large graph that is computed node by node. */
#define NODES_BEFORE_MAX 16384u
/* Choices of one run: a long prompt, many layers, many experts per token. */
#define CHOICES_MAX ((size_t)16 << 20)

/* How an expert is used by the current op. */
typedef struct tally {
    uint32_t uses;
    uint32_t last_token;
} tally;

struct tt_accesses {
    const tt_model *m;
    uint32_t run;
    const tt_graph *graph;   /* of the run, or NULL */
    const uint32_t *routers; /* by tensor of that graph: the router of these ids, or TT_NONE */
    uint32_t **routers_of;   /* by graph: likewise; NULL until needed, which is ... */
    uint32_t graphs_begin, graphs_end; /* ... in this range alone */
    tt_choice *choices;
    size_t n_choices, choices_capacity;
    tt_access *list;
    size_t n, capacity;
    uint64_t *offsets; /* of rows in their source */
    size_t offsets_capacity;
    tally *tallies; /* by expert; all zero between ops; NULL until needed */
    uint32_t *met;  /* experts with a tally; likewise */
};

tt_accesses *tt_accesses_new(const tt_model *m)
{
    tt_accesses *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->m = m;
    a->run = TT_NONE;
    a->routers_of = calloc((size_t)m->n_graphs + 1, sizeof *a->routers_of);
    if (a->routers_of) return a;
    tt_accesses_free(a);
    return NULL;
}

void tt_accesses_free(tt_accesses *a)
{
    if (!a) return;
    for (uint32_t i = a->graphs_begin; i < a->graphs_end; i++)
        free(a->routers_of[i]);
    free(a->routers_of);
    free(a->choices);
    free(a->list);
    free(a->offsets);
    free(a->tallies);
    free(a->met);
    free(a);
}

/* --- routers --- */

static bool is_expert_matmul(const tt_tensor *t)
{
    return t->n_src > 2 && t->src[0] != TT_NONE && t->src[2] != TT_NONE &&
           strcmp(t->op_name, "MUL_MAT_ID") == 0;
}

uint32_t tt_access_router(const tt_graph *g, uint32_t node)
{
    if (node >= g->n_nodes || !is_expert_matmul(&g->tensors[node])) return TT_NONE;
    uint32_t ids = g->tensors[node].src[2];
    for (uint32_t i = 0; i < node; i++)
        if (g->tensors[i].n_src > 2 && g->tensors[i].src[2] == ids &&
            is_expert_matmul(&g->tensors[i]))
            return i;
    return node;
}

/* Looks at earlier nodes of the graph: -1 if they compute a tensor of that name, 1 if they take it
 * as the ids of experts, whichever is later; else 0. */
static int ids_before(const tt_graph *g, const char *ids)
{
    for (uint32_t i = g->n_nodes; i-- > 0;) {
        const tt_tensor *t = &g->tensors[i];
        if (is_expert_matmul(t) && strcmp(g->tensors[t->src[2]].name, ids) == 0) return 1;
        if (strcmp(t->name, ids) == 0) return -1;
    }
    return 0;
}

bool tt_access_router_counts(const tt_model *m, uint32_t run, uint32_t router)
{
    const tt_run *r = &m->runs[run];
    const tt_graph *g = &m->graphs[r->graph];
    const uint32_t ids = g->tensors[router].src[2];
    const char *name = g->tensors[ids].name;
    if (ids < g->n_nodes || r->batch == TT_NONE || !*name) return true;
    uint64_t looked = 0;
    for (uint32_t i = run; i-- > 0 && looked < NODES_BEFORE_MAX; looked++) {
        const tt_run *before = &m->runs[i];
        if (before->batch != r->batch || before->graph == TT_NONE) continue;
        looked += m->graphs[before->graph].n_nodes;
        const int found = ids_before(&m->graphs[before->graph], name);
        if (found) return found < 0;
    }
    return true;
}

/* For all nodes of a graph at once. */
static const uint32_t *find_routers(tt_accesses *a, uint32_t graph)
{
    if (a->routers_of[graph]) return a->routers_of[graph];
    const tt_graph *g = &a->m->graphs[graph];
    uint32_t *of = malloc(((size_t)g->n_tensors + 1) * sizeof *of);
    if (!of) return NULL;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        of[i] = TT_NONE;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (is_expert_matmul(&g->tensors[i]) && of[g->tensors[i].src[2]] == TT_NONE)
            of[g->tensors[i].src[2]] = i;
    a->routers_of[graph] = of;
    if (a->graphs_end == 0 || graph < a->graphs_begin) a->graphs_begin = graph;
    if (graph >= a->graphs_end) a->graphs_end = graph + 1;
    return of;
}

/* --- choices --- */

TT_ORDER_BY(by_location, tt_choice, node, token, rank)

/* Whether the details of that node can be about experts: it is a router of the graph. */
static bool is_router(const tt_accesses *a, uint32_t node)
{
    return node < a->graph->n_nodes && is_expert_matmul(&a->graph->tensors[node]) &&
           a->routers[a->graph->tensors[node].src[2]] == node;
}

/* Choices out of the graph's range are left out. */
static tt_status add_choices(tt_accesses *a, const tt_detail *d, tt_error *err)
{
    uint32_t node = tt_detail_node(d);
    const tt_detail_experts *x = &d->experts;
    if (!is_router(a, node) || x->n > TT_DETAIL_EXPERTS_MAX) return TT_OK;
    const tt_tensor *t = &a->graph->tensors[node];
    const tt_tensor *from = &a->graph->tensors[t->src[0]], *ids = &a->graph->tensors[t->src[2]];
    if (x->token >= ids->ne[1]) return TT_OK;
    if (a->n_choices + x->n > CHOICES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "run %" PRIu32 " chooses more than %zu experts", a->m->runs[a->run].id,
                            CHOICES_MAX);
    if (!tt_array_room(a->choices, a->choices_capacity, a->n_choices + x->n))
        return tt_error_memory(err, "a run's accesses");
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t rank = (uint32_t)x->first_rank + i;
        if (rank >= ids->ne[0] || x->expert[i] >= from->ne[2]) continue;
        a->choices[a->n_choices++] = (tt_choice){node, x->token, rank, x->expert[i], NAN};
    }
    return TT_OK;
}

static size_t first_choice(const tt_accesses *a, const tt_choice *key)
{
    size_t low;
    tt_lower_bound(low, a->n_choices, by_location(&a->choices[low], key) < 0);
    return low;
}

/* Sorts and removes duplicates, which lanes and hostile traces may contain. */
static void sort_choices(tt_accesses *a)
{
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 1; i < a->n_choices && sorted; i++)
        sorted = by_location(&a->choices[i - 1], &a->choices[i]) < 0;
    if (sorted) return;
    qsort(a->choices, a->n_choices, sizeof *a->choices, by_location);
    for (size_t i = 0; i < a->n_choices; i++)
        if (n == 0 || by_location(&a->choices[n - 1], &a->choices[i]) != 0)
            a->choices[n++] = a->choices[i];
    a->n_choices = n;
}

static void join_weights(tt_accesses *a, const tt_detail *d)
{
    const tt_detail_weights *w = &d->weights;
    for (uint32_t i = 0; i < w->n && i < TT_DETAIL_WEIGHTS_MAX; i++) {
        tt_choice key = {tt_detail_node(d), w->token, (uint32_t)w->first_rank + i, 0, 0};
        size_t at = first_choice(a, &key);
        if (at < a->n_choices && by_location(&a->choices[at], &key) == 0)
            a->choices[at].weight = w->weight[i];
    }
}

tt_status tt_accesses_run(tt_accesses *a, uint32_t run, tt_error *err)
{
    const tt_detail *list;
    size_t n;
    const tt_run *r = &a->m->runs[run];
    a->run = run;
    a->n_choices = 0;
    a->graph = NULL;
    if (r->graph == TT_NONE) return TT_OK;
    a->routers = find_routers(a, r->graph);
    if (!a->routers) return tt_error_memory(err, "a run's accesses");
    a->graph = &a->m->graphs[r->graph];
    tt_status status = tt_details_of_run(a->m->details, r->id, &list, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        if (tt_detail_kind_of(&list[i]) == TT_DETAIL_EXPERTS)
            status = add_choices(a, &list[i], err);
    if (status != TT_OK) {
        a->n_choices = 0;
        return status;
    }
    sort_choices(a);
    for (size_t i = 0; i < n && a->n_choices; i++)
        if (tt_detail_kind_of(&list[i]) == TT_DETAIL_WEIGHTS_F32) join_weights(a, &list[i]);
    return TT_OK;
}

const tt_choice *tt_accesses_choices(const tt_accesses *a, size_t *n)
{
    *n = a->n_choices;
    return a->choices;
}

/* The first choice of a router, and their number. */
static size_t choices_of(const tt_accesses *a, uint32_t router, size_t *n)
{
    size_t first = first_choice(a, &(tt_choice){.node = router});
    *n = first_choice(a, &(tt_choice){.node = router + 1}) - first;
    return first;
}

bool tt_accesses_router_known(const tt_accesses *a, uint32_t router)
{
    size_t n;
    if (!a->graph || router == TT_NONE || !is_router(a, router)) return false;
    const tt_tensor *ids = &a->graph->tensors[a->graph->tensors[router].src[2]];
    (void)choices_of(a, router, &n);
    /* Each rank of each row occurs at most once, so with this number none is missing. */
    return n > 0 && n == tt_elements(ids);
}

/* --- accesses --- */

/* Adds an access whose offset is relative to the source, clipped to the weight. */
static bool add_access(tt_accesses *a, const tt_op_source *s, tt_access access)
{
    const tt_weight *w = &a->m->weights[s->weight];
    const tt_tensor *t = &a->graph->tensors[s->tensor];
    uint64_t *offset = &access.offset_bytes;
    if (__builtin_add_overflow(*offset, t->root_offset_bytes, offset) || *offset >= w->size_bytes)
        return true;
    if (access.span_bytes > w->size_bytes - *offset) access.span_bytes = w->size_bytes - *offset;
    if (access.size_bytes > access.span_bytes) access.size_bytes = access.span_bytes;
    if (access.size_bytes == 0 || __builtin_add_overflow(*offset, w->offset_bytes, offset))
        return true;
    if (!tt_array_one_more(a->list, a->n, a->capacity)) return false;
    access.weight = s->weight;
    access.tensor = s->tensor;
    a->list[a->n++] = access;
    return true;
}

/* As much as the op reads of the source, somewhere in it. */
static bool add_source(tt_accesses *a, const tt_op_source *s)
{
    return add_access(a, s,
                      (tt_access){.expert = TT_EXPERT_NONE,
                                  .uses = 1,
                                  .span_bytes = a->graph->tensors[s->tensor].size_bytes,
                                  .size_bytes = s->read_bytes,
                                  .at_most = s->at_most});
}

/* Size of a selected part: the distance to the next, or less in a view of wider rows. */
static uint64_t picked_bytes(const tt_tensor *t, uint32_t dimension)
{
    uint64_t bytes = t->size_bytes, skipped;
    for (uint32_t i = dimension; i < TT_DIMS; i++) {
        if (t->ne[i] == 0 || __builtin_mul_overflow(t->ne[i] - 1, t->nb[i], &skipped) ||
            skipped > bytes)
            return t->nb[dimension];
        bytes -= skipped;
    }
    return bytes < t->nb[dimension] ? bytes : t->nb[dimension];
}

static bool make_tallies(tt_accesses *a)
{
    if (!a->tallies) a->tallies = calloc(EXPERTS_MAX, sizeof *a->tallies);
    if (!a->met) a->met = calloc(EXPERTS_MAX, sizeof *a->met);
    return a->tallies && a->met;
}

static bool add_experts(tt_accesses *a, const tt_op_source *s, uint32_t ids, uint64_t stride)
{
    uint32_t router = a->routers[ids], n_met = 0;
    const tt_tensor *t = &a->graph->tensors[s->tensor];
    uint32_t dimension = strcmp(a->graph->tensors[s->node].op_name, "ADD_ID") == 0 ? 1 : 2;
    uint64_t size = picked_bytes(t, dimension);
    size_t n;
    if (!tt_accesses_router_known(a, router)) return add_source(a, s);
    if (!make_tallies(a)) return false;
    size_t first = choices_of(a, router, &n);
    for (size_t i = first; i < first + n; i++) {
        const tt_choice *c = &a->choices[i];
        tally *y = &a->tallies[c->expert];
        if (c->expert >= t->ne[dimension]) continue;
        if (y->uses == 0) a->met[n_met++] = c->expert;
        if (y->uses == 0 || y->last_token != c->token) y->uses++;
        y->last_token = c->token;
    }
    qsort(a->met, n_met, sizeof *a->met, tt_by_u32);
    bool ok = true;
    for (uint32_t i = 0; i < n_met; i++) {
        uint32_t expert = a->met[i];
        uint64_t offset;
        if (!__builtin_mul_overflow(expert, stride, &offset))
            ok &= add_access(a, s,
                             (tt_access){.expert = (int32_t)expert,
                                         .uses = a->tallies[expert].uses,
                                         .offset_bytes = offset,
                                         .span_bytes = size,
                                         .size_bytes = size});
        a->tallies[expert].uses = 0;
    }
    return ok;
}

/* Row numbers as stored in the leaf, in one of two widths. */
typedef struct numbers {
    const int64_t *wide;
    const int32_t *narrow;
    uint64_t n;
} numbers;

static bool is_contiguous(const tt_tensor *t)
{
    uint64_t stride = t->nb[0];
    if (stride != sizeof(int32_t) && stride != sizeof(int64_t)) return false;
    for (uint32_t i = 1; i < TT_DIMS; i++) {
        if (__builtin_mul_overflow(stride, t->ne[i - 1], &stride)) return false;
        if (t->ne[i] > 1 && t->nb[i] != stride) return false;
    }
    return true;
}

/* The tensor's row numbers in this run; false if not observed. */
static bool find_numbers(const tt_accesses *a, uint32_t tensor, numbers *out)
{
    const tt_tensor *t = &a->graph->tensors[tensor];
    const tt_indices *x = tt_model_indices(a->m, a->run, t->root);
    const tt_run *r = &a->m->runs[a->run];
    const tt_batch *b = r->batch == TT_NONE ? NULL : &a->m->batches[r->batch];
    *out = (numbers){0};
    if (!is_contiguous(t) || t->root_offset_bytes % t->nb[0]) return false;
    uint64_t first = t->root_offset_bytes / t->nb[0], n = tt_elements(t), all;
    if (x) {
        all = x->n;
        out->wide = x->values;
    } else if (b && b->tokens && strcmp(a->graph->tensors[t->root].name, "inp_tokens") == 0) {
        all = b->n_tokens;
        out->narrow = b->tokens;
    } else {
        return false;
    }
    if (first > all || n > all - first) return false;
    if (out->wide) out->wide += first;
    if (out->narrow) out->narrow += first;
    out->n = n;
    return true;
}

/* The offsets of the rows in the source t, ascending, without those that it does not have. */
static uint64_t find_offsets(tt_accesses *a, const numbers *from, const tt_tensor *rows,
                             const tt_tensor *t)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < from->n; i++) {
        int64_t row = from->wide ? from->wide[i] : from->narrow[i];
        /* A matrix of numbers selects from the source's matrix at the same index. */
        uint64_t plane = i / rows->ne[0] % rows->ne[1], cube = i / rows->ne[0] / rows->ne[1];
        if (row < 0 || (uint64_t)row >= t->ne[1] || plane >= t->ne[2] || cube >= t->ne[3]) continue;
        a->offsets[n++] = (uint64_t)row * t->nb[1] + plane * t->nb[2] + cube * t->nb[3];
    }
    if (n) qsort(a->offsets, n, sizeof *a->offsets, tt_by_u64);
    return n;
}

static bool add_rows(tt_accesses *a, const tt_op_source *s, uint32_t tensor)
{
    const tt_tensor *t = &a->graph->tensors[s->tensor];
    uint64_t size = picked_bytes(t, 1);
    numbers from;
    if (!find_numbers(a, tensor, &from)) return add_source(a, s);
    if (!tt_array_room(a->offsets, a->offsets_capacity, from.n)) return false;
    uint64_t n = find_offsets(a, &from, &a->graph->tensors[tensor], t);
    for (uint64_t i = 0, next; i < n; i = next) {
        uint64_t end = a->offsets[i] + size;
        for (next = i + 1; next < n && a->offsets[next] <= end; next++)
            end = a->offsets[next] + size;
        const tt_access rows = {.expert = TT_EXPERT_NONE,
                                .uses = (uint32_t)(next - i),
                                .offset_bytes = a->offsets[i],
                                .span_bytes = end - a->offsets[i],
                                .size_bytes = end - a->offsets[i]};
        if (!add_access(a, s, rows)) return false;
    }
    return true;
}

tt_status tt_accesses_of(tt_accesses *a, const tt_op *op, const tt_access **list, size_t *n,
                         tt_error *err)
{
    bool ok = true;
    a->n = 0;
    for (uint32_t i = 0; i < op->n_sources && ok && op->graph == a->graph; i++) {
        const tt_op_source *s = &op->sources[i];
        uint32_t picked_by = TT_NONE;
        uint64_t stride = 0;
        if (s->weight == TT_NONE) continue;
        switch (tt_op_pick(op->graph, s->node, s->slot, &picked_by, &stride)) {
        case TT_PICK_ROWS:
            ok = add_rows(a, s, picked_by);
            break;
        case TT_PICK_EXPERTS:
            ok = add_experts(a, s, picked_by, stride);
            break;
        case TT_PICK_NONE:
            ok = add_source(a, s);
            break;
        }
    }
    *list = a->list;
    *n = a->n;
    return ok ? TT_OK : tt_error_memory(err, "a run's accesses");
}

void tt_access_apply(tt_op *op, const tt_access *list, size_t n)
{
    op->weight_bytes = 0;
    op->at_most = false;
    for (uint32_t i = 0; i < op->n_sources; i++) {
        tt_op_source *s = &op->sources[i];
        if (s->weight == TT_NONE) continue;
        s->read_bytes = 0;
        s->at_most = false;
        for (size_t k = 0; k < n; k++) {
            if (list[k].tensor != s->tensor) continue;
            s->at_most |= list[k].at_most;
            s->read_bytes = tt_plus(s->read_bytes, list[k].size_bytes);
        }
        op->at_most |= s->at_most;
        op->weight_bytes = tt_plus(op->weight_bytes, s->read_bytes);
    }
}

void tt_choices_of(const tt_choice *list, size_t n, uint32_t router, size_t *first, size_t *end)
{
    size_t low;
    tt_lower_bound(low, n, list[low].node < router);
    *first = *end = low;
    while (*end < n && list[*end].node == router)
        ++*end;
}
