#include "analyze/memory/columns.h"

#include "analyze/buffers.h"
#include "base/path.h"
#include "table/table.h"

#include <inttypes.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The columns' context. */
typedef struct about {
    const tt_model *m;
    const tt_memory_layout *layout;
    const tt_memory_observed *observed; /* of the whole layout */
} about;

static const tt_model *model_of(const void *context)
{
    return ((const about *)context)->m;
}

/* --- segments --- */

static void set_segment(tt_cell *cell, const tt_memory_segment *s)
{
    tt_cell_format(cell, "%s%" PRIu32, s->is_file ? "file" : "buffer", s->index);
}

/* NULL: the segment is a file. */
static const tt_buffer *buffer_of(const void *context, const tt_memory_segment *s)
{
    return s->is_file ? NULL : &model_of(context)->buffers[s->index];
}

static const char *name_of(const tt_model *m, const tt_memory_segment *s)
{
    return s->is_file ? tt_base_name(m->files[s->index].path) : m->buffers[s->index].name;
}

TT_COLUMN_KNOWN(is_mapping, tt_memory_segment, s, s->mapped_file != TT_NONE)
TT_COLUMN_KNOWN(is_buffer, tt_memory_segment, s, !s->is_file)
TT_COLUMN_GET(get_segment, tt_memory_segment, s, set_segment(cell, s);)
TT_COLUMN_GET(get_name, tt_memory_segment, s, tt_cell_text(cell, name_of(model_of(context), s));)
TT_COLUMN_VALUE(get_buffer, tt_memory_segment, s, u64, buffer_of(context, s)->id)
TT_COLUMN_GET(get_kind, tt_memory_segment, s, const tt_buffer *b = buffer_of(context, s);
              tt_cell_text(cell, b ? tt_buffer_kind_name(b->kind) : "file");)
TT_COLUMN_GET(get_backing, tt_memory_segment, s, const tt_buffer *b = buffer_of(context, s);
              tt_cell_text(cell, tt_backing_name(b ? tt_buffer_backing(b) : TT_BACKING_FILE));)
TT_COLUMN_GET(get_allocator, tt_memory_segment, s, const tt_buffer *b = buffer_of(context, s);
              tt_cell_text(cell, b->allocator && b->allocator[0] ? b->allocator : NULL);)
TT_COLUMN_GET(get_allocated, tt_memory_segment, s, const tt_buffer *b = buffer_of(context, s);
              const tt_model *m = model_of(context);
              tt_cell_ns(cell, m->clock.known && b->flags & TT_BUFFER_ALLOC_SEEN,
                         tt_model_ns(m, b->alloc_ticks));)
TT_COLUMN_GET(get_freed, tt_memory_segment, s, const tt_buffer *b = buffer_of(context, s);
              const tt_model *m = model_of(context);
              tt_cell_ns(cell, m->clock.known && b->free_ticks, tt_model_ns(m, b->free_ticks));)

static const tt_column segment_columns[] = {
    TT_COLUMN("segment", NULL, NONE, "file or buffer, and its index", .type = TT_CELL_NAME,
              .get = get_segment),
    TT_COLUMN("name", NULL, NONE, "of the file or buffer", .type = TT_CELL_NAME, .get = get_name),
    TT_COLUMN("buffer_id", NULL, ID, "", .type = TT_CELL_U64, .nullable = true, .known = is_buffer,
              .get = get_buffer),
    TT_COLUMN("kind", NULL, NONE, "file, or the buffer's", .type = TT_CELL_NAME, .get = get_kind),
    TT_COLUMN("backing", NULL, NONE, "allocated, file or unknown", .type = TT_CELL_NAME,
              .get = get_backing),
    TT_COLUMN("allocator", NULL, NONE, "library that asked for it", .type = TT_CELL_NAME,
              .nullable = true, .known = is_buffer, .get = get_allocator),
    TT_COLUMN("size_bytes", NULL, BYTES, "", TT_MEMBER(tt_memory_segment, size_bytes)),
    TT_COLUMN("model_file_id", NULL, ID, "index of the file it maps", .nullable = true,
              .known = is_mapping, TT_MEMBER(tt_memory_segment, mapped_file)),
    TT_COLUMN("file_offset_bytes", NULL, BYTES, "where in that file it begins", .nullable = true,
              .known = is_mapping, TT_MEMBER(tt_memory_segment, mapped_offset_bytes)),
    TT_COLUMN("allocated_relative_ns", NULL, MOMENT, "null: not observed", .type = TT_CELL_I64,
              .nullable = true, .known = is_buffer, .get = get_allocated),
    TT_COLUMN("freed_relative_ns", NULL, MOMENT, "null: never", .type = TT_CELL_I64,
              .nullable = true, .known = is_buffer, .get = get_freed),
    TT_COLUMN("first_region", NULL, ID, "", TT_MEMBER(tt_memory_segment, first_region)),
    TT_COLUMN("n_regions", NULL, COUNT, "", TT_MEMBER(tt_memory_segment, n_regions)),
    TT_COLUMN("coarse", NULL, NONE, "regions may hold several tensors side by side",
              TT_MEMBER(tt_memory_segment, coarse)),
};

static const tt_schema segment_schema = {"segments", "a model file or a buffer, by offset",
                                         segment_columns, COUNT(segment_columns)};

/* --- tensors in them --- */

TT_COLUMN_KNOWN(is_weight, tt_placed, p, p->weight != TT_NONE)
TT_COLUMN_KNOWN(in_graph, tt_placed, p, p->graph != TT_NONE)
TT_COLUMN_KNOWN(is_node, tt_placed, p, p->tensor != TT_NONE)
TT_COLUMN_GET(get_placed_kind, tt_placed, p, tt_cell_text(cell, tt_region_kind_name(p->kind));)
TT_COLUMN_VALUE(get_placed_size, tt_placed, p, u64, p->end - p->begin)
TT_COLUMN_VALUE(get_graph, tt_placed, p, u64, model_of(context)->graphs[p->graph].id)

static const tt_column placed_columns[] = {
    TT_COLUMN("name", NULL, NONE, "its name", TT_MEMBER(tt_placed, name)),
    TT_COLUMN("kind", NULL, NONE, "as of a region", .type = TT_CELL_NAME, .get = get_placed_kind),
    TT_COLUMN("type", NULL, NONE, "of its numbers", TT_MEMBER(tt_placed, type_name)),
    TT_COLUMN("offset_bytes", NULL, BYTES, "in the segment", TT_MEMBER(tt_placed, begin)),
    TT_COLUMN("size_bytes", NULL, BYTES, "", .type = TT_CELL_U64, .get = get_placed_size),
    TT_COLUMN("layer_id", NULL, ID, "", TT_LAYER, TT_LAYER_AT(tt_placed, layer_id)),
    TT_STACK(TT_LAYER_AT(tt_placed, layer_id)),
    TT_COLUMN("component", NULL, NONE, "", TT_MEMBER(tt_placed, component)),
    TT_COLUMN("weight", NULL, ID, "row of tensors", .nullable = true, .known = is_weight,
              TT_MEMBER(tt_placed, weight)),
    TT_COLUMN("graph_id", NULL, ID, "where it was met first", .type = TT_CELL_U64, .nullable = true,
              .known = in_graph, .get = get_graph),
    TT_COLUMN("node", NULL, ID, "in that graph", .nullable = true, .known = is_node,
              TT_MEMBER(tt_placed, tensor)),
};

static const tt_schema placed_schema = {"tensors", "a tensor in a segment", placed_columns,
                                        COUNT(placed_columns)};

/* --- regions --- */

/* A single region, and one in a list. */
#define ALONE 1u
#define LISTED 2u

static const tt_placed *first_of(const void *context, const tt_region *r)
{
    return &((const about *)context)->layout->placed[r->placed];
}

TT_COLUMN_KNOWN(is_covered, tt_region, r, r->placed != TT_NONE)
TT_COLUMN_KNOWN(has_one, tt_region, r, r->placed != TT_NONE && r->n_placed == 1)
TT_COLUMN_KNOWN(has_weight, tt_region, r, r->weight != TT_NONE)
TT_COLUMN_KNOWN(is_cut, tt_region, r, r->n_slices > 0)
TT_COLUMN_GET(get_region_segment, tt_region, r,
              set_segment(cell, &((const about *)context)->layout->segments[r->segment]);)
TT_COLUMN_GET(get_region_kind, tt_region, r, tt_cell_text(cell, tt_region_kind_name(r->kind));)
TT_COLUMN_VALUE(get_region_size, tt_region, r, u64, r->end - r->begin)
TT_COLUMN_GET(get_tensor, tt_region, r, tt_cell_text(cell, first_of(context, r)->name);)
TT_COLUMN_GET(get_type, tt_region, r, tt_cell_text(cell, first_of(context, r)->type_name);)
TT_COLUMN_GET(get_layer, tt_region, r,
              tt_cell_id(cell, has_one(context, r) ? first_of(context, r)->layer_id : -1);)
TT_COLUMN_GET(get_component, tt_region, r, tt_cell_text(cell, first_of(context, r)->component);)

/* The first TT_MEMORY_LIST_MAX tensors that cover it. */
static void put_tensors(tt_json *j, const void *context, const void *row)
{
    const tt_region *r = row;
    const tt_memory_layout *s = ((const about *)context)->layout;
    const tt_rowset set = TT_ROWSET(&placed_schema, 0, context, s->placed, s->n_placed);
    uint32_t listed = 0;
    tt_json_array(j);
    for (uint32_t i = r->placed; i < s->n_placed && listed < r->n_placed; i++) {
        const tt_placed *p = &s->placed[i];
        if (p->segment != r->segment || p->begin >= r->end || listed == TT_MEMORY_LIST_MAX) break;
        if (p->end <= r->begin) continue;
        tt_json_object(j);
        tt_rowset_json(j, &set, p);
        tt_json_object_end(j);
        listed++;
    }
    tt_json_array_end(j);
}

static const tt_column region_columns[] = {
    TT_COLUMN("segment", NULL, NONE, "that it is in", .type = TT_CELL_NAME, .kinds = ALONE,
              .get = get_region_segment),
    TT_COLUMN("kind", NULL, NONE, "weight, kv_cache, compute, input, head or gap",
              .type = TT_CELL_NAME, .get = get_region_kind),
    TT_COLUMN("offset_bytes", NULL, BYTES, "in its segment", TT_MEMBER(tt_region, begin)),
    TT_COLUMN("size_bytes", NULL, BYTES, "", .type = TT_CELL_U64, .get = get_region_size),
    TT_COLUMN("tensor", NULL, NONE, "the first that covers it", .type = TT_CELL_NAME,
              .nullable = true, .known = is_covered, .get = get_tensor),
    TT_COLUMN("n_tensors", NULL, COUNT, "that cover some of it", TT_MEMBER(tt_region, n_placed)),
    TT_COLUMN("weight", NULL, ID, "row of tensors whose bytes these are, all of them",
              .nullable = true, .known = has_weight, TT_MEMBER(tt_region, weight)),
    TT_COLUMN("type", NULL, NONE, "of the tensor, when it is the only one", .type = TT_CELL_NAME,
              .nullable = true, .known = has_one, .get = get_type),
    TT_COLUMN("layer_id", NULL, ID, "likewise", TT_LAYER, .get = get_layer),
    TT_STACK(.get = get_layer),
    TT_COLUMN("component", NULL, NONE, "likewise", .type = TT_CELL_NAME, .nullable = true,
              .known = has_one, .get = get_component),
    TT_COLUMN("n_slices", NULL, COUNT, "experts", TT_MEMBER(tt_region, n_slices)),
    TT_COLUMN("first_slice", NULL, ID, "the unit of the first", .nullable = true, .known = is_cut,
              TT_MEMBER(tt_region, first_slice)),
    TT_COLUMN("tensors", NULL, NONE, "that cover it", .type = TT_CELL_ROWS, .kinds = ALONE,
              .inner = &placed_schema, .json = put_tensors),
};

static const tt_schema region_schema = {"regions", "what one set of tensors covers", region_columns,
                                        COUNT(region_columns)};

/* --- both --- */

static const tt_column observed_columns[] = {
    TT_FIELD("experts", "which were chosen", TT_MEMBER(tt_memory_observed, experts)),
    TT_FIELD("faults", "of ops", TT_MEMBER(tt_memory_observed, faults)),
    TT_FIELD("residency", "what was in RAM", TT_MEMBER(tt_memory_observed, residency)),
    TT_FIELD("pages", "faults one by one", TT_MEMBER(tt_memory_observed, pages)),
    TT_FIELD("loading", "pages in RAM before the first batch",
             TT_MEMBER(tt_memory_observed, loading)),
};
static const tt_schema observed_schema = TT_SCHEMA("observed", "of the memory", observed_columns);

TT_COLUMN_ROWS(observed, tt_memory_layout, s, ((const about *)context)->observed, s ? 1 : 0)
TT_COLUMN_ROWS(segments, tt_memory_layout, s, s->segments, s->n_segments)

static void regions(const void *context, const void *row, tt_rowset *out)
{
    const tt_memory_layout *s = row;
    *out = TT_ROWSET(&region_schema, LISTED, context, s->regions, s->n_regions);
}

static const tt_column layout_columns[] = {
    TT_FIELD("n_units", "parts of which heat, faults and pages are told",
             TT_MEMBER(tt_memory_layout, n_units)),
    TT_FIELD("segments_left_out", "that are not in the list",
             TT_MEMBER(tt_memory_layout, left_out)),
    TT_FIELD("observed", "what else is known of it", .type = TT_CELL_OBJECT,
             .inner = &observed_schema, .rows = observed),
    TT_FIELD("segments", "model files and buffers", .type = TT_CELL_COLUMNS,
             .inner = &segment_schema, .rows = segments),
    TT_FIELD("regions", "what is in them", .type = TT_CELL_COLUMNS, .inner = &region_schema,
             .rows = regions),
};
static const tt_schema layout_schema = TT_SCHEMA("memory", "the memory map", layout_columns);

void tt_memory_json(tt_json *j, const tt_model *m, const tt_memory_layout *s,
                    const tt_memory_observed *o)
{
    tt_row_json(j, NULL, &layout_schema, &(about){m, s, o}, s);
}

void tt_memory_region_json(tt_json *j, const tt_model *m, const tt_memory_layout *s,
                           uint32_t region)
{
    const about x = {m, s, NULL};
    const tt_rowset set = TT_ROWSET(&region_schema, ALONE, &x, s->regions, s->n_regions);
    tt_json_object(j);
    tt_rowset_json(j, &set, &s->regions[region]);
    tt_json_object_end(j);
}
