/* How far two values are apart. */
#include "analyze/dumps/valuediff_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 65536u /* elements that are compared at once: whole blocks of any type */

double tt_larger(double a, double b)
{
    if (isnan(a)) return b;
    return b > a ? b : a;
}

double tt_cosine_gap(double cosine)
{
    return cosine > 1 ? 0 : 1 - cosine;
}

void tt_error_sums_begin(tt_error_sums *s)
{
    memset(s, 0, sizeof *s);
    s->worst = TT_VALUE_NONE;
}

void tt_error_sums_add(tt_error_sums *s, uint64_t index, float a, float b)
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

void tt_error_sums_end(const tt_error_sums *s, tt_value_error *out)
{
    if (!s->n) return;
    out->n_compared = s->n;
    out->max_abs = s->max_abs;
    out->worst = s->worst;
    out->worst_a = s->worst_a;
    out->worst_b = s->worst_b;
    out->shows = s->dd > 0 || s->apart;
    out->rel_l2 = s->dd > 0 ? sqrt(s->dd) / sqrt(s->aa) : 0;
    /* Of numbers that are all zero there is no direction: the same one when both are. */
    out->cosine =
        s->aa > 0 && s->bb > 0 ? s->ab / (sqrt(s->aa) * sqrt(s->bb)) : (s->aa > 0) == (s->bb > 0);
    if (s->dd == 0 && !s->apart) out->cosine = 1;
    if (s->apart) {
        out->rel_l2 = INFINITY;
        out->cosine = NAN;
    }
}

/* Cumulated products of the dimensions, without those of 1: what joining neighbours leaves. */
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

bool tt_shapes_agree(const tt_dump_value *a, const tt_dump_value *b)
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
            tt_error_sums_add(sums, first + i, ea[i], eb[i]);
    }
    free(ea);
    free(eb);
    return status;
}

/* Those that are among the first ones are not counted twice. */
static void from_samples(const tt_dump_value *va, const tt_dump_value *vb, tt_error_sums *sums)
{
    const tt_fingerprint *a = &va->print, *b = &vb->print;
    unsigned known = va->known & vb->known;
    uint64_t next = 0;
    if (known & TT_KNOWN_PREFIX) {
        for (; next < a->n_prefix && next < b->n_prefix; next++)
            tt_error_sums_add(sums, next, a->prefix[next], b->prefix[next]);
    }
    if (!(known & TT_KNOWN_SAMPLES) || a->n_samples != b->n_samples) return;
    for (uint32_t i = 0; i < a->n_samples; i++) {
        uint64_t index = tt_value_sample_index(a->n, i);
        if (index < next) continue;
        tt_error_sums_add(sums, index, a->samples[i], b->samples[i]);
        next = index + 1;
    }
}

/* What statistics of the whole say that its elements' errors are at least. */
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
            out->worst = TT_VALUE_NONE; /* it is none of the elements that both know */
        }
    }
    if (out->rel_l2 >= bound && out->basis != TT_BASIS_STATS) return;
    out->rel_l2 = bound;
    out->at_least = true;
}

tt_status tt_value_measure(tt_dump *a, const tt_dump_value *va, tt_dump *b, const tt_dump_value *vb,
                           tt_value_error *out, tt_error *err)
{
    tt_error_sums sums;
    tt_error_sums_begin(&sums);
    if (va->known & vb->known & TT_KNOWN_DATA) {
        tt_status status = from_data(a, va, b, vb, &sums, err);
        if (status != TT_OK) return status;
        out->basis = TT_BASIS_DATA;
        tt_error_sums_end(&sums, out);
        if (va->known & vb->known & TT_KNOWN_RMS)
            out->rms_change = va->print.rms > 0 ? (vb->print.rms - va->print.rms) / va->print.rms
                                                : (vb->print.rms > 0 ? INFINITY : 0);
        return TT_OK;
    }
    from_samples(va, vb, &sums);
    bool all = sums.n == va->print.n || va->known & vb->known & TT_KNOWN_SAMPLES;
    if (sums.n) out->basis = all ? TT_BASIS_SAMPLES : TT_BASIS_FIRST;
    tt_error_sums_end(&sums, out);
    from_stats(va, vb, out);
    return TT_OK;
}
