/* Counters of memory: buffers by kind, cells of KV caches, pages of model files in RAM. */
#include "analyze/buffers.h"
#include "analyze/kvcache.h"
#include "export/perfetto.h"

#include <inttypes.h>

#define FLUSH_BYTES ((size_t)1 << 20)

static int64_t clamp(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static tt_status flush(tt_perfetto *p, tt_bytes *b, tt_error *err)
{
    return b->size >= FLUSH_BYTES || b->failed ? tt_perfetto_write(p, b, err) : TT_OK;
}

/* --- buffers --- */

static void say_buffers(tt_backing backing, unsigned kind, tt_bytes *b)
{
    static const char *const about[] = {
        [TT_BACKING_ALLOCATED] = "Memory that the engine allocated for buffers of this kind.",
        [TT_BACKING_FILE] = "Buffers of this kind in mappings of files: no memory of their own.",
        [TT_BACKING_UNKNOWN] = "Whether these map a file was not observed."};
    char name[64];
    (void)snprintf(name, sizeof name, "buffers: %s%s", tt_buffer_kind_name((tt_buffer_kind)kind),
                   backing == TT_BACKING_FILE      ? " (mapped)"
                   : backing == TT_BACKING_UNKNOWN ? " (unknown)"
                                                   : "");
    tt_perfetto_track_put(
        b, &(tt_perfetto_track){.uuid = TT_PERFETTO_BUFFERS + backing * TT_BUFFER_KINDS + kind,
                                .parent = TT_PERFETTO_RUN,
                                .name = name,
                                .rank = 300 + (int32_t)(backing * TT_BUFFER_KINDS + kind),
                                .unit = "bytes",
                                .about = about[backing]});
}

static tt_status put_buffers(tt_perfetto *p, tt_bytes *b, tt_error *err)
{
    tt_buffers *buffers;
    uint64_t sums[TT_BACKINGS][TT_BUFFER_KINDS] = {{0}};
    bool said[TT_BACKINGS][TT_BUFFER_KINDS] = {{false}};
    tt_status status = tt_buffers_analyze(p->m, &buffers, err);
    for (uint32_t i = 0; status == TT_OK && i < buffers->n_events; i++) {
        const tt_buffer_event *e = &buffers->events[i];
        const tt_buffer *x = &p->m->buffers[e->buffer];
        tt_backing backing = tt_buffer_backing(x);
        uint64_t *sum = &sums[backing][x->kind];
        if (!said[backing][x->kind]) say_buffers(backing, x->kind, b);
        said[backing][x->kind] = true;
        /* Sizes are what a trace claims: unsigned sums come back to what they were. */
        *sum += e->is_free ? -x->size_bytes : x->size_bytes;
        tt_perfetto_counter(b, tt_model_mono_ns(p->m, e->ticks),
                            TT_PERFETTO_BUFFERS + backing * TT_BUFFER_KINDS + x->kind, clamp(*sum));
        status = flush(p, b, err);
    }
    tt_buffers_free(buffers);
    return status;
}

/* --- KV caches --- */

static tt_status put_cache(tt_perfetto *p, const tt_kv_cache *c, uint32_t nth, tt_bytes *b,
                           tt_error *err)
{
    tt_status status = TT_OK;
    char name[64], about[96];
    const char *text = c->at_least ? "Ever written, at least: some writes were not followed."
                                   : "Ever written: that a cell was given up again is not seen.";
    (void)snprintf(about, sizeof about, "%s Of %" PRIu64 ".", text, c->cells);
    for (uint32_t i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof name,
                       i ? "KV cache %" PRIu32 ": bytes" : "KV cache %" PRIu32 ": cells", nth);
        tt_perfetto_track_put(b, &(tt_perfetto_track){.uuid = TT_PERFETTO_KV + 2ull * nth + i,
                                                      .parent = TT_PERFETTO_RUN,
                                                      .name = name,
                                                      .rank = 400 + (int32_t)(2 * nth + i),
                                                      .unit = i ? "bytes" : "cells",
                                                      .about = i ? text : about});
    }
    for (uint32_t i = 0; i < c->n_steps && status == TT_OK; i++) {
        const tt_kv_step *s = &c->steps[i];
        const tt_batch *t = &p->m->batches[s->batch];
        if (!tt_filter_batch(p->filter, p->m, s->batch)) continue;
        uint64_t now = tt_model_mono_ns(p->m, t->ended ? t->end_ticks : t->begin_ticks);
        tt_perfetto_counter(b, now, TT_PERFETTO_KV + 2ull * nth, clamp(s->cells_written));
        tt_perfetto_counter(b, now, TT_PERFETTO_KV + 2ull * nth + 1, clamp(s->written_bytes));
        status = flush(p, b, err);
    }
    return status;
}

static tt_status put_caches(tt_perfetto *p, tt_bytes *b, tt_error *err)
{
    tt_kv *kv;
    tt_status status = tt_kv_analyze(p->m, &kv, err);
    for (uint32_t i = 0; status == TT_OK && i < kv->n_caches && i < TT_PERFETTO_CACHES_MAX; i++)
        if (kv->caches[i].observed) status = put_cache(p, &kv->caches[i], i, b, err);
    tt_kv_free(kv);
    return status;
}

/* --- pages of model files --- */

static uint64_t present_bytes(const tt_residency *r)
{
    uint64_t pages = 0;
    for (uint32_t i = 1; i < r->n_stretches; i += 2)
        pages += r->stretches[i];
    return pages * r->page_bytes;
}

static tt_status put_residency(tt_perfetto *p, tt_bytes *b, tt_error *err)
{
    tt_status status = TT_OK;
    bool said = false;
    for (uint32_t i = 0; i < p->m->n_residencies && status == TT_OK; i++) {
        const tt_residency *r = &p->m->residencies[i];
        if (r->file != 0) continue; /* one counter: that of the first file */
        if (!said)
            tt_perfetto_track_put(
                b, &(tt_perfetto_track){.uuid = TT_PERFETTO_RESIDENT,
                                        .parent = TT_PERFETTO_RUN,
                                        .name = "model file in RAM",
                                        .rank = 500,
                                        .unit = "bytes",
                                        .about = "Pages of the first model file that were in the "
                                                 "page cache."});
        said = true;
        tt_perfetto_counter(b, tt_model_mono_ns(p->m, r->end_ticks), TT_PERFETTO_RESIDENT,
                            clamp(present_bytes(r)));
        status = flush(p, b, err);
    }
    return status;
}

tt_status tt_perfetto_put_memory(tt_perfetto *p, tt_error *err)
{
    tt_bytes b;
    tt_bytes_init(&b, TT_MODEL_MEMORY_MAX);
    tt_status status = put_buffers(p, &b, err);
    if (status == TT_OK) status = put_caches(p, &b, err);
    if (status == TT_OK) status = put_residency(p, &b, err);
    if (status == TT_OK) status = tt_perfetto_write(p, &b, err);
    tt_bytes_free(&b);
    return status;
}
