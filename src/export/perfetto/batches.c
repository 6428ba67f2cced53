/* The track of tokens: a slice a batch, named after its token's text; and how fast they came. */
#include "export/perfetto/perfetto.h"

#include <inttypes.h>

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
    int used = snprintf(name, sizeof name, "%" PRIu32 ": ", tt_model_token(m, batch));
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
        tt_perfetto_put_int(b, PB_DICT_ENTRIES, ARG_TOKEN_ID, t->tokens[i]);
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
    tt_proto_uint(b, PB_CATEGORY_IIDS, TT_PERFETTO_TOKEN);
    put_name(m, span->item, b);
    tt_perfetto_put_uint(b, PB_DEBUG_ANNOTATIONS, ARG_TOKEN_ID, tt_model_token(m, span->item));
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

/* The rate holds from a batch's begin; it falls to 0 at its end when the next one (of any context)
 * begins later than the batch took. */
static void put_rate(tt_perfetto *p, uint32_t i, tt_bytes *b)
{
    const tt_perfetto_span *s = &p->batches.spans[i];
    const tt_batch *t = &p->m->batches[s->item];
    if (!t->ended || s->end == UINT64_MAX) return;
    uint64_t begin = tt_model_mono_ns(p->m, s->begin), end = tt_model_mono_ns(p->m, s->end);
    if (end <= begin) return;
    tt_perfetto_counter_real(b, begin, TT_PERFETTO_TOKEN_RATE,
                             t->n_tokens * 1e9 / (double)(end - begin));
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
