#include "analyze/ops.h"

#include "base/saturate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t tt_op_covered(const tt_graph *g, uint32_t node, uint32_t covers,
                       uint32_t out[TT_OP_NODES_MAX - 1])
{
    uint32_t n = 0;
    if (covers > TT_OP_NODES_MAX - 1) covers = TT_OP_NODES_MAX - 1;
    for (uint32_t i = node + 1; i < g->n_nodes && n < covers; i++)
        if (g->tensors[i].flags & TT_TENSOR_EXECUTES) out[n++] = i;
    return n;
}

uint64_t tt_elements(const tt_tensor *t)
{
    return tt_times(tt_times(t->ne[0], t->ne[1]), tt_times(t->ne[2], t->ne[3]));
}

tt_pick tt_op_pick(const tt_graph *g, uint32_t node, uint32_t slot, uint32_t *numbers,
                   uint64_t *stride_bytes)
{
    static const struct {
        const char *op;
        uint32_t from, numbers, dimension;
        tt_pick pick;
    } picks[] = {{"GET_ROWS", 0, 1, 1, TT_PICK_ROWS},
                 {"MUL_MAT_ID", 0, 2, 2, TT_PICK_EXPERTS},
                 {"ADD_ID", 1, 2, 1, TT_PICK_EXPERTS}};
    const tt_tensor *t = &g->tensors[node];
    for (size_t i = 0; i < sizeof picks / sizeof *picks; i++) {
        if (slot != picks[i].from || strcmp(t->op_name, picks[i].op) != 0) continue;
        if (t->n_src <= picks[i].numbers || t->src[slot] == TT_NONE) continue;
        *numbers = t->src[picks[i].numbers];
        *stride_bytes = g->tensors[t->src[slot]].nb[picks[i].dimension];
        if (*numbers != TT_NONE) return picks[i].pick;
    }
    return TT_PICK_NONE;
}

/* Bytes of source s that its node reads: all of it, unless rows or experts are selected. */
static void measure(const tt_graph *g, tt_op_source *s)
{
    uint32_t numbers;
    uint64_t stride;
    s->read_bytes = g->tensors[s->tensor].size_bytes;
    s->picks = tt_op_pick(g, s->node, s->slot, &numbers, &stride) != TT_PICK_NONE;
    if (!s->picks) return;
    /* Several numbers may select the same row or expert. */
    uint64_t picked = tt_elements(&g->tensors[numbers]), most = tt_times(picked, stride);
    if (most < s->read_bytes) s->read_bytes = most;
    s->at_most = picked > 1;
}

bool tt_op_source_is_unplaced(const tt_graph *g, const tt_op_source *s)
{
    return s->picks && (s->at_most || s->read_bytes < g->tensors[s->tensor].size_bytes);
}

static bool is_inside(const tt_op *op, uint32_t tensor)
{
    for (uint32_t i = 0; i < op->n_nodes; i++)
        if (op->nodes[i] == tensor) return true;
    return false;
}

bool tt_op_writes_into(const tt_graph *g, uint32_t node, uint32_t slot)
{
    const tt_tensor *t = &g->tensors[node];
    return slot > 0 && g->tensors[t->src[slot]].root == t->root &&
           (strcmp(t->op_name, "SET_ROWS") == 0 || strcmp(t->op_name, "CPY") == 0);
}

static void add_sources(const tt_model *m, tt_op *op, const tt_tensor *node)
{
    const tt_graph *g = op->graph;
    for (uint32_t i = 0; i < node->n_src; i++) {
        bool known = node->src[i] == TT_NONE || is_inside(op, node->src[i]);
        for (uint32_t k = 0; k < op->n_sources && !known; k++)
            known = op->sources[k].tensor == node->src[i];
        if (known) continue;
        tt_op_source *s = &op->sources[op->n_sources++];
        *s = (tt_op_source){.tensor = node->src[i],
                            .weight = g->tensors[node->src[i]].weight,
                            .node = (uint32_t)(node - g->tensors),
                            .slot = i};
        measure(g, s);
        if (!g->tensors[s->tensor].is_weight) continue;
        if (s->weight < m->n_weights && op->weight_bytes == 0)
            op->place = tt_model_place_of_use(g->tensors[s->tensor].place, node->op_name);
        op->weight_bytes = tt_plus(op->weight_bytes, s->read_bytes);
        op->picks |= s->picks && s->weight != TT_NONE;
        op->at_most |= s->at_most;
    }
}

void tt_op_describe(const tt_model *m, const tt_graph *g, uint32_t node, uint32_t covers, tt_op *op)
{
    size_t used = 0;
    memset(op, 0, sizeof *op);
    op->graph = g;
    op->node = node;
    op->nodes[0] = node;
    op->n_nodes = 1 + tt_op_covered(g, node, covers, op->nodes + 1);
    const tt_tensor *last = &g->tensors[op->nodes[op->n_nodes - 1]];
    op->name = last->name;
    op->place = last->place;
    for (uint32_t i = 0; i < op->n_nodes; i++) {
        const tt_tensor *t = &g->tensors[op->nodes[i]];
        int n = snprintf(op->op + used, sizeof op->op - used, "%s%s", i ? "+" : "", t->op_name);
        if (n > 0) used += (size_t)n < sizeof op->op - used ? (size_t)n : sizeof op->op - used - 1;
        add_sources(m, op, t);
    }
}

typedef struct entry {
    tt_op op;
    uint32_t covers;
    void *note;
} entry;

static void free_entry(entry *e)
{
    if (e) free(e->note);
    free(e);
}

struct tt_op_table {
    const tt_model *m;
    entry ***of_graph; /* by graph, by node; NULL until needed */
    size_t bytes;
};

tt_op_table *tt_op_table_new(const tt_model *m)
{
    tt_op_table *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->m = m;
    t->of_graph = calloc((size_t)m->n_graphs + 1, sizeof *t->of_graph);
    if (t->of_graph) return t;
    free(t);
    return NULL;
}

static void clear(tt_op_table *t)
{
    for (uint32_t g = 0; g < t->m->n_graphs; g++) {
        for (uint32_t i = 0; t->of_graph[g] && i < t->m->graphs[g].n_nodes; i++)
            free_entry(t->of_graph[g][i]);
        free(t->of_graph[g]);
        t->of_graph[g] = NULL;
    }
    t->bytes = 0;
}

void tt_op_table_free(tt_op_table *t)
{
    if (!t) return;
    clear(t);
    free(t->of_graph);
    free(t);
}

const tt_op *tt_op_table_get(tt_op_table *t, uint32_t graph, uint32_t node, uint32_t covers)
{
    const tt_graph *g = &t->m->graphs[graph];
    entry **nodes = t->of_graph[graph];
    if (nodes && nodes[node] && nodes[node]->covers == covers) return &nodes[node]->op;
    size_t list_bytes = ((size_t)g->n_nodes + 1) * sizeof(entry *);
    if (t->bytes > 0 && t->bytes + list_bytes + sizeof(entry) > TT_OP_TABLE_BYTES_MAX) {
        clear(t);
        nodes = NULL;
    }
    if (!nodes) {
        nodes = t->of_graph[graph] = calloc((size_t)g->n_nodes + 1, sizeof(entry *));
        if (!nodes) return NULL;
        t->bytes += list_bytes;
    }
    if (!nodes[node]) {
        nodes[node] = calloc(1, sizeof *nodes[node]);
        if (!nodes[node]) return NULL;
        t->bytes += sizeof *nodes[node];
    }
    free(nodes[node]->note);
    nodes[node]->note = NULL;
    tt_op_describe(t->m, g, node, covers, &nodes[node]->op);
    nodes[node]->covers = covers;
    return &nodes[node]->op;
}

void **tt_op_table_note(tt_op_table *t, uint32_t graph, uint32_t node)
{
    entry **nodes = t->of_graph[graph];
    return nodes && nodes[node] ? &nodes[node]->note : NULL;
}
