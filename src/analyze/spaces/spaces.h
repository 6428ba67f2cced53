/* The memory that inference works on, as a map: spaces (model files by offset, buffers by offset)
 * cut into regions that do not overlap and leave nothing out.
 *
 * A region is what one set of tensors covers: a weight of a file or its copy in a buffer, a layer's
 * keys, or an interval of a compute buffer that the same values use in turn. What nothing known
 * covers is a region too, a gap. An expert tensor's region is cut further into equal slices, one an
 * expert. Heat (space_heat.h) is counted per unit: units [0, n_regions) are the regions, the
 * others are slices. */
#ifndef TT_ANALYZE_SPACES_H
#define TT_ANALYZE_SPACES_H

#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_SPACES_MAX 4096u           /* what is left out is counted */
#define TT_SPACES_REGIONS_MAX 262144u /* over all spaces; then they get coarser */
#define TT_SPACES_UNITS_MAX 2097152u  /* regions and slices; then experts are not told apart */
/* A space in which tensors overlap has no more regions than this: an op may use all of them. */
#define TT_SPACES_OVERLAPS_MAX 4096u
#define TT_SPACES_SLICES_MAX 1024u /* a tensor with more experts is not cut */

typedef enum tt_region_kind {
    TT_REGION_GAP = 0,  /* nothing known lies there */
    TT_REGION_HEAD,     /* of a model file: what is before its first tensor */
    TT_REGION_WEIGHT,   /* of a model, or a constant where no model file is known */
    TT_REGION_KV_CACHE, /* keys and values of attention, or a recurrent state */
    TT_REGION_COMPUTE,  /* results of ops */
    TT_REGION_INPUT     /* what the program gives to a graph */
} tt_region_kind;

/* A tensor in a space; those of one name at one place, in several graphs, are one. */
typedef struct tt_placed {
    uint32_t space;
    uint64_t begin, end; /* offsets in the space; end > begin */
    const char *name;
    const char *type_name;
    uint32_t graph, tensor; /* where it was met first; TT_NONE: in a model file */
    uint32_t weight;        /* in tt_model.weights, or TT_NONE */
    int32_t layer_id;
    const char *component;
    tt_region_kind kind;
} tt_placed;

typedef struct tt_region {
    uint32_t space;
    uint64_t begin, end;
    tt_region_kind kind; /* of the tensor below */
    uint32_t placed;     /* in tt_spaces.placed: the first one that covers it; TT_NONE: a gap */
    uint32_t n_placed;   /* how many cover some of it */
    uint32_t weight;   /* the only thing that covers it, all of it and of the weight; or TT_NONE */
    uint32_t n_slices; /* equal ones, but for a rest in the last; 0: not cut */
    uint32_t first_slice; /* the unit of the first one */
} tt_region;

typedef struct tt_space {
    bool is_file;
    uint32_t index; /* in tt_model.files or tt_model.buffers */
    uint64_t size_bytes;
    uint32_t first_region, n_regions; /* by ascending offset */
    /* A buffer that is a mapping of a model file: then its byte x is the file's byte x + offset. */
    uint32_t mapped_file; /* in tt_model.files, or TT_NONE */
    uint64_t mapped_offset_bytes;
    bool coarse; /* too many tensors: a region may hold parts of several side by side */
} tt_space;

typedef struct tt_spaces {
    tt_space *spaces; /* files first, each in the model's order */
    uint32_t n_spaces;
    uint32_t left_out; /* buffers past TT_SPACES_MAX */
    tt_region *regions;
    uint32_t n_regions;
    uint32_t n_units;
    tt_placed *placed; /* by space, begin, end, name */
    uint32_t n_placed;
    uint32_t *region_of_weight; /* in its file, or TT_NONE; n_weights */
    uint32_t *space_of_buffer;  /* or TT_NONE; n_buffers */
} tt_spaces;

/* *out is freed with tt_spaces_free; NULL on failure. */
tt_status tt_spaces_make(const tt_model *m, tt_spaces **out, tt_error *err);
void tt_spaces_free(tt_spaces *s);

/* The region that holds the byte; TT_NONE behind the space's end. */
uint32_t tt_spaces_find(const tt_spaces *s, uint32_t space, uint64_t offset);
/* The bytes of a slice (< n_slices) of that region, as offsets in its space. */
void tt_spaces_slice(const tt_region *r, uint32_t slice, uint64_t *begin, uint64_t *end);
/* The slices that [begin, end) touches: *first .. *last - 1; begin < end, inside the region. */
void tt_spaces_slices_of(const tt_region *r, uint64_t begin, uint64_t end, uint32_t *first,
                         uint32_t *last);
/* "gap", "head", "weight", "kv_cache", "compute", "input" */
const char *tt_region_kind_name(tt_region_kind kind);

#endif
