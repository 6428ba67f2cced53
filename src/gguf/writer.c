#include "gguf/writer.h"

void tt_gguf_writer_init(tt_gguf_writer *w)
{
    memset(w, 0, sizeof *w);
    tt_bytes_init(&w->kvs, TT_GGUF_HEADER_MAX);
    tt_bytes_init(&w->infos, TT_GGUF_HEADER_MAX);
}

void tt_gguf_writer_free(tt_gguf_writer *w)
{
    tt_bytes_free(&w->kvs);
    tt_bytes_free(&w->infos);
}

static void put_text(tt_bytes *b, const char *text)
{
    size_t n = strlen(text);
    tt_bytes_u64(b, n);
    tt_bytes_put(b, text, n);
}

static void begin_kv(tt_gguf_writer *w, const char *key, tt_gguf_kind kind)
{
    put_text(&w->kvs, key);
    tt_bytes_u32(&w->kvs, (uint32_t)kind);
    w->n_kvs++;
}

void tt_gguf_writer_u16(tt_gguf_writer *w, const char *key, uint16_t v)
{
    begin_kv(w, key, TT_GGUF_U16);
    tt_bytes_u16(&w->kvs, v);
}

void tt_gguf_writer_u32(tt_gguf_writer *w, const char *key, uint32_t v)
{
    begin_kv(w, key, TT_GGUF_U32);
    tt_bytes_u32(&w->kvs, v);
}

void tt_gguf_writer_i32(tt_gguf_writer *w, const char *key, int32_t v)
{
    begin_kv(w, key, TT_GGUF_I32);
    tt_bytes_u32(&w->kvs, (uint32_t)v);
}

void tt_gguf_writer_f32(tt_gguf_writer *w, const char *key, float v)
{
    begin_kv(w, key, TT_GGUF_F32);
    tt_bytes_put(&w->kvs, &v, sizeof v);
}

void tt_gguf_writer_bool(tt_gguf_writer *w, const char *key, bool v)
{
    begin_kv(w, key, TT_GGUF_BOOL);
    tt_bytes_u8(&w->kvs, v);
}

void tt_gguf_writer_string(tt_gguf_writer *w, const char *key, const char *v)
{
    begin_kv(w, key, TT_GGUF_STRING);
    put_text(&w->kvs, v);
}

void tt_gguf_writer_array(tt_gguf_writer *w, const char *key, tt_gguf_kind kind, uint64_t n)
{
    begin_kv(w, key, TT_GGUF_ARRAY);
    tt_bytes_u32(&w->kvs, (uint32_t)kind);
    tt_bytes_u64(&w->kvs, n);
}

void tt_gguf_writer_raw(tt_gguf_writer *w, const void *data, size_t n)
{
    tt_bytes_put(&w->kvs, data, n);
}

void tt_gguf_writer_element(tt_gguf_writer *w, const char *text)
{
    put_text(&w->kvs, text);
}

uint64_t tt_gguf_writer_tensor(tt_gguf_writer *w, const char *name, const tt_ggml_type *type,
                               uint32_t n_dims, const uint64_t *ne, uint64_t *size_bytes)
{
    uint64_t at = w->data_size;
    uint64_t blocks = ne[0] / type->block_elements;
    put_text(&w->infos, name);
    tt_bytes_u32(&w->infos, n_dims);
    for (uint32_t i = 0; i < n_dims; i++) {
        tt_bytes_u64(&w->infos, ne[i]);
        if (i) blocks *= ne[i];
    }
    tt_bytes_u32(&w->infos, type->id);
    tt_bytes_u64(&w->infos, at);
    *size_bytes = blocks * type->block_bytes;
    w->n_tensors++;
    w->data_size = (at + *size_bytes + TT_GGUF_ALIGNMENT_DEFAULT - 1) &
                   ~(uint64_t)(TT_GGUF_ALIGNMENT_DEFAULT - 1);
    return at;
}

tt_status tt_gguf_writer_header(const tt_gguf_writer *w, tt_bytes *out, tt_error *err)
{
    static const uint8_t zeros[TT_GGUF_ALIGNMENT_DEFAULT];
    size_t begin = out->size;
    tt_bytes_put(out, "GGUF", 4);
    tt_bytes_u32(out, TT_GGUF_VERSION);
    tt_bytes_u64(out, w->n_tensors);
    tt_bytes_u64(out, w->n_kvs);
    tt_bytes_put(out, w->kvs.data, w->kvs.size);
    tt_bytes_put(out, w->infos.data, w->infos.size);
    size_t odd = (out->size - begin) % TT_GGUF_ALIGNMENT_DEFAULT;
    if (odd) tt_bytes_put(out, zeros, TT_GGUF_ALIGNMENT_DEFAULT - odd);
    if (out->failed || w->kvs.failed || w->infos.failed)
        return tt_error_memory(err, "the model's header");
    return TT_OK;
}
