/* The ways of printing what `tensortrace routing` has worked out. */
#ifndef TT_CLI_ROUTING_VIEW_H
#define TT_CLI_ROUTING_VIEW_H

#include "answer/routing.h"
#include "cli/input.h"
#include "cli/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ROUTING_FILES_MAX 16u

typedef struct tt_routing_options {
    const char *paths[TT_ROUTING_FILES_MAX]; /* more than one only with overlap */
    size_t n_paths;
    bool json;
    tt_filter filter;
    tt_list_options list;
    bool matrix;
    bool overlap;
    bool ranges;
} tt_routing_options;

/* Each returns the exit code. The layers; the experts of those that pass; a map; the texts of n
 * traces whose routers have the same shape. */
int tt_routing_print_layers(const tt_routing_options *o, const tt_routing_view *v);
int tt_routing_print_experts(const tt_routing_options *o, const tt_routing_view *v);
bool tt_routing_print_matrix(const tt_routing_options *o, const tt_routing_view *v);
int tt_routing_print_overlap(const tt_routing_options *o, const tt_routing_view *v, size_t n);

#endif
