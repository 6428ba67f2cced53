/* Which weight has a byte of a model file. */
#ifndef TT_ANALYZE_WEIGHT_PLACES_H
#define TT_ANALYZE_WEIGHT_PLACES_H

#include "model/model.h"

#include <stdint.h>

typedef struct tt_weight_places {
    const tt_model *m;
    uint32_t *order; /* private: weights by file and place */
} tt_weight_places;

typedef struct tt_weight_place {
    uint32_t weight;       /* in tt_model.weights, or TT_NONE; then the rest is not known */
    uint64_t offset_bytes; /* in the weight */
    int32_t expert;        /* of a tensor of experts; or TT_EXPERT_NONE */
} tt_weight_place;

/* Freed with tt_weight_places_free, also after an error. */
tt_status tt_weight_places_find(tt_weight_places *p, const tt_model *m, tt_error *err);
void tt_weight_places_free(tt_weight_places *p);
/* file: in tt_model.files. */
tt_weight_place tt_weight_places_at(const tt_weight_places *p, uint32_t file,
                                    uint64_t file_offset_bytes);

#endif
