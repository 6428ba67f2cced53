/* The sentences of a comparison of values. */
#include "answer/valuediff.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A sentence being composed; what does not fit is cut off. */
typedef struct sentence {
    char *out;
    size_t room, at;
} sentence;

static void put(sentence *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(sentence *s, const char *fmt, ...)
{
    va_list args;
    if (s->at + 1 >= s->room) return;
    va_start(args, fmt);
    int n = vsnprintf(s->out + s->at, s->room - s->at, fmt, args);
    va_end(args);
    if (n > 0) s->at += (size_t)n < s->room - s->at ? (size_t)n : s->room - s->at - 1;
}

tt_valuediff_outcome tt_valuediff_outcome_of(const tt_valuediff *d)
{
    if (d->has_first) return TT_VALUEDIFF_DIFFERS;
    if (!d->compared) return TT_VALUEDIFF_NOTHING;
    if (d->stopped) return TT_VALUEDIFF_TOKENS;
    return d->counts[TT_VALUE_CLOSE] ? TT_VALUEDIFF_CLOSE : TT_VALUEDIFF_EQUAL;
}

const char *tt_valuediff_outcome_name(tt_valuediff_outcome o)
{
    static const char *const names[] = {"equal", "close", "tokens", "differs", "nothing"};
    return names[o];
}

static void put_size(sentence *s, double rel_l2, bool at_least)
{
    if (isnan(rel_l2))
        put(s, "by how much is not known");
    else if (isinf(rel_l2))
        put(s, "rel L2 infinite");
    else
        put(s, "rel L2 %s%.3g", at_least ? "at least " : "", rel_l2);
}

static void put_nan(sentence *s, const char *side, const tt_valuediff_place *p, const char *before)
{
    if (*before == ':') put(s, "NaN");
    if (p->has_counts)
        put(s, "%s%" PRIu64 " of %s's %" PRIu64 " elements", before, p->n_nan, side, p->n);
    else
        put(s, "%show many of %s's %" PRIu64 " elements is not known", before, side, p->n);
}

/* Describes an error: "rel L2 0.31, cosine 0.95, max abs 1.2 at element 5 (0.31, 1.5)". */
static char *format_error(const tt_valuediff_item *i, char *out, size_t room)
{
    sentence s = {out, room, 0};
    const tt_value_error *e = &i->error;
    out[0] = '\0';
    if (i->verdict == TT_VALUE_NAN) {
        put_nan(&s, "A", &i->a, ": ");
        put_nan(&s, "B", &i->b, ", ");
        return out;
    }
    if (i->verdict == TT_VALUE_SHAPE) {
        put(&s, "other shapes:");
        for (unsigned side = 0; side < 2; side++) {
            const tt_valuediff_place *p = side ? &i->b : &i->a;
            put(&s, side ? " against [" : " [");
            for (uint32_t k = 0; k < p->n_dims && k < 8; k++)
                put(&s, "%s%" PRIu64, k ? ", " : "", p->ne[k]);
            put(&s, "]");
        }
        return out;
    }
    if (i->verdict == TT_VALUE_OTHER_BITS ||
        (e->basis == TT_BASIS_HASH && i->verdict == TT_VALUE_DIFFERS)) {
        put(&s, "other bits, by how much is not known");
        if (!isnan(e->rel_l2)) put(&s, " (rel L2 %.3g or more)", e->rel_l2);
        return out;
    }
    put_size(&s, e->rel_l2, e->at_least);
    if (!isnan(e->cosine)) put(&s, ", cosine %.6g", e->cosine);
    if (!isnan(e->max_abs)) put(&s, ", max abs %.3g", e->max_abs);
    if (e->worst != TT_VALUE_NONE && e->max_abs > 0)
        put(&s, " at element %" PRIu64 " (%g against %g)", e->worst, (double)e->worst_a,
            (double)e->worst_b);
    return out;
}

/* NULL: unknown, or several models have a weight of that name. */
static const char *weight_type(const tt_dump *d, const char *name)
{
    for (uint32_t i = 0; name && d->model && i < d->model->n_weights; i++) {
        const tt_weight *w = &d->model->weights[i];
        if (strcmp(w->name, name) == 0) return w->next_same_name == TT_NONE ? w->type_name : NULL;
    }
    return NULL;
}

static void put_where(sentence *s, const tt_valuediff *d, const tt_valuediff_item *i)
{
    const tt_valuediff_step *step = &d->steps[i->pair];
    if (i->position == TT_DUMP_POSITION_UNKNOWN)
        put(s, "step %" PRIu32, i->pair);
    else if (step->n_tokens > 1)
        put(s, "positions %" PRId32 " to %" PRId64, i->position,
            (int64_t)i->position + step->n_tokens - 1);
    else
        put(s, "position %" PRId32, i->position);
    if (step->a != TT_NONE && d->a->steps[step->a].token != TT_NONE) {
        const tt_dump_head *h = &d->a->steps[step->a];
        const char *phase = h->phase == TT_PHASE_PROMPT     ? ", prompt"
                            : h->phase == TT_PHASE_GENERATE ? ", generated"
                                                            : "";
        put(s, " (batch %" PRIu32 "%s)", h->token, phase);
    }
    if (i->layer >= 0) put(s, ", layer %" PRId32, i->layer);
    put(s, ", %s", i->stage);
    if (i->occurrence) put(s, " (no. %" PRIu32 ")", i->occurrence + 1);
    const tt_valuediff_place *p = i->a.present ? &i->a : &i->b;
    put(s, " (%s", p->name);
    if (i->a.present && i->b.present && strcmp(i->a.name, i->b.name) != 0)
        put(s, ", of B %s", i->b.name);
    if (*p->op) put(s, ", %s", p->op);
    if (p->weight) put(s, " with %s", p->weight);
    const char *type_a = weight_type(d->a, i->a.weight), *type_b = weight_type(d->b, i->b.weight);
    if (type_a && type_b && strcmp(type_a, type_b) != 0)
        put(s, ", which is %s in A and %s in B", type_a, type_b);
    put(s, ")");
}

/* Where the error of the first divergence originates, according to its inputs. */
static void put_blame(sentence *s, const tt_valuediff *d)
{
    const tt_valuediff_item *i = &d->first;
    switch (i->blame) {
    case TT_BLAME_OWN:
        if (i->input_rel_l2 > 0)
            put(s, "; its inputs are close (rel L2 %.2g): the error is made here", i->input_rel_l2);
        else if (d->n_first_inputs || d->first_reads_cache)
            put(s, "; its inputs are equal: the error is made here");
        else
            put(s, "; it reads no other value: the error is made here, or in what the model or "
                   "its user puts in");
        if (i->only_a) put(s, " (only A computes %s", i->only_a);
        if (i->only_b) put(s, "%s only B computes %s", i->only_a ? ";" : " (", i->only_b);
        if (i->only_a || i->only_b) put(s, ")");
        break;
    case TT_BLAME_EXTRA:
        if (i->input_rel_l2 > 0)
            put(s, "; its inputs are close (rel L2 %.2g): the error is made here or in ops",
                i->input_rel_l2);
        else
            put(s, "; its compared inputs are equal: the error is made here or in ops");
        if (i->only_a) put(s, " that only A has: %s", i->only_a);
        if (i->only_b) put(s, "%s that only B has: %s", i->only_a ? "; or" : "", i->only_b);
        break;
    case TT_BLAME_INHERITED:
        if (isnan(i->input_rel_l2) || isinf(i->input_rel_l2))
            put(s, "; inherited from an input");
        else
            put(s,
                "; its inputs have rel L2 %.2g already: the error grew on the way here, and no "
                "single op before it stands out%s",
                i->input_rel_l2,
                d->a->has_inputs && d->b->has_inputs
                    ? ""
                    : " (of a folder only first elements and RMS are known)");
        break;
    default:
        if (!d->a->has_inputs && !d->b->has_inputs)
            put(s, "; the error is made here or before: folders do not tell what a value was "
                   "computed from, traces do");
        else if (d->n_first_inputs && !isnan(i->input_rel_l2))
            put(s,
                "; whether its inputs differ is not known: only their first elements and RMS are "
                "on both sides");
        else
            put(s, "; its inputs are not measured: the error is made here or before");
        break;
    }
}

#define WHERE 40u

/* "position 5"; "the 6th pair of batches" where positions are unknown. */
static const char *stopped_at(const tt_valuediff *d, char out[WHERE])
{
    if (d->stopped_position != TT_DUMP_POSITION_UNKNOWN)
        (void)snprintf(out, WHERE, "position %" PRId32, d->stopped_position);
    else
        (void)snprintf(out, WHERE, "pair %zu of batches", d->n_steps);
    return out;
}

static uint64_t steps_of(const tt_valuediff *d, tt_valuediff_pairing pairing)
{
    uint64_t n = 0;
    for (size_t i = 0; i < d->n_steps; i++)
        n += d->steps[i].pairing == pairing;
    return n;
}

/* A note on records that all claim position 0. */
static bool note_places(const tt_valuediff *d, sentence *s)
{
    const char *between = "";
    for (unsigned side = 0; side < 2; side++) {
        const tt_dump *x = side ? d->b : d->a;
        if (x->places == TT_PLACES_REPORTED || !x->n_steps) continue;
        put(s,
            "%s%c's records of the layers all say position 0, as BitNet.rs writes each position "
            "over the one before: ",
            between, 'A' + (int)side);
        between = "; ";
        if (x->steps[0].no_place)
            put(s, "which one they are of is not known: not measured (a prompt of one token tells, "
                   "and --by-order compares all the same)");
        else if (d->by_order || (x->places == TT_PLACES_UNKNOWN && !(side ? d->a : d->b)->model))
            put(s, "whether both sides' are of the same one is not known");
        else
            put(s, "they are taken for those of the last, position %" PRId32 "%s",
                x->steps[x->n_steps - 1].position,
                x->places == TT_PLACES_FOUND ? ", which other records tell"
                                             : ", where the other side's prompt ends");
    }
    return *between;
}

/* For batches of several tokens in a trace, where the other side has a row per token. */
static void put_rows(sentence *s, const tt_valuediff *d)
{
    if (d->a->places == TT_PLACES_REPORTED && d->b->places == TT_PLACES_REPORTED) return;
    put(s, "; BitNet.rs's records are of one row, and what a trace keeps of a batch of several "
           "tokens is of all its rows together: the last row was not compared (run "
           "--batch-size=1 makes it comparable)");
}

/* Why there was nothing to compare. */
static void put_nothing(sentence *s, const tt_valuediff *d)
{
    put(s, "Nothing to compare: ");
    if (!d->a->n_steps || !d->b->n_steps)
        put(s, "%s no values (`tensortrace run --values=hash` records them)",
            d->a->n_steps   ? "B has"
            : d->b->n_steps ? "A has"
                            : "both have");
    else if (steps_of(d, TT_PAIR_BOTH))
        put(s, "no value was measured on both sides (stages of engines with other names are put "
               "together with --stages)");
    else if (d->stopped)
        put(s, "the first tokens differ already (`run --prompt-ids` and `--force-ids` give both "
               "sides the same)");
    else if (steps_of(d, TT_PAIR_BATCHES) && d->by_order)
        put(s, "A and B computed other numbers of tokens in their batches, and where these are in "
               "the text is not known");
    else if (steps_of(d, TT_PAIR_BATCHES)) {
        put(s,
            "A and B computed the same tokens in other batches (`run --batch-size` and `--ubatch` "
            "choose them)");
        put_rows(s, d);
    } else if (!note_places(d, s))
        put(s, "no tokens are at the same place in the text");
}

char *tt_valuediff_text(const tt_valuediff *d, char out[TT_VALUEDIFF_SENTENCE])
{
    sentence s = {out, TT_VALUEDIFF_SENTENCE, 0};
    char error[256], where[WHERE];
    const tt_valuediff_row *worst = NULL;
    out[0] = '\0';
    switch (tt_valuediff_outcome_of(d)) {
    case TT_VALUEDIFF_DIFFERS:
        put(&s, "First divergence: ");
        put_where(&s, d, &d->first);
        put(&s, ": %s", format_error(&d->first, error, sizeof error));
        put_blame(&s, d);
        break;
    case TT_VALUEDIFF_NOTHING:
        put_nothing(&s, d);
        break;
    case TT_VALUEDIFF_EQUAL:
        put(&s, "Equal: all %" PRIu64 " values that both sides measured are the same to the bit",
            d->compared);
        break;
    case TT_VALUEDIFF_TOKENS:
        put(&s,
            "The tokens differ from %s on (A has %" PRId32 " there, B %" PRId32
            "): not comparable. Before that, ",
            stopped_at(d, where), d->stopped_token_a, d->stopped_token_b);
        if (!d->counts[TT_VALUE_CLOSE]) {
            put(&s, "all %" PRIu64 " values that both sides measured are equal", d->compared);
            break;
        }
        /* fall through */
    case TT_VALUEDIFF_CLOSE:
        for (size_t i = 0; i < d->n_stages; i++) {
            if (d->stages[i].rel_l2 > (worst ? worst->rel_l2 : -1)) worst = &d->stages[i];
        }
        put(&s, "%sall %" PRIu64 " values that both sides measured are equal or close",
            d->stopped ? "" : "No divergence: ", d->compared);
        if (worst)
            put(&s, "; the largest error is rel L2 %.3g, of %s", worst->rel_l2, worst->stage);
        break;
    }
    put(&s, ".");
    return out;
}

char *tt_valuediff_write_counts(const tt_valuediff *d, char out[TT_VALUEDIFF_SENTENCE])
{
    sentence s = {out, TT_VALUEDIFF_SENTENCE, 0};
    const uint64_t *c = d->counts;
    out[0] = '\0';
    put(&s,
        "%" PRIu64 " values compared: %" PRIu64 " equal, %" PRIu64 " close, %" PRIu64 " different",
        d->compared, c[TT_VALUE_EQUAL], c[TT_VALUE_CLOSE], c[TT_VALUE_DIFFERS]);
    if (c[TT_VALUE_OTHER_BITS])
        put(&s, ", %" PRIu64 " with other bits by an amount that is not known",
            c[TT_VALUE_OTHER_BITS]);
    if (c[TT_VALUE_NAN]) put(&s, ", %" PRIu64 " with NaN", c[TT_VALUE_NAN]);
    if (c[TT_VALUE_SHAPE]) put(&s, ", %" PRIu64 " of another shape", c[TT_VALUE_SHAPE]);
    if (d->other_axes)
        put(&s, "; %" PRIu64 " not comparable: rotated, or multiplied otherwise, on one side",
            d->other_axes);
    if (c[TT_VALUE_UNMEASURED] > d->other_axes)
        put(&s, "; %" PRIu64 " not measured on one side", c[TT_VALUE_UNMEASURED] - d->other_axes);
    uint64_t alone =
        steps_of(d, TT_PAIR_ONLY_A) + steps_of(d, TT_PAIR_ONLY_B) + steps_of(d, TT_PAIR_BATCHES);
    if (alone)
        put(&s, "; %" PRIu64 " batch%s not compared at all: not measured", alone,
            alone == 1 ? "" : "es");
    put(&s, ".");
    return out;
}

static bool note_tokens(const tt_valuediff *d, sentence *s)
{
    char where[WHERE];
    if (!d->stopped) return false;
    if (tt_valuediff_outcome_of(d) != TT_VALUEDIFF_TOKENS)
        put(s, "not comparable from %s on: A has token %" PRId32 " there, B %" PRId32 "; ",
            stopped_at(d, where), d->stopped_token_a, d->stopped_token_b);
    put(s, "`run --force-ids` has a side compute the tokens of the other");
    return true;
}

static bool note_steps(const tt_valuediff *d, sentence *s)
{
    uint64_t only_a = steps_of(d, TT_PAIR_ONLY_A), only_b = steps_of(d, TT_PAIR_ONLY_B),
             batches = steps_of(d, TT_PAIR_BATCHES);
    if (!only_a && !only_b && !batches) return false;
    put(s, "Not measured:");
    if (only_a) put(s, " %" PRIu64 " steps that only A has", only_a);
    if (only_b) put(s, "%s %" PRIu64 " steps that only B has", only_a ? "," : "", only_b);
    if (batches && d->by_order)
        put(s,
            "%s %" PRIu64 " steps from the first one on in which the sides computed other numbers "
            "of tokens",
            only_a || only_b ? "," : "", batches);
    else if (batches)
        put(s,
            "%s %" PRIu64 " steps whose tokens the other side computed in other batches: `run "
            "--batch-size` and `--ubatch` choose them",
            only_a || only_b ? "," : "", batches);
    if (batches && !d->by_order) put_rows(s, d);
    return true;
}

static bool note_first_unequal(const tt_valuediff *d, sentence *s)
{
    char error[256];
    const tt_valuediff_item *u = &d->first_unequal;
    if (!d->has_first_unequal) return false;
    if (d->has_first && u->pair == d->first.pair && u->order == d->first.order) return false;
    put(s, "the first value with other bits: ");
    put_where(s, d, u);
    put(s, ": %s", format_error(u, error, sizeof error));
    return true;
}

/* Values of which both sides have only a hash and statistics. */
static bool note_other_bits(const tt_valuediff *d, sentence *s)
{
    char error[256];
    if (!d->counts[TT_VALUE_OTHER_BITS]) return false;
    put(s, "of values with other bits, both sides know no element that differs: whether they are "
           "close cannot be told. Traces of `run --values=hash` or `full` on both sides can");
    if (d->has_first_certain) {
        put(s, ". The first value that is beyond the tolerance for certain: ");
        put_where(s, d, &d->first_certain);
        put(s, ": %s", format_error(&d->first_certain, error, sizeof error));
    }
    return true;
}

static bool note_samples(const tt_valuediff *d, sentence *s)
{
    bool samples = false;
    for (size_t i = 0; i < d->n_items && !samples; i++)
        samples = d->items[i].error.basis == TT_BASIS_SAMPLES;
    if (!samples) return false;
    put(s, "errors are of the elements that fingerprints keep (the first 8 and 16 samples) and of "
           "statistics of the whole; `run --values=full` on both sides keeps all");
    return true;
}

/* Values along other axes: the error of a rotated value is not that of what was rotated. */
static bool note_axes(const tt_valuediff *d, sentence *s)
{
    if (!d->other_axes) return false;
    put(s, "%" PRIu64 " values are along other axes on one side and were not compared:",
        d->other_axes);
    if (*d->axes_a) put(s, " A multiplied them with %s", d->axes_a);
    if (*d->axes_b) put(s, "%s B multiplied them with %s", *d->axes_a ? "," : "", d->axes_b);
    put(s, " (newer llama.cpp rotates keys and values so before a cache of few bits). What is "
           "computed from them after it is undone was compared; the products themselves are on "
           "that side only, so not measured on the other");
    return true;
}

bool tt_valuediff_note(const tt_valuediff *d, unsigned i, char out[TT_VALUEDIFF_SENTENCE])
{
    sentence s = {out, TT_VALUEDIFF_SENTENCE, 0};
    out[0] = '\0';
    switch (i) {
    case 0:
        return note_tokens(d, &s);
    case 1:
        return note_first_unequal(d, &s);
    case 2:
        return note_steps(d, &s);
    case 3:
        if (d->tokens_known || !d->compared) return false;
        put(&s,
            "not all tokens are known on both sides: whether they are the same was not checked");
        return true;
    case 4:
        if (!d->by_order || !d->compared) return false;
        put(&s, "steps were put in pairs by their order, not by their place in the text");
        return true;
    case 5:
        if (!d->incomplete_a && !d->incomplete_b) return false;
        put(&s, "%" PRIu64 " values of A and %" PRIu64 " of B could not be read", d->incomplete_a,
            d->incomplete_b);
        return true;
    case 6:
        return note_samples(d, &s);
    case 7:
        if (d->a->has_inputs || d->b->has_inputs || !d->has_first) return false;
        put(&s,
            "folders do not tell what a value was computed from: it is held against its own "
            "type, not those of weights and caches. With a trace as one side, or a --tolerance, "
            "more may be close");
        return true;
    case 9:
        return d->compared && note_places(d, &s);
    case 8:
        return note_other_bits(d, &s);
    case 10:
        return note_axes(d, &s);
    case 11:
        if (!d->models.text[0]) return false;
        put(&s, "%s%s", d->models.differ ? "the models differ: " : "", d->models.text);
        return true;
    default:
        return false;
    }
}
