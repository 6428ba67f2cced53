/* Which experts were chosen: `tensortrace routing --json`. */
#ifndef TT_ANSWER_ROUTING_H
#define TT_ANSWER_ROUTING_H

#include "analyze/routers.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Which of it is wanted. Zero-filled: all but the ranges. */
typedef struct tt_routing_choice {
    bool has_layer;
    int32_t layer;
    uint64_t limit; /* layers; 0: all */
    bool ranges;    /* where in the file each expert's bytes lie */
} tt_routing_choice;

/* Fills the view from its routers, after their walk; sums is for free(). False without memory. */
bool tt_routing_sum_up(tt_routing_view *v);

/* Keys of the object under way: a layer's, without its experts. */
void tt_routing_layer_json(tt_json *j, const tt_routing_view *v, const tt_router_layer *layer,
                           const tt_router_sum *s);
/* One object. */
void tt_routing_json(tt_json *j, const tt_routing_view *v, const tt_routing_choice *choice);

#endif
