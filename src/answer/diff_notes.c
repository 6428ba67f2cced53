/* Notes for reading a comparison. */
#include "analyze/join.h"
#include "answer/diff.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SAY(...) (snprintf(out, TT_DIFF_SENTENCE, __VA_ARGS__) > 0)

static bool note_pairs(const tt_diff_view *v, const tt_diff_phase *p, char *out)
{
    char n[3][TT_UNITS_TEXT];
    const size_t all_a = p->units ? p->units[0].n : 0, all_b = p->units ? p->units[v->d->n_a].n : 0;
    if (all_a + all_b == 0 || (p->pairs.n == all_a && p->pairs.n == all_b)) return false;
    return SAY("%s: %s compared, of %s in A and %s in B%s", tt_diff_phase_title(p->phase),
               tt_units_count(n[0], p->pairs.n), tt_units_count(n[1], all_a),
               tt_units_count(n[2], all_b),
               p->pairs.n == 0        ? ": one of them has none"
               : p->pairs.by_position ? ": those at the same place in the text"
                                      : ": the first with the first, and so on");
}

static bool note_sizes(const tt_diff_phase *p, char *out)
{
    if (p->pairs.sizes_differ == 0) return false;
    return SAY("%s: %zu of %zu batches have another number of tokens in B: their times compare "
               "different work",
               tt_diff_phase_title(p->phase), p->pairs.sizes_differ, p->pairs.n);
}

static bool note_positions(const tt_diff_phase *p, char *out)
{
    if (p->pairs.positions_differ == 0) return false;
    return SAY(
        "%s: batches are compared by their order, at other places in the text: attention over "
        "more or fewer tokens before them is part of what differs",
        tt_diff_phase_title(p->phase));
}

static bool note_texts(const tt_diff_phase *p, char *out)
{
    if (p->pairs.tokens_differ == 0) return false;
    return SAY("%s: %zu of %zu %s in B: the same work on another text",
               tt_diff_phase_title(p->phase), p->pairs.tokens_differ, p->pairs.tokens_compared,
               p->pairs.one_token ? "tokens are others" : "batches begin with another token");
}

static bool note_samples(const tt_diff_phase *p, char *out)
{
    if (p->stride < 2) return false;
    return SAY("%s: medians and tests are of every %u%s batch (%u of %zu), means and bytes of all",
               tt_diff_phase_title(p->phase), p->stride,
               p->stride == 2   ? "nd"
               : p->stride == 3 ? "rd"
                                : "th",
               p->n_samples, p->pairs.n);
}

static bool note_unended(const tt_diff_view *v, const tt_diff_phase *p, char *out)
{
    size_t n = 0;
    for (size_t f = 0; p->units && f < v->d->n_files; f++)
        n += p->units[f].n_unended;
    if (n == 0) return false;
    return SAY("%s: %zu that were cut off left out", tt_diff_phase_title(p->phase), n);
}

static bool note_left_out(const tt_diff_phase *p, char *out)
{
    if (p->left_out == 0) return false;
    return SAY("%s: %zu ops of repeats, that the first run of their side does not have, count only "
               "in the whole",
               tt_diff_phase_title(p->phase), p->left_out);
}

static bool note_shapes(const tt_diff_phase *p, char *out)
{
    if (p->structure.pairs == 0 || p->structure.shapes_compared) return false;
    return SAY("%s: shapes are not compared where A and B computed other numbers of tokens or were "
               "at other places in the text",
               tt_diff_phase_title(p->phase));
}

static bool note_phase(const tt_diff_view *v, const tt_diff_phase *p, unsigned i, char *out)
{
    switch (i) {
    case 0:
        return note_pairs(v, p, out);
    case 1:
        return note_sizes(p, out);
    case 2:
        return note_positions(p, out);
    case 3:
        return note_texts(p, out);
    case 4:
        return note_samples(p, out);
    case 5:
        return note_unended(v, p, out);
    case 6:
        return note_left_out(p, out);
    default:
        return note_shapes(p, out);
    }
}

static bool note_repeats(const tt_diff_view *v, char *out)
{
    const tt_diff_phase *p = tt_diff_main(v->d);
    if (v->d->options.structure_only || !p) return false;
    if (v->d->n_files > 2)
        return SAY("%zu runs against %zu: a difference has to stand out from what differs between "
                   "the runs of a side",
                   v->d->n_a, v->d->n_files - v->d->n_a);
    if (!tt_diff_times_differ(v->d)) return false;
    return SAY("one run each: a machine that was slower in one of them looks like a difference; "
               "repeat both (diff A1 A2 A3 -- B1 B2 B3) to tell them apart");
}

/* What disturbed the runs, and what was done about it. */
static bool note_off_cpu(const tt_diff_view *v, char *out)
{
    const tt_diff_phase *p = tt_diff_main(v->d);
    if (!p || v->d->options.structure_only) return false;
    const bool off = fmax(p->off_share_a, p->off_share_b) >= TT_OFF_CPU_MUCH;
    if (!off && !p->busy) return false;
    const int n =
        off ? snprintf(out, TT_DIFF_SENTENCE,
                       "threads were off CPU for %.0f %% of the ops' time in A and %.0f %% in "
                       "B (others had the processors, or a disk was waited for): ",
                       100 * p->off_share_a, 100 * p->off_share_b)
            : snprintf(out, TT_DIFF_SENTENCE,
                       "of neighbouring batches the usual one takes %.0f %% more than the fast "
                       "ones, as beside others on the processors: ",
                       100 * expm1(p->unsteady));
    return n > 0 && n < TT_DIFF_SENTENCE &&
           snprintf(out + n, TT_DIFF_SENTENCE - (size_t)n, "%s%s",
                    p->undisturbed ? "times are without it"
                                   : "times are with it, as that differs, too, or was not observed",
                    !p->busy         ? ""
                    : p->undisturbed ? "; beside others a processor's own speed changes, which "
                                       "short runs do not show: so rows are their threads' own "
                                       "work, and compared with what it would be had they changed "
                                       "as the other ops of their kind (B AS OTHERS)"
                    : tt_diff_few_runs(v)
                        ? "; beside others a processor's own speed changes, which short runs do "
                          "not show: 5 runs of each side do"
                        : "; beside others a processor's own speed changes, which is in the "
                          "differences between a side's runs") > 0;
}

static bool note_capture(const tt_diff_view *v, char *out)
{
    const tt_diff_around *x = &v->d->around;
    if (x->faults_a == x->faults_b) return false;
    return SAY(
        "%s recorded page faults and %s did not: faults are not compared, and recording them "
        "takes time itself",
        x->faults_a ? "A" : "B", x->faults_a ? "B" : "A");
}

static bool note_mode(const tt_diff_view *v, char *out)
{
    const char *a = tt_model_environment(v->d->files[0], "mode");
    const char *b = tt_model_environment(v->d->files[v->d->n_a], "mode");
    if (!a || !b || strcmp(a, b) == 0) return false;
    return SAY(
        "A was observed by %.40s, B by %.40s: where an op begins and ends is not seen alike, "
        "and what is fused may not be seen at all",
        a, b);
}

static bool note_losses(const tt_diff_view *v, char *out)
{
    uint64_t lost = 0;
    for (size_t f = 0; f < v->d->n_files; f++)
        lost += v->d->files[f]->losses_total;
    if (lost == 0) return false;
    return SAY("%" PRIu64 " op records were dropped while recording: ops without them seem gone or "
               "shorter",
               lost);
}

static bool note_undecided(const tt_diff_view *v, char *out)
{
    const tt_diff_phase *p = tt_diff_main(v->d);
    if (!p || p->verdict != TT_DIFF_UNDECIDED) return false;
    return SAY(
        "undecided does not mean equal: more tokens or repeated runs narrow the interval down, a "
        "larger --threshold asks for less");
}

static bool note_models(const tt_diff_view *v, char *out)
{
    if (!v->d->around.models.differ) return false;
    return SAY(
        "A and B ran different models: a difference in time is not the effect of one change");
}

#define OF_PHASES (TT_DIFF_PHASES * 8)

bool tt_diff_note(const tt_diff_view *v, unsigned i, char out[TT_DIFF_SENTENCE])
{
    static bool (*const notes[])(const tt_diff_view *, char *) = {
        note_repeats, note_undecided, note_off_cpu, note_capture,
        note_losses,  note_mode,      note_models};
    if (i < OF_PHASES) return note_phase(v, &v->d->phases[i / 8], i % 8, out);
    i -= OF_PHASES;
    return i < sizeof notes / sizeof *notes && notes[i](v, out);
}

/* --- marks --- */

static bool matters(const tt_diff_row *r)
{
    return r->matters;
}

static bool only_changed(const tt_diff_row *r)
{
    return r->significant && !r->matters;
}

static bool not_tested(const tt_diff_row *r)
{
    return !r->shift.tested;
}

static bool any_row(const tt_diff_phase *p, bool (*is)(const tt_diff_row *r))
{
    for (size_t f = 0; f < TT_DIFF_FAMILIES; f++)
        for (size_t i = 0; i < p->n_rows[f]; i++)
            if (is(&p->rows[f][i])) return true;
    return false;
}

bool tt_diff_legend(const tt_diff_view *v, unsigned i, bool page, char out[TT_DIFF_SENTENCE])
{
    const tt_diff_phase *p = tt_diff_main(v->d);
    if (!p || v->d->options.structure_only) return false;
    switch (i) {
    case 0:
        return any_row(p, matters) &&
               SAY("!%s: sure to change a %s's time by more than %.4g %%", page ? ", bold" : "",
                   tt_diff_short_unit(p), 100 * v->d->options.threshold);
    case 1:
        return any_row(p, only_changed) &&
               SAY("*: sure to have changed, but not by more than that share of a %s's time",
                   tt_diff_short_unit(p));
    case 2:
        return any_row(p, not_tested) &&
               (tt_diff_against_others(p)
                    ? SAY("no interval and no P: not tested, as the row is on one side only, "
                          "between ops, has less than %.0f %% of the work, or is in fewer than %u "
                          "batches",
                          100 * TT_DIFF_ALIKE_SHARE, TT_DIFF_ALIKE_SAMPLES)
                    : SAY("no interval and no P: not tested, as the row is on one side only, or "
                          "in fewer than %u batches",
                          TT_SHIFT_SAMPLES_MIN));
    default:
        return false;
    }
}
