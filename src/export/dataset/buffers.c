/* buffer-timeline.json: the buffers, their lifetimes, and the total size. And the format
 * `buffer-events`: the same as events, one per line. */
#include "analyze/buffers.h"

#include "base/outfile.h"
#include "export/dataset.h"
#include "export/dataset/parts.h"

#include <string.h>

#define LAYER_NONE 65535u
#define USAGES 3u /* of ggml's enum; others are written as numbers */

static const char *const usage_names[USAGES] = {"ANY", "WEIGHTS", "COMPUTE"};

typedef struct timeline {
    const tt_model *m;
    const tt_buffers *buffers;
    uint64_t zero_ns; /* of the first event, on CLOCK_MONOTONIC */
} timeline;

static double since_ms(const timeline *t, uint64_t ticks)
{
    uint64_t ns = tt_model_mono_ns(t->m, ticks);
    return ns > t->zero_ns ? (double)(ns - t->zero_ns) / 1e6 : 0;
}

static uint64_t event_total(const tt_buffer_event *e)
{
    uint64_t sum = 0;
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        if (__builtin_add_overflow(sum, e->bytes[k], &sum)) return UINT64_MAX;
    return sum;
}

static void put_metadata(tt_json *j, const timeline *t)
{
    const tt_buffers *b = t->buffers;
    uint64_t peak = 0, counts[USAGES] = {0};
    for (uint32_t i = 0; i < b->n_events; i++)
        if (event_total(&b->events[i]) > peak) peak = event_total(&b->events[i]);
    for (uint32_t i = 0; i < t->m->n_buffers; i++)
        counts[t->m->buffers[i].usage < USAGES ? t->m->buffers[i].usage : 0]++;
    uint32_t allocated = b->peak[TT_BACKING_ALLOCATED];
    tt_json_key(j, "metadata");
    tt_json_object(j);
    tt_json_kv_u64(j, "total_events", b->n_events);
    tt_json_kv_u64(j, "total_buffers", t->m->n_buffers);
    tt_json_kv_u64(j, "peak_occupancy_bytes", peak);
    tt_json_kv_double(j, "peak_occupancy_mb", (double)peak / (1 << 20));
    tt_json_kv_u64(j, "peak_allocated_bytes",
                   allocated == TT_NONE ? 0 : b->events[allocated].bytes[TT_BACKING_ALLOCATED]);
    tt_json_kv_double(j, "duration_ms",
                      b->n_events ? since_ms(t, b->events[b->n_events - 1].ticks) : 0);
    tt_dataset_known(j, "timestamp_start_ns", b->n_events > 0, t->zero_ns);
    tt_json_key(j, "usage_breakdown");
    tt_json_object(j);
    for (unsigned k = 0; k < USAGES; k++)
        if (counts[k]) tt_json_kv_u64(j, usage_names[k], counts[k]);
    tt_json_object_end(j);
    tt_json_object_end(j);
}

/* ggml names a buffer after its backend, and adds special properties after a "_". */
static void put_backend(tt_json *j, const char *name)
{
    tt_json_key(j, "backend");
    tt_json_string_n(j, name, strcspn(name, "_"));
}

/* Of all its tensors, or LAYER_NONE. */
static uint32_t layer_of(const timeline *t, uint32_t buffer)
{
    const tt_buffer_life *use = &t->buffers->uses[buffer];
    const bool has_one =
        use->n_layers == 1 && use->layers[0] >= 0 && use->layers[0] < (int)LAYER_NONE;
    return has_one ? (uint32_t)use->layers[0] : LAYER_NONE;
}

static void put_buffer(tt_json *j, const timeline *t, uint32_t i)
{
    const tt_buffer *b = &t->m->buffers[i];
    const tt_buffer_life *use = &t->buffers->uses[i];
    unsigned usage = b->usage < USAGES ? b->usage : 0;
    tt_json_object(j);
    tt_json_kv_u64(j, "id", b->id);
    tt_json_kv_string(j, "name", b->name);
    tt_json_kv_u64(j, "size", b->size_bytes);
    put_backend(j, b->name);
    tt_json_kv_u64(j, "usage", usage);
    tt_json_kv_string(j, "usage_name", usage_names[usage]);
    tt_json_kv_u64(j, "layer", layer_of(t, i));
    tt_json_kv_double(j, "alloc_time_ms", since_ms(t, b->alloc_ticks));
    tt_json_key(j, "dealloc_time_ms");
    if (use->free_event == TT_NONE)
        tt_json_null(j);
    else
        tt_json_double(j, since_ms(t, t->buffers->events[use->free_event].ticks));
    tt_json_kv_bool(j, "alloc_seen", b->flags & TT_BUFFER_ALLOC_SEEN);
    tt_json_kv_string(j, "kind", tt_buffer_kind_name(b->kind));
    tt_json_kv_string(j, "backing", tt_backing_name(tt_buffer_backing(b)));
    tt_json_object_end(j);
}

static void put_event(tt_json *j, const timeline *t, const tt_buffer_event *e)
{
    const tt_buffer *b = &t->m->buffers[e->buffer];
    tt_json_object(j);
    tt_json_kv_double(j, "timestamp_ms", since_ms(t, e->ticks));
    tt_json_kv_string(j, "event", e->is_free ? "dealloc" : "alloc");
    tt_json_kv_u64(j, "buffer_id", b->id);
    tt_json_kv_string(j, "buffer_name", b->name);
    tt_json_kv_u64(j, "size", b->size_bytes);
    tt_json_kv_u64(j, "cumulative_size", event_total(e));
    tt_json_kv_u64(j, "num_active_buffers", e->n_active);
    tt_json_object_end(j);
}

static void put_document(tt_json *j, const timeline *t, const char *id)
{
    tt_json_object(j);
    tt_json_kv_string(j, "experiment_id", id);
    put_metadata(j, t);
    tt_json_key(j, "buffers");
    tt_json_array(j);
    for (uint32_t i = 0; i < t->m->n_buffers; i++)
        put_buffer(j, t, i);
    tt_json_array_end(j);
    tt_json_key(j, "timeline");
    tt_json_array(j);
    for (uint32_t i = 0; i < t->buffers->n_events; i++)
        put_event(j, t, &t->buffers->events[i]);
    tt_json_array_end(j);
    tt_json_object_end(j);
}

static timeline timeline_of(const tt_model *m, const tt_buffers *buffers)
{
    return (timeline){m, buffers,
                      buffers->n_events ? tt_model_mono_ns(m, buffers->events[0].ticks) : 0};
}

tt_status tt_dataset_buffers(tt_dataset *d, tt_dataset_sum *sum, tt_error *err)
{
    tt_dataset_json file;
    tt_buffers *buffers;
    tt_status status = tt_buffers_analyze(d->m, &buffers, err);
    if (status != TT_OK) return status;
    const timeline t = timeline_of(d->m, buffers);
    uint64_t n = buffers->n_events;
    status = tt_dataset_json_open(d, &file, "buffer-timeline.json", err);
    if (status == TT_OK) {
        put_document(&file.json, &t, d->id);
        status = tt_dataset_json_close(d, &file, n, sum, err);
    }
    tt_buffers_free(buffers);
    return status;
}

/* --- events, one per line --- */

static bool put_line(FILE *out, const timeline *t, const tt_buffer_event *e)
{
    const tt_buffer *b = &t->m->buffers[e->buffer];
    tt_json j;
    tt_json_begin(&j, out, 0);
    tt_json_object(&j);
    tt_json_kv_double(&j, "timestamp_ms", since_ms(t, e->ticks));
    tt_json_kv_string(&j, "event", e->is_free ? "dealloc" : "alloc");
    tt_json_kv_u64(&j, "buffer_id", b->id);
    if (!e->is_free) {
        tt_json_kv_u64(&j, "buffer_ptr", b->base);
        tt_json_kv_u64(&j, "size", b->size_bytes);
        tt_json_kv_string(&j, "name", b->name);
        put_backend(&j, b->name);
        tt_json_kv_u64(&j, "usage", b->usage < USAGES ? b->usage : 0);
        tt_json_kv_u64(&j, "layer", layer_of(t, e->buffer));
    }
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static tt_status write_events(const tt_model *m, const char *path, const tt_export_options *options,
                              tt_error *err)
{
    tt_buffers *buffers = NULL;
    tt_outfile file;
    tt_status status = tt_model_need_clock(m, err);
    if (status == TT_OK) status = tt_buffers_analyze(m, &buffers, err);
    if (status == TT_OK) status = tt_outfile_open(&file, path, options->force, err);
    if (status == TT_OK) {
        const timeline t = timeline_of(m, buffers);
        bool ok = true;
        for (uint32_t i = 0; ok && i < buffers->n_events; i++)
            ok = put_line(file.stream, &t, &buffers->events[i]);
        status = tt_outfile_commit(&file, err); /* a failure stays in the stream */
        if (options->sum)
            *options->sum = (tt_export_sum){.n_items = buffers->n_events, .items = "events"};
    }
    if (buffers) tt_buffers_free(buffers);
    return status;
}

const tt_export_format tt_format_buffer_events = {
    .name = "buffer-events",
    .summary = "JSON lines: each buffer allocated or freed, with address",
    .write = write_events,
};
