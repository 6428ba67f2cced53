#include "gguf/memory_map.h"

#include "base/path.h"

#include <inttypes.h>
#include <string.h>

uint32_t tt_memory_map_slices(const tt_gguf_tensor *tensor, int64_t n_experts)
{
    tt_component c = tt_layout_classify(tensor->name);
    size_t size = strlen(c.component);
    if (size < 5 || strcmp(c.component + size - 5, "_exps") != 0) return 1;
    if (tensor->size_bytes == 0)
        return 1; /* slices must take file bytes: a number alone makes none */
    /* Weights have three dimensions, biases two; experts are the last. Without metadata, only
     * tensors with three count. */
    if (tensor->n_dims < (n_experts < 0 ? 3u : 2u)) return 1;
    uint64_t last = tensor->ne[tensor->n_dims - 1];
    if (n_experts >= 0 && last != (uint64_t)n_experts) return 1;
    return last >= 1 && last <= TT_MEMORY_MAP_EXPERTS_MAX ? (uint32_t)last : 1;
}

void tt_memory_map_entry(tt_memory_entry *entry, const tt_gguf_tensor *tensor, uint32_t slice,
                         uint32_t slices)
{
    bool whole = slices <= 1;
    entry->tensor = tensor;
    if (whole)
        (void)snprintf(entry->name, sizeof entry->name, "%s", tensor->name);
    else
        (void)snprintf(entry->name, sizeof entry->name, "%s[%" PRIu32 "]", tensor->name, slice);
    entry->size_bytes = whole ? tensor->size_bytes : tensor->size_bytes / slices;
    entry->offset_start = tensor->offset + (whole ? 0 : slice * entry->size_bytes);
    entry->offset_end = entry->offset_start + entry->size_bytes;
    entry->n_dims = tensor->n_dims;
    memcpy(entry->ne, tensor->ne, sizeof entry->ne);
    if (!whole) {
        entry->n_dims--;
        entry->ne[entry->n_dims] = 1;
    }
    if (entry->n_dims == 0) entry->n_dims = 1;
    while (entry->n_dims > 1 && entry->ne[entry->n_dims - 1] == 1)
        entry->n_dims--;
    entry->component = tt_layout_classify(entry->name);
}

uint64_t tt_memory_map_count(const tt_gguf *model, bool experts)
{
    int64_t n_experts = tt_gguf_shape_of(model).n_experts;
    uint64_t n = 0;
    for (size_t i = 0; i < model->n_tensors; i++)
        n += experts ? tt_memory_map_slices(&model->tensors[i], n_experts) : 1;
    return n;
}

static void styled_entry(tt_memory_entry *e, const tt_gguf_tensor *tensor, uint32_t slice,
                         uint32_t slices, tt_memory_map_style style)
{
    tt_memory_map_entry(e, tensor, slice, slices);
    if (style.old_words) tt_layout_old_words(e->name, &e->component);
}

static void write_entry(tt_json *j, const tt_memory_entry *e, const tt_gguf *model)
{
    tt_json_object(j);
    tt_json_kv_string(j, "name", e->name);
    if (model->n_parts > 1)
        tt_json_kv_string(j, "file", tt_base_name(model->parts[e->tensor->part].path));
    tt_json_kv_u64(j, "offset_start", e->offset_start);
    tt_json_kv_u64(j, "offset_end", e->offset_end);
    tt_json_kv_u64(j, "size_bytes", e->size_bytes);
    tt_json_key(j, "shape");
    tt_json_array(j);
    for (uint32_t i = 0; i < e->n_dims; i++)
        tt_json_u64(j, e->ne[i]);
    tt_json_array_end(j);
    tt_json_kv_string(j, "dtype", e->tensor->type->name);
    tt_json_kv_i64_or_null(j, "layer_id", e->component.layer_id >= 0, e->component.layer_id);
    tt_json_kv_string(j, "category", e->component.category);
    tt_json_kv_string(j, "component", e->component.component);
    tt_json_kv_string(j, "component_type", e->component.component_type);
    if (e->component.expert_id >= 0) tt_json_kv_i64(j, "expert_id", e->component.expert_id);
    tt_json_object_end(j);
}

void tt_memory_map_json(const tt_gguf *model, const char *source, const char *experiment_id,
                        tt_memory_map_style style, tt_json *j)
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
    tt_json_kv_u64(j, "num_tensors", tt_memory_map_count(model, style.experts));
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
    tt_json_array(j);
    for (size_t i = 0; i < model->n_tensors; i++) {
        uint32_t slices = style.experts ? tt_memory_map_slices(&model->tensors[i], s.n_experts) : 1;
        for (uint32_t k = 0; k < slices; k++) {
            tt_memory_entry e;
            styled_entry(&e, &model->tensors[i], k, slices, style);
            write_entry(j, &e, model);
        }
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}

/* Quoted only where RFC 4180 requires it. */
static void csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') (void)fputc('"', out);
        (void)fputc(*text, out);
    }
    (void)fputc('"', out);
}

static void csv_shape(FILE *out, const tt_memory_entry *e)
{
    for (unsigned d = 0; d < TT_GGUF_DIMS_MAX; d++)
        (void)fprintf(out, ",%" PRIu64, e->ne[d]);
}

void tt_memory_map_csv(const tt_gguf *model, tt_memory_map_style style, FILE *out)
{
    int64_t n_experts = tt_gguf_shape_of(model).n_experts;
    (void)fputs("tensor_name,file_offset,size_bytes,layer_id,component_type,"
                "dtype,n_dims,ne0,ne1,ne2,ne3,expert_id,dim0,dim1,dim2,dim3\n",
                out);
    for (size_t i = 0; i < model->n_tensors; i++) {
        uint32_t slices = style.experts ? tt_memory_map_slices(&model->tensors[i], n_experts) : 1;
        for (uint32_t k = 0; k < slices; k++) {
            tt_memory_entry e;
            styled_entry(&e, &model->tensors[i], k, slices, style);
            csv_text(out, e.name);
            (void)fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%d,%s,%s,%" PRIu32, e.offset_start,
                          e.size_bytes, e.component.layer_id, e.component.component_type,
                          e.tensor->type->name, e.n_dims);
            csv_shape(out, &e);
            (void)fprintf(out, ",%d", e.component.expert_id);
            csv_shape(out, &e); /* by the names that earlier converters read */
            (void)fputc('\n', out);
        }
    }
}
