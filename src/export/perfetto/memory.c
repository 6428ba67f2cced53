/* Counters of memory: buffers by kind, cells of KV caches, pages of model files in RAM. */
#include "analyze/buffers.h"
#include "analyze/kvcache.h"
#include "analyze/residency.h"
#include "base/array.h"
#include "base/order.h"
#include "base/path.h"
#include "export/perfetto/maker.h"
#include "export/perfetto/perfetto.h"
#include "model/faults.h"

#include <inttypes.h>
#include <stdlib.h>

/* The track of tokens: a slice per batch, named after its token's text; and their rate. */

#define FLUSH_BYTES ((size_t)1 << 20)
#define NAME_TEXT_MAX 60u

/* "12: ' the'", "0: prompt of 8 tokens". */
static void put_name(const tt_model *m, uint32_t batch, tt_bytes *b)
{
    const tt_batch *t = &m->batches[batch];
    char name[200];
    size_t n;
    const char *text = t->n_tokens == 1 && t->tokens
                           ? tt_model_token_text(m, t->vocabulary, t->tokens[0], &n)
                           : NULL;
    int used = snprintf(name, sizeof name, "%" PRIu32 ": ", tt_model_batch_number(m, batch));
    if (text)
        used += snprintf(name + used, sizeof name - (size_t)used, "'%.*s'",
                         (int)(n < NAME_TEXT_MAX ? n : NAME_TEXT_MAX), text);
    else
        used += snprintf(name + used, sizeof name - (size_t)used, "%s of %" PRIu32 " token%s",
                         t->phase == TT_PHASE_UNKNOWN ? "batch" : tt_phase_name(t->phase),
                         t->n_tokens, t->n_tokens == 1 ? "" : "s");
    tt_proto_text_n(b, PB_NAME, name, (size_t)used);
}

static void put_sequences(const tt_batch *t, uint32_t i, tt_bytes *b)
{
    size_t array = tt_perfetto_put_begin(b, PB_DICT_ENTRIES, ARG_SEQUENCES);
    for (uint32_t s = t->sequence_first[i]; s < t->sequence_first[i + 1]; s++)
        tt_perfetto_put_int(b, PB_ARRAY_VALUES, ARG_NONE, t->sequences[s]);
    tt_proto_end(b, array);
}

static void put_token(const tt_model *m, const tt_batch *t, uint32_t i, tt_bytes *b)
{
    size_t n, dict = tt_perfetto_put_begin(b, PB_ARRAY_VALUES, ARG_NONE);
    if (t->tokens) {
        const char *text = tt_model_token_text(m, t->vocabulary, t->tokens[i], &n);
        tt_perfetto_put_int(b, PB_DICT_ENTRIES, ARG_BATCH_ID, t->tokens[i]);
        if (text) tt_perfetto_put_text_n(b, PB_DICT_ENTRIES, ARG_TEXT, text, n);
    }
    if (t->positions) tt_perfetto_put_int(b, PB_DICT_ENTRIES, ARG_POSITION, t->positions[i]);
    if (t->sequence_first) put_sequences(t, i, b);
    tt_proto_end(b, dict);
}

static void put_batch(tt_perfetto *p, const tt_perfetto_span *span, tt_bytes *b)
{
    const tt_model *m = p->m;
    const tt_batch *t = &m->batches[span->item];
    const uint64_t track = TT_PERFETTO_TOKENS + span->row;
    tt_perfetto_event e =
        tt_perfetto_event_begin(b, tt_model_mono_ns(m, span->begin), PB_SLICE_BEGIN, track);
    tt_proto_uint(b, PB_CATEGORY_IIDS, TT_PERFETTO_BATCH);
    put_name(m, span->item, b);
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_BATCH_ID,
                         tt_model_batch_number(m, span->item));
    tt_perfetto_put_text(b, PB_DEBUG_ANNOTATIONS, ARG_PHASE, &p->names, tt_phase_name(t->phase));
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_N_TOKENS, t->n_tokens);
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_CONTEXT_ID, t->context);
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_OS_THREAD_ID, t->thread);
    if (t->ended)
        tt_perfetto_put_int(b, PB_DEBUG_ANNOTATIONS, ARG_STATUS, t->status);
    else
        tt_perfetto_put_true(b, PB_DEBUG_ANNOTATIONS, ARG_UNFINISHED);
    if (t->n_tokens && (t->tokens || t->positions || t->sequence_first)) {
        size_t array = tt_perfetto_put_begin(b, PB_DEBUG_ANNOTATIONS, ARG_TOKENS);
        for (uint32_t i = 0; i < t->n_tokens; i++)
            put_token(m, t, i, b);
        tt_proto_end(b, array);
    }
    tt_perfetto_event_end(b, e);
    if (span->end == UINT64_MAX) return;
    e = tt_perfetto_event_begin(b, tt_model_mono_ns(m, span->end), PB_SLICE_END, track);
    tt_perfetto_event_end(b, e);
}

/* The rate applies from a batch's start; it falls to 0 at its end if the next one (of any context)
 * begins later than the batch took. */
static void put_rate(tt_perfetto *p, uint32_t i, tt_bytes *b)
{
    const tt_perfetto_span *s = &p->batches.spans[i];
    const tt_batch *t = &p->m->batches[s->item];
    if (!t->ended || s->end == UINT64_MAX) return;
    uint64_t begin = tt_model_mono_ns(p->m, s->begin), end = tt_model_mono_ns(p->m, s->end);
    if (end <= begin) return;
    tt_perfetto_counter_real(b, begin, TT_PERFETTO_TOKEN_RATE,
                             tt_model_got(t) * 1e9 / (double)(end - begin));
    uint64_t next =
        i + 1 < p->batches.n ? tt_model_mono_ns(p->m, p->batches.spans[i + 1].begin) : UINT64_MAX;
    if (next > end && next - end > end - begin)
        tt_perfetto_counter_real(b, end, TT_PERFETTO_TOKEN_RATE, 0);
}

tt_status tt_perfetto_put_batches(tt_perfetto *p, tt_error *err)
{
    tt_status status = TT_OK;
    tt_bytes b;
    tt_bytes_init(&b, TT_MODEL_MEMORY_MAX);
    if (p->batches.n)
        tt_perfetto_track_put(
            &b, &(tt_perfetto_track){.uuid = TT_PERFETTO_TOKEN_RATE,
                                     .parent = TT_PERFETTO_RUN,
                                     .name = "tokens/s",
                                     .rank = 100,
                                     .unit = "tokens/s",
                                     .about = "Tokens of a batch over the time it took."});
    for (uint32_t i = 0; i < p->batches.n && status == TT_OK; i++) {
        if (p->batches.spans[i].row != TT_NONE) {
            put_batch(p, &p->batches.spans[i], &b);
            put_rate(p, i, &b);
        }
        if (b.size >= FLUSH_BYTES || b.failed) status = tt_perfetto_write(p, &b, err);
    }
    if (status == TT_OK) status = tt_perfetto_write(p, &b, err);
    tt_bytes_free(&b);
    return status;
}

/* Page faults and reads of ops: arguments of their slices, and counters of the rate. */

tt_status tt_perfetto_faults_load(tt_perfetto_maker *k, uint32_t run, tt_error *err)
{
    const tt_detail *list;
    size_t n;
    k->n_faults = 0;
    if (!k->p->has_faults) return TT_OK;
    tt_status status = tt_model_faults_of_run(k->m, run, &list, &n, err);
    if (status != TT_OK) return status;
    if (!tt_array_room(k->faults, k->faults_capacity, n))
        return tt_error_memory(err, "a run's counters");
    for (size_t i = 0; i < n; i++)
        k->faults[k->n_faults++] = list[i];
    return TT_OK;
}

/* The first of them at or after (node, lane). */
static size_t first_at(const tt_perfetto_maker *k, uint32_t node, uint32_t lane)
{
    size_t low;
    tt_lower_bound(
        low, k->n_faults,
        tt_detail_node(&k->faults[low]) < node ||
            (tt_detail_node(&k->faults[low]) == node && tt_detail_lane(&k->faults[low]) < lane));
    return low;
}

const tt_detail_faults *tt_perfetto_faults_of(const tt_perfetto_maker *k, uint32_t node,
                                              uint32_t lane)
{
    size_t at = first_at(k, node, lane);
    if (at == k->n_faults || tt_detail_node(&k->faults[at]) != node ||
        tt_detail_lane(&k->faults[at]) != lane)
        return NULL;
    return &k->faults[at].faults;
}

/* minor, major, bytes read; true if observed on some lane; *reads: bytes were. */
static bool sum(const tt_perfetto_maker *k, uint32_t node, double sums[3], bool *reads)
{
    size_t at = first_at(k, node, 0);
    bool any = false;
    *reads = false;
    sums[0] = sums[1] = sums[2] = 0;
    for (; at < k->n_faults && tt_detail_node(&k->faults[at]) == node; at++) {
        const tt_detail_faults *f = &k->faults[at].faults;
        sums[0] += f->minor;
        sums[1] += f->major;
        if (f->read_bytes != UINT64_MAX) {
            sums[2] += (double)f->read_bytes;
            *reads = true;
        }
        any = true;
    }
    return any;
}

tt_status tt_perfetto_faults_rates(tt_perfetto_maker *k, const tt_perfetto_span *span,
                                   tt_bytes *out, tt_error *err)
{
    double last[3] = {-1, -1, -1};
    uint64_t now = span->begin;
    const uint64_t track = TT_PERFETTO_FAULTS + 4ull * span->row;
    if (k->n_faults == 0) return TT_OK;
    tt_status status = tt_join_run(&k->join, k->m, span->item, err);
    for (uint32_t i = 0; status == TT_OK && i < k->join.n_touched; i++) {
        const tt_joined *op = &k->join.ops[k->join.touched[i]];
        double sums[3], ns = tt_model_span_ns(k->m, tt_joined_ticks(op));
        bool reads;
        if (op->open || !sum(k, k->join.touched[i], sums, &reads)) continue;
        if (op->start > now) now = op->start < span->end ? op->start : span->end;
        for (unsigned c = 0; c < 3; c++) {
            double rate = sums[c] * 1e9 / (ns > 1 ? ns : 1);
            if ((c == 2 && !reads) || rate == last[c]) continue;
            tt_perfetto_counter_real(out, tt_model_mono_ns(k->m, now), track + c, rate);
            last[c] = rate;
        }
    }
    uint64_t end = span->end != UINT64_MAX ? span->end : now;
    for (unsigned c = 0; status == TT_OK && c < 3; c++)
        if (last[c] > 0) tt_perfetto_counter_real(out, tt_model_mono_ns(k->m, end), track + c, 0);
    return status;
}

static int64_t clamp(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static tt_status flush(tt_perfetto *p, tt_bytes *b, tt_error *err)
{
    return b->size >= FLUSH_BYTES || b->failed ? tt_perfetto_write(p, b, err) : TT_OK;
}

/* --- buffers --- */

static void write_buffers(tt_backing backing, unsigned kind, tt_bytes *b)
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
    bool named[TT_BACKINGS][TT_BUFFER_KINDS] = {{false}};
    tt_status status = tt_buffers_analyze(p->m, &buffers, err);
    for (uint32_t i = 0; status == TT_OK && i < buffers->n_events; i++) {
        const tt_buffer_event *e = &buffers->events[i];
        const tt_buffer *x = &p->m->buffers[e->buffer];
        tt_backing backing = tt_buffer_backing(x);
        uint64_t *sum = &sums[backing][x->kind];
        if (!named[backing][x->kind]) write_buffers(backing, x->kind, b);
        named[backing][x->kind] = true;
        /* Sizes come from the trace: unsigned sums wrap back. */
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
    bool *named; /* by file */
    tt_status status;
    tt_error *err;
} resident;

static void write_resident(const tt_perfetto *p, uint32_t file, tt_bytes *b)
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
    if (!r->named[s->file]) write_resident(r->p, s->file, r->b);
    r->named[s->file] = true;
    tt_perfetto_counter(r->b, tt_model_mono_ns(r->p->m, s->end_ticks),
                        TT_PERFETTO_RESIDENT + s->file, clamp(s->resident_bytes));
    r->status = flush(r->p, r->b, r->err);
}

static tt_status put_residency(tt_perfetto *p, tt_bytes *b, tt_error *err)
{
    resident r = {.p = p, .b = b, .err = err};
    if (p->m->n_residencies == 0) return TT_OK;
    r.named = calloc((size_t)p->m->n_files + 1, sizeof *r.named);
    if (!r.named)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
    tt_status status = tt_residency_walk(p->m, put_resident, &r, NULL, err);
    free(r.named);
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
