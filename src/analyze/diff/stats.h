/* How much two series of times differ, and how certain that is: pure numbers.
 *
 * The samples are d[k] = log(time of B / time of A) of the k-th token that both computed, in time
 * order. Estimate and test are Wilcoxon's signed-rank test and its estimator, the median of all
 * Walsh averages (d[i] + d[j]) / 2 (Hodges and Lehmann 1963; Hollander, Wolfe and Chicken,
 * Nonparametric Statistical Methods, 3rd ed., ch. 3), which are robust against outliers such as
 * preempted tokens.
 *
 * Noise on a shared machine is correlated: neighbouring tokens are slow together, and count as
 * fewer observations. The variance of the rank sum is multiplied by the integrated autocorrelation
 * time of the series (Geyer 1992, initial positive sequence); n divided by that is the effective
 * number of samples, and quantiles are those of Student's t with one degree of freedom less.
 *
 * Noise that lasts longer than a run (another program, a clock rate, the placement of pages) cannot
 * be observed within it. It is assumed to be as large as noise that lasts a sixteenth of the run
 * (an eighth for short ones): the standard deviation of the medians of as many intervals, by
 * Student's t. The p value is the larger one of both tests; the interval covers both. Repeated runs
 * need no such assumption: tt_shift_of_runs. */
#ifndef TT_ANALYZE_DIFF_STATS_H
#define TT_ANALYZE_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer (effective) samples are not tested. */
#define TT_SHIFT_SAMPLES_MIN 6u
#define TT_SHIFT_EFFECTIVE_MIN 4.0

typedef struct tt_shift {
    size_t n;
    double n_effective;
    bool tested;     /* there were enough samples; else only the estimate is valid */
    double estimate; /* NAN without samples */
    /* Private: */
    bool by_levels;
    double se, df;        /* for runs; for tokens: of intervals of them */
    const double *sorted; /* otherwise; owned by the caller */
} tt_shift;

/* Sorts d; s refers to it. */
void tt_shift_of_tokens(tt_shift *s, double *d, size_t n);
/* From one figure per run (log of its tokens' time), of n_a runs of A and n_b of B: a t test with
 * pooled variance. Tested with at least three runs in all, one on each side. */
void tt_shift_of_runs(tt_shift *s, const double *a, size_t n_a, const double *b, size_t n_b);

/* Two-sided: the probability of an estimate at least as far from `from`, if that were the true
 * shift. NAN if not tested. */
double tt_shift_p(const tt_shift *s, double from);
/* The shifts that a test at that level (0.05) would not reject: infinite if the samples are too few
 * for the level, NAN if not tested. */
void tt_shift_interval(const tt_shift *s, double level, double *low, double *high);

/* How many of n samples must be independent (`n_effective`) for such an interval to be finite: with
 * fewer, the rank test could not reject any shift at that level. More than n: so many independent
 * samples would be needed. */
double tt_shift_effective_least(size_t n, double level);

/* The integrated autocorrelation time of d, between 1 and n. Values beyond 3 standard deviations
 * (by the median absolute deviation) are clipped to these: a single outlier is not correlation. */
double tt_autocorrelation_time(const double *d, size_t n);

/* Holm's step-down correction (1979) of n p values, in place; NAN values stay and do not count.
 * False if out of memory. */
bool tt_holm(double *p, size_t n);

/* P(T <= t) of Student's t with df > 0 degrees of freedom, by the incomplete beta function's
 * continued fraction (DLMF 8.17.22). */
double tt_student_cdf(double t, double df);
/* The t with P(T <= t) = q, 0 < q < 1. */
double tt_student_quantile(double q, double df);

/* P(X >= x) of a chi-square distribution. NAN for df 0. */
double tt_chi_square_tail(double x, uint32_t df);

/* The quantile (0..1) of n > 0 sorted values, interpolated as in numpy's default: for estimates.
 * Displayed times use tt_quantiles_sorted. */
double tt_sorted_quantile(const double *sorted, size_t n, double share);
void tt_sort_doubles(double *values, size_t n);

#endif
