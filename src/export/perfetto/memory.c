/* Counters of memory: buffers by kind, cells of KV caches, pages of model files in RAM. */
#include "analyze/buffers.h"
#include "analyze/kvcache.h"
#include "analyze/residency.h"
#include "base/path.h"
#include "export/perfetto/perfetto.h"

#include <inttypes.h>
#include <stdlib.h>

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

typedef struct resident {
    tt_perfetto *p;
    tt_bytes *b;
    bool *said; /* by file */
    tt_status status;
    tt_error *err;
} resident;

static void say_resident(const tt_perfetto *p, uint32_t file, tt_bytes *b)
{
    char name[96];
    (void)snprintf(name, sizeof name, "in RAM: %.80s", tt_base_name(p->m->files[file].path));
    tt_perfetto_track_put(
        b, &(tt_perfetto_track){.uuid = TT_PERFETTO_RESIDENT + file,
                                .parent = TT_PERFETTO_RUN,
                                .name = name,
                                .rank = 500 + (int32_t)file,
                                .unit = "bytes",
                                .about = "Pages of the model file that were in the page cache."});
}

static void put_resident(void *context, const tt_residency_sample *s, const tt_ranges *now)
{
    resident *r = context;
    (void)now;
    if (r->status != TT_OK || s->file >= TT_PERFETTO_FILES_MAX) return;
    if (!r->said[s->file]) say_resident(r->p, s->file, r->b);
    r->said[s->file] = true;
    tt_perfetto_counter(r->b, tt_model_mono_ns(r->p->m, s->end_ticks),
                        TT_PERFETTO_RESIDENT + s->file, clamp(s->resident_bytes));
    r->status = flush(r->p, r->b, r->err);
}

static tt_status put_residency(tt_perfetto *p, tt_bytes *b, tt_error *err)
{
    resident r = {.p = p, .b = b, .err = err};
    if (p->m->n_residencies == 0) return TT_OK;
    r.said = calloc((size_t)p->m->n_files + 1, sizeof *r.said);
    if (!r.said)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
    tt_status status = tt_residency_walk(p->m, put_resident, &r, NULL, err);
    free(r.said);
    return status == TT_OK ? r.status : status;
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
