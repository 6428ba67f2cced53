/* Bytes as the payload of a META chunk in a file that is right otherwise: what a model makes of
 * them, and that all of it can be read. */
#include "../golden/allocations.h"
#include "../golden/facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file of one chunk, cut off behind it. */
static void wrap(tt_bytes *out, const uint8_t *data, size_t size)
{
    static const tt_file_header file = {.major = TT_FORMAT_MAJOR};
    uint8_t head[TT_FILE_HEADER_BYTES], chunk_head[TT_CHUNK_HEADER_BYTES];
    tt_chunk_header chunk = {.type = TT_CHUNK_META,
                             .stored_bytes = (uint32_t)size,
                             .raw_bytes = (uint32_t)size,
                             .count = 1};
    tt_file_header_encode(&file, head);
    tt_chunk_header_encode(&chunk, 0, data, chunk_head);
    tt_bytes_put(out, head, sizeof head);
    tt_bytes_put(out, chunk_head, sizeof chunk_head);
    tt_bytes_put(out, data, size);
}

static void look_at(const tt_model *m)
{
    bool whole;
    facts f = facts_of(m, &whole);
    free(f.list);
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (tt_model_run(m, m->runs[i].id) != i) abort();
    for (uint32_t i = 0; i < m->n_weights; i++)
        (void)tt_model_weight(m, m->weights[i].name);
    for (uint32_t i = 0; i < m->n_token_texts; i++)
        if (!tt_model_token_text(m, m->token_texts[i].vocabulary, m->token_texts[i].token, NULL))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_bytes file;
    tt_model *m = NULL;
    tt_error err = {TT_OK, 0, ""};
    if (size == 0) return 0;
    tt_bytes_init(&file, SIZE_MAX / 2);
    wrap(&file, data, size);
    allocations_begin();
    if (tt_model_open_memory(file.data, file.size, &m, &err) == TT_OK)
        look_at(m);
    else if (m || err.status == TT_OK || !err.message[0])
        abort();
    tt_model_close(m);
    allocations_check(allocations_allowed(size));
    tt_bytes_free(&file);
    return 0;
}
