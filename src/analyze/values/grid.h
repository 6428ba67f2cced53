/* Values over layers and tokens: for one output of a layer (a node's name without its layer, such
 * as "l_out"), a matrix with a cell for each layer and batch. */
#ifndef TT_ANALYZE_VALUES_GRID_H
#define TT_ANALYZE_VALUES_GRID_H

#include "analyze/values/values.h"

#define TT_VALUES_GRID_CELLS_MAX ((size_t)1 << 22)
#define TT_VALUES_PLACE_TEXT 64u

/* Statistics of the outputs of a layer and a batch. */
typedef struct tt_values_cell {
    uint32_t outputs; /* 0: nothing was measured, and the rest is not valid */
    bool masking;
    bool has_range; /* something is finite: rms, min, max are valid */
    float min, max;
    double rms, mean; /* of the finite elements of all of them */
    uint64_t elements, n_nan, n_inf;
    uint32_t run, node; /* the last of the outputs */
} tt_values_cell;

typedef struct tt_values_grid {
    char place[TT_VALUES_PLACE_TEXT]; /* "l_out"; "": the last output of each layer */
    int32_t *layers;                  /* ascending; TT_LAYER_NONE first, if present */
    uint32_t *batches;                /* in m->batches, in the order observed */
    uint32_t n_layers, n_batches;
    bool cut;              /* some batches did not fit into TT_VALUES_GRID_CELLS_MAX cells */
    tt_values_cell *cells; /* cells[layer * n_batches + batch] */
} tt_values_grid;

/* place: a node's name without its layer ("l_out", "ffn_out"); NULL: "l_out", the residual stream
 * after each layer, or, if the graph has none, the last output of each layer. */
tt_status tt_values_grid_make(const tt_model *m, const tt_values_query *q, const char *place,
                              const tt_over *over, tt_values_grid *out, tt_error *err);
void tt_values_grid_free(tt_values_grid *g);

/* The growth of the RMS over the layers, over the batches of a phase. */
typedef struct tt_values_growth {
    unsigned phase; /* enum tt_phase */
    int32_t layer_id;
    uint64_t batches; /* of the phase, with such outputs */
    uint64_t outputs;
    tt_values_cell all;      /* over the batches */
    double rms_min, rms_max; /* of one batch */
    bool has_ratio;
    double ratio; /* RMS relative to that of the previous layer of its stack */
} tt_values_growth;

/* One for each of the grid's layers, for the batches of that phase (enum tt_phase; 0: all). out has
 * room for n_layers. Returns the number of batches. */
uint64_t tt_values_growth_of(const tt_model *m, const tt_values_grid *g, unsigned phase,
                             tt_values_growth *out);
/* The same for the phases prompt and generate, one after the other, if they have batches: the
 * caller frees it. NULL if out of memory. */
tt_values_growth *tt_values_growth_list(const tt_model *m, const tt_values_grid *g, size_t *n);

#endif
