#include "export/dot/graph_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int32_t tt_graph_layer(const tt_topology *t, uint32_t tensor)
{
    if (tensor < t->graph->n_nodes) return t->nodes[tensor].layer_id;
    return t->graph->tensors[tensor].place.layer_id;
}

bool tt_graph_view_choose(tt_graph_view *v)
{
    const tt_graph *g = v->t->graph;
    tt_edge edges[TT_EDGES_MAX];
    v->shown = calloc((size_t)g->n_tensors + 1, 1);
    if (!v->shown) return false;
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (!v->has_layer || tt_graph_layer(v->t, i) == v->layer) v->shown[i] = TT_GRAPH_SHOW_ASKED;
    for (uint32_t i = 0; i < g->n_tensors && v->has_layer; i++) {
        uint32_t n = tt_topology_edges(g, i, edges);
        for (uint32_t k = 0; k < n; k++) {
            uint8_t *source = &v->shown[edges[k].source], *target = &v->shown[i];
            if (*target == TT_GRAPH_SHOW_ASKED && *source == TT_GRAPH_SHOW_NOT)
                *source = TT_GRAPH_SHOW_NEIGHBOUR;
            if (*source == TT_GRAPH_SHOW_ASKED && *target == TT_GRAPH_SHOW_NOT)
                *target = TT_GRAPH_SHOW_NEIGHBOUR;
        }
    }
    return true;
}

void tt_graph_view_free(tt_graph_view *v)
{
    free(v->shown);
    v->shown = NULL;
}

char *tt_graph_shape(const tt_tensor *t, char *out, size_t room)
{
    uint32_t n = TT_DIMS;
    size_t used = 0;
    out[0] = '\0';
    while (n > 1 && t->ne[n - 1] == 1)
        n--;
    for (uint32_t i = 0; i < n; i++) {
        int length = snprintf(out + used, room - used, "%s%" PRIu64, i ? " x " : "", t->ne[i]);
        if (length > 0) used += (size_t)length < room - used ? (size_t)length : room - used - 1;
    }
    return out;
}
