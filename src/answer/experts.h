/* The experts of all layers in columns: what the viewer draws as a matrix. */
#ifndef TT_ANSWER_EXPERTS_H
#define TT_ANSWER_EXPERTS_H

#include "analyze/expert_reads.h"
#include "answer/routing.h"

/* One object. reads: NULL, or what had to come from disk (then null where not observed). */
void tt_experts_json(tt_json *j, const tt_routing_view *v, const tt_expert_reads *reads);

#endif
