/* The rows of a mixture of experts: a layer's router, an expert, a text, two texts. */
#ifndef TT_ANALYZE_ROUTERS_COLUMNS_H
#define TT_ANALYZE_ROUTERS_COLUMNS_H

#include "analyze/routers.h"
#include "table/table.h"

/* Kinds of rows of layers and experts: with all of a layer's experts; also with their byte ranges
 * in the file; without experts. */
enum { TT_ROUTING_EXPERTS = 1, TT_ROUTING_RANGES = 2, TT_ROUTING_NO_EXPERTS = 4 };

typedef struct tt_routing_top {
    uint32_t experts; /* so many of the most used ones ... */
    double share;     /* ... got this share of the choices; NAN without choices */
} tt_routing_top;

typedef struct tt_routing_window {
    uint32_t tokens; /* in a row */
    double mean_experts, mean_bytes;
} tt_routing_window;

typedef struct tt_routing_row tt_routing_row;

typedef struct tt_routing_expert {
    const tt_routing_row *of;
    const tt_expert_use *use;
    uint32_t expert_id;
} tt_routing_expert;

struct tt_routing_row {
    const tt_router_layer *layer; /* NULL: the sum over all layers */
    tt_router_sum sum;
    tt_routing_top top[TT_ROUTER_TOP];
    tt_routing_window windows[TT_ROUTER_WINDOWS];
    const tt_routing_expert *experts; /* sum.experts of them */
};

typedef struct tt_routing_rows {
    tt_routing_row *rows;       /* by layer, as tt_routers_layers */
    tt_routing_expert *experts; /* of all layers */
    size_t n;
    tt_routing_row total; /* sums, and means over the layers with a value */
} tt_routing_rows;

/* After the walk; the routers must stay valid. False if out of memory; free in every case. */
bool tt_routing_rows_make(const tt_routers *r, tt_routing_rows *out);
void tt_routing_rows_free(tt_routing_rows *rows);

extern const tt_schema tt_routing_layer_schema, tt_routing_expert_schema;
/* Passed to the columns. */
typedef struct tt_routing_context {
    const tt_model *m;
    const tt_filter *filter; /* whose layer passes; NULL: all do */
} tt_routing_context;

/* kind: TT_ROUTING_... */
tt_rowset tt_routing_layer_rowset(const tt_routing_context *x, uint8_t kind,
                                  const tt_routing_rows *rows);
tt_rowset tt_routing_expert_rowset(const tt_routing_context *x, const tt_routing_row *layer);
/* Whether the row's layer passes the filter. */
bool tt_routing_passes(const void *context, const void *row);

/* A text of one of several traces. */
typedef struct tt_routing_text {
    uint64_t text_id;
    const char *file;
    const tt_router_text *text;
} tt_routing_text;

typedef struct tt_routing_pair {
    const tt_routing_text *a, *b;
} tt_routing_pair;

extern const tt_schema tt_routing_text_schema, tt_routing_pair_schema;

#endif
