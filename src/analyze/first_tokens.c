#include "analyze/summary.h"
#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>

/* A prompt, or what follows it, of a sequence. */
typedef struct sequence {
    uint64_t begin, end;             /* ticks of the prompt's batches */
    uint64_t idle_before, idle_last; /* when the first and the last of them began */
    int64_t next;                    /* position */
    bool open;                       /* there is a prompt behind which nothing was generated yet */
    bool generates;
    uint32_t last_batch; /* id of a mixed one in which it generates */
    bool is_cut;         /* the trace may lack the prompt's begin */
} sequence;

typedef struct walk {
    const tt_model *m;
    tt_idmap by_id;
    sequence *list;
    size_t n, capacity;
    double *times;
    size_t n_times, times_capacity;
    uint64_t idle, busy_until; /* ticks in which no batch was computed, up to now */
    bool begins_late;
} walk;

/* Neighbouring tokens of a batch, of one sequence. */
typedef struct group {
    uint32_t first, n;
    sequence *of; /* NULL: out of memory, or too many */
} group;

static sequence *find(walk *w, const tt_batch *b, uint32_t row)
{
    const bool known = b->sequences && b->sequence_first[row] < b->sequence_first[row + 1];
    const uint32_t id = known ? (uint32_t)b->sequences[b->sequence_first[row]] : UINT32_MAX;
    const uint64_t key = (uint64_t)b->context << 32 | id;
    uint32_t at = tt_idmap_get(&w->by_id, key);
    if (at != TT_NONE) return &w->list[at];
    if (w->n >= TT_SUMMARY_SEQUENCES_MAX || !tt_idmap_add(&w->by_id, key, (uint32_t)w->n, &at))
        return NULL;
    sequence *s = tt_array_add(w->list, w->n, w->capacity);
    if (s) *s = (sequence){.is_cut = w->begins_late};
    return s;
}

static bool is_same(const tt_batch *b, uint32_t i, uint32_t j)
{
    const uint32_t *first = b->sequence_first;
    if (!b->sequences || first[i] == first[i + 1] || first[j] == first[j + 1]) return !b->sequences;
    return b->sequences[first[i]] == b->sequences[first[j]];
}

static group group_at(walk *w, const tt_batch *b, uint32_t at)
{
    group g = {at, 1, find(w, b, at)};
    while (at + g.n < b->n_tokens && is_same(b, at, at + g.n))
        g.n++;
    return g;
}

static void read_prompt(walk *w, const tt_batch *b, const group *g)
{
    sequence *s = g->of;
    const int64_t first = b->positions ? b->positions[g->first] : s->next;
    if (!s->open || s->generates || first < s->next) {
        s->is_cut &= first > 0;
        s->begin = b->begin_ticks;
        s->idle_before = w->idle;
    }
    s->open = true;
    s->generates = false;
    s->end = b->end_ticks;
    s->idle_last = w->idle;
    s->next = b->positions ? (int64_t)b->positions[g->first + g->n - 1] + 1 : first + g->n;
}

static void generate(walk *w, const tt_batch *b, const group *g)
{
    sequence *s = g->of;
    const bool goes_on = !b->positions || b->positions[g->first] >= s->next;
    const uint64_t idle = s->idle_last - s->idle_before;
    if (goes_on && s->open && !s->is_cut && s->end - s->begin >= idle) {
        double *time = tt_array_add(w->times, w->n_times, w->times_capacity);
        if (time) *time = tt_model_span_ns(w->m, s->end - s->begin - idle);
    }
    s->open = s->is_cut = false;
    s->generates = true;
}

/* A mixed batch does not say which of its tokens are generated: first those of sequences that
 * generate already, then single ones, or as many as are left, behind a prompt. */
static void read_mixed(walk *w, const tt_batch *b)
{
    enum { GOES_ON, FIRST, PROMPT, PASSES };
    uint32_t left = b->n_generate;
    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t at = 0; at < b->n_tokens;) {
            group g = group_at(w, b, at);
            at += g.n;
            if (!g.of || g.of->last_batch == b->id) continue;
            const bool may =
                pass == GOES_ON ? g.of->generates : g.of->open && (g.n == 1 || g.n == left);
            if (pass == PROMPT) {
                g.n -= left < g.n ? left : 0; /* drafts behind a prompt's last token */
                read_prompt(w, b, &g);
            }
            if (pass == PROMPT || !may || g.n > left) continue;
            left -= g.n;
            g.of->last_batch = b->id;
            generate(w, b, &g);
        }
}

static void read_batch(walk *w, const tt_batch *b)
{
    if (b->begin_ticks > w->busy_until && w->busy_until) w->idle += b->begin_ticks - w->busy_until;
    if (!b->ended || b->end_ticks < b->begin_ticks) return;
    if (b->end_ticks > w->busy_until) w->busy_until = b->end_ticks;
    if (b->drafts) return;
    if (b->phase == TT_PHASE_MIXED) read_mixed(w, b);
    if (b->phase != TT_PHASE_PROMPT && b->phase != TT_PHASE_GENERATE) return;
    for (uint32_t at = 0; at < b->n_tokens;) {
        const group g = group_at(w, b, at);
        at += g.n;
        if (!g.of) continue;
        if (b->phase == TT_PHASE_PROMPT)
            read_prompt(w, b, &g);
        else
            generate(w, b, &g);
    }
}

void tt_first_tokens_find(const tt_model *m, tt_first_tokens *out)
{
    walk w = {.m = m};
    *out = (tt_first_tokens){0};
    if (!m->clock.known || m->partial) return;
    w.begins_late = m->front.present || (m->n_batches && m->batches[0].number != 0) ||
                    tt_model_environment(m, "attached");
    for (uint32_t i = 0; i < m->n_batches; i++)
        read_batch(&w, &m->batches[i]);
    if (w.n_times) {
        out->n = (uint32_t)w.n_times;
        out->median_ns = tt_median(w.times, w.n_times);
        out->worst_ns = w.times[w.n_times - 1];
    }
    free(w.times);
    free(w.list);
    tt_idmap_free(&w.by_id);
}
