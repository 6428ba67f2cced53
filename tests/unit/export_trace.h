/* Hand-made traces with ops, and files that exports write of them. Included as source, behind
 * hand_trace.h. */
#ifndef TT_TESTS_EXPORT_TRACE_H
#define TT_TESTS_EXPORT_TRACE_H

#include "export/export.h"
#include "hand_trace.h"

#include <stdlib.h>
#include <unistd.h>

static inline void hand_clock(hand *h, uint64_t ticks, uint64_t mono_ns)
{
    tt_meta_clock c = {.ticks = ticks, .mono_ns = mono_ns, .unix_ns = mono_ns + 1000000};
    tt_meta_put_clock(&h->record, &c);
    hand_put(h, TT_META_CLOCK);
}

static inline void hand_batch_at(hand *h, uint32_t id, uint32_t context, uint64_t ticks)
{
    tt_meta_batch b = {
        .id = id, .context = context, .ticks = ticks, .n_tokens = 1, .phase = TT_PHASE_GENERATE};
    tt_meta_put_batch(&h->record, &b, NULL, NULL, NULL);
    hand_put(h, TT_META_BATCH);
}

static inline void hand_end(hand *h, uint8_t type, uint32_t id, uint64_t ticks)
{
    tt_meta_end e = {.id = id, .ticks = ticks};
    tt_meta_put_end(&h->record, &e);
    hand_put(h, type);
}

static inline void hand_run_at(hand *h, uint32_t id, uint32_t batch, uint32_t graph, uint64_t ticks)
{
    tt_meta_run r = {.id = id,
                     .batch = batch,
                     .graph = graph,
                     .observed = TT_OBSERVED_HOOK,
                     .threads = 1,
                     .ticks = ticks};
    tt_meta_put_run(&h->record, &r);
    hand_put(h, TT_META_RUN);
}

/* A chunk of records of one ring. */
static inline void hand_ops(hand *h, uint32_t stream, const tt_op_record *list, size_t n)
{
    tt_bytes raw;
    tt_index_entry e = {.run_min = UINT64_MAX};
    tt_bytes_init(&raw, TT_CHUNK_PAYLOAD_MAX);
    assert_true(tt_ops_encode(&raw, list, n, 0));
    for (size_t i = 0; i < n; i++) {
        if (list[i].run < e.run_min) e.run_min = list[i].run;
        if (list[i].run > e.run_max) e.run_max = list[i].run;
    }
    tt_chunk_header head = {.type = TT_CHUNK_OPS, .stream = stream, .count = (uint32_t)n};
    hand_chunk(h, head, &raw, e);
    tt_bytes_free(&raw);
}

static inline tt_op_record hand_op(uint32_t run, uint32_t node, uint32_t lane, uint64_t start,
                                   uint64_t arrive, uint64_t release)
{
    return (tt_op_record){start, arrive, release, run, tt_op_place(node, lane, 0)};
}

/* What a format noted, and wrote. */
typedef struct written {
    char notes[1024];
    uint8_t *data;
    size_t size;
} written;

static inline void keep_note(void *context, const char *text)
{
    written *w = context;
    size_t used = strlen(w->notes);
    (void)snprintf(w->notes + used, sizeof w->notes - used, "%s\n", text);
}

static inline written write_format(const tt_export_format *f, const tt_model *m,
                                   tt_export_options options)
{
    char path[] = "/tmp/tt-export-XXXXXX";
    written w = {.data = NULL};
    tt_error err = {.status = TT_OK};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    options.force = true;
    options.note = keep_note;
    options.note_context = &w;
    if (f->write(m, path, &options, &err) != TT_OK) fail_msg("%s", err.message);
    (void)close(fd);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    w.size = (size_t)ftell(file);
    rewind(file);
    w.data = malloc(w.size + 1);
    assert_non_null(w.data);
    assert_int_equal(fread(w.data, 1, w.size, file), w.size);
    (void)fclose(file);
    (void)unlink(path);
    return w;
}

#endif
