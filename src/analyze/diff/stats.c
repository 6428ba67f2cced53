#include "analyze/diff/stats.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define BISECTIONS 60u
#define PRECISION 1e-7 /* of logarithms of times */
#define FRACTION_STEPS 300u
#define TINY 1e-300
#define GAMMA_STEPS 10000u
#define GAMMA_PRECISION 1e-16
/* Standard errors added to an estimated autocorrelation time: otherwise tests on short series with
 * correlated noise would find differences too often. Chosen by simulation (tests/unit/test_diff.c):
 * false alarms at most as often as the level for intervals of up to 9 tokens in 31, twice as often
 * at 20. */
#define CAUTION 0.5
/* Pieces into which a series is cut to observe slow noise. */
#define INTERVALS_MAX 16u
#define EFFECTIVE_MOST 1000.0 /* more than any possible level needs */

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

/* The value of rank `k`; permutes the values (Hoare's quickselect). */
static double select_nth(double *values, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j) break;
            const double swapped = values[i];
            values[i] = values[j];
            values[j] = swapped;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

/* Of n > 0 values, which are permuted. */
static double median(double *values, size_t n)
{
    double upper = select_nth(values, n, n / 2), lower = -INFINITY;
    if (n % 2) return upper;
    for (size_t i = 0; i < n / 2; i++)
        lower = fmax(lower, values[i]);
    return lower + 0.5 * (upper - lower);
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

/* --- the autocorrelation --- */

static double clip_limit(const double *d, size_t n, double *centre)
{
    double *copy = malloc(n * sizeof *copy), spread = 0;
    *centre = 0;
    if (!copy) return INFINITY;
    for (size_t i = 0; i < n; i++)
        copy[i] = d[i];
    *centre = median(copy, n);
    for (size_t i = 0; i < n; i++)
        copy[i] = fabs(d[i] - *centre);
    spread = median(copy, n);
    free(copy);
    return spread > 0 ? 3 * 1.4826 * spread : INFINITY;
}

static double covariance(const double *x, size_t n, size_t lag)
{
    double sum = 0;
    for (size_t i = lag; i < n; i++)
        sum += x[i] * x[i - lag];
    return sum / (double)n;
}

/* Sums of two neighbouring lags, while they are positive and do not grow. Subtracting a short
 * series' own mean makes its covariances too small, by about variance x time / n each: the first
 * factor at the end. The second is for the error of the estimate (Madras and Sokal 1988: its
 * relative variance is about 2 (2 window + 1) / n). */
double tt_autocorrelation_time(const double *d, size_t n)
{
    if (n < 4) return 1;
    double centre, limit = clip_limit(d, n, &centre), mean = 0, time = -1, last = INFINITY;
    double *x = malloc(n * sizeof *x);
    if (!x) return (double)n;
    for (size_t i = 0; i < n; i++) {
        x[i] = fmax(-limit, fmin(limit, d[i] - centre));
        mean += x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        x[i] -= mean;
    double variance = covariance(x, n, 0);
    size_t lag = 0;
    for (; variance > 0 && lag + 1 < n / 2; lag += 2) {
        double pair = (covariance(x, n, lag) + covariance(x, n, lag + 1)) / variance;
        if (pair <= 0) break;
        if (pair > last) pair = last;
        last = pair;
        time += 2 * pair;
    }
    free(x);
    if (time <= 1) return 1;
    time /= fmax(1 - time / (double)n, 0.25);
    time *= 1 + CAUTION * sqrt(2 * (2 * (double)lag + 1) / (double)n);
    return fmin(time, (double)n);
}

/* --- the signed-rank test --- */

/* Whether `at` is itself a Walsh average: one of the values, or half of the sum of two. If not,
 * *above is the number of averages above it. */
static bool is_average(const double *sorted, size_t n, double at, double *above)
{
    size_t over = n, i = 0; /* sorted[over..] + sorted[i] > 2 at */
    for (*above = 0; i < n; i++) {
        while (over > i && sorted[over - 1] + sorted[i] > 2 * at)
            over--;
        if (over > i && sorted[over - 1] + sorted[i] == 2 * at) return true;
        *above += (double)(n - over);
        if (over == i) break;
    }
    /* All other averages of these values are above. */
    if (i < n) *above += (double)(n - i - 1) * (double)(n - i) / 2;
    return false;
}

/* Walsh averages above `at`, those equal to it by half: the sum of the positive ranks of d - at. */
static double averages_above(const double *sorted, size_t n, double at)
{
    double above = 0, equal = 0;
    size_t over = n, from = n; /* sorted[over..] + sorted[i] > 2 at; sorted[from..] + .. >= 2 at */
    if (!is_average(sorted, n, at, &above)) return above;
    above = 0;
    for (size_t i = 0; i < n; i++) {
        while (over > 0 && sorted[over - 1] + sorted[i] > 2 * at)
            over--;
        while (from > 0 && sorted[from - 1] + sorted[i] >= 2 * at)
            from--;
        /* Each pair once, with itself too: partners from i on. */
        size_t first = over > i ? over : i, first_equal = from > i ? from : i;
        above += (double)(n - first);
        equal += (double)((n - first_equal) - (n - first));
    }
    return above + equal / 2;
}

static double all_averages(const tt_shift *s)
{
    double n = (double)s->n;
    return n * (n + 1) / 2;
}

/* The position with `averages` of the Walsh averages above it: by the Illinois variant of false
 * position (which halves the weight of an end that stays), with a bisection every third time. */
static double place_with(const tt_shift *s, double averages)
{
    double low = s->sorted[0], high = s->sorted[s->n - 1];
    double over = all_averages(s) - averages, under = averages; /* at low, at high */
    int last = 0;
    for (unsigned i = 0; i < BISECTIONS && high - low > PRECISION; i++) {
        const double share = i % 3 == 2 || !(over > 0 && under > 0) ? 0.5 : over / (over + under);
        const double middle = low + (high - low) * fmin(fmax(share, 0.001), 0.999);
        const double off = averages_above(s->sorted, s->n, middle) - averages;
        if (off > 0) {
            low = middle;
            over = off;
            if (last > 0) under /= 2;
            last = 1;
        } else {
            high = middle;
            under = -off;
            if (last < 0) over /= 2;
            last = -1;
        }
    }
    return low + (high - low) / 2;
}

static double rank_deviation(double n, double effective)
{
    return sqrt(n * (n + 1) * (2 * n + 1) / 24 * n / effective);
}

/* The standard deviation of the medians of intervals; permutes the values. */
static void find_slow_noise(tt_shift *s, double *d, size_t n)
{
    double medians[INTERVALS_MAX], mean = 0, squares = 0;
    size_t k = n >= 4 * INTERVALS_MAX ? INTERVALS_MAX
               : n >= INTERVALS_MAX   ? INTERVALS_MAX / 2
                                      : n / 2;
    if (k < 2) return;
    for (size_t i = 0; i < k; i++) {
        size_t begin = i * n / k, end = (i + 1) * n / k;
        medians[i] = median(d + begin, end - begin);
        mean += medians[i] / (double)k;
    }
    for (size_t i = 0; i < k; i++)
        squares += (medians[i] - mean) * (medians[i] - mean);
    s->se = sqrt(squares / (double)(k - 1));
    s->df = (double)(k - 1);
}

void tt_shift_of_tokens(tt_shift *s, double *d, size_t n)
{
    *s = (tt_shift){.n = n, .estimate = NAN, .sorted = d};
    if (n == 0) return;
    s->n_effective = (double)n / tt_autocorrelation_time(d, n);
    find_slow_noise(s, d, n);
    tt_sort_doubles(d, n);
    /* Between the two middle ones, if their number is even. */
    s->estimate =
        (place_with(s, all_averages(s) / 2 + 0.25) + place_with(s, all_averages(s) / 2 - 0.25)) / 2;
    s->tested = n >= TT_SHIFT_SAMPLES_MIN && s->n_effective >= TT_SHIFT_EFFECTIVE_MIN;
}

void tt_shift_of_runs(tt_shift *s, const double *a, size_t n_a, const double *b, size_t n_b)
{
    double mean_a = 0, mean_b = 0, squares = 0;
    *s = (tt_shift){.n = n_a + n_b, .estimate = NAN, .by_levels = true};
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
    s->n_effective = (double)s->n;
    s->tested = s->n >= 3;
    if (!s->tested) return;
    s->df = (double)(s->n - 2);
    s->se = sqrt(squares / s->df * (1 / (double)n_a + 1 / (double)n_b));
}

static double student_p(const tt_shift *s, double from)
{
    double off = fabs(s->estimate - from);
    if (s->se <= 0) return off > 0 ? 0 : 1;
    return 2 * tt_student_cdf(-off / s->se, s->df);
}

static double rank_p(const tt_shift *s, double from)
{
    double off = fabs(averages_above(s->sorted, s->n, from) - all_averages(s) / 2);
    /* Continuity correction of a half, because rank sums are discrete. */
    off = fmax(off - 0.5, 0);
    double p =
        2 * tt_student_cdf(-off / rank_deviation((double)s->n, s->n_effective), s->n_effective - 1);
    /* Equal signs throughout are the strongest evidence in a rank test. */
    return fmin(fmax(p, exp2(1 - s->n_effective)), 1);
}

double tt_shift_p(const tt_shift *s, double from)
{
    if (!s->tested || isnan(from)) return NAN;
    if (isinf(from)) return 0;
    double p = student_p(s, from);
    return s->by_levels ? p : fmax(p, rank_p(s, from));
}

/* Whether a rank test at that level could reject anything, with n samples of that effective
 * number. */
static bool can_reject(double n, double effective, double level)
{
    double all = n * (n + 1) / 2, t = -tt_student_quantile(level / 2, effective - 1);
    return all / 2 + t * rank_deviation(n, effective) + 0.5 < all && exp2(1 - effective) <= level;
}

double tt_shift_effective_least(size_t n, double level)
{
    double low = TT_SHIFT_EFFECTIVE_MIN, high = fmax((double)n, low);
    /* If even n independent samples are too few: how many would be enough. */
    if (!can_reject(high, high, level)) {
        while (high < EFFECTIVE_MOST && !can_reject(high, high, level))
            high = floor(high) + 1;
        return high;
    }
    for (unsigned i = 0; i < BISECTIONS && high - low > 0.01; i++) {
        double middle = low + (high - low) / 2;
        if (can_reject((double)n, middle, level))
            high = middle;
        else
            low = middle;
    }
    return high;
}

void tt_shift_interval(const tt_shift *s, double level, double *low, double *high)
{
    *low = *high = NAN;
    if (!s->tested) return;
    double slow = -tt_student_quantile(level / 2, s->df) * s->se;
    *low = s->estimate - slow;
    *high = s->estimate + slow;
    if (s->by_levels) return;
    if (!can_reject((double)s->n, s->n_effective, level)) {
        *low = -INFINITY;
        *high = INFINITY;
        return;
    }
    double t = -tt_student_quantile(level / 2, s->n_effective - 1);
    double all = all_averages(s), reach = t * rank_deviation((double)s->n, s->n_effective) + 0.5;
    *low = fmin(*low, place_with(s, all / 2 + reach));
    *high = fmax(*high, place_with(s, all / 2 - reach));
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
