#include "adapter/ggml/phases.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define SEQUENCES_MAX 4096 /* ids per context */
#define SCORED_MIN 64 /* outputs of a sequence in one call: a draft of so many follows a choice */

static tt_phases_sequence *get(tt_phases *p, int32_t id)
{
    if (id < 0 || id >= SEQUENCES_MAX) return NULL;
    uint32_t wanted = (uint32_t)id + 1;
    if (wanted > p->n) {
        tt_phases_sequence *more = realloc(p->list, wanted * sizeof *more);
        if (!more) return NULL;
        memset(more + p->n, 0, (wanted - p->n) * sizeof *more);
        p->list = more;
        p->n = wanted;
    }
    return &p->list[id];
}

/* --- the rows of a call, by sequence --- */

/* False when a sequence id is invalid. Makes all entries first: the list moves when it grows. */
static bool make_places(tt_phases *p, const tt_phases_rows *rows)
{
    for (uint32_t k = 0; k < rows->first[rows->n]; k++)
        if (!get(p, rows->ids[k])) return false;
    return true;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void add_row(tt_phases_sequence *s, uint32_t row, int64_t position, bool has_output)
{
    if (s->rows++ == 0) {
        s->first_row = row;
        s->first = position;
        s->outputs_reach = position;
    }
    if (!has_output) s->outputs_reach = position + 1;
    s->outputs += has_output;
    s->last = position;
    s->ends_in_output = has_output;
}

static int64_t place_of(const tt_phases_sequence *s, int32_t first_position)
{
    if (s->rows > 0) return s->last + 1;
    return first_position >= 0 ? first_position : s->next;
}

static tt_phases_sequence *gather(tt_phases *p, const tt_phases_rows *rows, int32_t first_position)
{
    tt_phases_sequence *all = NULL;
    for (uint32_t i = 0; i < rows->n; i++) {
        for (uint32_t k = rows->first[i]; k < rows->first[i + 1]; k++) {
            tt_phases_sequence *s = &p->list[rows->ids[k]];
            if (!s->touched) {
                s->touched = true;
                s->rows = s->outputs = 0;
                s->other = all;
                all = s;
            }
            add_row(s, i,
                    rows->positions ? rows->positions[i]
                                    : place_of(s, i == 0 ? first_position : -1),
                    rows->outputs[i]);
        }
    }
    return all;
}

/* --- the phase of each row --- */

static bool had_output_at(const tt_phases_sequence *s, int64_t position)
{
    return s->seen && position >= s->first_output && position < s->next;
}

/* Whether rows behind an output are a draft. */
static bool is_draft(const tt_phases_sequence *s)
{
    if (s->outputs < 2 || (s->is_scored && s->first >= s->next)) return false;
    /* As of its last call: one that scores a text has many outputs, and chooses from none. */
    return s->outputs < SCORED_MIN || s->generates || s->drafted || s->had_one_output;
}

/* Whether the sequence continues behind an output of its own; or, if it is new, behind one of
 * another sequence, from which it was then copied. */
static bool follows_output(const tt_phases *p, const tt_phases_sequence *s)
{
    int64_t before = s->first - 1;
    if (before < 0 || s->begins) return false;
    if (had_output_at(s, before)) return true;
    /* Positions moved by a context shift are smaller than before. */
    if (p->shifted && s->seen && s->rows == 1 && s->first_output < s->next && s->first < s->next)
        return true;
    for (uint32_t i = 0; !s->seen && i < p->n; i++)
        if (had_output_at(&p->list[i], before)) return true;
    return false;
}

static void move_on(tt_phases_sequence *s, uint32_t call)
{
    s->call = call;
    s->drafted = s->halted = false;
    bool goes_on = s->generates && had_output_at(s, s->first - 1);
    if (!goes_on || s->outputs_reach > s->first) s->first_output = s->outputs_reach;
    /* A scored text is never taken back. */
    bool goes_back = s->seen && s->first < s->next;
    if (goes_back || s->first == 0 || s->generates) s->is_scored = false;
    if (!s->generates && s->outputs >= SCORED_MIN) s->is_scored = true;
    s->had_one_output = s->outputs == 1 && s->ends_in_output;
    s->next = s->last + 1;
    s->seen = true;
    s->touched = false;
}

/* Outputs that were not read before the next call were not used. */
static void forget_unread(tt_phases *p)
{
    if (!p->reads_are_seen || p->was_read) return;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->list[i].call == p->n_calls) p->list[i].first_output = p->list[i].next;
    for (uint64_t k = p->n_recent; k > 0 && p->n_recent - k < TT_PHASES_RECENT; k--) {
        tt_phases_row *row = &p->recent[(k - 1) % TT_PHASES_RECENT];
        if (row->call != p->n_calls) return;
        row->has_output = false;
    }
}

/* --- drafts --- */

static tt_meta_fate *fate_of(tt_phases *p, uint32_t batch)
{
    tt_meta_fate *last = p->n_fates ? &p->fates[p->n_fates - 1] : NULL;
    if (last && last->batch == batch) return last;
    tt_meta_fate *f = batch ? tt_array_add(p->fates, p->n_fates, p->fates_capacity) : NULL;
    if (f) *f = (tt_meta_fate){.batch = batch};
    return f;
}

static void mark(tt_phases *p, uint8_t flag)
{
    tt_meta_fate *f = fate_of(p, p->last_batch);
    if (f) f->flags |= flag;
}

/* Whether an earlier open draft of that root has the same position: the sequence went on behind
 * one of them. */
static bool is_doubled(const tt_phases *p, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (p->open[i].root == p->open[at].root && p->open[i].position == p->open[at].position)
            return true;
    return false;
}

/* The sequence goes on at that position, so its drafts before it were right. If it goes back behind
 * the row that they follow, their fate remains unknown. */
static void decide(tt_phases *p, int32_t root, int64_t position)
{
    size_t left = 0;
    for (size_t i = 0; i < p->n_open; i++) {
        const tt_phases_draft *d = &p->open[i];
        if (d->root != root || position <= d->base) continue;
        tt_meta_fate *f = fate_of(p, d->batch);
        if (!f) continue;
        if (d->position < position && !is_doubled(p, i))
            f->n_accepted++;
        else
            f->n_rejected++;
    }
    for (size_t i = 0; i < p->n_open; i++)
        if (p->open[i].root != root) p->open[left++] = p->open[i];
    p->n_open = left;
}

void tt_phases_drafted(tt_phases *p, uint32_t batch, int32_t sequence, int32_t position)
{
    if (sequence < 0 || (uint32_t)sequence >= p->n) return;
    const tt_phases_sequence *s = &p->list[sequence];
    tt_meta_fate *f = fate_of(p, batch);
    if (f) f->n_drafted++;
    if (!f || position < 0 || p->n_open >= TT_PHASES_DRAFTS_MAX) return;
    tt_phases_draft *d = tt_array_add(p->open, p->n_open, p->open_capacity);
    if (d) *d = (tt_phases_draft){s->root, s->first, position, batch};
}

void tt_phases_note_drafting(tt_phases *p)
{
    if (!p->drafts || !p->last_batch) return;
    mark(p, TT_FATE_DRAFTS);
    p->drafts_told = true;
}

void tt_phases_note_training(tt_phases *p, uint32_t batch)
{
    p->last_batch = batch;
    mark(p, TT_FATE_TRAINS);
}

/* Rows behind one that another sequence generates alone, in the same call, are guesses. */
static bool is_branch(const tt_phases *p, const tt_phases_rows *rows, const tt_phases_sequence *s)
{
    const tt_phases_sequence *first = &p->list[rows->ids[rows->first[s->first_row]]];
    return first != s && first->generates && first->rows == 1;
}

/* --- contexts that compute the same text --- */

/* The last row at that position; token and sequence may be NULL: any. */
static const tt_phases_row *find_recent(const tt_phases *p, int64_t position, const int32_t *token,
                                        const int32_t *sequence)
{
    for (uint64_t k = p->n_recent; k > 0 && p->n_recent - k < TT_PHASES_RECENT; k--) {
        const tt_phases_row *row = &p->recent[(k - 1) % TT_PHASES_RECENT];
        if (row->position == position && (!token || row->token == *token) &&
            (!sequence || row->sequence == *sequence))
            return row;
    }
    return NULL;
}

typedef struct call_rows {
    tt_phases *p;
    const tt_phases_rows *rows;
    tt_phases_row *each; /* n: their phases so far */
} call_rows;

static bool is_same_sequence(const call_rows *c, uint32_t a, uint32_t b)
{
    return c->each[a].sequence == c->each[b].sequence;
}

/* For a draft chosen by another context: all rows have outputs, and the other one has computed
 * all but the last. The phase of the first row there; UNKNOWN: these rows are no draft. */
static uint8_t phase_of_drafted(const call_rows *c, uint32_t row, tt_phases *other)
{
    const tt_phases_sequence *s = &c->p->list[c->each[row].sequence];
    uint8_t phase = TT_PHASE_UNKNOWN;
    uint32_t call = 0;
    bool ahead = false; /* the other context chose what follows, token by token */
    if (s->outputs != s->rows || s->rows < 2) return phase;
    for (uint32_t i = 0; i < c->rows->n; i++) {
        const tt_phases_row *own = &c->each[i];
        if (!is_same_sequence(c, i, row)) continue;
        const tt_phases_row *theirs = find_recent(other, own->position, &own->token, NULL);
        ahead |= own->position == s->last ? !theirs : theirs && call && theirs->call != call;
        if (own->position == s->last) continue;
        if (!theirs || !theirs->has_output || other->n_calls - theirs->call > s->rows)
            return TT_PHASE_UNKNOWN;
        if (own->position == s->first) phase = theirs->phase;
        call = theirs->call;
    }
    /* It is the one that verifies only the first time: then it may repeat what the other lacks. */
    other->drafts |= ahead && phase != TT_PHASE_UNKNOWN && !c->p->drafts;
    return phase;
}

/* Whether another context had an output that was read behind the same text. */
static bool follows_theirs(const call_rows *c, uint32_t row, const tt_phases *other)
{
    const tt_phases_row *own = &c->each[row];
    const tt_phases_row *before =
        find_recent(c->p, (int64_t)own->position - 1, NULL, &c->each[row].sequence);
    const tt_phases_row *theirs =
        before ? find_recent(other, before->position, &before->token, NULL) : NULL;
    return theirs && theirs->has_output && theirs->call == other->n_calls &&
           c->p->list[own->sequence].rows == 1;
}

/* The phase of a row that another context has just computed; UNKNOWN: it has not. A row that
 * comes much later, or from the text's start, is a prompt that repeats generated text. */
static uint8_t phase_by(const call_rows *c, uint32_t row, tt_phases *other)
{
    const tt_phases_row *own = &c->each[row];
    uint8_t first = phase_of_drafted(c, row, other);
    if (first != TT_PHASE_UNKNOWN)
        return own->position == c->p->list[own->sequence].first ? first : TT_PHASE_GENERATE;
    const tt_phases_row *theirs = find_recent(other, own->position, &own->token, NULL);
    if (theirs && theirs->call == other->n_calls) return theirs->phase;
    return follows_theirs(c, row, other) ? TT_PHASE_GENERATE : TT_PHASE_UNKNOWN;
}

static void ask_others(const call_rows *c, uint8_t *out)
{
    for (uint32_t i = 0; i < c->rows->n; i++)
        for (uint32_t k = 0; k < c->p->n_others && out[i] != TT_PHASE_GENERATE; k++) {
            const tt_phases_sequence *s =
                c->each[i].sequence >= 0 ? &c->p->list[c->each[i].sequence] : NULL;
            bool asks = s && s->first > 0 && !s->begins;
            uint8_t phase = asks ? phase_by(c, i, c->p->others[k]) : TT_PHASE_UNKNOWN;
            if (phase == TT_PHASE_GENERATE || out[i] == TT_PHASE_UNKNOWN) out[i] = phase;
        }
}

/* Compares the rows with those of other contexts, and keeps them for later comparison. */
static void compare(tt_phases *p, const tt_phases_rows *rows, tt_phases_sequence *all, uint8_t *out)
{
    if (!rows->tokens) return;
    for (tt_phases_sequence *s = all; s; s = s->other)
        s->at = s->first;
    if (!p->recent) p->recent = calloc(TT_PHASES_RECENT, sizeof *p->recent);
    tt_phases_row *each = p->recent ? calloc(rows->n, sizeof *each) : NULL;
    if (!each) return;
    for (uint32_t i = 0; i < rows->n; i++) {
        bool has = rows->first[i] < rows->first[i + 1];
        int32_t id = has ? rows->ids[rows->first[i]] : -1;
        tt_phases_sequence *s = has ? &p->list[id] : NULL;
        each[i] = (tt_phases_row){.sequence = id,
                                  .position = rows->positions ? rows->positions[i]
                                              : s             ? (int32_t)at_most(s->at, INT32_MAX)
                                                              : -1,
                                  .token = rows->tokens[i],
                                  .call = p->n_calls,
                                  .has_output = rows->outputs[i] != 0};
        if (s && s->at < INT32_MAX) s->at++;
    }
    const call_rows c = {p, rows, each};
    for (const tt_phases_sequence *s = all; s; s = s->other)
        if (s->root == s - p->list && s->rows > 1)
            for (uint32_t k = 0; k < p->n_others; k++)
                (void)phase_of_drafted(&c, s->first_row, p->others[k]);
    ask_others(&c, out);
    for (uint32_t i = 0; i < rows->n; i++) {
        each[i].phase = out[i];
        p->recent[p->n_recent++ % TT_PHASES_RECENT] = each[i];
    }
    free(each);
}

/* Programs of llama.cpp's common library try so whether parts of a new context's memory can be
 * removed; a benchmark warms up by a call without outputs. */
static bool is_trial(const tt_phases *p, const tt_phases_rows *rows)
{
    bool zeros = rows->n == 2 && rows->tokens && !rows->tokens[0] && !rows->tokens[1];
    return p->n_calls == 1 && (zeros || !memchr(rows->outputs, 1, rows->n));
}

static void decide_phases(tt_phases *p, const tt_phases_rows *rows, tt_phases_sequence *all)
{
    /* All are decided before any moves on: one may be a copy of another's earlier state. */
    for (tt_phases_sequence *s = all; s; s = s->other) {
        s->begins = s->halted && p->goes_on && !p->drafts;
        bool follows = follows_output(p, s), may_generate = s->rows == 1 || is_draft(s);
        s->root = rows->ids[rows->first[s->first_row]];
        s->generates = follows && may_generate;
        s->is_unknown = !follows && may_generate && s->first > s->next;
    }
    for (tt_phases_sequence *s = all; s; s = s->other) {
        if (is_branch(p, rows, s)) {
            s->generates = true;
            s->is_unknown = false;
        }
        if (s->generates && !s->drafted && !s->halted) p->goes_on = true;
    }
}

void tt_phases_assign(tt_phases *p, const tt_phases_rows *rows, int32_t first_position,
                      uint8_t *out, uint8_t *drafted)
{
    /* A benchmark generates without reading outputs, also its first token. */
    const bool is_benchmark =
        p->is_lone && p->reads_are_seen && p->was_read && !p->was_fetched && rows->n == 1;
    memset(out, TT_PHASE_UNKNOWN, rows->n);
    memset(drafted, 0, rows->n);
    forget_unread(p);
    p->called = true;
    p->was_read = p->was_fetched = p->was_chosen_from = false;
    p->n_calls++;
    p->is_trial = is_trial(p, rows);
    p->is_lone = false;
    if (!make_places(p, rows)) return;
    tt_phases_sequence *all = gather(p, rows, first_position);
    for (tt_phases_sequence *s = all; s && p->n_open; s = s->other)
        decide(p, (int32_t)(s - p->list), s->first);
    if (is_benchmark && all && all->first == 1 && all->next == 1) mark(p, TT_FATE_GENERATES);
    p->last_batch = 0;
    p->is_lone = rows->n == 1 && all && all->first == 0;
    decide_phases(p, rows, all);
    for (tt_phases_sequence *s = all; s; s = s->other)
        move_on(s, p->n_calls);
    for (uint32_t i = 0; i < rows->n; i++) {
        if (rows->first[i] == rows->first[i + 1]) continue;
        const tt_phases_sequence *s = &p->list[rows->ids[rows->first[i]]];
        out[i] = s->generates    ? TT_PHASE_GENERATE
                 : s->is_unknown ? TT_PHASE_UNKNOWN
                                 : TT_PHASE_PROMPT;
    }
    compare(p, rows, all, out);
    for (uint32_t i = 0; i < rows->n && !p->drafts; i++) {
        if (rows->first[i] == rows->first[i + 1] || out[i] != TT_PHASE_GENERATE) continue;
        tt_phases_sequence *s = &p->list[rows->ids[rows->first[i]]];
        drafted[i] = i != s->first_row;
        s->drafted |= drafted[i];
        p->list[s->root].drafted |= drafted[i];
    }
    p->shifted = false;
}

uint8_t tt_phases_of(uint32_t n_prompt, uint32_t n_generate, uint32_t n_unknown)
{
    if (n_unknown > 0 || n_prompt + n_generate == 0) return TT_PHASE_UNKNOWN;
    if (n_generate == 0) return TT_PHASE_PROMPT;
    return n_prompt == 0 ? TT_PHASE_GENERATE : TT_PHASE_MIXED;
}

/* --- without sequences --- */

static bool is_one_run(const int32_t *positions, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (positions[i] != (int64_t)positions[i - 1] + 1) return false;
    return true;
}

/* Whether each run of ascending positions starts with 0. */
static bool is_restart(const int32_t *positions, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (positions[i] != 0 && (i == 0 || positions[i] != (int64_t)positions[i - 1] + 1))
            return false;
    return true;
}

/* Whether each row follows a different row of the previous batch. */
static bool follow_each(const tt_phases *p, const int32_t *positions, uint32_t n)
{
    bool used[TT_PHASES_LAST] = {0};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < p->n_last && (used[k] || (int64_t)p->last[k] + 1 != positions[i]))
            k++;
        if (k == p->n_last) return false;
        used[k] = true;
    }
    return true;
}

static uint8_t guess(const tt_phases *p, const int32_t *positions, uint32_t n,
                     uint32_t n_outputs_plus_1)
{
    if (!positions || n == 0) return TT_PHASE_UNKNOWN;
    /* The first batch that is observed, but perhaps not the first of its text. */
    if (p->is_late && !p->has_guessed && !is_restart(positions, n)) return TT_PHASE_UNKNOWN;
    if (!p->had_output || is_restart(positions, n)) return TT_PHASE_PROMPT;
    if (n > 1 && is_one_run(positions, n))
        return n_outputs_plus_1 && n_outputs_plus_1 - 1 < n ? TT_PHASE_PROMPT : TT_PHASE_UNKNOWN;
    bool all_go_on = n == 1 || n_outputs_plus_1 == 0 || n_outputs_plus_1 == n + 1;
    return all_go_on && n <= TT_PHASES_LAST && follow_each(p, positions, n) ? TT_PHASE_GENERATE
                                                                            : TT_PHASE_UNKNOWN;
}

uint8_t tt_phases_guess(tt_phases *p, const int32_t *positions, uint32_t n,
                        uint32_t n_outputs_plus_1)
{
    uint8_t phase = guess(p, positions, n, n_outputs_plus_1);
    if (n == 0) return phase;
    p->has_guessed = true;
    p->had_output = n_outputs_plus_1 != 1;
    p->n_last = 0;
    if (!positions || !p->had_output) return phase;
    p->n_last = n < TT_PHASES_LAST ? n : TT_PHASES_LAST;
    memcpy(p->last, positions + (n - p->n_last), p->n_last * sizeof *p->last);
    return phase;
}

/* --- the engine's memory --- */

/* Past every position. */
#define END ((int64_t)INT32_MAX + 1)

static int64_t at_least(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t moved(int64_t position, int32_t delta)
{
    return at_least(0, at_most(position + delta, END));
}

/* The sequence if it has been seen; else NULL. */
static tt_phases_sequence *find_seen(tt_phases *p, int32_t id)
{
    return tt_phases_has(p, id) ? &p->list[id] : NULL;
}

/* Positions from .. to - 1. Callers may pass negative numbers: from the start, to the end. */
typedef struct span {
    int64_t from, to;
} span;

static span range_of(int32_t from, int32_t to)
{
    return (span){from < 0 ? 0 : from, to < 0 ? END : to};
}

/* A prompt's last token may have been computed with drafts behind it: a cut behind that token, of
 * rows that all had outputs to choose from, shows it. */
static void find_drafts(tt_phases *p, tt_phases_sequence *s, span r)
{
    if (r.to != END || r.from <= s->first || s->generates || s->drafted || s->call != p->n_calls ||
        s->rows < 2 || s->outputs != s->rows || !p->was_chosen_from)
        return;
    tt_meta_fate *f = fate_of(p, p->last_batch);
    const uint32_t n = s->rows - 1, kept = (uint32_t)at_most(r.from - s->first - 1, n);
    if (f) {
        f->flags |= TT_FATE_DRAFTED_PROMPT;
        f->n_drafted += n;
        f->n_accepted += kept;
        f->n_rejected += n - kept;
    }
    s->drafted = true;
}

static void remove_from(tt_phases_sequence *s, span r)
{
    s->halted |= r.from == s->next && r.to == END && !s->drafted;
    if (r.from >= s->next || r.from >= r.to) return;
    if (r.to < s->next) { /* a hole: outputs before it are not continued */
        s->first_output = at_least(s->first_output, r.to);
        return;
    }
    s->next = r.from;
    /* Outputs of calls before the last one are gone: what follows was not chosen from them. */
    s->first_output = r.from <= s->first ? r.from : at_most(s->first_output, r.from);
    s->is_scored = false;
}

void tt_phases_remove(tt_phases *p, int32_t sequence, int32_t from, int32_t to)
{
    const span r = range_of(from, to);
    p->was_cleared |= p->called && sequence < 0 && r.from == 0 && r.to == END;
    if (p->is_trial && !p->was_fetched && sequence < 0 && r.from == 0 && r.to == END) {
        mark(p, TT_FATE_PROBE);
        p->is_trial = false;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        if (!p->list[i].seen || (sequence >= 0 && (int32_t)i != sequence)) continue;
        if (p->n_open && r.to == END) decide(p, (int32_t)i, r.from);
        find_drafts(p, &p->list[i], r);
        remove_from(&p->list[i], r);
    }
}

void tt_phases_copy(tt_phases *p, int32_t source, int32_t target, int32_t from, int32_t to)
{
    const span r = range_of(from, to);
    if (source == target || !find_seen(p, source) || !get(p, target)) return;
    const tt_phases_sequence *s = &p->list[source];
    tt_phases_sequence *t = &p->list[target];
    const int64_t end = at_most(s->next, r.to);
    if (end <= r.from || (t->seen && t->next > end)) return;
    const int64_t first_output = at_most(at_least(s->first_output, r.from), end);
    bool same_end = t->seen && t->next == end;
    t->first_output = same_end ? at_most(t->first_output, first_output) : first_output;
    t->next = end;
    t->is_scored = s->is_scored;
    t->first = s->first;
    t->drafted = s->drafted;
    t->seen = true;
    t->call = s->call;
}

void tt_phases_keep(tt_phases *p, int32_t sequence)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->list[i].seen && (int32_t)i != sequence) remove_from(&p->list[i], range_of(0, -1));
}

void tt_phases_add(tt_phases *p, int32_t sequence, int32_t from, int32_t to, int32_t delta)
{
    tt_phases_sequence *s = find_seen(p, sequence);
    const span r = range_of(from, to);
    if (!s || r.from >= s->next || r.from >= r.to || delta == 0) return;
    if (r.to < s->next) { /* earlier positions have moved: they are not continued */
        s->first_output = at_least(s->first_output, r.to);
        return;
    }
    s->first_output = moved(at_least(s->first_output, r.from), delta);
    s->next = moved(s->next, delta);
    s->first = moved(s->first, delta);
    for (size_t i = 0; i < p->n_open; i++)
        if (p->open[i].root == sequence) {
            p->open[i].base += delta;
            p->open[i].position += delta;
        }
}

void tt_phases_divide(tt_phases *p, int32_t sequence, int32_t from, int32_t to, int32_t divisor)
{
    tt_phases_sequence *s = find_seen(p, sequence);
    const span r = range_of(from, to);
    if (!s || r.from >= s->next || r.from >= r.to || divisor < 2) return;
    if (r.to < s->next) {
        s->first_output = at_least(s->first_output, r.to);
        return;
    }
    bool has_output = s->first_output < s->next;
    s->next = (s->next - 1) / divisor + 1;
    s->first_output = has_output ? at_least(s->first_output, r.from) / divisor : s->next;
}

/* What it holds was not chosen from outputs that can be read now. */
void tt_phases_restore(tt_phases *p, int32_t sequence, int32_t last)
{
    tt_phases_sequence *s = get(p, sequence);
    if (!s || last < 0) return;
    s->next = s->first_output = (int64_t)last + 1;
    s->seen = true;
    s->is_scored = s->drafted = s->halted = false;
    s->call = 0;
}

bool tt_phases_has(const tt_phases *p, int32_t sequence)
{
    return sequence >= 0 && (uint32_t)sequence < p->n && p->list[sequence].seen;
}

void tt_phases_free(tt_phases *p)
{
    free(p->list);
    free(p->recent);
    free(p->open);
    free(p->fates);
    *p = (tt_phases){0};
}
