#include "tests.h"

#include "../golden/rechecksum.h"
#include "../golden/synth_trace.c"
#include "hand_trace.h"
#include "model/model.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static tt_model *open_plan(synth_plan *p, tt_bytes *b)
{
    tt_model *m;
    tt_error err;
    tt_bytes_init(b, SIZE_MAX / 2);
    assert_true(synth_build(p, b));
    assert_int_equal(tt_model_open_memory(b->data, b->size, &m, &err), TT_OK);
    return m;
}

static void close_both(tt_model *m, tt_bytes *b)
{
    tt_model_close(m);
    tt_bytes_free(b);
}

static const tt_tensor *tensor(const tt_model *m, uint32_t graph, const char *name)
{
    const tt_graph *g = &m->graphs[graph];
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (strcmp(g->tensors[i].name, name) == 0) return &g->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void write_part(const tt_bytes *b)
{
    FILE *f = fopen("part.ttrace", "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, b->size, f), b->size);
    assert_int_equal(fclose(f), 0);
}

/* A part says of its batches and runs what the whole says. */
static void expect_part(const tt_model *all, const tt_part *part, uint32_t first, uint32_t last,
                        bool leaves_out)
{
    tt_model *m;
    tt_error err;
    if (tt_model_open_part("part.ttrace", part, &m, &err) != TT_OK) fail_msg("%s", err.message);
    assert_true(m->partial);
    assert_true(m->n_graphs == all->n_graphs && m->n_weights == all->n_weights);
    assert_true(m->clock.zero_ticks == all->clock.zero_ticks);
    assert_true(m->clock.ns_per_tick == all->clock.ns_per_tick);
    if (leaves_out) assert_true(m->n_batches < all->n_batches);
    for (uint32_t i = first; i <= last; i++) {
        const tt_batch *want = &all->batches[i];
        uint32_t at = tt_model_batch(m, want->id), run = tt_model_run(m, all->runs[i].id);
        assert_true(at != TT_NONE && run != TT_NONE);
        const tt_batch *b = &m->batches[at];
        const tt_run *r = &m->runs[run];
        assert_int_equal(b->number, i);
        assert_true(b->begin_ticks == want->begin_ticks && b->end_ticks == want->end_ticks);
        assert_true(r->batch == at && r->ended && r->begin_ticks == all->runs[i].begin_ticks);
        assert_true(r->end_ticks == all->runs[i].end_ticks);
        assert_int_equal(r->graph, all->runs[i].graph);
    }
    tt_model_close(m);
}

static void a_part_is_like_the_whole(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    (void)state;
    p.described = true;
    p.memory = true;
    p.generate = 40;
    tt_model *all = open_plan(&p, &b);
    assert_false(all->partial);
    write_part(&b);
    for (uint32_t i = 0; i < all->n_batches; i++) {
        double begin = tt_model_ns(all, all->runs[i].begin_ticks);
        double end = tt_model_ns(all, all->runs[i].end_ticks);
        expect_part(all, &(tt_part){.has_tokens = true, .batch_first = i, .batch_last = i}, i, i,
                    true);
        expect_part(all,
                    &(tt_part){.has_from = true, .has_to = true, .from_ns = begin, .to_ns = end}, i,
                    i, true);
        expect_part(all, &(tt_part){.has_from = true, .from_ns = end, .first_only = true}, i, i,
                    i < 30);
    }
    expect_part(all, &(tt_part){.first_only = true}, 0, 1, true);
    expect_part(all, &(tt_part){.has_tokens = true, .batch_last = 999}, 0, all->n_batches - 1,
                false);
    assert_int_equal(unlink("part.ttrace"), 0);
    close_both(all, &b);
}

/* A time inside a run of which nothing is told then: what began it was told long before. */
static void a_part_within_a_run_has_the_run(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    (void)state;
    p.described = true;
    p.runs_split = true;
    p.layers = 40; /* runs take far more than what times are rounded by */
    p.generate = 9;
    tt_model *all = open_plan(&p, &b);
    write_part(&b);
    for (uint32_t i = 0; i < all->n_batches; i++) {
        double begin = tt_model_ns(all, all->runs[i].begin_ticks);
        double end = tt_model_ns(all, all->runs[i].end_ticks), middle = (begin + end) / 2;
        assert_true(tt_model_span_ns(all, 3000) < (end - begin) / 2);
        expect_part(
            all, &(tt_part){.has_from = true, .has_to = true, .from_ns = middle, .to_ns = middle},
            i, i, true);
    }
    assert_int_equal(unlink("part.ttrace"), 0);
    close_both(all, &b);
}

static void everything_is_there(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_model *m = open_plan(&p, &b);
    uint64_t v;
    (void)state;
    assert_int_equal(m->n_problems, 0);
    assert_string_equal(tt_model_environment(m, "mode"), "hook");
    assert_null(tt_model_environment(m, "nothing"));
    assert_int_equal(m->n_files, 1);
    assert_int_equal(m->n_weights, 3 + 8 * p.layers);
    assert_string_equal(tt_model_file_kv(m, "general.name")->value, "synth");
    assert_int_equal(m->n_graphs, 2);
    assert_int_equal(m->graphs[0].n_executed, p.n_executed);
    assert_int_equal(m->n_batches, 5);
    assert_int_equal(m->batches[0].phase, TT_PHASE_PROMPT);
    assert_int_equal(m->batches[0].n_tokens, 5);
    assert_int_equal(m->batches[0].positions[4], 4);
    assert_int_equal(m->batches[4].positions[0], 8);
    assert_int_equal(m->n_runs, 5);
    assert_int_equal(m->runs[tt_model_run(m, 3)].batch, 2);
    assert_int_equal(tt_model_run(m, 77), TT_NONE);
    assert_int_equal(m->n_decodes, 5);
    assert_int_equal(m->n_rings, 2);
    assert_true(tt_model_count(m, "ops", &v) && v == p.n_records);
    assert_false(tt_model_count(m, "cups", &v));
    close_both(m, &b);
}

static void weights_are_found_where_they_lie(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_model *m = open_plan(&p, &b);
    (void)state;
    const tt_tensor *mapped = tensor(m, 0, "blk.1.attn_q.weight");
    assert_int_equal(mapped->origin, TT_ORIGIN_FILE);
    assert_int_equal(mapped->weight, tt_model_weight(m, "blk.1.attn_q.weight"));
    assert_int_equal(mapped->place.layer_id, 1);
    assert_string_equal(mapped->place.component, "attn_q");
    const tt_tensor *copied = tensor(m, 1, "blk.2.ffn_down.weight");
    assert_int_equal(copied->origin, TT_ORIGIN_BUFFER);
    assert_string_equal(m->buffers[copied->buffer].name, "CPU_REPACK");
    assert_int_equal(copied->weight, tt_model_weight(m, "blk.2.ffn_down.weight"));
    const tt_tensor *view = tensor(m, 0, "cache_k_l1 (view)");
    assert_int_equal(view->origin, TT_ORIGIN_BUFFER);
    assert_int_equal(view->weight, TT_NONE);
    assert_string_equal(m->graphs[0].tensors[view->root].name, "cache_k_l1");
    close_both(m, &b);
}

static void nodes_have_a_place(void **state)
{
    static const struct {
        const char *name;
        int layer;
        const char *category;
    } cases[] = {
        {"inp_embd", -1, "input"},
        {"attn_norm-2", 2, "norm"},
        {"Qcur-0", 0, "attention"},
        {"kq_soft_max-1", 1, "attention"},
        {"ffn_up-2", 2, "ffn"},
        {"kqv_out-1", 1, "attention"},
        {"result_output", -1, "output"},
        {"result_norm", -1, "norm"},
        {"cache_k_l2 (view)", 2, "attention"},
    };
    synth_plan p = synth_default();
    tt_bytes b;
    tt_model *m = open_plan(&p, &b);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tt_tensor *t = tensor(m, 0, cases[i].name);
        assert_int_equal(t->place.layer_id, cases[i].layer);
        assert_string_equal(t->place.category, cases[i].category);
    }
    /* Unnamed: where its sources are. */
    assert_string_equal(tensor(m, 0, "node_17")->place.category, "attention");
    assert_int_equal(tensor(m, 0, "node_17")->place.layer_id, 0);
    close_both(m, &b);
}

static void ticks_become_time(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_error err;
    tt_model *m = open_plan(&p, &b);
    (void)state;
    assert_int_equal(tt_model_need_clock(m, &err), TT_OK);
    assert_true(fabs(m->clock.ns_per_tick * SYNTH_TICKS_PER_NS - 1) < 1e-6);
    assert_true(fabs(tt_model_ns(m, m->batches[0].begin_ticks)) < 1e-9);
    assert_true(fabs(tt_model_ns(m, m->batches[0].begin_ticks + 2000) - 1000) < 1e-3);
    assert_true(tt_model_ns(m, m->batches[0].begin_ticks - 2000) < 0);
    assert_true(tt_model_mono_ns(m, FIRST_TICK) == FIRST_MONO_NS);
    close_both(m, &b);
    p.no_clock_end = true;
    m = open_plan(&p, &b);
    assert_int_equal(tt_model_need_clock(m, &err), TT_E_FORMAT);
    assert_non_null(strstr(err.message, "tick_hz"));
    close_both(m, &b);
    p.tick_hz = true;
    m = open_plan(&p, &b);
    assert_int_equal(tt_model_need_clock(m, &err), TT_OK);
    assert_true(m->clock.assumed);
    assert_true(fabs(m->clock.ns_per_tick - 0.5) < 1e-12);
    close_both(m, &b);
}

static void damaged_meta_ends_there(void **state)
{
    synth_plan p = synth_default();
    tt_bytes b;
    tt_model *m = open_plan(&p, &b);
    (void)state;
    size_t last = 0;
    for (size_t i = 0; i < m->trace.n_chunks; i++)
        if (m->trace.chunks[i].type == TT_CHUNK_META) last = i;
    uint64_t at = m->trace.chunks[last].offset;
    tt_model_close(m);
    b.data[at + TT_CHUNK_HEADER_BYTES + 9] ^= 1;
    assert_int_equal(tt_model_open_memory(b.data, b.size, &m, NULL), TT_OK);
    assert_int_equal(m->meta_damage.status, TT_E_CHECKSUM);
    assert_true(m->meta_damage.offset == at);
    assert_int_equal(m->n_batches, 1);
    close_both(m, &b);
}

/* Hand-made META: a buffer that is described again, and references that lead nowhere. */
static void odd_records_are_taken_or_named(void **state)
{
    tt_bytes file, meta, record;
    uint8_t head[TT_FILE_HEADER_BYTES], chunk[TT_CHUNK_HEADER_BYTES];
    tt_file_header h = {.major = 1};
    tt_meta_buffer first = {.id = 7, .ticks = 100, .flags = TT_BUFFER_ALLOC_SEEN, .size_bytes = 10};
    tt_meta_buffer again = {.id = 7, .ticks = 900, .usage = 1, .size_bytes = 20, .name = 5};
    tt_meta_run run = {.id = 3, .batch = 8, .graph = 2, .observed = 1};
    tt_meta_end end = {.id = 44};
    tt_model *m;
    (void)state;
    tt_bytes_init(&file, 1 << 20);
    tt_bytes_init(&meta, 1 << 20);
    tt_bytes_init(&record, 1 << 20);
#define PUT(type, call)                                                                            \
    do {                                                                                           \
        tt_bytes_clear(&record);                                                                   \
        call;                                                                                      \
        tt_bytes_u8(&meta, type);                                                                  \
        tt_bytes_str(&meta, (const char *)record.data, record.size);                               \
    } while (0)
    PUT(TT_META_BUFFER, tt_meta_put_buffer(&record, &first));
    PUT(TT_META_BUFFER, tt_meta_put_buffer(&record, &again));
    PUT(TT_META_RUN, tt_meta_put_run(&record, &run));
    PUT(TT_META_RUN_END, tt_meta_put_end(&record, &end));
    PUT(200, tt_bytes_u8(&record, 1));
    tt_chunk_header c = {.type = TT_CHUNK_META, .count = 5};
    c.stored_bytes = c.raw_bytes = (uint32_t)meta.size;
    tt_file_header_encode(&h, head);
    tt_chunk_header_encode(&c, 0, meta.data, chunk);
    tt_bytes_put(&file, head, sizeof head);
    tt_bytes_put(&file, chunk, sizeof chunk);
    tt_bytes_put(&file, meta.data, meta.size);
    assert_int_equal(tt_model_open_memory(file.data, file.size, &m, NULL), TT_OK);
    assert_int_equal(m->n_buffers, 1);
    assert_true(m->buffers[0].alloc_ticks == 100 && m->buffers[0].size_bytes == 20);
    assert_int_equal(m->buffers[0].usage, 1);
    assert_int_equal(m->buffers[0].flags, TT_BUFFER_ALLOC_SEEN);
    assert_int_equal(m->n_runs, 1);
    assert_int_equal(m->runs[0].batch, TT_NONE);
    assert_int_equal(m->unknown_records, 1);
    /* The string, the batch, the graph, the run that never began. */
    assert_int_equal(m->n_problems, 4);
    tt_model_close(m);
    tt_bytes_free(&file);
    tt_bytes_free(&meta);
    tt_bytes_free(&record);
}

/* --- what later records tell, on traces made by hand --- */

static void put_buffer(hand *h, tt_meta_buffer b)
{
    tt_meta_put_buffer(&h->record, &b);
    hand_put(h, TT_META_BUFFER);
}

/* A graph of one node that reads w0, which lies in that buffer. */
static void put_user(hand *h, uint32_t graph, uint64_t buffer, uint64_t location)
{
    tt_meta_tensor *t = hand_tensor(h, "out", "MUL_MAT", 4, 4, 1);
    hand_source(t, 1);
    t = hand_tensor(h, "w0", "NONE", 4, 4, 16);
    t->buffer = buffer;
    t->location = location;
    hand_graph(h, graph, 1);
}

static const char *file_of(const tt_model *m, uint32_t graph)
{
    const tt_tensor *t = tensor(m, graph, "w0");
    return t->weight == TT_NONE ? "none" : m->files[m->weights[t->weight].file].path;
}

/* A model, another one, the first one again; none of them mapped. */
static void weights_of_one_name_are_told_apart(void **state)
{
    hand h;
    (void)state;
    hand_begin(&h);
    hand_model(&h, 1, "/a.gguf", 2);
    put_buffer(&h, (tt_meta_buffer){.id = 1, .usage = 1, .size_bytes = 4096, .model = 1});
    hand_model(&h, 2, "/b.gguf", 2);
    put_buffer(&h, (tt_meta_buffer){.id = 2, .usage = 1, .size_bytes = 4096, .model = 2});
    /* Not among them: has no w0, so the newest before it is meant. */
    hand_model(&h, 3, "/adapter.gguf", 0);
    put_buffer(&h, (tt_meta_buffer){.id = 3, .usage = 1, .size_bytes = 4096, .model = 3});
    hand_model(&h, 4, "/a-again.gguf", 2);
    put_buffer(&h, (tt_meta_buffer){.id = 4, .usage = 1, .size_bytes = 4096, .model = 4});
    /* The first one again, known by its id. */
    put_buffer(&h, (tt_meta_buffer){.id = 5, .usage = 1, .size_bytes = 4096, .model = 1});
    /* Described once more when other models were open. */
    put_buffer(&h,
               (tt_meta_buffer){.id = 2, .ticks = 1, .usage = 1, .size_bytes = 4096, .model = 4});
    for (uint32_t i = 1; i <= 5; i++)
        put_user(&h, i, i, 0);
    tt_model *m = hand_open(&h, true);
    assert_int_equal(m->n_problems, 0);
    static const char *const files[] = {"/a.gguf", "/b.gguf", "/b.gguf", "/a-again.gguf",
                                        "/a.gguf"};
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(file_of(m, i), files[i]);
        assert_int_equal(tensor(m, i, "w0")->origin, TT_ORIGIN_BUFFER);
    }
    hand_close(&h, m);
}

/* Both models have the tensor at the same place of their files. */
static void mapped_weights_are_told_apart(void **state)
{
    hand h;
    (void)state;
    hand_begin(&h);
    hand_model(&h, 1, "/a.gguf", 2);
    hand_model(&h, 2, "/b.gguf", 2);
    uint32_t a = hand_string(&h, "/a.gguf"), b = hand_string(&h, "/b.gguf");
    const uint8_t mapped = TT_BUFFER_FILE | TT_BUFFER_HOST;
    put_buffer(&h, (tt_meta_buffer){.id = 1, .flags = mapped, .path = b, .size_bytes = 9999});
    put_buffer(
        &h, (tt_meta_buffer){.id = 2, .flags = mapped, .path = a, .size_bytes = 9999, .model = 2});
    put_buffer(&h, (tt_meta_buffer){.id = 3, .flags = TT_BUFFER_PLACE_UNKNOWN, .usage = 1});
    put_user(&h, 1, 1, 4096);
    put_user(&h, 2, 2, 4096);
    put_user(&h, 3, 2, 4097); /* in the mapping, but not where w0 is */
    put_user(&h, 4, 3, 0);
    put_user(&h, 5, 0, 0x7f00);
    tt_model *m = hand_open(&h, true);
    assert_string_equal(file_of(m, 0), "/b.gguf");
    assert_string_equal(file_of(m, 1), "/a.gguf");
    assert_int_equal(tensor(m, 0, "w0")->origin, TT_ORIGIN_FILE);
    assert_int_equal(tensor(m, 1, "w0")->origin, TT_ORIGIN_FILE);
    for (uint32_t i = 2; i < 5; i++)
        assert_int_equal(tensor(m, i, "w0")->origin, TT_ORIGIN_UNKNOWN);
    hand_close(&h, m);
}

static void buffers_have_a_kind(void **state)
{
    hand h;
    tt_meta_tensor *t;
    (void)state;
    hand_begin(&h);
    hand_model(&h, 1, "/a.gguf", 1);
    uint32_t llama = hand_string(&h, "libllama.so.0"), ggml = hand_string(&h, "libggml.so");
    for (uint64_t i = 1; i <= 8; i++)
        put_buffer(&h, (tt_meta_buffer){.id = i,
                                        .usage = i == 6 ? 2 : 0,
                                        .allocator = i < 8 ? llama : ggml,
                                        .size_bytes = 10000});
    t = hand_tensor(&h, "out", "MUL_MAT", 4, 4, 1);
    t->buffer = 4;
    hand_source(t, 2);
    t = hand_tensor(&h, "cache_k_l0 (view)", "SET_ROWS", 4, 4, 1);
    t->view_src = 3 + 1;
    t->buffer = 2;
    static const char *const leafs[] = {"w0", "cache_k_l0", "cache_s_l9", "inp_pos"};
    for (uint64_t i = 0; i < 4; i++) {
        t = hand_tensor(&h, leafs[i], "NONE", 4, 4, 16);
        t->buffer = i < 3 ? i + 1 : 5;
    }
    hand_graph(&h, 1, 2);
    tt_model *m = hand_open(&h, true);
    static const char *const kinds[] = {"weights", "kv_cache", "kv_cache", "compute",
                                        "other",   "compute",  "output",   "other"};
    for (uint32_t i = 0; i < 8; i++)
        assert_string_equal(tt_buffer_kind_name(m->buffers[i].kind), kinds[i]);
    assert_string_equal(m->buffers[7].allocator, "libggml.so");
    assert_int_equal(m->buffers[0].last_file, TT_NONE);
    hand_close(&h, m);
}

static void batches_have_sequences_and_texts(void **state)
{
    static const int32_t tokens[] = {4, 5, 6}, ids[] = {0, 2, 7, -1};
    static const uint32_t first[] = {0, 3, 3, 4};
    const tt_batch_sequences sequences = {first, ids};
    tt_meta_batch b = {
        .id = 1, .n_tokens = 3, .flags = TT_BATCH_TOKENS | TT_BATCH_SEQUENCES, .vocabulary = 2};
    hand h;
    size_t n;
    (void)state;
    hand_begin(&h);
    tt_meta_put_batch(&h.record, &b, tokens, NULL, &sequences);
    hand_put(&h, TT_META_BATCH);
    tt_meta_put_token_text(&h.record,
                           &(tt_meta_token_text){2, 5, (tt_span){(const uint8_t *)"a\0b", 3}});
    hand_put(&h, TT_META_TOKEN_TEXT);
    tt_meta_put_token_text(&h.record, &(tt_meta_token_text){2, 5, hand_span("other")});
    hand_put(&h, TT_META_TOKEN_TEXT);
    tt_meta_put_token_text(&h.record, &(tt_meta_token_text){1, -5, hand_span("")});
    hand_put(&h, TT_META_TOKEN_TEXT);
    tt_model *m = hand_open(&h, true);
    const tt_batch *got = &m->batches[0];
    assert_memory_equal(got->sequence_first, first, sizeof first);
    assert_memory_equal(got->sequences, ids, sizeof ids);
    assert_int_equal(got->vocabulary, 2);
    assert_memory_equal(tt_model_token_text(m, 2, 5, &n), "a\0b", 4);
    assert_int_equal(n, 3);
    assert_string_equal(tt_model_token_text(m, 1, -5, NULL), "");
    assert_null(tt_model_token_text(m, 1, 5, NULL));
    assert_int_equal(m->n_token_texts, 3);
    hand_close(&h, m);
}

static void put_residency(hand *h, uint32_t model, uint64_t n_pages, uint64_t first_page)
{
    tt_meta_residency r = {.model = model,
                           .moment = TT_AT_BEGIN,
                           .page_bytes = 4096,
                           .first_page = first_page,
                           .n_pages = n_pages,
                           .n_intervals = 3};
    tt_meta_put_residency(&h->record, &r);
    for (uint64_t i = 0; i < 3; i++)
        tt_bytes_varint(&h->record, i);
    hand_put(h, TT_META_RESIDENCY);
}

static void the_physical_side_is_there(void **state)
{
    static const int64_t rows[] = {5, -3};
    hand h;
    (void)state;
    hand_begin(&h);
    hand_model(&h, 3, "/a.gguf", 1);
    tt_meta_put_batch(&h.record, &(tt_meta_batch){.id = 8}, NULL, NULL, NULL);
    hand_put(&h, TT_META_BATCH);
    put_user(&h, 1, 0, 0);
    hand_indices(&h, 20, 1, rows, 2); /* before its run */
    hand_run(&h, 20, 8, 1);
    hand_run(&h, 10, 8, 1);
    hand_indices(&h, 10, 0, rows, 1);
    tt_meta_put_usage(&h.record,
                      &(tt_meta_usage){.batch = 8, .flags = TT_USAGE_FAULTS, .minor = 4});
    hand_put(&h, TT_META_USAGE);
    put_residency(&h, 3, 3, 0);
    tt_meta_put_model_check(&h.record, &(tt_meta_model_check){3, 1, TT_MODEL_REPLACED});
    hand_put(&h, TT_META_MODEL_CHECK);
    tt_meta_put_loss(&h.record, &(tt_meta_loss){0, 7, 9});
    hand_put(&h, TT_META_DETAIL_LOSS);
    tt_model *m = hand_open(&h, true);
    assert_int_equal(m->n_problems, 0);
    assert_int_equal(m->n_indices, 2);
    const tt_indices *x = tt_model_indices(m, tt_model_run(m, 20), 1);
    assert_true(x && x->n == 2 && x->values[1] == -3);
    assert_non_null(tt_model_indices(m, tt_model_run(m, 10), 0));
    assert_null(tt_model_indices(m, tt_model_run(m, 10), 1));
    assert_true(m->n_usages == 1 && m->usages[0].batch == 0 && m->usages[0].minor == 4);
    assert_true(m->n_residencies == 1 && m->residencies[0].file == 0);
    assert_int_equal(m->residencies[0].batch, TT_NONE);
    assert_int_equal(m->residencies[0].intervals[2], 2);
    assert_true(m->files[0].checked_at_end && m->files[0].end_state == TT_MODEL_REPLACED);
    assert_true(m->detail_losses_total == 9 && m->losses_total == 0);
    hand_close(&h, m);
}

static void records_that_lead_nowhere_are_dropped(void **state)
{
    static const int64_t rows[] = {5};
    hand h;
    (void)state;
    hand_begin(&h);
    hand_model(&h, 3, "/a.gguf", 1);
    put_user(&h, 1, 0, 0);
    hand_run(&h, 1, 0, 1);
    hand_indices(&h, 1, 1, rows, 1);
    hand_indices(&h, 1, 1, rows, 1); /* twice */
    hand_indices(&h, 1, 2, rows, 1); /* no such tensor */
    hand_indices(&h, 5, 1, rows, 1); /* no such run */
    put_residency(&h, 3, 4, 0);      /* three pages are told */
    put_residency(&h, 4, 3, 0);      /* no such file */
    put_residency(&h, 3, 3, UINT64_MAX - 1);
    tt_meta_put_usage(&h.record, &(tt_meta_usage){.batch = 8});
    hand_put(&h, TT_META_USAGE);
    tt_meta_put_model_check(&h.record, &(tt_meta_model_check){9, 1, 0});
    hand_put(&h, TT_META_MODEL_CHECK);
    put_buffer(&h, (tt_meta_buffer){.id = 1, .model = 77});
    tt_model *m = hand_open(&h, true);
    assert_int_equal(m->n_indices, 1);
    assert_int_equal(m->n_residencies, 0);
    assert_true(m->n_usages == 1 && m->usages[0].batch == TT_NONE);
    assert_int_equal(m->buffers[0].last_file, TT_NONE);
    assert_false(m->files[0].checked_at_end);
    assert_int_equal(m->n_problems, 9);
    hand_close(&h, m);
}

/* One fragment of 100 bytes of a file, and what is said of it. */
static void put_extents(hand *h, uint32_t model, uint64_t walked, uint64_t mapped, uint64_t hole)
{
    tt_meta_put_extents(&h->record, &(tt_meta_extents){.model = model,
                                                       .walked_bytes = walked,
                                                       .n_extents = 1,
                                                       .n_fragments = 1,
                                                       .mapped_bytes = mapped,
                                                       .largest_bytes = 100,
                                                       .n_listed = 1});
    tt_meta_put_fragment(&h->record, &(tt_meta_fragment){hole, 100, -5, 0});
    hand_put(h, TT_META_EXTENTS);
}

static void extents_are_those_of_their_file(void **state)
{
    hand h;
    (void)state;
    hand_begin(&h);
    hand_model(&h, 3, "/a.gguf", 1);
    hand_model(&h, 4, "/b.gguf", 1);
    put_extents(&h, 3, 150, 100, 50);
    put_extents(&h, 3, 149, 100, 50); /* behind what was walked */
    put_extents(&h, 3, 150, 151, 50); /* more in extents than there is */
    put_extents(&h, 3, 150, 100, UINT64_MAX);
    put_extents(&h, 9, 150, 100, 50); /* no such file */
    tt_model *m = hand_open(&h, true);
    assert_int_equal(m->n_problems, 4);
    assert_null(m->files[1].extents);
    const tt_file_extents *e = m->files[0].extents;
    assert_true(e && e->n_listed == 1 && e->walked_bytes == 150);
    assert_int_equal(e->fragments[0].offset_bytes, 50);
    assert_int_equal(e->fragments[0].disk_bytes, UINT64_MAX - 4);
    hand_close(&h, m);
}

static void put_load_step(hand *h, tt_meta_load_step s)
{
    tt_meta_put_load_step(&h->record, &s);
    hand_put(h, TT_META_LOAD_STEP);
}

static void steps_of_loading_are_those_of_their_file(void **state)
{
    hand h;
    (void)state;
    hand_begin(&h);
    hand_model(&h, 3, "/a.gguf", 1);
    put_load_step(&h, (tt_meta_load_step){.model = 3, .begin_ticks = 5, .end_ticks = 9});
    put_load_step(&h, (tt_meta_load_step){.model = 3, .begin_ticks = 5, .end_ticks = 4});
    put_load_step(&h, (tt_meta_load_step){.model = 9}); /* no such file */
    put_load_step(&h, (tt_meta_load_step){.kind = TT_LOAD_MAP});
    put_load_step(
        &h, (tt_meta_load_step){.model = 3, .file_offset_bytes = UINT64_MAX, .size_bytes = 2});
    put_load_step(&h, (tt_meta_load_step){.kind = TT_LOAD_END});
    tt_model *m = hand_open(&h, true);
    assert_int_equal(m->n_problems, 4);
    assert_int_equal(m->n_load_steps, 2);
    assert_int_equal(m->load_steps[0].model, 0);
    assert_int_equal(m->load_steps[0].end_ticks, 9);
    assert_int_equal(m->load_steps[1].model, TT_NONE);
    hand_close(&h, m);
}

static void nodes_have_backends(void **state)
{
    hand h;
    (void)state;
    hand_begin(&h);
    uint32_t cpu = hand_string(&h, "CPU"), gpu = hand_string(&h, "Vulkan0");
    for (uint32_t i = 0; i < 4; i++)
        (void)hand_tensor(&h, "n", "ADD", 1, 1, 1);
    tt_meta_graph g = {1, 4, 4};
    tt_meta_put_graph(&h.record, &g);
    for (uint32_t i = 0; i < 4; i++)
        tt_meta_put_tensor(&h.record, &h.tensors[i]);
    const uint32_t intervals[] = {2, cpu, 2, gpu, 1};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++)
        tt_bytes_varint(&h.record, intervals[i]);
    hand_put(&h, TT_META_GRAPH);
    h.n_tensors = 0;
    tt_model *m = hand_open(&h, true);
    static const char *const names[] = {"CPU", "CPU", "Vulkan0", ""};
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(m->graphs[0].tensors[i].backend, names[i]);
    hand_close(&h, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_like_the_whole),
        cmocka_unit_test(a_part_within_a_run_has_the_run),
        cmocka_unit_test(everything_is_there),
        cmocka_unit_test(weights_are_found_where_they_lie),
        cmocka_unit_test(nodes_have_a_place),
        cmocka_unit_test(ticks_become_time),
        cmocka_unit_test(damaged_meta_ends_there),
        cmocka_unit_test(odd_records_are_taken_or_named),
        cmocka_unit_test(weights_of_one_name_are_told_apart),
        cmocka_unit_test(mapped_weights_are_told_apart),
        cmocka_unit_test(buffers_have_a_kind),
        cmocka_unit_test(batches_have_sequences_and_texts),
        cmocka_unit_test(the_physical_side_is_there),
        cmocka_unit_test(records_that_lead_nowhere_are_dropped),
        cmocka_unit_test(extents_are_those_of_their_file),
        cmocka_unit_test(steps_of_loading_are_those_of_their_file),
        cmocka_unit_test(nodes_have_backends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
