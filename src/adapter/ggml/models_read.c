/* Model files that were opened before the program was observed: read here. */
#include "adapter/ggml/models.h"
#include "adapter/ggml/names.h"
#include "gguf/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static tt_span text_of(const tt_gguf_kv *kv, char *text, size_t size)
{
    text[0] = '\0';
    if (kv->is_array)
        (void)snprintf(text, size, "[%s x %" PRIu64 "]", tt_gguf_kind_name(kv->kind), kv->count);
    else if (kv->kind == TT_GGUF_STRING)
        return tt_gguf_kv_string(kv);
    else if (kv->value.size <= sizeof(uint64_t))
        tt_models_scalar((int)kv->kind, kv->value.data, text, size);
    return (tt_span){(const uint8_t *)text, strlen(text)};
}

typedef struct opened_part {
    const tt_gguf *model;
    uint32_t part;
    const char *(*type_name)(int);
} opened_part;

static void put_model(tt_recorder *r, tt_meta_model *m, void *context, tt_bytes *payload)
{
    const opened_part *of = context;
    const tt_gguf_part *p = &of->model->parts[of->part];
    char text[64];
    uint32_t n = 0;
    m->data_offset_bytes = p->data_offset;
    m->n_kv = (uint32_t)p->n_kvs;
    tt_meta_put_model(payload, m);
    for (size_t i = 0; i < p->n_kvs; i++) {
        const tt_gguf_kv *kv = &p->kvs[i];
        tt_meta_kv out = {kv->key, kv->is_array ? TT_GGUF_ARRAY : kv->kind,
                          text_of(kv, text, sizeof text)};
        tt_meta_put_kv(payload, &out);
    }
    for (size_t i = 0; i < of->model->n_tensors; i++)
        n += of->model->tensors[i].part == of->part;
    tt_bytes_varint(payload, n);
    for (size_t i = 0; i < of->model->n_tensors; i++) {
        const tt_gguf_tensor *t = &of->model->tensors[i];
        if (t->part != of->part) continue;
        tt_meta_weight w = {.name = {(const uint8_t *)t->name, strlen(t->name)},
                            .type = t->type->id,
                            .n_dims = t->n_dims,
                            .offset_bytes = t->offset,
                            .size_bytes = t->size_bytes};
        w.type_name = tt_names_id(r, of->type_name((int)t->type->id));
        memcpy(w.ne, t->ne, sizeof w.ne);
        tt_meta_put_weight(payload, &w);
    }
}

tt_status tt_models_read(tt_recorder *r, const char *path, const char *(*type_name)(int),
                         tt_error *err)
{
    tt_gguf model;
    tt_status status = tt_gguf_open(&model, path, err);
    if (status != TT_OK) return status;
    for (uint32_t i = 0; i < model.n_parts && status == TT_OK; i++) {
        opened_part part = {&model, i, type_name};
        if (!tt_models_add(r, model.parts[i].path, put_model, &part))
            status =
                tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s cannot be read", model.parts[i].path);
    }
    tt_gguf_close(&model);
    return status;
}
