/* The verdict on a pair of values. */
#include "analyze/dumps/valuediff_parts.h"
#include "value/type.h"

#include <math.h>
#include <string.h>

/* By tt_type_coarseness; the reasons are in docs/diff-values.md. */
tt_tolerance tt_tolerance_of(const char *coarsest_type)
{
    static const tt_tolerance by_coarseness[TT_TYPE_COARSENESS_MAX + 1] = {
        {1e-4, 0.999999, INFINITY}, {1e-2, 0.9999, INFINITY}, {5e-2, 0.998, INFINITY},
        {2e-1, 0.98, INFINITY},     {2.5e-1, 0.97, INFINITY}, {3e-1, 0.95, INFINITY},
        {4e-1, 0.9, INFINITY},
    };
    return by_coarseness[tt_type_coarseness(coarsest_type)];
}

tt_tolerance tt_tolerance_of_step(unsigned coarseness)
{
    static const double by_coarseness[TT_TYPE_COARSENESS_MAX + 1] = {1e-4, 5e-3,   1e-2, 3e-2,
                                                                     8e-2, 1.5e-1, 3e-1};
    return (tt_tolerance){by_coarseness[coarseness], -INFINITY, INFINITY};
}

const char *tt_value_verdict_name(tt_value_verdict v)
{
    static const char *const names[] = {"equal", "close", "other_bits", "differs",
                                        "nan",   "shape", "unmeasured"};
    return names[v];
}

bool tt_value_diverges(tt_value_verdict v)
{
    return v == TT_VALUE_OTHER_BITS || v == TT_VALUE_DIFFERS || v == TT_VALUE_NAN ||
           v == TT_VALUE_SHAPE;
}

uint64_t tt_value_diverging(const uint64_t counts[TT_VALUE_VERDICTS])
{
    uint64_t n = 0;
    for (unsigned v = 0; v < TT_VALUE_VERDICTS; v++)
        n += tt_value_diverges((tt_value_verdict)v) ? counts[v] : 0;
    return n;
}

const char *tt_value_basis_name(tt_value_basis b)
{
    static const char *const names[] = {"none", "hash", "stats", "first", "samples", "data"};
    return names[b];
}

const char *tt_value_blame_name(tt_value_blame b)
{
    static const char *const names[] = {"none", "own", "inherited", "unknown"};
    return names[b];
}

const char *tt_valuediff_pairing_name(tt_valuediff_pairing p)
{
    static const char *const names[] = {"both", "only_a", "only_b", "batches", "tokens"};
    return names[p];
}

static bool has_nan(const tt_dump_value *v)
{
    const tt_fingerprint *f = &v->print;
    if (v->known & TT_KNOWN_STATS && f->n_nan) return true;
    if (v->known & TT_KNOWN_RMS && isnan(f->rms)) return true;
    for (uint32_t i = 0; v->known & TT_KNOWN_PREFIX && i < f->n_prefix; i++) {
        if (isnan(f->prefix[i])) return true;
    }
    return false;
}

/* Whether hashes that both have tell: 1 the same bits, 0 other ones, -1 they do not tell. */
static int same_bits(const tt_dump_value *a, const tt_dump_value *b)
{
    unsigned known = a->known & b->known;
    if (known & TT_KNOWN_HASH && *a->type && strcmp(a->type, b->type) == 0)
        return memcmp(a->print.hash, b->print.hash, sizeof a->print.hash) == 0;
    if (known & TT_KNOWN_BLAKE3)
        return memcmp(a->print.blake3, b->print.blake3, sizeof a->print.blake3) == 0;
    return -1;
}

static bool are_integers(const tt_dump_value *a, const tt_dump_value *b)
{
    return tt_value_is_integer(tt_value_type_of(a->type)) &&
           tt_value_is_integer(tt_value_type_of(b->type));
}

/* Values of other ops, which engines call the same: not the same value. */
static bool are_others(const tt_dump_value *a, const tt_dump_value *b)
{
    return *a->op && *b->op && strcmp(a->op, b->op) != 0;
}

/* A cache is as long as its engine made it: scores over it have its length, padding included, and
 * the mask has rows for tokens that are not there. */
static bool is_padded(const tt_dump_value *a, const tt_dump_value *b)
{
    if (strcmp(a->stage, "attn_mask") == 0) return true;
    if (strncmp(a->stage, "attn_scores", 11) != 0 || a->n_dims < 2 || b->n_dims < 2) return false;
    for (uint32_t i = 1; i < 8; i++) {
        if ((i < a->n_dims ? a->ne[i] : 1) != (i < b->n_dims ? b->ne[i] : 1)) return false;
    }
    return a->ne[0] != b->ne[0];
}

static tt_tolerance tolerance_for(const tt_dump_value *a, const tt_dump_value *b,
                                  const tt_valuediff_options *o)
{
    const char *coarser =
        tt_type_coarseness(a->coarsest_type) < tt_type_coarseness(b->coarsest_type)
            ? b->coarsest_type
            : a->coarsest_type;
    tt_tolerance t = tt_tolerance_of(coarser);
    if (o->exact || are_integers(a, b)) return (tt_tolerance){0, 1, 0};
    if (!o->has_tolerance) return t;
    if (!isnan(o->tolerance.rel_l2)) t.rel_l2 = o->tolerance.rel_l2;
    if (!isnan(o->tolerance.cosine)) t.cosine = o->tolerance.cosine;
    if (!isnan(o->tolerance.max_abs)) t.max_abs = o->tolerance.max_abs;
    return t;
}

static bool within(const tt_tolerance *t, const tt_value_error *e)
{
    if (e->basis == TT_BASIS_NONE || isinf(e->rel_l2)) return false;
    return !(e->rel_l2 > t->rel_l2) && !(e->max_abs > t->max_abs) && !(e->cosine < t->cosine);
}

/* Whether something is known of how large the error is, not only of how large it is at least: all
 * elements, or samples of all of the value; first elements, when the error shows in them. Those of
 * which none differs say nothing of the others. */
static bool is_sized(const tt_value_error *e, int bits)
{
    if (e->basis == TT_BASIS_DATA || e->basis == TT_BASIS_SAMPLES) return true;
    return e->basis == TT_BASIS_FIRST && (bits < 0 || e->shows);
}

static tt_value_verdict apart(tt_dump *a, const tt_dump_value *va, tt_dump *b,
                              const tt_dump_value *vb, const tt_valuediff_options *o, int bits,
                              const tt_tolerance *t, tt_value_error *e, tt_error *err)
{
    if (tt_value_measure(a, va, b, vb, e, err) != TT_OK) return TT_VALUE_UNMEASURED;
    if (e->basis == TT_BASIS_NONE) {
        if (bits < 0) return TT_VALUE_UNMEASURED;
        e->basis = TT_BASIS_HASH; /* other bits; by how much nobody knows */
        return o->exact ? TT_VALUE_DIFFERS : TT_VALUE_OTHER_BITS;
    }
    unsigned known = va->known & vb->known;
    if (known & TT_KNOWN_STATS && va->print.n_inf != vb->print.n_inf) {
        e->rel_l2 = e->max_abs = INFINITY;
        e->worst = TT_VALUE_NONE;
        return TT_VALUE_DIFFERS;
    }
    /* All elements alike in other bits or another type: -0 and 0, f16 and f32 of the same number.
     */
    if (e->basis == TT_BASIS_DATA && e->max_abs == 0 && !o->exact) return TT_VALUE_CLOSE;
    if (o->exact && bits < 0 && e->basis != TT_BASIS_DATA && within(t, e))
        return TT_VALUE_UNMEASURED; /* samples alone do not show that all are alike */
    if (o->exact || !within(t, e)) return TT_VALUE_DIFFERS;
    if (is_sized(e, bits)) return TT_VALUE_CLOSE;
    if (bits == 0) {
        /* Of elements that are all alike, no error may be taken: it is in those that are unknown.
         */
        e->at_least = true;
        e->cosine = NAN;
        return TT_VALUE_OTHER_BITS;
    }
    return TT_VALUE_UNMEASURED; /* statistics that agree prove nothing */
}

tt_value_verdict tt_value_judge(tt_dump *a, const tt_dump_value *va, tt_dump *b,
                                const tt_dump_value *vb, const tt_valuediff_options *options,
                                tt_tolerance *tolerance, tt_value_error *error, tt_error *err)
{
    *error = (tt_value_error){
        .max_abs = NAN, .worst = TT_VALUE_NONE, .rel_l2 = NAN, .cosine = NAN, .rms_change = NAN};
    *tolerance = tolerance_for(va, vb, options);
    if (err) err->status = TT_OK;
    if (has_nan(va) || has_nan(vb)) {
        error->basis = TT_BASIS_STATS;
        return TT_VALUE_NAN;
    }
    if (!tt_shapes_agree(va, vb))
        return is_padded(va, vb) || are_others(va, vb) ? TT_VALUE_UNMEASURED : TT_VALUE_SHAPE;
    int bits = same_bits(va, vb);
    if (bits == 1) {
        *error = (tt_value_error){
            .basis = TT_BASIS_HASH, .n_compared = va->print.n, .worst = TT_VALUE_NONE, .cosine = 1};
        return TT_VALUE_EQUAL;
    }
    if (bits == 0 && are_integers(va, vb)) {
        error->basis = TT_BASIS_HASH; /* a distance of numbers of rows or experts means nothing */
        return TT_VALUE_DIFFERS;
    }
    return apart(a, va, b, vb, options, bits, tolerance, error, err);
}
