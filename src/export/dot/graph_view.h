/* Which part of a graph, as computed in one run, `tensortrace graph` and drawings show. */
#ifndef TT_EXPORT_DOT_GRAPH_VIEW_H
#define TT_EXPORT_DOT_GRAPH_VIEW_H

#include "analyze/topology.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tt_graph_color {
    TT_COLOR_NONE = 0,
    TT_COLOR_TIME,  /* of the ops in that run */
    TT_COLOR_BYTES, /* of weights that the ops read */
    TT_COLOR_OP     /* by kind */
} tt_graph_color;

/* Which tensors are in the drawing. */
enum { TT_GRAPH_SHOW_NOT = 0, TT_GRAPH_SHOW_ASKED = 1, TT_GRAPH_SHOW_NEIGHBOUR = 2 };

typedef struct tt_graph_view {
    const char *path; /* of the trace */
    const tt_topology *t;
    uint8_t *shown; /* TT_GRAPH_SHOW_*, by tensor */
    bool has_layer;
    int32_t layer; /* the requested one */
    tt_graph_color color;
} tt_graph_view;

/* Decides what is shown: everything, or the layer and its neighbours. False if out of memory; else
 * free with tt_graph_view_free. */
bool tt_graph_view_choose(tt_graph_view *v);
void tt_graph_view_free(tt_graph_view *v);

/* A node's layer is that of the op that computed it. */
int32_t tt_graph_layer(const tt_topology *t, uint32_t tensor);
/* "2048 x 6": without trailing dimensions of 1. */
char *tt_graph_shape(const tt_tensor *t, char *out, size_t room);

#endif
