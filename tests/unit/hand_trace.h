/* Traces put together record by record, for tests of what synth_trace.c does not make: a few
 * tensors, leafs that are weights, details. Included as source. */
#ifndef TT_TESTS_HAND_TRACE_H
#define TT_TESTS_HAND_TRACE_H

#include "format/detail.h"
#include "format/meta.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#define HAND_TENSORS_MAX 64

typedef struct hand {
    tt_bytes file, meta, record;
    uint32_t records, strings;
    uint64_t meta_position;
    tt_index_entry index[64];
    size_t n_index;
    uint64_t detail_position;
    /* The graph under way: */
    tt_meta_tensor tensors[HAND_TENSORS_MAX];
    uint32_t n_tensors;
} hand;

static inline void hand_begin(hand *h)
{
    uint8_t head[TT_FILE_HEADER_BYTES];
    tt_file_header f = {.major = 1};
    memset(h, 0, sizeof *h);
    tt_bytes_init(&h->file, 1 << 24);
    tt_bytes_init(&h->meta, 1 << 22);
    tt_bytes_init(&h->record, 1 << 22);
    tt_file_header_encode(&f, head);
    tt_bytes_put(&h->file, head, sizeof head);
}

/* Ends the record in h->record. */
static inline void hand_put(hand *h, uint8_t type)
{
    tt_meta_put_record(&h->meta, type, &h->record);
    tt_bytes_clear(&h->record);
    h->records++;
}

/* With what every recorder writes first, and `verify` asks for. */
static inline void hand_begin_whole(hand *h)
{
    static const char name[] = "engine", value[] = "by hand", lost[] = "meta_dropped";
    const tt_meta_clock clock = {1, 1, 1};
    hand_begin(h);
    tt_bytes_varint(&h->record, 1);
    tt_bytes_str(&h->record, name, sizeof name - 1);
    tt_bytes_str(&h->record, value, sizeof value - 1);
    hand_put(h, TT_META_ENVIRONMENT);
    tt_meta_put_clock(&h->record, &clock);
    hand_put(h, TT_META_CLOCK);
    tt_meta_put_ring(&h->record, &(tt_meta_ring){0, 1, 1});
    hand_put(h, TT_META_RING);
    tt_bytes_varint(&h->record, 1);
    tt_bytes_str(&h->record, lost, sizeof lost - 1);
    tt_bytes_varint(&h->record, 0);
    hand_put(h, TT_META_COUNTS);
}

static inline tt_span hand_span(const char *text)
{
    return (tt_span){(const uint8_t *)text, strlen(text)};
}

static inline uint32_t hand_string(hand *h, const char *text)
{
    tt_meta_put_string(&h->record, &(tt_meta_string){++h->strings, hand_span(text)});
    hand_put(h, TT_META_STRING);
    return h->strings;
}

static inline void hand_chunk(hand *h, tt_chunk_header head, const tt_bytes *payload,
                              tt_index_entry entry)
{
    uint8_t encoded[TT_CHUNK_HEADER_BYTES];
    static const uint8_t zeros[8];
    head.stored_bytes = head.raw_bytes = (uint32_t)payload->size;
    tt_chunk_header_encode(&head, 0, payload->data, encoded);
    entry.offset = h->file.size;
    entry.type = head.type;
    entry.stream = head.stream;
    entry.position = head.position;
    entry.count = head.count;
    if (head.type != TT_CHUNK_INDEX) h->index[h->n_index++] = entry;
    tt_bytes_put(&h->file, encoded, sizeof encoded);
    tt_bytes_put(&h->file, payload->data, payload->size);
    tt_bytes_put(&h->file, zeros, tt_pad8(payload->size) - payload->size);
}

/* A chunk of the records so far. */
static inline void hand_flush(hand *h)
{
    tt_chunk_header head = {
        .type = TT_CHUNK_META, .count = h->records, .position = h->meta_position};
    hand_chunk(h, head, &h->meta, (tt_index_entry){0});
    h->meta_position += h->meta.size;
    tt_bytes_clear(&h->meta);
    h->records = 0;
}

static inline void hand_details(hand *h, const tt_detail *list, size_t n)
{
    tt_bytes raw;
    tt_index_entry e = {.run_min = UINT64_MAX};
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_detail_encode(&raw, list, n));
    for (size_t i = 0; i < n; i++) {
        if (list[i].run < e.run_min) e.run_min = list[i].run;
        if (list[i].run > e.run_max) e.run_max = list[i].run;
    }
    tt_chunk_header head = {
        .type = TT_CHUNK_DETAIL, .stream = 1, .count = (uint32_t)n, .position = h->detail_position};
    hand_chunk(h, head, &raw, e);
    h->detail_position += n;
    tt_bytes_free(&raw);
}

/* One model file with weights of 1024 bytes, named "w0", "w1", ...; w0 is at data_offset. */
static inline void hand_model(hand *h, uint32_t id, const char *path, uint32_t n_weights)
{
    uint32_t f32 = hand_string(h, "f32");
    tt_meta_model m = {.id = id,
                       .path = hand_span(path),
                       .size_bytes = 4096 + 1024ull * n_weights,
                       .data_offset_bytes = 4096};
    tt_meta_put_model(&h->record, &m);
    tt_bytes_varint(&h->record, n_weights);
    for (uint32_t i = 0; i < n_weights; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "w%u", i);
        tt_meta_weight w = {.name = hand_span(name),
                            .type_name = f32,
                            .n_dims = 3,
                            .ne = {4, 4, 16, 1},
                            .offset_bytes = 4096 + 1024ull * i,
                            .size_bytes = 1024};
        tt_meta_put_weight(&h->record, &w);
    }
    hand_put(h, TT_META_MODEL);
}

/* A new tensor of 4-byte values, contiguous. Nodes come first. */
static inline tt_meta_tensor *hand_tensor(hand *h, const char *name, const char *op, uint64_t a,
                                          uint64_t b, uint64_t c)
{
    uint32_t name_id = hand_string(h, name), op_id = hand_string(h, op);
    tt_meta_tensor *t = &h->tensors[h->n_tensors++];
    *t = (tt_meta_tensor){.name = name_id,
                          .op_name = op_id,
                          .op_desc = op_id,
                          .flags = strcmp(op, "NONE") == 0 ? 0 : TT_TENSOR_EXECUTES,
                          .ne = {a, b, c, 1},
                          .nb = {4, 4 * a, 4 * a * b, 4 * a * b * c},
                          .size_bytes = 4 * a * b * c};
    return t;
}

static inline void hand_source(tt_meta_tensor *t, uint32_t tensor)
{
    t->src[t->n_src++] = tensor + 1;
}

static inline void hand_graph(hand *h, uint32_t id, uint32_t n_nodes)
{
    tt_meta_graph g = {id, n_nodes, h->n_tensors};
    tt_meta_put_graph(&h->record, &g);
    for (uint32_t i = 0; i < h->n_tensors; i++)
        tt_meta_put_tensor(&h->record, &h->tensors[i]);
    hand_put(h, TT_META_GRAPH);
    h->n_tensors = 0;
}

static inline void hand_run_as(hand *h, uint32_t id, uint32_t batch, uint32_t graph,
                               uint8_t observed)
{
    tt_meta_run r = {.id = id, .batch = batch, .graph = graph, .observed = observed};
    tt_meta_put_run(&h->record, &r);
    hand_put(h, TT_META_RUN);
}

static inline void hand_run(hand *h, uint32_t id, uint32_t batch, uint32_t graph)
{
    hand_run_as(h, id, batch, graph, TT_OBSERVED_HOOK);
}

static inline void hand_indices(hand *h, uint32_t run, uint32_t tensor, const int64_t *values,
                                uint32_t n)
{
    tt_meta_indices x = {run, tensor, n};
    tt_meta_put_indices(&h->record, &x);
    for (uint32_t i = 0; i < n; i++)
        tt_bytes_zigzag(&h->record, values[i] - (i ? values[i - 1] : 0));
    hand_put(h, TT_META_INDICES);
}

/* Ends the file (without an index: it was cut off) and opens it. */
static inline tt_model *hand_open(hand *h, bool with_index)
{
    tt_model *m;
    tt_error err;
    if (h->records) hand_flush(h);
    if (with_index) {
        uint8_t tail[TT_TAIL_BYTES];
        tt_bytes raw;
        uint64_t at = h->file.size;
        tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
        tt_index_encode(&raw, h->index, h->n_index, TT_END_NORMAL);
        hand_chunk(h, (tt_chunk_header){.type = TT_CHUNK_INDEX, .count = (uint32_t)h->n_index},
                   &raw, (tt_index_entry){0});
        tt_tail_encode(at, tail);
        tt_bytes_put(&h->file, tail, sizeof tail);
        tt_bytes_free(&raw);
    }
    assert_int_equal(tt_model_open_memory(h->file.data, h->file.size, &m, &err), TT_OK);
    return m;
}

static inline void hand_close(hand *h, tt_model *m)
{
    tt_model_close(m);
    tt_bytes_free(&h->file);
    tt_bytes_free(&h->meta);
    tt_bytes_free(&h->record);
}

#endif
