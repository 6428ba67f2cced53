/* Which experts were chosen: `tensortrace routing --json` and the API's experts. */
#ifndef TT_ANSWER_ROUTING_H
#define TT_ANSWER_ROUTING_H

#include "analyze/expert_reads.h"
#include "analyze/routers_columns.h"

/* One trace. */
typedef struct tt_routing_view {
    const char *path;
    tt_model *m;
    tt_routers *routers;
    const tt_router_layer *layers; /* parallel to the rows */
    size_t n_layers;
    tt_routing_rows rows;
    const tt_router_text *texts;
    size_t n_texts;
    uint64_t texts_left_out;
} tt_routing_view;

/* Fills the view from its routers, after their walk; call tt_routing_rows_free in every case.
 * False if out of memory. */
bool tt_routing_sum_up(tt_routing_view *v);
/* Writes one object: the listed layers. */
void tt_routing_json(tt_json *j, const tt_routing_view *v, const tt_listing *layers);

/* The experts of all layers in columns, for the viewer's matrix. */

/* Writes one object. reads: NULL, or the reads from disk (null where not observed). */
void tt_experts_json(tt_json *j, const tt_routing_view *v, const tt_expert_reads *reads);

#endif
