/* Bytes as a model file: they must be read or refused, and what is read must be usable. Included as
 * source. */
#ifndef TT_FUZZ_GGUF_LOOKS_H
#define TT_FUZZ_GGUF_LOOKS_H

#include "gguf/memory_map.h"
#include "gguf/reader.h"
#include "limits.h"

#include <stdlib.h>

/* Weights are not read: a header alone is enough when the file is said to be longer. */
#define WEIGHT_BYTES ((uint64_t)64 << 20)
#define SLICES_LOOKED_AT 64u
/* Held at once, of a file that is said to be so large. */
#define GGUF_HELD(bytes) (((uint64_t)1 << 20) + 16 * (uint64_t)(bytes))

static void look_at_kv(const tt_gguf_kv *kv)
{
    uint64_t v;
    size_t at = 0;
    tt_span text;
    (void)tt_gguf_kv_u64(kv, 0, &v);
    if (kv->count) (void)tt_gguf_kv_u64(kv, kv->count - 1, &v);
    (void)tt_gguf_kv_string(kv);
    while (tt_gguf_kv_next_string(kv, &at, &text))
        if (text.data + text.size > kv->value.data + kv->value.size) abort();
}

static void look_at(const tt_gguf *m)
{
    int64_t n_experts = tt_gguf_shape_of(m).n_experts;
    uint64_t end = 0;
    for (size_t i = 0; i < m->parts[0].n_kvs; i++)
        look_at_kv(&m->parts[0].kvs[i]);
    for (size_t i = 0; i < m->n_tensors; i++) {
        const tt_gguf_tensor *t = &m->tensors[i];
        uint32_t slices = tt_memory_map_slices(t, n_experts);
        /* What the reader promises: in order, apart, inside the file. */
        if (t->size_bytes && t->offset < end) abort();
        if (t->offset + t->size_bytes > m->size_bytes || t->offset < m->parts[0].data_offset)
            abort();
        if (t->offset + t->size_bytes > end) end = t->offset + t->size_bytes;
        for (uint32_t k = 0; k < slices && k < SLICES_LOOKED_AT; k++) {
            tt_memory_entry e;
            tt_memory_map_entry(&e, t, k, slices);
            if (e.offset_end > t->offset + t->size_bytes) abort();
        }
        (void)tt_gguf_tensor_find(m, t->name);
    }
}

/* All of it, its header alone, half of it: each is read or refused. */
static void try_gguf(const uint8_t *data, size_t size)
{
    const struct {
        size_t given;
        uint64_t file_size;
    } views[] = {{size, size}, {size, size + WEIGHT_BYTES}, {size / 2, size}};
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        tt_gguf model;
        tt_error err = {TT_OK, 0, ""};
        limits_begin();
        if (tt_gguf_parse(&model, "fuzz", data, views[i].given, views[i].file_size, &err) == TT_OK)
            look_at(&model);
        else if (err.status == TT_OK || err.message[0] == '\0' || model.parts)
            abort();
        tt_gguf_close(&model);
        limits_check(GGUF_HELD(views[i].file_size));
    }
}

#endif
