#include "adapter/ggml/phases.h"

#include <stdlib.h>
#include <string.h>

#define SEQUENCES_MAX 4096 /* ids of a context */
#define SCORED_MIN 64      /* outputs of a sequence in one call: no draft is so long */

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

/* False when a sequence cannot be. Makes all places first: the list moves when it grows. */
static bool make_places(tt_phases *p, const tt_phases_rows *rows)
{
    for (uint32_t k = 0; k < rows->first[rows->n]; k++)
        if (!get(p, rows->ids[k])) return false;
    return true;
}

static void add_row(tt_phases_sequence *s, int64_t position, bool has_output)
{
    if (s->rows++ == 0) {
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
            add_row(
                s, rows->positions ? rows->positions[i] : place_of(s, i == 0 ? first_position : -1),
                rows->outputs[i]);
        }
    }
    return all;
}

/* --- what they are --- */

static bool had_output_at(const tt_phases_sequence *s, int64_t position)
{
    return s->seen && position >= s->first_output && position < s->next;
}

/* Of rows behind an output. */
static bool is_draft(const tt_phases_sequence *s)
{
    return s->outputs > 1 && s->outputs < SCORED_MIN && (!s->is_scored || s->first < s->next);
}

/* Whether the sequence goes on behind an output of its own; or, when nothing is known of it, behind
 * one of another sequence, from which it then was copied. */
static bool follows_output(const tt_phases *p, const tt_phases_sequence *s)
{
    int64_t before = s->first - 1;
    if (before < 0) return false;
    if (had_output_at(s, before)) return true;
    /* Positions that were moved, by a shift of the context, are smaller than they were. */
    if (p->shifted && s->seen && s->rows == 1 && s->first_output < s->next && s->first < s->next)
        return true;
    for (uint32_t i = 0; !s->seen && i < p->n; i++)
        if (had_output_at(&p->list[i], before)) return true;
    return false;
}

static void move_on(tt_phases_sequence *s)
{
    bool goes_on = s->generates && had_output_at(s, s->first - 1);
    if (!goes_on || s->outputs_reach > s->first) s->first_output = s->outputs_reach;
    /* A text that is scored is never taken back. */
    bool goes_back = s->seen && s->first < s->next;
    if (goes_back || s->first == 0 || s->generates) s->is_scored = false;
    if (!s->generates && s->outputs >= SCORED_MIN) s->is_scored = true;
    s->next = s->last + 1;
    s->seen = true;
    s->touched = false;
}

void tt_phases_judge(tt_phases *p, const tt_phases_rows *rows, int32_t first_position, uint8_t *out)
{
    memset(out, TT_PHASE_UNKNOWN, rows->n);
    p->called = true;
    if (!make_places(p, rows)) return;
    tt_phases_sequence *all = gather(p, rows, first_position);
    /* First all, then each moves on: one may be a copy of another as that was before. */
    for (tt_phases_sequence *s = all; s; s = s->other)
        s->generates = follows_output(p, s) && (s->rows == 1 || is_draft(s));
    for (tt_phases_sequence *s = all; s; s = s->other)
        move_on(s);
    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->first[i] < rows->first[i + 1])
            out[i] =
                p->list[rows->ids[rows->first[i]]].generates ? TT_PHASE_GENERATE : TT_PHASE_PROMPT;
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

/* Each run of ascending positions begins with 0. */
static bool begins_anew(const int32_t *positions, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (positions[i] != 0 && (i == 0 || positions[i] != (int64_t)positions[i - 1] + 1))
            return false;
    return true;
}

/* Each row follows another row of the batch before. */
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
    if (!p->had_output || begins_anew(positions, n)) return TT_PHASE_PROMPT;
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
    p->had_output = n_outputs_plus_1 != 1;
    p->n_last = 0;
    if (!positions || !p->had_output) return phase;
    p->n_last = n < TT_PHASES_LAST ? n : TT_PHASES_LAST;
    memcpy(p->last, positions + (n - p->n_last), p->n_last * sizeof *p->last);
    return phase;
}

void tt_phases_free(tt_phases *p)
{
    free(p->list);
    *p = (tt_phases){0};
}
