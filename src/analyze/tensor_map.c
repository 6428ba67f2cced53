#include "analyze/tensor_map.h"

#include "base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

tt_status tt_tensor_map_make(const tt_gguf *model, tt_tensor_map_style style,
                             tt_memory_entry **entries, size_t *n, tt_error *err)
{
    const int64_t n_experts = tt_gguf_shape_of(model).n_experts;
    size_t all = 0;
    *n = 0;
    for (size_t i = 0; i < model->n_tensors; i++)
        all += style.experts ? tt_memory_map_slices(&model->tensors[i], n_experts) : 1;
    *entries = calloc(all + 1, sizeof **entries);
    if (!*entries) return tt_error_memory(err, "the tensors");
    for (size_t i = 0; i < model->n_tensors; i++) {
        const tt_gguf_tensor *tensor = &model->tensors[i];
        const uint32_t slices = style.experts ? tt_memory_map_slices(tensor, n_experts) : 1;
        for (uint32_t k = 0; k < slices; k++) {
            tt_memory_entry *e = &(*entries)[(*n)++];
            tt_memory_map_entry(e, tensor, k, slices);
            e->says_none = style.old_numbers;
            if (style.old_words) tt_layout_old_words(e->name, &e->component);
        }
    }
    return TT_OK;
}

TT_COLUMN_GET(get_name, tt_memory_entry, e, tt_cell_text(cell, e->name);)
TT_COLUMN_GET(get_layer, tt_memory_entry, e, tt_cell_id(cell, e->component.layer_id);
              cell->known |= e->says_none;)
TT_COLUMN_GET(get_expert, tt_memory_entry, e, tt_cell_id(cell, e->component.expert_id);)
TT_COLUMN_GET(get_type, tt_memory_entry, e, tt_cell_text(cell, e->tensor->type->name);)
TT_COLUMN_GET(get_component, tt_memory_entry, e, tt_cell_text(cell, e->component.component);)
TT_COLUMN_GET(get_file, tt_memory_entry, e, const tt_gguf *model = context; if (model->n_parts > 1)
                  tt_cell_text(cell, tt_base_name(model->parts[e->tensor->part].path));)
TT_COLUMN_JSON(put_shape, tt_memory_entry, e, tt_json_array(j);
               for (uint32_t i = 0; i < e->n_dims; i++) tt_json_u64(j, e->ne[i]);
               tt_json_array_end(j);)

static void get_shape(const void *context, const void *row, tt_cell *cell)
{
    const tt_memory_entry *e = row;
    size_t n = 0;
    (void)context;
    for (uint32_t i = 0; i < e->n_dims && n < sizeof cell->room; i++)
        n += (size_t)snprintf(cell->room + n, sizeof cell->room - n, "%s%" PRIu64, i ? " x " : "",
                              e->ne[i]);
    tt_cell_text(cell, cell->room);
}

/* For the readers of earlier pipelines. */
#define OLD(key, unit, about, ...)                                                                 \
    TT_COLUMN(key, NULL, unit, about, .show = TT_SHOW_FLAT, __VA_ARGS__)
#define DIM(key, i)                                                                                \
    OLD(key, NONE, "its size in that dimension, or 1", TT_MEMBER(tt_memory_entry, ne[i]))

static const tt_column columns[] = {
    OLD("tensor_name", NONE, "its name, as earlier pipelines call it", .type = TT_CELL_NAME,
        .get = get_name),
    OLD("file_offset", ID, "offset_start, likewise", TT_MEMBER(tt_memory_entry, offset_start)),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "its size", TT_MEMBER(tt_memory_entry, size_bytes)),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer it belongs to", TT_LAYER, .get = get_layer,
              .show = TT_SHOW_WIDEST),
    TT_COLUMN("component_type", "COMPONENT", NONE, "its component in words",
              TT_MEMBER_CHARS(tt_memory_entry, component.component_type),
              .show = TT_SHOW_CUT | TT_SHOW_WIDEST),
    TT_COLUMN("dtype", "TYPE", NONE, "type of its elements", .type = TT_CELL_NAME, .get = get_type),
    OLD("n_dims", NONE, "its dimensions", TT_MEMBER(tt_memory_entry, n_dims)),
    DIM("ne0", 0),
    DIM("ne1", 1),
    DIM("ne2", 2),
    DIM("ne3", 3),
    TT_COLUMN("expert_id", NULL, ID, "the expert of a slice", .type = TT_CELL_I32,
              .get = get_expert, .nullable = true, .show = TT_SHOW_OMIT),
    DIM("dim0", 0),
    DIM("dim1", 1),
    DIM("dim2", 2),
    DIM("dim3", 3),
    TT_COLUMN("name", "NAME", NONE, "its name; of an expert's slice with the expert",
              .type = TT_CELL_NAME, .get = get_name, .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("file", NULL, NONE, "in a split model the file that has it", .type = TT_CELL_NAME,
              .get = get_file, .nullable = true, .show = TT_SHOW_CUT | TT_SHOW_OMIT),
    TT_COLUMN("offset_start", "OFFSET", ID, "of its first byte in the file",
              TT_MEMBER(tt_memory_entry, offset_start), .show = TT_SHOW_WIDE),
    TT_COLUMN("offset_end", NULL, ID, "of the first byte after it",
              TT_MEMBER(tt_memory_entry, offset_end)),
    TT_COLUMN("shape", "SHAPE", NONE, "fastest dimension first, ones at the end dropped",
              .type = TT_CELL_NAME, .get = get_shape, .json = put_shape, .show = TT_SHOW_RIGHT),
    TT_COLUMN("category", NULL, NONE,
              "input, attention, ffn, norm, output, ssm, rwkv, conv, projector or other",
              TT_MEMBER(tt_memory_entry, component.category)),
    TT_COLUMN("component", NULL, NONE, "its component in short", .type = TT_CELL_NAME,
              .get = get_component),
    TT_STACK(.get = get_layer, .show = TT_SHOW_OMIT),
};
const tt_schema tt_tensor_map_schema =
    TT_SCHEMA("tensors", "a tensor of a model file, or an expert's slice of one", columns);
const char tt_tensor_map_columns[] =
    "name,file,offset_start,offset_end,size_bytes,shape,dtype,layer_id,category,component,"
    "component_type,expert_id,stack";

void tt_tensor_map_json(const tt_gguf *model, const char *source, const char *experiment_id,
                        const tt_listing *entries, tt_json *j)
{
    tt_gguf_shape s = tt_gguf_shape_of(model);
    tt_json_object(j);
    if (experiment_id) tt_json_kv_string(j, "experiment_id", experiment_id);
    tt_json_key(j, "model_name");
    if (s.name.data)
        tt_json_string_n(j, (const char *)s.name.data, s.name.size);
    else
        tt_json_string(j, tt_base_name(model->parts[0].path));
    tt_json_kv_u64(j, "total_size_bytes", model->size_bytes);
    tt_json_kv_u64(j, "num_tensors", entries->n);
    tt_json_key(j, "metadata");
    tt_json_object(j);
    tt_json_kv_i64_or_null(j, "n_layers", s.n_layers >= 0, s.n_layers);
    tt_json_kv_i64_or_null(j, "n_vocab", s.n_vocab >= 0, s.n_vocab);
    tt_json_kv_i64_or_null(j, "n_embd", s.n_embd >= 0, s.n_embd);
    tt_json_kv_i64_or_null(j, "n_heads", s.n_heads >= 0, s.n_heads);
    tt_json_kv_u64(j, "n_tensors", model->n_tensors);
    tt_json_kv_string(j, "source", source);
    tt_json_object_end(j);
    tt_json_key(j, "tensors");
    tt_listing_json(j, entries);
    tt_json_object_end(j);
}
