#include "analyze/op_table.h"

#include <stdlib.h>

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
    entry ***of_graph; /* by graph, by node; NULL until met */
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

static void forget(tt_op_table *t)
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
    forget(t);
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
        forget(t);
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
