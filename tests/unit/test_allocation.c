/* Small files that ask for much memory get no more than ARCHITECTURE.md says. */
#include "tests.h"

#include "../golden/allocations.h"
#include "../golden/facts.h"
#include "../golden/rechecksum.h"
#include "hand_trace.h"

#include <zstd.h>

#define RECORDS 60000u

/* Opens what was made so far and reads all of it. */
static void open_all(const uint8_t *data, size_t size)
{
    tt_model *m = NULL;
    tt_error err;
    bool whole;
    allocations_begin();
    if (tt_model_open_memory(data, size, &m, &err) == TT_OK) {
        facts f = facts_of(m, &whole);
        /* The list of statements is ours, and doubles as it grows. */
        allocations_take_off(f.capacity * sizeof *f.list);
        free(f.list);
    }
    tt_model_close(m);
    uint64_t most = allocations.most_bytes;
    if (most > allocations_allowed(size))
        print_error("%zu bytes of a file held %llu bytes of memory\n", size,
                    (unsigned long long)most);
    assert_true(most <= allocations_allowed(size));
}

/* A file of one META chunk, packed, whose records are in *raw. A ratio beyond the limit is kept. */
static void open_packed(const tt_bytes *raw, uint32_t raw_bytes)
{
    static const tt_file_header file = {.major = 1};
    tt_bytes out;
    tt_bytes_init(&out, SIZE_MAX / 2);
    size_t bound = ZSTD_compressBound(raw->size), head = TT_FILE_HEADER_BYTES;
    assert_true(tt_bytes_reserve(&out, head + TT_CHUNK_HEADER_BYTES + bound));
    uint8_t *payload = out.data + head + TT_CHUNK_HEADER_BYTES;
    size_t n = ZSTD_compress(payload, bound, raw->data, raw->size, 19);
    tt_chunk_header h = {.type = TT_CHUNK_META,
                         .codec = TT_CODEC_ZSTD,
                         .stored_bytes = (uint32_t)n,
                         .raw_bytes = raw_bytes,
                         .count = 1};
    tt_file_header_encode(&file, out.data);
    tt_chunk_header_encode(&h, 0, payload, out.data + head);
    open_all(out.data, head + TT_CHUNK_HEADER_BYTES + n);
    tt_bytes_free(&out);
}

static void one_that_unpacks_to_much(void **state)
{
    tt_bytes raw;
    (void)state;
    tt_bytes_init(&raw, SIZE_MAX / 2);
    assert_true(tt_bytes_reserve(&raw, TT_CHUNK_PAYLOAD_MAX));
    memset(raw.data, 0, TT_CHUNK_PAYLOAD_MAX);
    raw.size = TT_CHUNK_PAYLOAD_MAX;
    open_packed(&raw, TT_CHUNK_PAYLOAD_MAX);
    /* And one that only says so. */
    raw.size = 16;
    open_packed(&raw, TT_CHUNK_PAYLOAD_MAX);
    tt_bytes_free(&raw);
}

static void put_usage(tt_bytes *out)
{
    static const tt_meta_usage u = {.moment = TT_AT_BEGIN};
    tt_meta_put_usage(out, &u);
}

static void put_token(tt_bytes *out)
{
    tt_meta_put_token_text(out, &(tt_meta_token_text){1, 7, (tt_span){(const uint8_t *)"", 0}});
}

static void put_pair(tt_bytes *out)
{
    static const tt_meta_pair pair = {{(const uint8_t *)"k", 1}, {(const uint8_t *)"v", 1}};
    tt_meta_put_pairs(out, &pair, 1);
}

static void put_graph(tt_bytes *out)
{
    static uint32_t id;
    tt_meta_put_graph(out, &(tt_meta_graph){++id, 0, 0});
}

static void records_of_few_bytes_each(void **state)
{
    static const struct {
        uint8_t type;
        void (*put)(tt_bytes *);
    } kinds[] = {{TT_META_USAGE, put_usage},
                 {TT_META_TOKEN_TEXT, put_token},
                 {TT_META_ENVIRONMENT, put_pair},
                 {TT_META_GRAPH, put_graph}};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tt_bytes raw, record;
        tt_bytes_init(&raw, SIZE_MAX / 2);
        tt_bytes_init(&record, SIZE_MAX / 2);
        for (unsigned i = 0; i < RECORDS; i++) {
            tt_bytes_clear(&record);
            kinds[k].put(&record);
            tt_meta_put_record(&raw, kinds[k].type, &record);
        }
        open_packed(&raw, (uint32_t)raw.size);
        tt_bytes_free(&raw);
        tt_bytes_free(&record);
    }
}

static void strings_with_gaps(void **state)
{
    tt_bytes raw, record;
    (void)state;
    tt_bytes_init(&raw, SIZE_MAX / 2);
    tt_bytes_init(&record, SIZE_MAX / 2);
    for (uint32_t i = 1; i <= 64; i++) {
        tt_bytes_clear(&record);
        tt_meta_put_string(&record, &(tt_meta_string){i << 16, (tt_span){(const uint8_t *)"", 0}});
        tt_meta_put_record(&raw, TT_META_STRING, &record);
    }
    open_packed(&raw, (uint32_t)raw.size);
    tt_bytes_free(&raw);
    tt_bytes_free(&record);
}

/* Streams and counts are as high as the format lets them be. */
static void details_of_many_streams(void **state)
{
    hand h;
    tt_bytes raw;
    static tt_detail list[1024];
    (void)state;
    hand_begin(&h);
    hand_run(&h, 1, 0, 0);
    hand_flush(&h);
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    for (size_t i = 0; i < 1024; i++)
        list[i] = (tt_detail){.run = 1, .place = tt_detail_place(1, 0, TT_DETAIL_FAULTS)};
    assert_true(tt_detail_encode(&raw, list, 1024));
    for (uint32_t i = 0; i < 60; i++) {
        tt_chunk_header head = {
            .type = TT_CHUNK_DETAIL, .stream = 511 - i, .count = TT_DETAIL_CHUNK_RECORDS_MAX};
        hand_chunk(&h, head, &raw, (tt_index_entry){0});
    }
    open_all(h.file.data, h.file.size);
    tt_bytes_free(&raw);
    hand_close(&h, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_unpacks_to_much),
        cmocka_unit_test(records_of_few_bytes_each),
        cmocka_unit_test(strings_with_gaps),
        cmocka_unit_test(details_of_many_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
