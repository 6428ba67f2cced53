#include "analyze/summary.h"

#include "base/units.h"

#include <stdio.h>
#include <string.h>

static void add_batches(const tt_model *m, tt_summary *s)
{
    enum { TRAINING = TT_PHASES, ROWS };
    uint64_t ticks[ROWS] = {0};
    tt_phase_summary *of[ROWS] = {&s->unknown, &s->prompt, &s->generate,
                                  &s->mixed,   &s->warmup, &s->training};
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        const unsigned phase = b->trains ? TRAINING : b->phase;
        of[phase]->batches++;
        of[phase]->tokens += b->n_tokens;
        const bool works =
            phase == TT_PHASE_PROMPT || phase == TT_PHASE_GENERATE || phase == TT_PHASE_MIXED;
        const uint32_t got = works ? tt_model_got(b) : b->n_tokens;
        if (phase == TT_PHASE_MIXED) {
            s->generate.mixed_tokens += b->n_generate;
            s->generate.mixed_delivered += tt_model_delivered(b);
            s->prompt.mixed_tokens += b->n_tokens - b->n_generate;
            s->prompt.mixed_delivered += got - tt_model_delivered(b);
        }
        of[phase]->delivered += got;
        if (!b->ended || b->end_ticks < b->begin_ticks) continue;
        ticks[phase] += b->end_ticks - b->begin_ticks;
        of[phase]->timed += got;
    }
    s->prompt.tokens += s->prompt.mixed_tokens;
    s->prompt.delivered += s->prompt.mixed_delivered;
    s->generate.tokens += s->generate.mixed_tokens;
    s->generate.delivered += s->generate.mixed_delivered;
    s->prompt.delivered_known = s->generate.delivered_known = m->fates_known;
    for (unsigned i = 0; i < ROWS; i++) {
        of[i]->total_ns = tt_model_span_ns(m, ticks[i]);
        if (of[i]->total_ns > 0 && i != TT_PHASE_WARMUP && i != TT_PHASE_UNKNOWN && m->fates_known)
            of[i]->tokens_per_s = (double)of[i]->timed / of[i]->total_ns * 1e9;
    }
}

static void add_speculation(const tt_model *m, tt_speculation *s)
{
    s->known = m->fates_known;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        s->computed += b->n_generate;
        s->has_draft |= b->drafts;
        if (b->drafts) {
            s->drafted += b->n_generate;
            continue;
        }
        s->verified += b->n_drafted;
        s->accepted += b->n_accepted;
        s->rejected += b->n_rejected;
    }
    s->undecided = s->verified - s->accepted - s->rejected;
    s->any = s->has_draft || s->verified;
}

const char *tt_speculation_say(const tt_speculation *s, char out[TT_SPECULATION_TEXT])
{
    char n[4][TT_UNITS_TEXT], draft[40 + TT_UNITS_TEXT] = "", rest[40 + TT_UNITS_TEXT] = "";
    out[0] = '\0';
    if (!s->known || !s->any) return out;
    if (s->has_draft)
        (void)snprintf(draft, sizeof draft, "; %s were computed to draft them",
                       tt_units_count(n[2], s->drafted));
    if (s->undecided)
        (void)snprintf(rest, sizeof rest, "; of %s it is not known",
                       tt_units_count(n[3], s->undecided));
    (void)snprintf(out, TT_SPECULATION_TEXT, "of %s guessed tokens %s were accepted (%.0f %%)%s%s",
                   tt_units_count(n[0], s->verified), tt_units_count(n[1], s->accepted),
                   s->verified ? 100 * (double)s->accepted / (double)s->verified : 0, rest, draft);
    return out;
}

static void add_runs(const tt_model *m, tt_summary *s)
{
    uint64_t last = m->clock.zero_ticks;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        s->runs_hooked += r->observed == TT_OBSERVED_HOOK;
        s->runs_called_back += r->observed == TT_OBSERVED_CALLBACK;
        s->runs_by_program += r->observed == TT_OBSERVED_PROGRAM;
        s->runs_bounds += r->observed == TT_OBSERVED_BOUNDS;
        s->runs_open += !r->ended;
        uint64_t end = r->ended ? r->end_ticks : r->begin_ticks;
        if (end > last) last = end;
    }
    for (uint32_t i = 0; i < m->n_batches; i++)
        if (m->batches[i].ended && m->batches[i].end_ticks > last) last = m->batches[i].end_ticks;
    s->elapsed_ns = tt_model_span_ns(m, last - m->clock.zero_ticks);
}

static void add_chunks(const tt_model *m, tt_summary *s)
{
    const tt_trace *t = &m->trace;
    for (size_t i = 0; i < t->n_chunks; i++) {
        uint64_t end = i + 1 < t->n_chunks ? t->chunks[i + 1].offset
                       : t->complete       ? t->index_offset
                                           : t->end_bytes;
        if (t->chunks[i].type == TT_CHUNK_OPS) s->ops_bytes += end - t->chunks[i].offset;
        if (t->chunks[i].type == TT_CHUNK_DETAIL) s->details += t->chunks[i].count;
        if (t->chunks[i].type != TT_CHUNK_VALUE) continue;
        s->data_parts++;
        s->data_bytes += end - t->chunks[i].offset;
    }
    s->file_bytes = t->source.size;
}

static void add_lanes(const tt_model *m, tt_summary *s)
{
    size_t n;
    /* Without it the number of lanes stays 0: unknown. */
    (void)tt_pieces_survey(m->pieces, NULL);
    const tt_piece *list = tt_pieces_list(m->pieces, &n);
    uint32_t lanes = 0;
    uint64_t of_lane = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        const bool new_run = i == 0 || list[i].run != list[i - 1].run;
        const bool new_lane = new_run || list[i].lane != list[i - 1].lane;
        lanes = new_run ? 1 : lanes + new_lane;
        if (lanes > s->lanes) s->lanes = lanes;
        of_lane = (new_lane ? 0 : of_lane) + list[i].count;
        if (new_run) most = 0;
        if (of_lane > most) {
            s->ops += of_lane - most;
            most = of_lane;
        }
    }
    s->records = tt_pieces_records(m->pieces);
}

/* If out of memory, some are not counted. */
static void add_sequences(const tt_model *m, tt_summary *s)
{
    tt_idmap seen = {0};
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        if (!b->sequences) continue;
        s->sequences_observed = true;
        for (uint32_t k = 0; k < b->sequence_first[b->n_tokens]; k++) {
            uint32_t was;
            uint64_t key = (uint64_t)b->context << 32 | (uint32_t)b->sequences[k];
            if (s->sequences == TT_SUMMARY_SEQUENCES_MAX) break;
            if (tt_idmap_add(&seen, key, i, &was) && was == TT_NONE) s->sequences++;
        }
    }
    tt_idmap_free(&seen);
}

static void add_buffers(const tt_model *m, tt_summary *s)
{
    for (uint32_t i = 0; i < m->n_buffers; i++) {
        tt_kind_summary *k = &s->buffers[m->buffers[i].kind];
        k->count++;
        if (__builtin_add_overflow(k->size_bytes, m->buffers[i].size_bytes, &k->size_bytes))
            k->size_bytes = UINT64_MAX;
    }
}

void tt_summarize(const tt_model *m, tt_summary *s)
{
    memset(s, 0, sizeof *s);
    add_batches(m, s);
    add_speculation(m, &s->speculation);
    tt_first_tokens_find(m, &s->first_tokens);
    add_runs(m, s);
    add_chunks(m, s);
    add_lanes(m, s);
    add_sequences(m, s);
    add_buffers(m, s);
    for (uint32_t i = 0; i < m->n_weights; i++)
        s->model_bytes += m->weights[i].size_bytes;
}

TT_COLUMN_KNOWN(has_phase_time, tt_phase_summary, p,
                p->total_ns > 0 || (context && ((const tt_model *)context)->clock.known))
TT_COLUMN_KNOWN(has_rate, tt_phase_summary, p, p->tokens_per_s > 0)
TT_COLUMN_KNOWN(has_delivered, tt_phase_summary, p, p->delivered_known)

static const tt_column phase_columns[] = {
    TT_FIELD("batches", "of this phase alone", TT_MEMBER(tt_phase_summary, batches)),
    TT_FIELD("n_tokens", "computed, also in mixed batches", TT_MEMBER(tt_phase_summary, tokens)),
    TT_FIELD("mixed_tokens", "in mixed batches", TT_MEMBER(tt_phase_summary, mixed_tokens)),
    TT_FIELD("delivered_tokens", "that somebody got", TT_MEMBER(tt_phase_summary, delivered),
             .known = has_delivered),
    TT_FIELD("timed_tokens", "delivered, in batches with an end",
             TT_MEMBER(tt_phase_summary, timed), .known = has_delivered),
    TT_FIELD("total_ns", "of its batches", TT_MEMBER(tt_phase_summary, total_ns),
             .known = has_phase_time),
    TT_FIELD("tokens_per_s", "delivered, of its batches", TT_MEMBER(tt_phase_summary, tokens_per_s),
             .known = has_rate),
};
const tt_schema tt_phase_summary_schema = TT_SCHEMA("phase", "batches of a phase", phase_columns);

TT_COLUMN_KNOWN(has_draft, tt_speculation, s, s->has_draft)

#define OF_SPECULATION(key, member, about, ...)                                                    \
    TT_FIELD(key, about, TT_MEMBER(tt_speculation, member), __VA_ARGS__)
static const tt_column speculation_columns[] = {
    OF_SPECULATION("computed_tokens", computed, "generated, by all contexts", .known = NULL),
    OF_SPECULATION("drafted_tokens", drafted, "of these, by contexts that draft",
                   .known = has_draft),
    OF_SPECULATION("verified_tokens", verified, "guesses that were checked", .known = NULL),
    OF_SPECULATION("accepted_tokens", accepted, "of these, right", .known = NULL),
    OF_SPECULATION("rejected_tokens", rejected, "of these, wrong", .known = NULL),
    OF_SPECULATION("undecided_tokens", undecided, "of these, not known", .known = NULL),
};
const tt_schema tt_speculation_schema =
    TT_SCHEMA("speculation", "guessed tokens", speculation_columns);

static const tt_column first_columns[] = {
    TT_FIELD("n", "prompts behind which tokens were generated", TT_MEMBER(tt_first_tokens, n)),
    TT_FIELD("median_ns", "of them", TT_MEMBER(tt_first_tokens, median_ns)),
    TT_FIELD("worst_ns", "of them", TT_MEMBER(tt_first_tokens, worst_ns)),
};
const tt_schema tt_first_tokens_schema =
    TT_SCHEMA("first_tokens", "times to first tokens", first_columns);
