#include "tests.h"

#include "../golden/rechecksum.h"
#include "../golden/synth_trace.c"
#include "model/model.h"

#include <math.h>
#include <string.h>

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
    assert_int_equal(mapped->origin, TT_ORIGIN_DISK);
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
    tt_chunk_header_encode(&c, meta.data, chunk);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_there),
        cmocka_unit_test(weights_are_found_where_they_lie),
        cmocka_unit_test(nodes_have_a_place),
        cmocka_unit_test(ticks_become_time),
        cmocka_unit_test(damaged_meta_ends_there),
        cmocka_unit_test(odd_records_are_taken_or_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
