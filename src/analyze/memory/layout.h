/* The layout of the memory that inference uses: segments (each model file and each buffer, by
 * offset) that are divided completely into disjoint regions.
 *
 * A region is covered by one set of tensors: a weight of a file or its copy in a buffer, a layer's
 * keys, or an interval of a compute buffer that the same values use in turn. Memory that nothing
 * known covers is a region too, a gap. An expert tensor's region is divided further into equal
 * slices, one per expert. Heat is counted per unit: units [0, n_regions) are the regions, the
 * others are slices. */
#ifndef TT_ANALYZE_MEMORY_LAYOUT_H
#define TT_ANALYZE_MEMORY_LAYOUT_H

#include "analyze/filter.h"
#include "analyze/over.h"
#include "base/status.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

#define TT_MEMORY_SEGMENTS_MAX 4096u  /* others are counted only */
#define TT_MEMORY_REGIONS_MAX 262144u /* over all segments; beyond it they get coarser */
#define TT_MEMORY_UNITS_MAX                                                                        \
    2097152u /* regions and slices; beyond it experts are not                                      \
                distinguished */
/* Limit of regions in a segment with overlapping tensors: an op may use all of them. */
#define TT_MEMORY_OVERLAPS_MAX 4096u
#define TT_MEMORY_SLICES_MAX 1024u /* tensors with more experts are not divided */

typedef enum tt_region_kind {
    TT_REGION_GAP = 0,  /* nothing known */
    TT_REGION_HEAD,     /* of a model file: before its first tensor */
    TT_REGION_WEIGHT,   /* of a model, or a constant if no model file is known */
    TT_REGION_KV_CACHE, /* keys and values of attention, or a recurrent state */
    TT_REGION_COMPUTE,  /* results of ops */
    TT_REGION_INPUT     /* given to a graph by the program */
} tt_region_kind;

/* A tensor in a segment; those with the same name and location in several graphs are one. */
typedef struct tt_placed {
    uint32_t segment;
    uint64_t begin, end; /* offsets in the segment; end > begin */
    const char *name;
    const char *type_name;
    uint32_t graph, tensor; /* its first occurrence; TT_NONE: in a model file */
    uint32_t weight;        /* in tt_model.weights, or TT_NONE */
    int32_t layer_id;
    const char *component;
    tt_region_kind kind;
} tt_placed;

typedef struct tt_region {
    uint32_t segment;
    uint64_t begin, end;
    tt_region_kind kind; /* of the tensor below */
    uint32_t placed; /* in tt_memory_layout.placed: the first one that covers it; TT_NONE: a gap */
    uint32_t n_placed;    /* tensors that cover it */
    uint32_t weight;      /* the only tensor that covers it completely, and is covered by it; or
                             TT_NONE */
    uint32_t n_slices;    /* equal, except for a remainder in the last; 0: not divided */
    uint32_t first_slice; /* the unit of the first one */
} tt_region;

typedef struct tt_memory_segment {
    bool is_file;
    uint32_t index; /* in tt_model.files or tt_model.buffers */
    uint64_t size_bytes;
    uint32_t first_region, n_regions; /* by ascending offset */
    /* For a buffer that maps a model file: byte x of it is byte x + offset of the file. */
    uint32_t mapped_file; /* in tt_model.files, or TT_NONE */
    uint64_t mapped_offset_bytes;
    bool coarse; /* too many tensors: a region may contain parts of several */
} tt_memory_segment;

typedef struct tt_memory_layout {
    tt_memory_segment *segments; /* files first, each in the model's order */
    uint32_t n_segments;
    uint32_t left_out; /* buffers beyond TT_MEMORY_SEGMENTS_MAX */
    tt_region *regions;
    uint32_t n_regions;
    uint32_t n_units;
    tt_placed *placed; /* by segment, begin, end, name */
    uint32_t n_placed;
    uint32_t *region_of_weight;  /* in its file, or TT_NONE; n_weights */
    uint32_t *segment_of_buffer; /* or TT_NONE; n_buffers */
} tt_memory_layout;

/* Free *out with tt_memory_layout_free; NULL on failure. */
tt_status tt_memory_layout_make(const tt_model *m, tt_memory_layout **out, tt_error *err);
void tt_memory_layout_free(tt_memory_layout *s);

/* The region of the byte; TT_NONE after the segment's end. */
uint32_t tt_memory_layout_find(const tt_memory_layout *s, uint32_t segment, uint64_t offset);
/* The bytes of a slice (< n_slices) of that region, as offsets in its segment. */
void tt_region_slice(const tt_region *r, uint32_t slice, uint64_t *begin, uint64_t *end);
/* The slices that [begin, end) touches: *first .. *last - 1; begin < end, inside the region. */
void tt_region_slices_of(const tt_region *r, uint64_t begin, uint64_t end, uint32_t *first,
                         uint32_t *last);
/* "gap", "head", "weight", "kv_cache", "compute", "input" */
const char *tt_region_kind_name(tt_region_kind kind);

/* --- heat --- */

/* How a part of a trace uses a unit: weights, caches and compute buffers alike. An op that uses
 * several pieces of a unit counts once for it; its whole time counts for each unit that it uses.
 * For weights the sums equal those of tt_heat_measure; memory is bounded by the layout and the
 * graphs, independent of the trace's length. */
typedef struct tt_unit_use {
    uint64_t accesses; /* ops that read or wrote it; 0: the rest is not valid */
    uint64_t read_bytes, written_bytes;
    uint64_t touched_bytes;           /* distinct bytes read or written */
    uint64_t timed;                   /* ops with an observed end ... */
    uint64_t ticks;                   /* ... and their time */
    uint64_t first_ticks, last_ticks; /* start of the first and of the last op */
    uint32_t first_batch, last_batch; /* theirs; TT_NONE: none */
    bool at_most;         /* rows or experts were not observed: read and written bytes are upper
                             bounds */
    bool touched_at_most; /* touched_bytes is one: where some of them are is not known */
} tt_unit_use;

typedef struct tt_memory_heat {
    tt_unit_use *units;  /* n_units of the layout */
    uint64_t ops;        /* that passed the filter */
    uint64_t impossible; /* uses of bytes outside of any file or buffer, left out */
} tt_memory_heat;

/* Zero-filled, or freed with tt_memory_heat_free, also after an error. Needs a clock if the filter
 * has times. `over` may be NULL. */
tt_status tt_memory_heat_measure(const tt_model *m, const tt_memory_layout *s,
                                 const tt_filter *filter, const tt_over *over, tt_memory_heat *heat,
                                 tt_error *err);
void tt_memory_heat_free(tt_memory_heat *heat);

/* --- what was in RAM, of model files and of buffers that map them --- */

/* The time: the last sample of each file ... */
typedef struct tt_memory_moment {
    bool has_batch;
    uint32_t token; /* ... at this batch (its number) or before it */
    bool has_ns;
    double ns; /* ... that began at or before this time, since the trace's first batch */
} tt_memory_moment;

typedef struct tt_unit_residency {
    uint64_t observed_bytes; /* of the unit: observed pages; 0: unknown */
    uint64_t resident_bytes;
} tt_unit_residency; /* pages are counted in whole bytes, see residency.h */

typedef struct tt_memory_residency {
    tt_unit_residency *units; /* n_units of the layout */
    uint32_t *samples;        /* by model file: its sample's first record, in tt_model.residencies,
                                 or TT_NONE: none yet */
} tt_memory_residency;

/* Zero-filled, or freed with tt_memory_residency_free, also after an error. */
tt_status tt_memory_residency_find(const tt_model *m, const tt_memory_layout *s,
                                   const tt_memory_moment *moment, tt_memory_residency *out,
                                   tt_error *err);
void tt_memory_residency_free(tt_memory_residency *r);

#endif
