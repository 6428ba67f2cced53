#include "analyze/diff/stats.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define BISECTIONS 60u
#define FRACTION_STEPS 300u
#define TINY 1e-300
#define GAMMA_STEPS 10000u
#define GAMMA_PRECISION 1e-16
#define BLOCKS_LEAST 3u
#define BLOCK_TOKENS 4u
/* The variance of a run's figure by that of the mean of independent blocks. */
#define UNSEEN 3.0
#define CUT_FROM 12u /* blocks for one at each end */

void tt_sort_doubles(double *values, size_t n)
{
    qsort(values, n, sizeof *values, tt_by_f64);
}

double tt_sorted_quantile(const double *sorted, size_t n, double share)
{
    double at = share * (double)(n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* --- Student's t --- */

static double away_from_zero(double v)
{
    return fabs(v) < TINY ? TINY : v;
}

/* Lentz's method for the continued fraction of I_x(a, b). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
    for (unsigned m = 1; m <= FRACTION_STEPS; m++) {
        double k = m, even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        h *= d * c;
        double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        double step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-15) break;
    }
    return h;
}

/* lgamma stores the sign in a global variable, which several threads would write. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    /* log1p keeps what 1 - x loses near 1. */
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double tt_student_cdf(double t, double df)
{
    if (isnan(t) || !(df > 0)) return NAN;
    if (isinf(t)) return t > 0 ? 1 : 0;
    double tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
    return t > 0 ? 1 - tail : tail;
}

double tt_student_quantile(double q, double df)
{
    if (!(q > 0 && q < 1)) return NAN;
    if (q > 0.5) return -tt_student_quantile(1 - q, df); /* tails are exact on the left */
    double low = -1, high = 0;
    while (tt_student_cdf(low, df) > q && low > -1e12)
        low *= 2;
    for (unsigned i = 0; i < 2 * BISECTIONS; i++) {
        double middle = (low + high) / 2;
        if (tt_student_cdf(middle, df) < q)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* --- chi-square --- */

/* The regularized upper incomplete gamma function Q(a, x): its series below a + 1, its continued
 * fraction by Lentz's method above (Abramowitz and Stegun 6.5.29, 6.5.31). */
static double gamma_tail(double a, double x)
{
    if (x <= 0) return 1;
    const double front = exp(a * log(x) - x - log_gamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (unsigned i = 1; i < GAMMA_STEPS && term > sum * GAMMA_PRECISION; i++)
            sum += term *= x / (a + i);
        return 1 - sum * front;
    }
    double b = x + 1 - a, c = 1 / TINY, d = 1 / b, h = d;
    for (unsigned i = 1; i < GAMMA_STEPS; i++) {
        const double k = -(double)i * ((double)i - a);
        b += 2;
        d = 1 / away_from_zero(k * d + b);
        c = away_from_zero(b + k / c);
        const double step = d * c;
        h *= step;
        if (fabs(step - 1) < GAMMA_PRECISION) break;
    }
    return front * h;
}

double tt_chi_square_tail(double x, uint32_t df)
{
    return df ? gamma_tail(df / 2.0, x / 2) : NAN;
}

/* --- shifts --- */

size_t tt_shift_blocks(double *x, size_t n, double low[TT_SHIFT_BLOCKS_MAX])
{
    size_t k = n / BLOCK_TOKENS;
    k = k < BLOCKS_LEAST ? BLOCKS_LEAST : k > TT_SHIFT_BLOCKS_MAX ? TT_SHIFT_BLOCKS_MAX : k;
    if (k > n) k = n;
    for (size_t i = 0; i < k; i++) {
        const size_t begin = i * n / k, end = (i + 1) * n / k;
        tt_sort_doubles(x + begin, end - begin);
        low[i] = tt_sorted_quantile(x + begin, end - begin, TT_SHIFT_UNDISTURBED);
    }
    return k;
}

double tt_shift_centre(const double *v, size_t n)
{
    double averages[TT_SHIFT_BLOCKS_MAX * (TT_SHIFT_BLOCKS_MAX + 1) / 2];
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            averages[k++] = (v[i] + v[j]) / 2;
    tt_sort_doubles(averages, k);
    return tt_sorted_quantile(averages, k, 0.5);
}

void tt_shift_of_tokens(tt_shift *s, const double *a, const double *b, size_t k, size_t n)
{
    double d[TT_SHIFT_BLOCKS_MAX], mean = 0, squares = 0;
    *s = (tt_shift){.n = n, .blocks = k, .estimate = NAN};
    if (k == 0) return;
    for (size_t i = 0; i < k; i++)
        d[i] = b[i] - a[i];
    s->estimate = tt_shift_centre(b, k) - tt_shift_centre(a, k);
    s->tested = n >= TT_SHIFT_SAMPLES_MIN;
    if (!s->tested) return;
    tt_sort_doubles(d, k);
    const size_t cut = k / CUT_FROM, kept = k - 2 * cut;
    for (size_t i = 0; i < cut; i++) {
        d[i] = d[cut];
        d[k - 1 - i] = d[k - 1 - cut];
    }
    for (size_t i = 0; i < k; i++)
        mean += d[i] / (double)k;
    for (size_t i = 0; i < k; i++)
        squares += (d[i] - mean) * (d[i] - mean);
    s->df = (double)(kept - 1);
    s->se = sqrt(UNSEEN * squares / s->df / (double)kept);
}

void tt_shift_of_runs(tt_shift *s, const double *a, size_t n_a, const double *b, size_t n_b)
{
    double mean_a = 0, mean_b = 0, squares = 0;
    *s = (tt_shift){.n = n_a + n_b, .blocks = n_a + n_b, .estimate = NAN};
    if (n_a == 0 || n_b == 0) return;
    for (size_t i = 0; i < n_a; i++)
        mean_a += a[i] / (double)n_a;
    for (size_t i = 0; i < n_b; i++)
        mean_b += b[i] / (double)n_b;
    for (size_t i = 0; i < n_a; i++)
        squares += (a[i] - mean_a) * (a[i] - mean_a);
    for (size_t i = 0; i < n_b; i++)
        squares += (b[i] - mean_b) * (b[i] - mean_b);
    s->estimate = mean_b - mean_a;
    s->tested = s->n >= 3;
    if (!s->tested) return;
    s->df = (double)(s->n - 2);
    s->se = sqrt(squares / s->df * (1 / (double)n_a + 1 / (double)n_b));
}

void tt_shift_of_busy_runs(tt_shift *s, const double *a, size_t n_a, const double *b, size_t n_b,
                           double level)
{
    double least_a = INFINITY, most_a = -INFINITY, least_b = INFINITY, most_b = -INFINITY;
    tt_shift_of_runs(s, a, n_a, b, n_b);
    s->by_ranks = true;
    s->p_apart = 2;
    for (size_t i = 1; i <= n_a; i++) /* 1 / (n choose n_a) */
        s->p_apart *= (double)i / (double)(n_b + i);
    for (size_t i = 0; i < n_a; i++) {
        least_a = fmin(least_a, a[i]);
        most_a = fmax(most_a, a[i]);
    }
    for (size_t i = 0; i < n_b; i++) {
        least_b = fmin(least_b, b[i]);
        most_b = fmax(most_b, b[i]);
    }
    s->gap = fmax(least_b - most_a, 0) + fmin(most_b - least_a, 0);
    s->tested = s->tested && s->p_apart <= level;
}

/* The degrees of freedom are Satterthwaite's (1946): the added variance is known. */
void tt_shift_allow(tt_shift *s, double variance)
{
    if (!s->tested || !(variance > 0)) return;
    const double own = s->se * s->se, all = own + variance;
    s->df = own > 0 ? s->df * (all / own) * (all / own) : INFINITY;
    s->df = fmin(s->df, TT_SHIFT_DF_MOST);
    s->se = sqrt(all);
}

static double student_p(const tt_shift *s, double off)
{
    if (s->se <= 0) return off > 0 ? 0 : 1;
    return 2 * tt_student_cdf(-off / s->se, s->df);
}

double tt_shift_p(const tt_shift *s, double from)
{
    if (!s->tested || isnan(from)) return NAN;
    const double off = fabs(s->estimate - from);
    /* No order shows a shift towards where B's runs are not. */
    if (s->by_ranks && !(s->gap * (s->estimate - from) > 0)) return 1;
    return fmax(student_p(s, off), s->by_ranks ? s->p_apart : 0);
}

void tt_shift_interval(const tt_shift *s, double level, double *low, double *high)
{
    *low = *high = NAN;
    if (!s->tested) return;
    const double reach = s->se > 0 ? -tt_student_quantile(level / 2, s->df) * s->se : 0;
    *low = s->estimate - reach;
    *high = s->estimate + reach;
    if (!s->by_ranks || s->gap * s->estimate > 0) return;
    *low = fmin(*low, 0);
    *high = fmax(*high, 0);
}

/* --- many comparisons --- */

typedef struct ranked {
    double p;
    size_t at;
} ranked;

static int by_p(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->p != y->p) return x->p < y->p ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

bool tt_holm(double *p, size_t n)
{
    ranked *list = malloc((n + 1) * sizeof *list);
    size_t k = 0;
    if (!list) return false;
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i])) list[k++] = (ranked){p[i], i};
    qsort(list, k, sizeof *list, by_p);
    double largest = 0;
    for (size_t i = 0; i < k; i++) {
        largest = fmax(largest, fmin(1, list[i].p * (double)(k - i)));
        p[list[i].at] = largest;
    }
    free(list);
    return true;
}
