#include "export/perfetto/flows.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(tt_flows *f, uint32_t n_tensors, uint32_t n_edges)
{
    if (!tt_array_room(f->writers, f->n_writers, n_tensors)) return false;
    uint32_t had = f->capacity;
    return tt_array_room(f->edges, had, n_edges) && tt_array_room(f->by_from, f->capacity, n_edges);
}

static bool is_known(const tt_flows *f, uint32_t from, uint32_t to)
{
    for (uint32_t i = f->n; i > 0 && f->edges[i - 1].to == to; i--)
        if (f->edges[i - 1].from == from) return true;
    return false;
}

static bool add_op(tt_flows *f, const tt_op *op)
{
    const tt_graph *g = op->graph;
    if (!make_room(f, 0, f->n + op->n_sources)) return false;
    for (uint32_t i = 0; i < op->n_sources; i++) {
        uint32_t from = f->writers[g->tensors[op->sources[i].tensor].root];
        if (from != TT_NONE && from != op->node && !is_known(f, from, op->node))
            f->edges[f->n++] = (tt_flow_edge){from, op->node};
    }
    for (uint32_t i = 0; i < op->n_nodes; i++)
        f->writers[g->tensors[op->nodes[i]].root] = op->node;
    return true;
}

static int by_source(const void *a, const void *b, void *edges)
{
    const tt_flow_edge *list = edges;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (list[x].from != list[y].from) return list[x].from < list[y].from ? -1 : 1;
    return x < y ? -1 : x > y;
}

bool tt_flows_find(tt_flows *f, const tt_model *m, uint32_t graph, tt_op_table *ops,
                   const uint32_t *nodes, const uint8_t *covers, uint32_t n)
{
    const tt_graph *g = &m->graphs[graph];
    f->n = 0;
    if (!make_room(f, g->n_tensors, 1)) return false;
    memset(f->writers, 0xff, g->n_tensors * sizeof *f->writers);
    for (uint32_t i = 0; i < n; i++) {
        const tt_op *op = tt_op_table_get(ops, graph, nodes[i], covers[i]);
        if (!op || !add_op(f, op)) return false;
    }
    for (uint32_t i = 0; i < f->n; i++)
        f->by_from[i] = i;
    qsort_r(f->by_from, f->n, sizeof *f->by_from, by_source, f->edges);
    return true;
}

uint32_t tt_flows_to(const tt_flows *f, uint32_t node)
{
    uint32_t low;
    tt_lower_bound(low, f->n, f->edges[low].to < node);
    return low;
}

uint32_t tt_flows_from(const tt_flows *f, uint32_t node)
{
    uint32_t low;
    tt_lower_bound(low, f->n, f->edges[f->by_from[low]].from < node);
    return low;
}

void tt_flows_free(tt_flows *f)
{
    free(f->edges);
    free(f->by_from);
    free(f->writers);
    memset(f, 0, sizeof *f);
}
