/* What `tensortrace routing` has worked out, and the ways of printing it. */
#ifndef TT_CLI_ROUTING_VIEW_H
#define TT_CLI_ROUTING_VIEW_H

#include "analyze/routers.h"
#include "cli/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ROUTING_FILES_MAX 16u

typedef struct tt_routing_options {
    const char *paths[TT_ROUTING_FILES_MAX]; /* more than one only with overlap */
    size_t n_paths;
    bool json;
    tt_filter filter;
    bool limited;
    uint64_t limit;
    bool matrix;
    bool overlap;
    bool ranges;
} tt_routing_options;

/* One trace. */
typedef struct tt_routing_view {
    const char *path;
    tt_model *m;
    tt_routers *routers;
    const tt_router_layer *layers; /* those of the filter are shown */
    size_t n_layers;
    tt_router_sum *sums; /* by layer */
    const tt_router_text *texts;
    size_t n_texts;
    uint64_t texts_left_out;
} tt_routing_view;

bool tt_routing_passes(const tt_routing_options *o, const tt_router_layer *layer);
/* Each false when the output failed or memory ran out. */
bool tt_routing_print_layers(const tt_routing_options *o, const tt_routing_view *v);
bool tt_routing_print_experts(const tt_routing_options *o, const tt_routing_view *v);
bool tt_routing_print_matrix(const tt_routing_options *o, const tt_routing_view *v);
bool tt_routing_print_json(const tt_routing_options *o, const tt_routing_view *v);
/* n traces, whose routers have the same shape. */
bool tt_routing_print_overlap(const tt_routing_options *o, const tt_routing_view *v, size_t n);

#endif
