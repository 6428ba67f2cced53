/* The verdict on a pair of values. */
#include "analyze/dumps/valuediff.h"
#include "value/type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The distance of two values. */

#define PIECE 65536u /* elements compared at once: whole blocks of any type */

double tt_larger(double a, double b)
{
    if (isnan(a)) return b;
    return b > a ? b : a;
}

double tt_cosine_gap(double cosine)
{
    return cosine > 1 ? 0 : 1 - cosine;
}

static void error_sums_begin(tt_error_sums *s)
{
    memset(s, 0, sizeof *s);
    s->worst = TT_VALUE_NONE;
}

static void error_sums_add(tt_error_sums *s, uint64_t index, float a, float b)
{
    double apart;
    s->n++;
    if (isfinite(a) && isfinite(b)) {
        apart = fabs((double)a - (double)b);
        s->aa += (double)a * a;
        s->bb += (double)b * b;
        s->ab += (double)a * b;
        s->dd += apart * apart;
    } else {
        if (a == b) return; /* the same infinity */
        apart = INFINITY;
        s->apart = true;
    }
    if (s->worst != TT_VALUE_NONE && apart <= s->max_abs) return;
    s->max_abs = apart;
    s->worst = index;
    s->worst_a = a;
    s->worst_b = b;
}

/* Sets rel_l2, cosine, max_abs and the worst element; nothing if there are no elements. */
static void error_sums_end(const tt_error_sums *s, tt_value_error *out)
{
    if (!s->n) return;
    out->n_compared = s->n;
    out->max_abs = s->max_abs;
    out->worst = s->worst;
    out->worst_a = s->worst_a;
    out->worst_b = s->worst_b;
    out->shows = s->dd > 0 || s->apart;
    out->rel_l2 = s->dd > 0 ? sqrt(s->dd) / sqrt(s->aa) : 0;
    /* Zero vectors have no direction: they count as equal if both are zero. */
    out->cosine =
        s->aa > 0 && s->bb > 0 ? s->ab / (sqrt(s->aa) * sqrt(s->bb)) : (s->aa > 0) == (s->bb > 0);
    if (s->dd == 0 && !s->apart) out->cosine = 1;
    if (s->apart) {
        out->rel_l2 = INFINITY;
        out->cosine = NAN;
    }
}

/* Cumulative products of the dimensions, without those of 1: invariant when neighbours are
 * joined. */
static uint32_t products(const tt_dump_value *v, uint64_t out[8])
{
    uint32_t n = 0;
    uint64_t product = 1;
    for (uint32_t i = 0; i < v->n_dims && i < 8; i++) {
        if (v->ne[i] == 1) continue;
        product *= v->ne[i];
        out[n++] = product;
    }
    return n;
}

/* Whether values of these shapes hold the same elements in the same order: dimensions of 1 do not
 * count, and neighbours may be joined (heads x size of one, to the size of all). */
static bool shapes_agree(const tt_dump_value *a, const tt_dump_value *b)
{
    uint64_t pa[8], pb[8];
    if (a->print.n != b->print.n) return false;
    if (!a->n_dims || !b->n_dims) return true;
    uint32_t na = products(a, pa), nb = products(b, pb);
    const uint64_t *coarse = na <= nb ? pa : pb, *fine = na <= nb ? pb : pa;
    uint32_t n_coarse = na <= nb ? na : nb, n_fine = na <= nb ? nb : na;
    for (uint32_t i = 0, f = 0; i < n_coarse; i++) {
        while (f < n_fine && fine[f] != coarse[i])
            f++;
        if (f == n_fine) return false;
    }
    return true;
}

static tt_status from_data(tt_dump *a, const tt_dump_value *va, tt_dump *b, const tt_dump_value *vb,
                           tt_error_sums *sums, tt_error *err)
{
    uint64_t n = va->print.n;
    size_t piece = n < PIECE ? (size_t)n : PIECE;
    float *ea = malloc(piece * sizeof *ea), *eb = malloc(piece * sizeof *eb);
    tt_status status = ea && eb ? TT_OK
                                : tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET,
                                               "no memory for the elements of %.60s", va->name);
    for (uint64_t first = 0; first < n && status == TT_OK; first += piece) {
        size_t some = n - first < piece ? (size_t)(n - first) : piece;
        status = tt_dump_data(a, va, first, some, ea, err);
        if (status == TT_OK) status = tt_dump_data(b, vb, first, some, eb, err);
        for (size_t i = 0; status == TT_OK && i < some; i++)
            error_sums_add(sums, first + i, ea[i], eb[i]);
    }
    free(ea);
    free(eb);
    return status;
}

/* Samples that are among the first elements are not counted twice. */
static void from_samples(const tt_dump_value *va, const tt_dump_value *vb, tt_error_sums *sums)
{
    const tt_fingerprint *a = &va->print, *b = &vb->print;
    unsigned known = va->known & vb->known;
    uint64_t next = 0;
    if (known & TT_KNOWN_PREFIX) {
        for (; next < a->n_prefix && next < b->n_prefix; next++)
            error_sums_add(sums, next, a->prefix[next], b->prefix[next]);
    }
    if (!(known & TT_KNOWN_SAMPLES) || a->n_samples != b->n_samples) return;
    for (uint32_t i = 0; i < a->n_samples; i++) {
        uint64_t index = tt_value_sample_index(a->n, i);
        if (index < next) continue;
        error_sums_add(sums, index, a->samples[i], b->samples[i]);
        next = index + 1;
    }
}

/* The lower bounds of the errors from statistics of the whole. */
static void from_stats(const tt_dump_value *va, const tt_dump_value *vb, tt_value_error *out)
{
    const tt_fingerprint *a = &va->print, *b = &vb->print;
    unsigned known = va->known & vb->known;
    if (!(known & TT_KNOWN_RMS)) return;
    if (out->basis == TT_BASIS_NONE) out->basis = TT_BASIS_STATS;
    double apart = fabs(a->rms - b->rms), bound = apart > 0 ? apart / a->rms : 0;
    out->rms_change = apart > 0 ? (b->rms - a->rms) / a->rms : 0;
    if (known & TT_KNOWN_STATS && a->n_inf == 0 && b->n_inf == 0) {
        double means = fabs(a->mean - b->mean);
        if (means > 0) bound = tt_larger(bound, means / a->rms);
        double ends =
            tt_larger(fabs((double)a->min - (double)b->min), fabs((double)a->max - (double)b->max));
        if (!(ends <= out->max_abs)) {
            out->max_abs = ends;
            out->worst = TT_VALUE_NONE; /* it is none of the elements known on both sides */
        }
    }
    if (out->rel_l2 >= bound && out->basis != TT_BASIS_STATS) return;
    out->rel_l2 = bound;
    out->at_least = true;
}

/* Measures the error, by the best available basis; TT_OK and basis TT_BASIS_NONE if nothing is
 * known on both sides. */
static tt_status value_measure(tt_dump *a, const tt_dump_value *va, tt_dump *b,
                               const tt_dump_value *vb, tt_value_error *out, tt_error *err)
{
    tt_error_sums sums;
    error_sums_begin(&sums);
    if (va->known & vb->known & TT_KNOWN_DATA) {
        tt_status status = from_data(a, va, b, vb, &sums, err);
        if (status != TT_OK) return status;
        out->basis = TT_BASIS_DATA;
        error_sums_end(&sums, out);
        if (va->known & vb->known & TT_KNOWN_RMS)
            out->rms_change = va->print.rms > 0 ? (vb->print.rms - va->print.rms) / va->print.rms
                                                : (vb->print.rms > 0 ? INFINITY : 0);
        return TT_OK;
    }
    from_samples(va, vb, &sums);
    bool all = sums.n == va->print.n || va->known & vb->known & TT_KNOWN_SAMPLES;
    if (sums.n) out->basis = all ? TT_BASIS_SAMPLES : TT_BASIS_FIRST;
    error_sums_end(&sums, out);
    from_stats(va, vb, out);
    return TT_OK;
}

/* By tt_type_coarseness; the reasons are in docs/diff-values.md. */
static tt_tolerance tolerance_of(const char *coarsest_type)
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
    static const char *const names[] = {"none", "own", "inherited", "unknown", "extra"};
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

/* Compares hashes that both have: 1 the same bits, 0 other bits, -1 unknown. */
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

/* Values of different ops with the same name: not comparable. */
static bool are_others(const tt_dump_value *a, const tt_dump_value *b)
{
    return *a->op && *b->op && strcmp(a->op, b->op) != 0;
}

/* A cache's length depends on the engine: scores over it have its length, padding included, and the
 * mask has rows for missing tokens. */
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
    tt_tolerance t = tolerance_of(coarser);
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

/* Whether the size of the error is known, not only a lower bound: from all elements, or samples of
 * the whole value; from first elements, if these differ. First elements that are equal show nothing
 * about the others. */
static bool is_sized(const tt_value_error *e, int bits)
{
    if (e->basis == TT_BASIS_DATA || e->basis == TT_BASIS_SAMPLES) return true;
    return e->basis == TT_BASIS_FIRST && (bits < 0 || e->shows);
}

static tt_value_verdict apart(tt_dump *a, const tt_dump_value *va, tt_dump *b,
                              const tt_dump_value *vb, const tt_valuediff_options *o, int bits,
                              const tt_tolerance *t, tt_value_error *e, tt_error *err)
{
    if (value_measure(a, va, b, vb, e, err) != TT_OK) return TT_VALUE_UNMEASURED;
    if (e->basis == TT_BASIS_NONE) {
        if (bits < 0) return TT_VALUE_UNMEASURED;
        e->basis = TT_BASIS_HASH; /* other bits, at an unknown distance */
        return o->exact ? TT_VALUE_DIFFERS : TT_VALUE_OTHER_BITS;
    }
    unsigned known = va->known & vb->known;
    if (known & TT_KNOWN_STATS && va->print.n_inf != vb->print.n_inf) {
        e->rel_l2 = e->max_abs = INFINITY;
        e->worst = TT_VALUE_NONE;
        return TT_VALUE_DIFFERS;
    }
    /* Equal elements in other bits or another type: -0 and 0, f16 and f32 of the same number. */
    if (e->basis == TT_BASIS_DATA && e->max_abs == 0 && !o->exact) return TT_VALUE_CLOSE;
    if (o->exact && bits < 0 && e->basis != TT_BASIS_DATA && within(t, e))
        return TT_VALUE_UNMEASURED; /* equal samples alone do not prove equality */
    if (o->exact || !within(t, e)) return TT_VALUE_DIFFERS;
    if (is_sized(e, bits)) return TT_VALUE_CLOSE;
    if (bits == 0) {
        /* Equal elements give no error: it is in the unknown ones. */
        e->at_least = true;
        e->cosine = NAN;
        return TT_VALUE_OTHER_BITS;
    }
    return TT_VALUE_UNMEASURED; /* equal statistics prove nothing */
}

tt_value_verdict tt_value_compare(tt_dump *a, const tt_dump_value *va, tt_dump *b,
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
    if (!shapes_agree(va, vb))
        return is_padded(va, vb) || are_others(va, vb) ? TT_VALUE_UNMEASURED : TT_VALUE_SHAPE;
    int bits = same_bits(va, vb);
    if (bits == 1) {
        *error = (tt_value_error){
            .basis = TT_BASIS_HASH, .n_compared = va->print.n, .worst = TT_VALUE_NONE, .cosine = 1};
        return TT_VALUE_EQUAL;
    }
    if (bits == 0 && are_integers(va, vb)) {
        error->basis = TT_BASIS_HASH; /* a distance of row numbers or experts is meaningless */
        return TT_VALUE_DIFFERS;
    }
    return apart(a, va, b, vb, options, bits, tolerance, error, err);
}
