#include "answer/spaces.h"

#include "analyze/buffers.h"
#include "answer/whole_ns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void index_or_null(tt_json *j, uint32_t index)
{
    if (index == TT_NONE)
        tt_json_null(j);
    else
        tt_json_u64(j, index);
}

static void layer_or_null(tt_json *j, int32_t layer)
{
    if (layer < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, layer);
}

static void moment_or_null(tt_json *j, const tt_model *m, bool known, uint64_t ticks)
{
    tt_answer_whole_ns(j, known && m->clock.known, tt_model_ns(m, ticks));
}

static void put_name(tt_json *j, const tt_space *s)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%s%" PRIu32, s->is_file ? "file" : "buffer", s->index);
    tt_json_string(j, text);
}

/* --- columns of spaces --- */

typedef void put_space(tt_json *j, const tt_model *m, const tt_space *s);

static void put_id(tt_json *j, const tt_model *m, const tt_space *s)
{
    (void)m;
    put_name(j, s);
}

static void put_title(tt_json *j, const tt_model *m, const tt_space *s)
{
    if (!s->is_file) {
        tt_json_string(j, m->buffers[s->index].name);
        return;
    }
    const char *path = m->files[s->index].path, *slash = strrchr(path, '/');
    tt_json_string(j, slash ? slash + 1 : path);
}

static void put_buffer_id(tt_json *j, const tt_model *m, const tt_space *s)
{
    if (s->is_file)
        tt_json_null(j);
    else
        tt_json_u64(j, m->buffers[s->index].id);
}

static void put_kind(tt_json *j, const tt_model *m, const tt_space *s)
{
    tt_json_string(j, s->is_file ? "file" : tt_buffer_kind_name(m->buffers[s->index].kind));
}

static void put_backing(tt_json *j, const tt_model *m, const tt_space *s)
{
    tt_json_string(j, tt_backing_name(s->is_file ? TT_BACKING_FILE
                                                 : tt_buffer_backing(&m->buffers[s->index])));
}

static void put_allocator(tt_json *j, const tt_model *m, const tt_space *s)
{
    const char *text = s->is_file ? "" : m->buffers[s->index].allocator;
    tt_json_string(j, text && text[0] ? text : NULL);
}

static void put_space_size(tt_json *j, const tt_model *m, const tt_space *s)
{
    (void)m;
    tt_json_u64(j, s->size_bytes);
}

static void put_mapped_file(tt_json *j, const tt_model *m, const tt_space *s)
{
    (void)m;
    index_or_null(j, s->mapped_file);
}

static void put_mapped_offset(tt_json *j, const tt_model *m, const tt_space *s)
{
    (void)m;
    if (s->mapped_file == TT_NONE)
        tt_json_null(j);
    else
        tt_json_u64(j, s->mapped_offset_bytes);
}

static void put_allocated(tt_json *j, const tt_model *m, const tt_space *s)
{
    moment_or_null(j, m, !s->is_file && m->buffers[s->index].flags & TT_BUFFER_ALLOC_SEEN,
                   s->is_file ? 0 : m->buffers[s->index].alloc_ticks);
}

static void put_freed(tt_json *j, const tt_model *m, const tt_space *s)
{
    const uint64_t ticks = s->is_file ? 0 : m->buffers[s->index].free_ticks;
    moment_or_null(j, m, ticks != 0, ticks);
}

static void put_first_region(tt_json *j, const tt_model *m, const tt_space *s)
{
    (void)m;
    tt_json_u64(j, s->first_region);
}

static void put_region_count(tt_json *j, const tt_model *m, const tt_space *s)
{
    (void)m;
    tt_json_u64(j, s->n_regions);
}

static void put_coarse(tt_json *j, const tt_model *m, const tt_space *s)
{
    (void)m;
    tt_json_bool(j, s->coarse);
}

static void put_spaces(tt_json *j, const tt_model *m, const tt_spaces *s)
{
    static const struct {
        const char *name;
        put_space *put;
    } columns[] = {{"space", put_id},
                   {"name", put_title},
                   {"buffer_id", put_buffer_id},
                   {"kind", put_kind},
                   {"backing", put_backing},
                   {"allocator", put_allocator},
                   {"size_bytes", put_space_size},
                   {"mapped_file", put_mapped_file},
                   {"mapped_offset_bytes", put_mapped_offset},
                   {"allocated_ns", put_allocated},
                   {"freed_ns", put_freed},
                   {"first_region", put_first_region},
                   {"n_regions", put_region_count},
                   {"coarse", put_coarse}};
    tt_json_object(j);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        tt_json_key(j, columns[c].name);
        tt_json_array(j);
        for (uint32_t i = 0; i < s->n_spaces; i++)
            columns[c].put(j, m, &s->spaces[i]);
        tt_json_array_end(j);
    }
    tt_json_object_end(j);
}

/* --- columns of regions --- */

typedef void put_region(tt_json *j, const tt_spaces *s, const tt_region *r);

static const tt_placed *placed_of(const tt_spaces *s, const tt_region *r)
{
    return r->placed == TT_NONE ? NULL : &s->placed[r->placed];
}

static void put_region_kind(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    (void)s;
    tt_json_string(j, tt_region_kind_name(r->kind));
}

static void put_offset(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    (void)s;
    tt_json_u64(j, r->begin);
}

static void put_region_size(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    (void)s;
    tt_json_u64(j, r->end - r->begin);
}

static void put_tensor(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    const tt_placed *p = placed_of(s, r);
    tt_json_string(j, p ? p->name : NULL);
}

static void put_tensor_count(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    (void)s;
    tt_json_u64(j, r->n_placed);
}

static void put_weight(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    (void)s;
    index_or_null(j, r->weight);
}

static void put_type(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    const tt_placed *p = placed_of(s, r);
    tt_json_string(j, p && r->n_placed == 1 ? p->type_name : NULL);
}

static void put_layer(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    const tt_placed *p = placed_of(s, r);
    layer_or_null(j, p && r->n_placed == 1 ? p->layer_id : TT_LAYER_NONE);
}

static void put_component(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    const tt_placed *p = placed_of(s, r);
    tt_json_string(j, p && r->n_placed == 1 ? p->component : NULL);
}

static void put_slice_count(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    (void)s;
    tt_json_u64(j, r->n_slices);
}

static void put_first_slice(tt_json *j, const tt_spaces *s, const tt_region *r)
{
    (void)s;
    index_or_null(j, r->n_slices ? r->first_slice : TT_NONE);
}

static void put_regions(tt_json *j, const tt_spaces *s)
{
    static const struct {
        const char *name;
        put_region *put;
    } columns[] = {{"kind", put_region_kind},
                   {"offset_bytes", put_offset},
                   {"size_bytes", put_region_size},
                   {"tensor", put_tensor},
                   {"n_tensors", put_tensor_count},
                   {"weight", put_weight},
                   {"type", put_type},
                   {"layer_id", put_layer},
                   {"component", put_component},
                   {"n_slices", put_slice_count},
                   {"first_slice", put_first_slice}};
    tt_json_object(j);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        tt_json_key(j, columns[c].name);
        tt_json_array(j);
        for (uint32_t i = 0; i < s->n_regions; i++)
            columns[c].put(j, s, &s->regions[i]);
        tt_json_array_end(j);
    }
    tt_json_object_end(j);
}

void tt_spaces_json(tt_json *j, const tt_model *m, const tt_spaces *s,
                    const tt_spaces_observed *observed)
{
    tt_json_object(j);
    tt_json_kv_u64(j, "n_units", s->n_units);
    tt_json_kv_u64(j, "spaces_left_out", s->left_out);
    tt_json_key(j, "observed");
    tt_json_object(j);
    tt_json_kv_bool(j, "experts", observed->experts);
    tt_json_kv_bool(j, "faults", observed->faults);
    tt_json_kv_bool(j, "residency", observed->residency);
    tt_json_object_end(j);
    tt_json_key(j, "spaces");
    put_spaces(j, m, s);
    tt_json_key(j, "regions");
    put_regions(j, s);
    tt_json_object_end(j);
}

/* --- one region --- */

static void put_placed(tt_json *j, const tt_model *m, const tt_placed *p)
{
    tt_json_object(j);
    tt_json_kv_string(j, "tensor", p->name);
    tt_json_kv_string(j, "kind", tt_region_kind_name(p->kind));
    tt_json_kv_string(j, "type", p->type_name);
    tt_json_kv_u64(j, "offset_bytes", p->begin);
    tt_json_kv_u64(j, "size_bytes", p->end - p->begin);
    tt_json_key(j, "layer_id");
    layer_or_null(j, p->layer_id);
    tt_json_kv_string(j, "component", p->component);
    tt_json_key(j, "weight");
    index_or_null(j, p->weight);
    tt_json_key(j, "graph_id");
    if (p->graph == TT_NONE)
        tt_json_null(j);
    else
        tt_json_u64(j, m->graphs[p->graph].id);
    tt_json_key(j, "node");
    index_or_null(j, p->tensor);
    tt_json_object_end(j);
}

void tt_spaces_region_json(tt_json *j, const tt_model *m, const tt_spaces *s, uint32_t region)
{
    const tt_region *r = &s->regions[region];
    uint32_t listed = 0;
    tt_json_object(j);
    tt_json_key(j, "space");
    put_name(j, &s->spaces[r->space]);
    tt_json_kv_u64(j, "offset_bytes", r->begin);
    tt_json_kv_u64(j, "size_bytes", r->end - r->begin);
    tt_json_kv_u64(j, "n_tensors", r->n_placed);
    tt_json_key(j, "tensors");
    tt_json_array(j);
    for (uint32_t i = r->placed; i < s->n_placed && listed < r->n_placed; i++) {
        const tt_placed *p = &s->placed[i];
        if (p->space != r->space || p->begin >= r->end || listed == TT_SPACES_LIST_MAX) break;
        if (p->end <= r->begin) continue;
        put_placed(j, m, p);
        listed++;
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}
